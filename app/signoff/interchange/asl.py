"""AWS Step Functions (Amazon States Language) to definitions.

One state is one step: Task an activity (with a callback: an activity and a signal), Pass an activity that passes on
what it is given, Wait a wait, Fail an activity that fails, a Map over one task an activity for each item. A Choice
becomes the conditions of the connections around it, a Parallel state its branches and a join. A task that is asked
again after a pause until a Choice is content becomes an activity that polls.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from signoff.core.graph import all_cycle_paths
from signoff.interchange.asl_drawing import Draw, Drawing
from signoff.interchange.asl_nested import draw_map, draw_parallel
from signoff.interchange.asl_polling import fold_polling
from signoff.interchange.asl_simple import draw_choice, draw_fail, draw_pass, draw_succeed, draw_wait
from signoff.interchange.asl_tasks import draw_task
from signoff.interchange.naming import name_of
from signoff.interchange.shaping import finish
from signoff.interchange.sketch import Sketch
from signoff.interchange.translated import MAX_CHARS, Translated, of_any_form, unreadable

MAX_STATES = 200
_KINDS: dict[str, Draw] = {
    "Pass": draw_pass,
    "Task": draw_task,
    "Wait": draw_wait,
    "Succeed": draw_succeed,
    "Fail": draw_fail,
    "Choice": draw_choice,
    "Parallel": draw_parallel,
    "Map": draw_map,
}


@of_any_form
def translate(source: str | dict[str, Any], *, name: str = "") -> Translated:
    """A state machine as a definition.

    Args:
        source: the JSON text, or what it holds.
        name: of the definition; made from the machine's comment where it is empty.
    """
    machine: Any = source
    if isinstance(source, str):
        if len(source) > MAX_CHARS:
            return unreadable("it is too long")
        try:
            machine = json.loads(source)
        except (ValueError, RecursionError):
            return unreadable("it is no JSON")
    if not isinstance(machine, dict) or not isinstance(machine.get("States"), dict):
        return unreadable("it has no states")
    if wrong := next(_wrong_forms(machine), ""):
        return unreadable(wrong)
    title = str(machine.get("Comment") or name or "State machine")
    sketch = Sketch(name_of(name or title, "machine"), " ".join(title.split())[:200] or "State machine")
    sketch.policies = {"failure": "fail"}
    if isinstance(machine.get("TimeoutSeconds"), int) and machine["TimeoutSeconds"] > 0:
        sketch.policies |= {"deadline": f"PT{machine['TimeoutSeconds']}S", "on_deadline": "fail"}
    sketch.inputs["data"] = {"name": "data", "label": "Input of the state machine", "type": "object"}
    machine = fold_polling(machine, sketch)
    if _refuse_loops(machine, sketch):
        return Translated(None, tuple(sketch.refusals), tuple(sketch.notes))
    drawing = Drawing(sketch, str(machine.get("QueryLanguage", "JSONPath")), _KINDS)
    drawing.draw(machine)
    return finish(sketch)


def nexts_of(state: dict[str, Any]) -> list[str]:
    """Names of the states that can follow."""
    found = [state.get("Next"), state.get("Default")]
    found += [r.get("Next") for r in state.get("Choices") or () if isinstance(r, dict)]
    found += [c.get("Next") for c in state.get("Catch") or () if isinstance(c, dict)]
    return [str(n) for n in found if n is not None]


def _machines(machine: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The machine and those in its Parallel and Map states."""
    yield machine
    for state in machine["States"].values():
        inner = [*(state.get("Branches") or ()), state.get("Iterator"), state.get("ItemProcessor")]
        for below in inner:
            if isinstance(below, dict) and isinstance(below.get("States"), dict):
                yield from _machines(below)


def _wrong_forms(machine: dict[str, Any], depth: int = 0) -> Iterator[str]:
    """Why it is no machine; the rest may then take its form for granted."""
    states = machine.get("States")
    if depth > 10 or not isinstance(states, dict) or len(states) > MAX_STATES:
        yield "its states are nested or too many"
        return
    if machine.get("StartAt") not in states:
        yield "it does not say at which of its states it starts"
    for name, state in states.items():
        if not isinstance(state, dict) or not isinstance(state.get("Type"), str):
            yield f"'{name[:60]}' is no state"
            return
        listed = [state.get(k) or [] for k in ("Choices", "Catch", "Retry", "Branches")]
        if not all(isinstance(x, list) and all(isinstance(i, dict) for i in x) for x in listed):
            yield f"'{name[:60]}' has a part of another form"
            return
        yield from (
            f"'{n[:60]}', which '{name[:60]}' leads to, does not exist" for n in nexts_of(state) if n not in states
        )
        inner = [*(state.get("Branches") or ()), state.get("Iterator"), state.get("ItemProcessor")]
        for below in inner:
            if below is not None:
                yield from (
                    _wrong_forms(below, depth + 1) if isinstance(below, dict) else ["it has a part of another form"]
                )


def _refuse_loops(machine: dict[str, Any], sketch: Sketch) -> bool:
    for one in _machines(machine):
        graph = {n: list(dict.fromkeys(nexts_of(s))) for n, s in one["States"].items()}
        for path in all_cycle_paths(graph):
            ring = path[:-1]
            first = next((n for n in _from_start(one, graph) if n in ring), ring[0])
            last = ring[ring.index(first) - 1]
            remedy = "Let an activity poll, let for_each go through a list, or let a person send the work back."
            sketch.refuse("loop", f"a loop from '{last}' to '{first}'", remedy)
    return bool(sketch.refusals)


def _from_start(machine: dict[str, Any], graph: dict[str, list[str]]) -> list[str]:
    seen, todo = [], [machine["StartAt"]]
    while todo:
        name = todo.pop(0)
        if name not in seen:
            seen.append(name)
            todo += graph[name]
    return seen
