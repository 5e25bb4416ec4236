"""A slow, obvious model of the scheduler: one record per task, everything looked up by scanning. Shares no code."""

BAD, ENDED = ("failed", "blocked", "cancelled"), ("succeeded", "failed", "blocked", "cancelled")


class Refused(Exception):  # the text is the name of the error class expected
    pass


class Reference:
    def __init__(self, *, slots=None, open_graph=False, strict=False):
        self.slots, self.open_graph, self.strict = slots, open_graph, strict
        self.tasks = {}  # id -> dict(state, generation, required, optional, left, number, root, stop)
        self.number = 0
        self.started = self.closed = False

    def require(self, condition, error):
        if not condition:
            raise Refused(error)

    def state(self, task):
        record = self.tasks[task]
        unknown = set(record["required"] + record["optional"]) - set(self.tasks)
        return "waiting" if record["state"] == "pending" and unknown else record["state"]

    def submit(self, task, required=(), optional=(), generation=None):
        self.require(not self.closed, "SchedulerClosed")
        old = self.tasks.get(task)
        new = 1 if generation is None else generation
        if old:
            if generation == old["generation"]:
                return generation
            newer = generation is None or generation > old["generation"]
            self.require(newer and old["state"] != "running", "GenerationConflict")
            retry = generation is not None and old["state"] in ENDED
            self.require(retry or not self.strict, "DuplicateTask")
            new = old["generation"] + 1 if generation is None else generation
        required = list(dict.fromkeys(required))
        optional = [d for d in dict.fromkeys(optional) if d not in required]
        for dependency in required + optional:
            self.known(task, dependency)
        cyclic = (old or self.started) and self.reaches(task, required + optional)
        self.require(not cyclic, "DependencyCycle")
        self.number += 1
        left = {d for d in required + optional if self.tasks.get(d, {"state": "?"})["state"] not in ENDED}
        self.tasks[task] = dict(  # noqa: C408
            state="pending", generation=new, required=required, optional=optional, left=left, number=self.number,
            root=None, stop=False,
        )  # fmt: skip
        self.block_if_ended_badly(task, required)
        if self.tasks[task]["state"] == "pending" and not left:
            self.tasks[task]["state"] = "ready"
        return new

    def known(self, task, dependency):
        self.require(dependency != task, "DependencyCycle")
        self.require(dependency in self.tasks or self.open_graph, "UnknownDependency")

    def block_if_ended_badly(self, task, required):
        bad = [d for d in required if d in self.tasks and self.tasks[d]["state"] in BAD]
        if bad:
            self.tasks[task].update(state="blocked", root=self.tasks[bad[0]]["root"] or bad[0])
            self.ended(task)

    def dependents(self, task):
        return [t for t, r in self.tasks.items() if r["state"] == "pending" and task in r["left"]]

    def reaches(self, task, goals):
        seen = set()
        while new := {d for t in {task, *seen} for d in self.dependents(t)} - seen:
            seen |= new
        return not seen.isdisjoint(goals)

    def ended(self, task):
        bad = self.tasks[task]["state"] in BAD
        for name in self.dependents(task):
            record = self.tasks[name]
            record["left"].discard(task)
            if task in record["required"] and bad:
                record["state"], record["root"] = "blocked", self.tasks[task]["root"] or task
                self.ended(name)
            elif not record["left"]:
                record["state"] = "ready"

    def ready(self, limit=None, all_or_nothing=False):
        self.require(not (self.closed and all_or_nothing), "SchedulerClosed")
        if self.closed:
            return []
        self.require(self.started or not any(self.reaches(t, [t]) for t in self.tasks), "DependencyCycle")
        queue = sorted((r["number"], t) for t, r in self.tasks.items() if r["state"] == "ready")
        asked = len(queue) if limit is None else limit
        free = 10**9 if self.slots is None else self.slots - self.running()
        self.require(not all_or_nothing or asked <= free, "CapacityExceeded")
        claimed = [t for _, t in queue[: min(asked, free)]]
        if all_or_nothing and len(claimed) < asked:
            return []
        for task in claimed:
            self.tasks[task]["state"], self.started = "running", True
        return [(task, self.tasks[task]["generation"]) for task in claimed]

    def running(self):
        return sum(r["state"] == "running" for r in self.tasks.values())

    def current(self, task, generation):
        self.require(task in self.tasks, "UnknownTask")
        self.require(generation in (None, self.tasks[task]["generation"]), "GenerationConflict")
        return self.tasks[task]

    def end(self, task, generation, state):
        record = self.current(task, generation)
        if record["state"] not in ENDED:
            self.require(record["state"] == "running", "StateConflict")
            record["state"] = state
            self.ended(task)
        return record["state"]

    def cancel(self, task, generation=None, confirmed=False):
        record = self.current(task, generation)
        if record["state"] in ENDED:
            return record["state"]
        self.require(record["stop"] or not confirmed, "StateConflict")
        if record["state"] == "running" and not confirmed:
            record["stop"] = True
        else:
            record["state"] = "cancelled"
            self.ended(task)
        return record["state"]

    def add_dependency(self, task, dependency, optional=False, generation=None):
        self.require(task not in self.tasks or not self.closed, "SchedulerClosed")
        record = self.current(task, generation)
        self.require(record["state"] == "pending", "StateConflict")
        if dependency in record["required"] or (optional and dependency in record["optional"]):
            return False
        self.known(task, dependency)
        self.require(not self.reaches(task, [dependency]), "DependencyCycle")
        record["optional"] = [d for d in record["optional"] if d != dependency]
        record["optional" if optional else "required"].append(dependency)
        if self.tasks.get(dependency, {"state": "?"})["state"] not in ENDED:
            record["left"].add(dependency)
        elif not optional:
            self.block_if_ended_badly(task, [dependency])
        return True

    def close(self, queued):
        self.closed = True
        for record in self.tasks.values():
            if queued == "cancel" and record["state"] in ("pending", "ready"):
                record.update(state="cancelled", left=set())
