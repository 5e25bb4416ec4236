"""Kestra flows (YAML) to definitions.

Tasks in a row become steps in a row, Parallel and Dag branches, If and Switch conditions, ForEach over one task an
activity for each item, Subflow a subflow. A Pause that is resumed with values becomes a form, one that only somebody
resumes an approval, one with a duration a wait. Tasks of plugins become activities of the plugin's name.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from signoff.interchange.asl_data import parse_path
from signoff.interchange.cel import path
from signoff.interchange.comparisons import translate_condition
from signoff.interchange.kestra_lists import draw_each
from signoff.interchange.kestra_parts import field_of, in_whole_seconds, iso_duration, plain_call, retry_of
from signoff.interchange.naming import DECIDING, name_of
from signoff.interchange.shaping import finish
from signoff.interchange.sketch import Sketch
from signoff.interchange.translated import CannotExpress, Translated, Unreadable, of_any_form, unreadable
from signoff.interchange.weaving import MAX_DEPTH, Weaver
from signoff.interchange.yaml_text import read_yaml

_PLACE = re.compile(r"\{\{-?\s*(.*?)\s*-?\}\}", re.S)
_SECRET = re.compile(r"\{\{\s*secret\(\s*['\"]([\w-]+)['\"]\s*\)\s*\}\}")
_LEFT_OUT = {
    "triggers": "what starts the flow by itself",
    "concurrency": "how many runs there may be at once",
    "listeners": "what follows a run",
    "afterExecution": "what follows a run",
    "sla": "its service levels",
    "pluginDefaults": "defaults of plugins",
    "taskDefaults": "defaults of plugins",
    "outputs": "its outputs",
    "variables": "its variables, which are inputs now",
    "finally": "what is always done at the end",
    "retry": "how the whole flow is tried again",
}


@of_any_form
def translate(source: str | dict[str, Any], *, name: str = "") -> Translated:
    """A flow as a definition.

    Args:
        source: the YAML text, or what it holds.
        name: of the definition; the flow's own where it is empty.
    """
    try:
        model: Any = read_yaml(source) if isinstance(source, str) else source
    except Unreadable as error:
        return unreadable(str(error))
    if not isinstance(model, dict) or not isinstance(model.get("tasks"), list):
        return unreadable("it has no tasks")
    title = str(model.get("id") or name or "Flow")
    sketch = Sketch(name_of(name or title, "flow"), title[:200], policies={"failure": "fail"})
    for key, what in _LEFT_OUT.items():
        if model.get(key):
            sketch.note(f"The flow says {what}; that is left out.")
    drawing = _Drawing(sketch)
    for given in model.get("inputs") or ():
        if isinstance(given, dict):
            drawing.declare(given)
    drawing.tasks(model["tasks"], 0)
    if isinstance(model.get("errors"), list):
        drawing.on_errors("flow", model["errors"], set(), 0)
    return finish(sketch)


class _Drawing:
    def __init__(self, sketch: Sketch) -> None:
        self.sketch, self.weaver = sketch, Weaver(sketch, _PLACE)
        self.item = False

    def declare(self, given: dict[str, Any]) -> None:
        """One input of the flow."""
        told = field_of(given)
        required = given.get("required", True) is not False
        more = {"options": told["options"]} if "options" in told else {}
        named = str(given.get("id") or given.get("name"))
        self.sketch.kept.add(self.sketch.input(named, told["type"], required=required, **more))
        if "defaults" in given:
            self.sketch.note(f"The input '{named}' has no usual value here: it must be given.")

    def tasks(self, listed: Any, depth: int) -> None:
        """Tasks in a row."""
        if depth > MAX_DEPTH or not isinstance(listed, list):
            self.sketch.refuse("form", "tasks that are nested too deep or in another form")
            return
        for task in listed:
            if not isinstance(task, dict) or not isinstance(task.get("type"), str):
                self.sketch.refuse("form", "a task of another form")
                return
            if self.weaver.over:
                self.sketch.note(f"Nothing leads to '{task.get('id')}'; left out.")
                return
            self._task(str(task.get("id", "task")), task, depth)

    def _task(self, name: str, task: dict[str, Any], depth: int) -> None:
        kind = task["type"].rsplit(".", 1)[-1]
        if task.get("disabled") is True:
            self.sketch.note(f"'{name}' is disabled; left out.")
            return
        if "runIf" in task:
            self._run_if(name, {k: v for k, v in task.items() if k != "runIf"}, str(task["runIf"]), depth)
            return
        draw: dict[str, Callable[[str, dict[str, Any], int], None]] = {
            "Parallel": self._parallel, "Sequential": self._sequence, "WorkingDirectory": self._sequence,
            "AllowFailure": self._allow_failure, "Dag": self._dag, "If": self._if, "Switch": self._switch,
            "Pause": self._pause, "Sleep": self._sleep, "Subflow": self._subflow, "Flow": self._subflow,
            "ForEach": self._each, "EachSequential": self._each, "EachParallel": self._each,
            "ForEachItem": self._refused_loop, "LoopUntil": self._refused_loop, "WaitFor": self._refused_loop,
        }  # fmt: skip
        before = set(self.sketch.nodes)
        draw.get(kind, self._work)(name, task, depth)
        if isinstance(task.get("errors"), list):
            self.on_errors(name, task["errors"], before, depth)

    def resolve(self, text: str) -> str:
        """A name such as `inputs.x` or `outputs.task.value`."""
        parts = parse_path("$." + text) if re.fullmatch(r"[\w.\[\]'\"-]+", text) else ()
        return self._resolved(parts, None)

    def _resolved(self, parts: tuple[str | int, ...], other: Any) -> str:
        match parts:
            case ("inputs", str(field), *rest) | ("vars", str(field), *rest) | ("trigger", str(field), *rest):
                kinds = {bool: "boolean", int: "number", float: "number"}
                wanted = "object" if rest else kinds.get(type(other), "")
                return path(f"input.{self.sketch.input(field, wanted)}", rest)
            case ("execution", "id"):
                return "run.id"
            case ("taskrun", "value", *rest) if self.item:
                return path("item", rest)
            case ("taskrun", "iteration") if self.item:
                return "index"
            case ("outputs", str(task), "onResume", *rest):
                return self.weaver.output_of(task, tuple(rest))
            case ("outputs", str(task), *rest) if task not in self.weaver.fields:
                return self.weaver.output_of(task, tuple(rest))
            case _:
                raise CannotExpress(f"the expression '{'.'.join(map(str, parts))[:60]}'" if parts else "an expression")

    def condition(self, text: Any) -> str:
        """A condition in double braces.

        Raises:
            CannotExpress: it is more than comparisons.
        """
        if isinstance(text, bool):
            return "true" if text else "false"
        match = _PLACE.fullmatch(str(text).strip())
        if not match:
            raise CannotExpress(f"the condition '{str(text)[:60]}'")
        return translate_condition(match[1], self._resolved)

    def _work(self, name: str, task: dict[str, Any], depth: int) -> None:
        self.weaver.add(name, self._call(name, task), label=str(task.get("description") or name))
        if task.get("allowFailure") is True:
            self.weaver.on = "any"

    def _call(self, name: str, task: dict[str, Any]) -> dict[str, Any]:
        connector, given = plain_call(task)
        document: dict[str, Any] = {
            "kind": "activity",
            "connector": connector,
            "input": self.weaver.value(_with_secrets(given), self.resolve, name),
            "retry": retry_of(task.get("retry")),
        }
        if (timeout := iso_duration(task.get("timeout"))) is not None:
            document["timeouts"] = {"run_s": max(1.0, timeout)}
        return document

    def _sequence(self, name: str, task: dict[str, Any], depth: int) -> None:
        self.tasks(task.get("tasks") or [], depth + 1)

    def _allow_failure(self, name: str, task: dict[str, Any], depth: int) -> None:
        before = set(self.sketch.nodes)
        self.tasks(task.get("tasks") or [], depth + 1)
        after = self.weaver.point(f"{name} after")
        for step in [i for i in self.sketch.nodes if i not in before and i != after]:
            node = self.sketch.nodes[step]
            if node.step and node.step["kind"] == "activity" and not self._handled(step):
                self.sketch.link(step, after, "failed")

    def _handled(self, step: str) -> bool:
        return any(x.on in ("failed", "any") for x in self.sketch.out_of(step))

    def _parallel(self, name: str, task: dict[str, Any], depth: int) -> None:
        def draw(one: Any) -> Callable[[], None]:
            return lambda: self.tasks([one], depth + 1)

        self.weaver.branches(name, [("", draw(t)) for t in task.get("tasks") or []], parallel=True)

    def _dag(self, name: str, task: dict[str, Any], depth: int) -> None:
        listed = [t for t in task.get("tasks") or [] if isinstance(t, dict) and isinstance(t.get("task"), dict)]
        fork = self.weaver.point(f"{name} fork")
        ends: dict[str, str] = {}
        begins: dict[str, str] = {}
        for one in listed:
            inner = str(one["task"].get("id"))
            begins[inner] = self.sketch.point(f"{inner} begin", waits_for_all=True).id
            self.weaver.at, self.weaver.on, self.weaver.over = begins[inner], "", False
            self.tasks([one["task"]], depth + 1)
            ends[inner] = self.weaver.at
        join = self.sketch.point(f"{name} join", waits_for_all=True)
        for one in listed:
            inner, wanted = str(one["task"].get("id")), one.get("dependsOn") or []
            for other in wanted if isinstance(wanted, list) else [wanted]:
                if str(other) not in ends:
                    self.sketch.refuse("form", f"the task '{inner}' that depends on '{other}', which does not exist")
                else:
                    self.sketch.link(ends[str(other)], begins[inner])
            if not wanted:
                self.sketch.link(fork, begins[inner])
            self.sketch.link(ends[inner], join.id)
        self.weaver.at, self.weaver.on = join.id, ""

    def _run_if(self, name: str, task: dict[str, Any], condition: str, depth: int) -> None:
        self._branch(name, condition, lambda: self._task(name, task, depth), lambda: None)

    def _branch(self, name: str, told: Any, yes: Callable[[], None], no: Callable[[], None]) -> None:
        try:
            when = self.condition(told)
        except CannotExpress as error:
            self.sketch.note(f"'{name}' depends on {error}: its function answers `true` or `false` as `holds`.")
            step = self.weaver.add(f"{name} decides", {"kind": "activity", "connector": f"python:{name_of(name)}"})
            when = f"steps.{step}.output.holds"
        self.weaver.branches(name, [(when, yes), (f"!({when})", no)])

    def _if(self, name: str, task: dict[str, Any], depth: int) -> None:
        def draw(key: str) -> Callable[[], None]:
            return lambda: self.tasks(task.get(key) or [], depth + 1)

        self._branch(name, task.get("condition"), draw("then"), draw("else"))

    def _switch(self, name: str, task: dict[str, Any], depth: int) -> None:
        told = str(task.get("value"))
        try:
            value = self.weaver.text(told, self.resolve)
            value = value if value.startswith('"') else f"string({value})"
            if _PLACE.search(told) is None:
                value = f'"{name_of(told)}"' if '"' in told else f'"{told}"'
        except CannotExpress as error:
            self.sketch.note(f"'{name}' depends on {error}: its function answers the case as `case`.")
            document = {"kind": "activity", "connector": f"python:{name_of(name)}"}
            value = f"steps.{self.weaver.add(f'{name} decides', document)}.output.case"

        def draw(listed: Any) -> Callable[[], None]:
            return lambda: self.tasks(listed or [], depth + 1)

        cases = {
            str(c).lower() if isinstance(c, bool) else str(c): draw(b) for c, b in (task.get("cases") or {}).items()
        }
        self.weaver.cases(name, value, cases, draw(task.get("defaults")))

    def _pause(self, name: str, task: dict[str, Any], depth: int) -> None:
        asked = [f for f in task.get("onResume") or [] if isinstance(f, dict)]
        limit = task.get("pauseDuration", task.get("timeout", task.get("delay")))
        label = str(task.get("description") or name)
        behavior = str(task.get("behavior", "RESUME"))
        computed = isinstance(limit, str) and _PLACE.search(limit)
        if limit and not computed and iso_duration(in_whole_seconds(limit)) is None:
            self.sketch.refuse("wait", f"the pause '{name}' of '{str(limit)[:40]}'")
            return
        limit = self.weaver.value(limit, self.resolve, name) if computed else in_whole_seconds(limit)
        decides = bool(DECIDING.search(f"{name} {label}"))
        if limit and not asked and behavior == "RESUME" and "timeout" not in task and not decides:
            self.sketch.note(f"'{name}' goes on after its time; that somebody resumes it earlier is left out.")
            self.weaver.add(name, {"kind": "wait", "duration": str(limit)}, label=label)
        else:
            if decides and limit and not asked and behavior == "RESUME":
                behavior = "FAIL"
                self.sketch.note(f"'{name}' would be passed by itself after its time; here silence never approves.")
            if computed:
                self.sketch.note(f"'{name}' waits for ever: its time limit is computed, which only waits may be.")
            self._asking(name, label, asked, "" if computed else str(limit or ""), behavior)
        self.tasks(task.get("tasks") or [], depth + 1)

    def _asking(self, name: str, label: str, asked: list[dict[str, Any]], limit: str, behavior: str) -> None:
        self.sketch.note(f"'{name}' asks the group 'operators'; the flow does not say whom.")
        document: dict[str, Any] = {"kind": "approval", "groups": ["operators"], "instructions": label[:1000]}
        if asked:
            self.weaver.fields[name] = {}
            fields = []
            for told in (field_of(f) for f in asked):
                self.weaver.fields[name][told["foreign"]] = told["name"]
                fields.append({k: v for k, v in told.items() if k != "foreign"})
            document = {"kind": "form", "groups": ["operators"], "instructions": label[:1000], "fields": fields}
        if limit:
            document["expires"] = limit
        step = self.weaver.add(name, document, label=label)
        if limit and behavior in ("RESUME", "WARN"):
            after = self.weaver.point(f"{name} after")
            self.sketch.link(step, after, "expired")
        elif limit and behavior == "CANCEL":
            self.sketch.note(f"Where nobody resumes '{name}' in time, the run fails instead of being cancelled.")

    def _sleep(self, name: str, task: dict[str, Any], depth: int) -> None:
        duration = task.get("duration")
        if isinstance(duration, str) and _PLACE.search(duration):
            duration = self.weaver.value(duration, self.resolve, name)
        elif iso_duration(in_whole_seconds(duration)) is None:
            self.sketch.refuse("wait", f"the pause '{name}' of '{str(duration)[:40]}'")
            return
        self.weaver.add(name, {"kind": "wait", "duration": in_whole_seconds(duration)})

    def _subflow(self, name: str, task: dict[str, Any], depth: int) -> None:
        other = str(task.get("flowId", ""))
        if _PLACE.search(other) or not other:
            self.sketch.refuse("dynamic", f"the flow that '{name}' starts, which only a run decides about")
            return
        if task.get("wait") is False:
            self.sketch.note(f"'{name}' is awaited here; the flow does not wait for it.")
        given = task.get("inputs") if isinstance(task.get("inputs"), dict) else {}
        named = {name_of(str(k), "field"): v for k, v in (given or {}).items()}
        document = {"kind": "subflow", "definition": name_of(other, "flow")}
        self.weaver.add(name, {**document, "input": self.weaver.value(named, self.resolve, name)})
        if task.get("transmitFailed") is False or task.get("allowFailure") is True:
            self.weaver.on = "any"

    def _each(self, name: str, task: dict[str, Any], depth: int) -> None:
        def call(inner: dict[str, Any]) -> dict[str, Any]:
            self.item = True
            try:
                return self._call(name, inner)
            finally:
                self.item = False

        draw_each(self.weaver, name, task, call, self.resolve)

    def _refused_loop(self, name: str, task: dict[str, Any], depth: int) -> None:
        self.sketch.refuse("loop", f"the loop '{name}'", "Let an activity poll, or go through a list with for_each.")

    def on_errors(self, name: str, errors: list[Any], before: set[str], depth: int) -> None:
        """Failures of the steps that were drawn since lead to these tasks, behind which the run fails."""
        drawn = [i for i in self.sketch.nodes if i not in before]
        failing = [
            i for i in drawn if (s := self.sketch.nodes[i].step) and not self._handled(i) and s["kind"] != "wait"
        ]
        kept = self.weaver.at, self.weaver.on, self.weaver.over
        begin = self.sketch.point(f"{name} errors")
        for i in failing:
            step = self.sketch.nodes[i].step or {}
            self.sketch.link(i, begin.id, "failed" if step["kind"] in ("activity", "subflow") else "expired")
        if failing:
            self.weaver.at, self.weaver.on, self.weaver.over = begin.id, "", False
            self.tasks(errors, depth + 1)
            ending = {
                "kind": "activity",
                "connector": "fail",
                "input": {"error": "failed"},
                "retry": {"max_attempts": 1},
            }
            self.weaver.add(f"{name} failed", ending)
        self.weaver.at, self.weaver.on, self.weaver.over = kept


def _with_secrets(value: Any) -> Any:
    """Calls of `secret('NAME')` as references to secrets that are kept outside."""
    if isinstance(value, dict):
        return {k: _with_secrets(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_with_secrets(v) for v in value]
    match = _SECRET.fullmatch(value.strip()) if isinstance(value, str) else None
    return f"secret:{match[1]}" if match else value
