"""Who wants something: clients, approvers, operators, publishers, administrators, timers, rescuer, relay."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from signoff.core.definition import ApprovalConfig, FormConfig
from signoff.core.quorum import person_key
from signoff.core.states import RunState, RunStatus, StepState, StepStatus, TimerKind
from signoff.store.leases import list_due, list_expired, list_outbox
from signoff.store.times import to_micros
from tests.simulation.ask import RELAY, RESCUER, SETUP, TIMERS, Ask, is_over, person
from tests.simulation.deputies import Deputies
from tests.simulation.documents import CHILD, draw_document, draw_input

if TYPE_CHECKING:
    from tests.simulation.world import World

MOST_RUNS = 10
Acts = Callable[[], list[Ask]]


class Cast:
    """Everybody but the workers."""

    def __init__(self, world: World) -> None:
        self.world, self.dice = world, world.dice
        self.drafts: dict[str, int] = {}
        self.published: list[str] = []
        self.unanswered: list[Ask] = []
        self.answered: list[Ask] = []
        self.views: dict[str, RunState] = {}
        self.stale_timers: list[Ask] = []
        self.started = 0
        self.changes: dict[str, int] = {}
        self.absences: list[tuple[int, str]] = []
        self.delegates: dict[str, str] = {}
        self.deputies = Deputies(self)

    def weighted(self) -> list[tuple[int, Acts]]:
        """Chances of each actor to be next."""
        return [
            (8, self.start),
            (6, self.decide),
            (3, self.message),
            (3, self.operate),
            (4, self.rescue),
            (6, self.fire),
            (2, self.relay),
            (2, self.people),
            (2, self.draft),
            (2, self.publish),
            (5, self.again),
            (2, self.look),
            (1, self.nonsense),
            (1, self.absence),
            *([(3, self.deputies.act)] if self.world.seed % 2 else []),
        ]

    def keyed(self, ask: Ask) -> Ask:
        """A client's request: sent again with the same key until it is answered."""
        ask.key = f"k{self.world.number()}"

        def heard(answer: dict[str, Any], then: Callable[[dict[str, Any]], None] = ask.heard) -> None:
            if not is_over(answer):
                lost()
                return
            self.unanswered[:] = [a for a in self.unanswered if a is not ask]
            self.answered.append(ask)
            then(answer)

        def lost() -> None:
            if ask not in self.unanswered:
                self.unanswered.append(ask)

        ask.heard, ask.lost = heard, lost
        return ask

    def again(self) -> list[Ask]:
        """A client repeats what was not answered, or clicks twice, or reuses a key for something else."""
        if self.unanswered:
            return [self.dice.choice(self.unanswered)]
        if not self.answered or self.dice.random() > self.world.faults.mischief:
            return []
        ask = self.dice.choice(self.answered[-10:])
        if self.dice.random() < 0.3:
            return [Ask(ask.do, ask.actor, {**ask.args, "note": "other"}, ask.key)]
        return [ask]

    # Definitions

    def draft(self) -> list[Ask]:
        name = self.dice.choice(("buy", "hire", "ship")) if CHILD in self.drafts else CHILD
        document = draw_document(self.dice, name)
        if name not in self.drafts:
            create = Ask("create_draft", person("pia"), {"name": name, "document": document})
            create.heard = lambda answer: self.drafts.setdefault(name, 1)
            return [self.keyed(create)]
        based_on = self.drafts[name] - (self.dice.random() < 0.2)
        save = Ask("save_draft", person("pia"), {"name": name, "document": document, "based_on": based_on})

        def heard(answer: dict[str, Any]) -> None:
            if "ok" in answer:
                self.drafts[name] = max(self.drafts[name], answer["ok"]["revision"])

        save.heard = heard
        return [self.keyed(save)]

    def publish(self) -> list[Ask]:
        if not self.drafts:
            return self.draft()
        name = self.dice.choice(sorted(self.drafts))
        ask = Ask("publish", person("pia"), {"name": name, "revision": self.drafts[name]})
        ask.heard = lambda answer: self.published.append(name) if "ok" in answer else None
        return [self.keyed(ask)]

    # Runs

    def start(self) -> list[Ask]:
        if not self.published:
            return self.publish()
        if self.started >= MOST_RUNS:
            return []
        self.started += 1
        who = self.dice.choice(("dan", "dan", "ann", "cem"))
        args: dict[str, Any] = {"definition": self.dice.choice(self.published), "input": draw_input(self.dice)}
        if self.dice.random() < 0.1 * self.world.faults.mischief:
            args["input"] = {"flag": "no"}
        ask = self.keyed(Ask("start_run", person(who), args))
        args["business_key"] = ask.key
        return [ask]

    def look(self) -> list[Ask]:
        """A person opens pages; what they see may be old when they act."""
        for run_id, ledger in self.world.auditor.runs.items():
            if self.dice.random() < 0.5:
                self.views[run_id] = ledger.mirror
        return []

    def view(self, run_id: str) -> RunState:
        """The run as somebody sees it, which may be as it was."""
        mischief = self.world.faults.mischief
        stale = self.views.get(run_id) if self.dice.random() < 0.4 * mischief else None
        return stale or self.world.auditor.state(run_id)

    def _any_run(self) -> str:
        found = sorted(self.world.auditor.runs)
        alive = [r for r in found if not self.world.auditor.state(r).is_terminal]
        return self.dice.choice(alive if alive and self.dice.random() < 0.9 else found) if found else ""

    def decide(self) -> list[Ask]:
        """One approver, or two at once, on what they see (which may be stale)."""
        auditor, dice = self.world.auditor, self.dice
        asked = [
            (r, i)
            for r in sorted(auditor.runs)
            for i, s in self.view(r).steps.items()
            if s.status == "waiting" and s.approval
        ]
        if not asked:
            return []
        run_id, step = dice.choice(asked)
        many = 2 if dice.random() < 0.3 else 1
        who = ["ann", "bob", "cem", "eve"]
        others = [s.approval for i, s in self.view(run_id).steps.items() if i != step and s.approval]
        voted = sorted({v.human for a in others for v in a.votes} & set(who))
        if voted and dice.random() < 0.4:  # somebody who has decided in this run goes on
            who = voted
        return [self.decision(run_id, step, self.view(run_id), dice.choice(who)) for _ in range(many)]

    def decision(self, run_id: str, step: str, view: RunState, who: str, outcome: str = "") -> Ask:
        """What this person would send on seeing this."""
        dice, mischief = self.dice, self.world.faults.mischief
        seen = view.steps[step]
        config = self.world.auditor.runs[run_id].plan.steps[step].config
        if isinstance(config, FormConfig):
            return self.filling(run_id, step, seen, who, config, sure=bool(outcome))
        may_return = isinstance(config, ApprovalConfig) and bool(config.returns_to)
        often = ("returned", "returned") if may_return else ()
        outcome = outcome or dice.choice(("approved", "approved", "approved", "rejected", "returned", *often))
        args: dict[str, Any] = {
            "run_id": run_id,
            "step": step,
            "generation": seen.generation,
            "outcome": outcome,
            "comment": f"c{self.world.number()}",
            "shown_digest": seen.approval.shown_digest if seen.approval and dice.random() < 0.8 else "",
        }
        if outcome == "returned" and isinstance(config, ApprovalConfig) and config.returns_to:
            args["to"] = dice.choice(config.returns_to)
        if dice.random() < 0.3 and seen.approval and seen.approval.roster:
            args["on_behalf_of"] = dice.choice(seen.approval.roster)
            who = self.delegates.get(args["on_behalf_of"], who) if dice.random() < 0.8 else who
        if dice.random() < 0.1 * mischief:
            who = dice.choice(("dan", "nobody", "ANN", "olga"))
        if dice.random() < 0.1 * mischief:
            args["shown_digest"] = "sha256:" + "0" * 64
        return self.keyed(Ask("decide", person(who), args))

    def filling(
        self, run_id: str, step: str, seen: StepState, who: str, config: FormConfig, *, sure: bool = False
    ) -> Ask:
        """What this person would send on seeing a form; some send the work back."""
        dice, mischief = self.dice, self.world.faults.mischief
        args: dict[str, Any] = {"run_id": run_id, "step": step, "generation": seen.generation}
        args["shown_digest"] = seen.approval.shown_digest if seen.approval and dice.random() < 0.8 else ""
        if config.returns_to and not sure and dice.random() < 0.4:
            args |= {"comment": f"c{self.world.number()}", "to": dice.choice(config.returns_to)}
            return self.keyed(Ask("return_form", person(who), args))
        args["values"] = {"n": self.world.number()}
        if not sure and dice.random() < 0.2 * mischief:
            args["values"] = dice.choice(({}, {"n": -1}, {"n": "many"}, {"m": 1}))
        return self.keyed(Ask("submit_form", person(who), args))

    def message(self) -> list[Ask]:
        """Somebody outside sends a message: for a step that waits, for one to come, wrong, or once more."""
        dice = self.dice
        keys = [s.key for r in sorted(self.world.auditor.runs) for s in self.view(r).steps.values() if s.key]
        key = dice.choice([*keys, "shared", "5", "50"])
        payload: dict[str, Any] = {"n": dice.choice((1, 2))}
        if dice.random() < 0.1 * self.world.faults.mischief:
            payload = {"n": "many"}
        return [self.signal(key, payload, f"m{dice.choice((self.world.number(), 1, 2))}")]

    def signal(self, key: str, payload: dict[str, Any], message: str) -> Ask:
        """A message under its sender's id."""
        args = {"name": "paid", "key": key, "payload": payload, "id": message}
        return self.keyed(Ask("send_signal", person("dan"), args))

    def operate(self) -> list[Ask]:
        """An operator at a random time, looking at something that may be old."""
        run_id = self._any_run()
        if not run_id:
            return []
        view = self.view(run_id)
        often = ["pause_run", "resume_run", "resume_run", "retry_step", "retry_step", "replay_dead_letter", "skip_step"]
        do = self.dice.choice((*often, "edit_input", "edit_input", "cancel_run", "terminate_run"))
        doubt = [i for i, s in view.steps.items() if s.status is StepStatus.OUTCOME_UNKNOWN]
        if (doubt and self.dice.random() < 0.5) or self.dice.random() < 0.02:
            step = self.dice.choice(doubt or sorted(view.steps))
            return [self.operation(self.dice.choice(("confirm_effect", "deny_effect")), run_id, step, view.sequence)]
        bad = [i for i, s in view.steps.items() if s.status in (StepStatus.FAILED, StepStatus.EXPIRED)]
        if do in ("retry_step", "skip_step", "replay_dead_letter") and bad and self.dice.random() < 0.8:
            step = self.dice.choice(bad)
        else:
            step = self.dice.choice(sorted(view.steps))
        asks = [self.operation(do, run_id, step, view.sequence)]
        if do == "retry_step" and self.dice.random() < 0.2:  # in one batch: what was just scheduled is held back
            asks.append(self.operation("pause_run", run_id, step, view.sequence))
        return asks

    def operation(self, do: str, run_id: str, step: str, seen: int) -> Ask:
        dice = self.dice
        reason = f"o{self.world.number()}" if dice.random() > 0.05 * self.world.faults.mischief else " "
        args: dict[str, Any] = {"run_id": run_id, "reason": reason}
        if dice.random() < 0.8:
            args["seen_sequence"] = seen
        if do in ("retry_step", "skip_step", "replay_dead_letter", "confirm_effect", "deny_effect"):
            args["step"] = step
        if do == "retry_step" and dice.random() < 0.2:
            args["new_effect"] = True
        if do == "cancel_run" and dice.random() < 0.6:
            args["compensate"] = True
        if do == "skip_step" and dice.random() < 0.5:
            args["output"] = {"n": 1}
        if do == "confirm_effect":
            args["output"] = {"n": 1}
        if do == "edit_input":
            args["input"] = {**draw_input(dice), "extra": 3.0}
        who = "olga" if dice.random() > 0.05 * self.world.faults.mischief else "dan"
        return self.keyed(Ask(do, person(who), args))

    # People

    def people(self) -> list[Ask]:
        login = self.dice.choice(("ann", "bob", "cem", "eve", "olga"))
        inactive = self.world.auditor.inactive
        active = True if inactive else self.dice.random() < 0.5
        if inactive and self.dice.random() < 0.8:
            login = self.dice.choice(sorted(inactive))
        return [self.account(login, active)]

    def absence(self) -> list[Ask]:
        """Somebody lets another decide for a while, or ends that."""
        dice = self.dice
        if self.absences and dice.random() < 0.3:
            number, who = dice.choice(self.absences)
            return [self.keyed(Ask("revoke_absence", person(who), {"id": number}))]
        who, delegate = dice.sample(("ann", "bob", "cem", "eve", "dan"), 2)
        delegate = dice.choice([x for x in ("eve", "eve", "dan", delegate) if x != who])
        ends = self.world.clock.now() + timedelta(seconds=dice.choice((30, 120, 600)))
        args = {"delegate": delegate, "ends": ends.isoformat()}
        ask = Ask("set_absence", person(who), args)

        def heard(answer: dict[str, Any]) -> None:
            if "ok" in answer:
                self.absences.append((answer["ok"]["id"], who))
                self.delegates[who] = delegate

        ask.heard = heard
        return [self.keyed(ask)]

    def account(self, login: str, active: bool) -> Ask:
        """An administrator changes an account; only the answer tells the auditor who is surely out."""
        inactive, key = self.world.auditor.inactive, person_key(login)
        if active:
            inactive.discard(key)
        number = self.changes[key] = self.changes.get(key, 0) + 1

        def heard(answer: dict[str, Any]) -> None:
            if "ok" in answer and not active and self.changes[key] == number:
                inactive.add(key)

        return Ask("save_person", SETUP, self.world.account(login, active), origin="engine", heard=heard)

    # The engine's own services

    def fire(self) -> list[Ask]:
        found = list_due(self.world.reader, to_micros(self.world.clock.now()), 8)
        asks = [
            Ask(
                "fire_timer",
                TIMERS,
                {
                    "run_id": t.public_id,
                    "step": t.step,
                    "kind": t.kind,
                    "generation": t.generation,
                    "attempt": t.attempt,
                },
                origin="engine",
            )
            for t in found
        ]
        for ask in asks[:2]:
            if self.dice.random() < self.world.faults.duplicate:
                self.stale_timers.append(Ask(ask.do, ask.actor, dict(ask.args), origin="engine"))
        if self.stale_timers and self.dice.random() < 0.5 * self.world.faults.mischief:
            asks.append(self.stale_timers.pop(self.dice.randrange(len(self.stale_timers))))
        for ask in asks[:]:
            renewed = ask.do == "fire_timer" and ask.args["generation"] > 1
            if renewed and self.world.faults.mischief and self.dice.random() < 0.7:
                old = ask.args | {"generation": ask.args["generation"] - 1}
                asks.insert(0, Ask("fire_timer", TIMERS, old, origin="engine"))
        if self.dice.random() < 0.4 * self.world.faults.mischief:
            asks += self._early_timer()
        return asks

    def _early_timer(self) -> list[Ask]:
        run_id = self._any_run()
        if not run_id:
            return []
        paused = [
            (r, i)
            for r, ledger in sorted(self.world.auditor.runs.items())
            for i, s in sorted(ledger.mirror.steps.items())
            if ledger.mirror.status is RunStatus.PAUSED and s.due and s.due <= self.world.clock.now()
        ]
        step = self.dice.choice(sorted(self.world.auditor.state(run_id).steps))
        if paused and self.dice.random() < 0.7:
            run_id, step = self.dice.choice(paused)
        state = self.world.auditor.state(run_id)
        if state.deadline and self.dice.random() < 0.5:
            whole = {"run_id": run_id, "step": "", "kind": "deadline", "generation": 0, "attempt": 0}
            return [Ask("fire_timer", TIMERS, whole, origin="engine")]
        s = state.steps[step]
        kind = s.timer or self.dice.choice(list(TimerKind))
        generation = max(1, s.generation - (self.dice.random() < 0.3))
        args = {"run_id": run_id, "step": step, "kind": str(kind), "generation": generation, "attempt": s.attempt}
        return [Ask("fire_timer", TIMERS, args, origin="engine")]

    def rescue(self) -> list[Ask]:
        """Expired leases; now and then the rescuer is a moment late, and a heartbeat comes in between."""
        now = self.world.clock.now()
        asks = [
            Ask(
                "expire_lease",
                RESCUER,
                {
                    "run_id": x.public_id,
                    "step": x.step,
                    "generation": x.generation,
                    "attempt": x.attempt,
                    "fence": x.fence,
                    "worker": x.worker,
                },
                origin="engine",
            )
            for x in list_expired(self.world.reader, to_micros(now), 8)
        ]
        if self.stale_timers and self.dice.random() < 0.5 * self.world.faults.mischief:
            asks.append(self.stale_timers.pop(self.dice.randrange(len(self.stale_timers))))
        for ask in asks[:1]:
            if self.dice.random() < self.world.faults.duplicate:
                self.stale_timers.append(Ask(ask.do, ask.actor, dict(ask.args), origin="engine"))
        if self.dice.random() < 0.2 * self.world.faults.mischief:
            asks += self._early_rescue()
        return asks

    def _early_rescue(self) -> list[Ask]:
        """The rescuer saw a lease that was renewed meanwhile."""
        held = [
            (r, i, s)
            for r, ledger in sorted(self.world.auditor.runs.items())
            for i, s in ledger.mirror.steps.items()
            if s.status is StepStatus.RUNNING
        ]
        if not held:
            return []
        r, i, s = self.dice.choice(held)
        claim = {"run_id": r, "step": i, "generation": s.generation, "attempt": s.attempt, "fence": s.fence}
        return [Ask("expire_lease", RESCUER, claim | {"worker": s.worker}, origin="engine")]

    def relay(self) -> list[Ask]:
        """Delivers notices, then says so; a crash in between delivers them twice."""
        found = list_outbox(self.world.reader, 16)
        for n in found:
            told = (n.public_id, n.topic, n.step)
            assert self.world.auditor.delivered.setdefault(n.id, told) == told, "a notice changed"
        ids = [n.id for n in found]
        return [Ask("delivered", RELAY, {"ids": ids}, origin="engine")] if ids else []

    def nonsense(self) -> list[Ask]:
        """Requests that mean nothing, among the others of a batch."""
        if self.dice.random() > self.world.faults.mischief:
            return []
        run_id = self._any_run()
        claim = {"run_id": run_id, "step": "s0", "generation": 1, "attempt": 1, "fence": 1}
        return [
            self.dice.choice(
                (
                    Ask("dance", person("dan"), {}),
                    Ask("decide", person("ann"), {"run_id": run_id, "step": "s0", "generation": "1", "outcome": 3}),
                    Ask("complete", person("dan"), claim | {"output": 1}),
                    Ask("lease", person("olga"), {}),
                    Ask("terminate_run", person("ann"), {"run_id": run_id, "reason": "I may not."}),
                    Ask("start_run", person("bob"), {"definition": "buy", "input": {}}),
                    Ask("pause_run", person("olga"), {"run_id": "r-nowhere", "reason": "Where?"}),
                )
            )
        ]
