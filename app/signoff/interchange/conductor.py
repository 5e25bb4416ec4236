"""Conductor workflows (JSON) to definitions.

Tasks in a row become steps in a row; SWITCH and DECISION conditions of connections, FORK_JOIN branches, WAIT a wait or
a signal, HUMAN a form, SUB_WORKFLOW a subflow, TERMINATE an end. Tasks that run code become activities of the same
name: their code is not carried over.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from signoff.interchange.asl_data import parse_path
from signoff.interchange.cel import path
from signoff.interchange.comparisons import translate_condition
from signoff.interchange.naming import name_of
from signoff.interchange.shaping import PASS, finish
from signoff.interchange.sketch import Sketch
from signoff.interchange.translated import MAX_CHARS, CannotExpress, Translated, of_any_form, unreadable
from signoff.interchange.weaving import MAX_DEPTH, Weaver

_PLACE = re.compile(r"\$\{([^{}]*)\}")
_CODE = {"INLINE", "LAMBDA", "JSON_JQ_TRANSFORM"}
_UNITS = {"d": "D", "day": "D", "days": "D", "h": "H", "hour": "H", "hours": "H", "hrs": "H", "m": "M", "min": "M"} | {
    "mins": "M", "minute": "M", "minutes": "M", "s": "S", "sec": "S", "secs": "S", "second": "S", "seconds": "S",
}  # fmt: skip
_REFUSED = {
    "FORK_JOIN_DYNAMIC": "branches that only a run decides about",
    "DYNAMIC": "a task that only a run chooses",
    "PULL_WORKFLOW_MESSAGES": "a queue of messages",
}


@of_any_form
def translate(source: str | dict[str, Any], *, name: str = "") -> Translated:
    """A workflow as a definition.

    Args:
        source: the JSON text, or what it holds.
        name: of the definition; the workflow's own where it is empty.
    """
    model: Any = source
    if isinstance(source, str):
        if len(source) > MAX_CHARS:
            return unreadable("it is too long")
        try:
            model = json.loads(source)
        except (ValueError, RecursionError):
            return unreadable("it is no JSON")
    if not isinstance(model, dict) or not isinstance(model.get("tasks"), list):
        return unreadable("it has no tasks")
    title = str(model.get("name") or name or "Workflow")
    sketch = Sketch(name_of(name or title, "workflow"), title[:200], policies={"failure": "fail"})
    seconds = model.get("timeoutSeconds")
    if isinstance(seconds, int) and seconds > 0:
        fail = model.get("timeoutPolicy") == "TIME_OUT_WF"
        sketch.policies |= {"deadline": f"PT{seconds}S", **({"on_deadline": "fail"} if fail else {})}
    if model.get("failureWorkflow"):
        sketch.note(f"The workflow '{model['failureWorkflow']}' is not started where this one fails.")
    if model.get("outputParameters"):
        sketch.note("The outputs of the workflow are left out; those of its last steps are its results.")
    drawing = _Drawing(sketch, json.dumps(model))
    for given in model.get("inputParameters") or ():
        sketch.kept.add(sketch.input(str(given)))
    drawing.tasks(model["tasks"], 0)
    return finish(sketch)


class _Drawing:
    def __init__(self, sketch: Sketch, text: str) -> None:
        self.sketch, self.weaver, self.text = sketch, Weaver(sketch, _PLACE), text
        self.variables: dict[str, str] = {}

    def tasks(self, listed: Any, depth: int) -> None:
        """Tasks in a row."""
        if depth > MAX_DEPTH or not isinstance(listed, list):
            self.sketch.refuse("form", "tasks that are nested too deep or in another form")
            return
        number = 0
        while number < len(listed):
            task = listed[number]
            if not isinstance(task, dict):
                self.sketch.refuse("form", "a task of another form")
                return
            if self.weaver.over:
                self.sketch.note(f"Nothing leads to '{_name(task)}'; left out.")
                return
            self._task(task, depth)
            number += 1

    def _task(self, task: dict[str, Any], depth: int) -> None:
        name, kind = _name(task), str(task.get("type", "SIMPLE"))
        if task.get("startDelay"):
            self.weaver.add(name, {"kind": "wait", "duration": f"PT{task['startDelay']}S"}, share="delay")
        if kind in _REFUSED:
            self.sketch.refuse("dynamic", f"{_REFUSED[kind]}: '{name}'")
            return
        draw: dict[str, Callable[[str, dict[str, Any], int], None]] = {
            "SWITCH": self._switch, "DECISION": self._switch, "FORK_JOIN": self._fork, "DO_WHILE": self._do_while,
            "JOIN": self._join, "EXCLUSIVE_JOIN": self._join, "WAIT": self._wait, "HUMAN": self._human,
            "USER_TASK": self._work, "SUB_WORKFLOW": self._subflow, "TERMINATE": self._terminate, "NOOP": self._noop,
            "SET_VARIABLE": self._set, "HTTP_POLL": self._poll,
        }  # fmt: skip
        draw.get(kind, self._work)(name, task, depth)

    def resolve(self, text: str) -> str:
        """A reference such as `workflow.input.x` or `task.output.y`."""
        parts = parse_path("$." + text) if re.fullmatch(r"[\w.\[\]'\"-]+", text) else ()
        match parts:
            case ("workflow", "input", str(field), *rest):
                return path(f"input.{self.sketch.input(field, 'object' if rest else '')}", rest)
            case ("workflow", "variables", str(variable), *rest) if variable in self.variables:
                return path(self.variables[variable], rest)
            case ("workflow", "workflowId"):
                return "run.id"
            case (str(task), "output", *rest):
                return self.weaver.output_of(task, tuple(rest))
            case _:
                raise CannotExpress(f"the reference '{text[:60]}'")

    def _given(self, name: str, task: dict[str, Any]) -> dict[str, Any]:
        made = self.weaver.value(task.get("inputParameters") or {}, self.resolve, name)
        return made if isinstance(made, dict) else {}

    def _work(self, name: str, task: dict[str, Any], depth: int) -> None:
        kind = str(task.get("type", "SIMPLE"))
        given = self._given(name, task)
        connector = f"python:{name_of(str(task.get('name') or name))}"
        if kind == "HTTP":
            asked = given.get("http_request", given)
            asked = asked if isinstance(asked, dict) else {}
            names = {"uri": "url", "method": "method", "body": "json", "headers": "headers"}
            given, connector = {names[k]: v for k, v in asked.items() if k in names}, "http"
        elif kind in _CODE:
            self.sketch.note(f"'{name}' runs code, which is not carried over: install it as '{connector}'.")
            given = {k: v for k, v in given.items() if k not in ("expression", "scriptExpression", "evaluatorType")}
        elif kind not in ("SIMPLE", "USER_TASK"):
            connector = f"python:{name_of(kind)}"
        definition = task.get("taskDefinition") or {}
        document: dict[str, Any] = {"kind": "activity", "connector": connector, "input": given}
        count = task.get("retryCount", definition.get("retryCount", 3))
        if isinstance(count, int):
            document["retry"] = {
                "max_attempts": min(count, 50) + 1,
                "initial_s": float(definition.get("retryDelaySeconds") or 60),
                "multiplier": 2.0 if definition.get("retryLogic") == "EXPONENTIAL_BACKOFF" else 1.0,
            }
        if isinstance(definition.get("responseTimeoutSeconds"), int) and definition["responseTimeoutSeconds"] > 0:
            document["timeouts"] = {"run_s": float(definition["responseTimeoutSeconds"])}
        self.weaver.add(name, document)
        if task.get("optional"):
            self.weaver.on = "any"

    def _poll(self, name: str, task: dict[str, Any], depth: int) -> None:
        given = self._given(name, task)
        asked = given.get("http_request", given)
        asked = asked if isinstance(asked, dict) else {}
        until = str(asked.get("terminationCondition", ""))
        every = asked.get("pollingInterval")
        try:
            condition = translate_condition(
                until.replace("$.output.", "").replace("$.", ""), lambda parts, _: path("answer", parts)
            )
        except CannotExpress as error:
            self.sketch.refuse("polling", f"the polling '{name}' that depends on {error}")
            return
        seconds = int(str(every)) if str(every).isdigit() and int(str(every)) else 60
        self.sketch.note(f"'{name}' is asked for at most {900 * seconds} s; the workflow sets no limit.")
        names = {"uri": "url", "method": "method", "body": "json"}
        document = {
            "kind": "activity",
            "connector": "http",
            "input": {names[k]: v for k, v in asked.items() if k in names},
        }
        poll = {"until": condition.replace("answer.response.", "answer."), "every": f"PT{seconds}S"}
        self.weaver.add(name, {**document, "poll": {**poll, "for": f"PT{900 * seconds}S"}})

    def _noop(self, name: str, task: dict[str, Any], depth: int) -> None:
        self.weaver.add(name, {"kind": "activity", "connector": PASS})

    def _set(self, name: str, task: dict[str, Any], depth: int) -> None:
        step = self.weaver.add(name, {"kind": "activity", "connector": PASS, "input": self._given(name, task)})
        for variable in task.get("inputParameters") or {}:
            self.variables[str(variable)] = path(f"steps.{step}.output", [str(variable)])

    def _terminate(self, name: str, task: dict[str, Any], depth: int) -> None:
        given = task.get("inputParameters") or {}
        if str(given.get("terminationStatus", "COMPLETED")) != "FAILED":
            self.weaver.add(name, {"kind": "activity", "connector": PASS})
            if depth:
                self.sketch.note(f"'{name}' ends its own branch only.")
        else:
            reason = self.weaver.value(str(given.get("terminationReason") or ""), self.resolve, name)
            ending = {"error": "terminated", "cause": reason}
            document = {"kind": "activity", "connector": "fail", "input": ending, "retry": {"max_attempts": 1}}
            self.weaver.add(name, document)
        self.weaver.end()

    def _wait(self, name: str, task: dict[str, Any], depth: int) -> None:
        given = task.get("inputParameters") or {}
        if duration := given.get("duration"):
            iso = _duration(str(duration))
            if not iso:
                self.sketch.refuse("wait", f"the wait '{name}' of '{duration}'")
                return
            self.weaver.add(name, {"kind": "wait", "duration": iso})
        elif until := given.get("until"):
            self.weaver.add(name, {"kind": "wait", "until": self.weaver.value(until, self.resolve, name)})
        else:
            self.weaver.add(name, {"kind": "signal", "signal": name_of(name)})

    def _human(self, name: str, task: dict[str, Any], depth: int) -> None:
        self.sketch.note(f"'{name}' asks the group 'operators'; the workflow does not say whom.")
        shown = {k: v for k, v in self._given(name, task).items() if not k.startswith("__")}
        fields = self.weaver.fields_of(name, re.findall(rf"\$\{{{re.escape(name)}\.output\.(\w+)", self.text))
        document = {"kind": "form", "groups": ["operators"], "shows": shown, "fields": fields}
        self.weaver.add(name, document, label=str(task.get("name") or name))

    def _subflow(self, name: str, task: dict[str, Any], depth: int) -> None:
        told = task.get("subWorkflowParam") or {}
        other = told.get("name") if isinstance(told, dict) else None
        if not isinstance(other, str) or "${" in other:
            self.sketch.refuse("dynamic", f"the workflow that '{name}' starts, which only a run decides about")
            return
        names = {k: name_of(k, "field") for k in task.get("inputParameters") or {}}
        given = {names.get(k, k): v for k, v in self._given(name, task).items()}
        self.weaver.add(name, {"kind": "subflow", "definition": name_of(other, "workflow"), "input": given})
        if task.get("optional"):
            self.weaver.on = "any"

    def _join(self, name: str, task: dict[str, Any], depth: int) -> None:
        """Branches come together behind their fork already."""

    def _fork(self, name: str, task: dict[str, Any], depth: int) -> None:
        listed = [b for b in task.get("forkTasks") or [] if isinstance(b, list)]

        def draw(branch: list[Any]) -> Callable[[], None]:
            return lambda: self.tasks(branch, depth + 1)

        self.weaver.branches(name, [("", draw(b)) for b in listed], parallel=True)

    def _switch(self, name: str, task: dict[str, Any], depth: int) -> None:
        cases = task.get("decisionCases") or {}
        chosen = task.get("expression") or task.get("caseValueParam") or ""
        given = task.get("inputParameters") or {}
        code = task.get("evaluatorType") not in (None, "value-param") or task.get("caseExpression")
        try:
            told = given.get(chosen, "")
            if code or not isinstance(told, str) or not _PLACE.fullmatch(told):
                raise CannotExpress(f"the code '{str(task.get('caseExpression') or chosen)[:60]}'")
            value = f"string({self.resolve(told[2:-1])})"
            if set(cases) <= {"true", "false"}:
                value = f'({value[7:-1]} in [true, "true"] ? "true" : "false")'
        except CannotExpress as error:
            self.sketch.note(f"'{name}' depends on {error}: its function answers the case as `case`.")
            step = self.weaver.add(
                name, {"kind": "activity", "connector": f"python:{name_of(name)}", "input": self._given(name, task)}
            )
            value = f"steps.{step}.output.case"
        drawn = {str(c): self._drawer(b, depth) for c, b in cases.items()}
        self.weaver.cases(name, value, drawn, self._drawer(task.get("defaultCase") or [], depth))

    def _drawer(self, tasks: Any, depth: int) -> Callable[[], None]:
        return lambda: self.tasks(tasks, depth + 1)

    def _do_while(self, name: str, task: dict[str, Any], depth: int) -> None:
        remedy = "Let an activity poll, or go through a list with for_each."
        self.sketch.refuse("loop", f"the loop '{name}'", remedy)


def _name(task: dict[str, Any]) -> str:
    return str(task.get("taskReferenceName") or task.get("name") or "task")


def _duration(text: str) -> str:
    """`10 minutes`, `1h 30m` and `5s` in ISO 8601; empty where it is none of these."""
    found = re.findall(r"(\d+)\s*([a-zA-Z]+)", text)
    if not found or re.sub(r"(\d+)\s*([a-zA-Z]+)", "", text).strip() or any(u.lower() not in _UNITS for _, u in found):
        return ""
    parts = [(n, _UNITS[u.lower()]) for n, u in found]
    days = "".join(f"{n}D" for n, u in parts if u == "D")
    times = "".join(f"{n}{u}" for n, u in parts if u != "D")
    return f"P{days}" + (f"T{times}" if times else "")
