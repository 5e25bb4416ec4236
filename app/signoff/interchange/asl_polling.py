"""A task that is asked again after a pause until a Choice is content: one activity that polls."""

from __future__ import annotations

import copy
from typing import Any

from signoff.interchange.sketch import Sketch

POLL = "Poll"
"""A member that is put into the task: {"choice": its Choice, "back": the wait's name, "seconds", "for": duration}."""


def fold_polling(machine: dict[str, Any], sketch: Sketch) -> dict[str, Any]:
    """The machine without the ways back of its polling loops; the tasks say that they poll."""
    machine = copy.deepcopy(machine)
    states = machine["States"]
    for name, choice in list(states.items()):
        if choice["Type"] == "Choice":
            _fold(states, name, choice, sketch)
    return machine


def _fold(states: dict[str, Any], name: str, choice: dict[str, Any], sketch: Sketch) -> None:
    targets = [*(r.get("Next") for r in choice.get("Choices", ())), choice.get("Default")]
    for wait_name in dict.fromkeys(t for t in targets if t):
        wait = states[wait_name]
        task_name = wait.get("Next")
        task = states.get(task_name, {})
        seconds = wait.get("Seconds")
        fits = wait["Type"] == "Wait" and task.get("Type") == "Task" and task.get("Next") == name
        if not fits or not isinstance(seconds, int) or seconds < 1 or POLL in task:
            continue
        task[POLL] = {"choice": copy.deepcopy(choice), "back": wait_name, "seconds": seconds}
        choice["Choices"] = [r for r in choice["Choices"] if r.get("Next") != wait_name]
        if choice.get("Default") == wait_name:
            del choice["Default"]
        choice[POLL] = True
        limit = min(900 * seconds, 86_400)
        task[POLL]["for"] = f"PT{limit // 3600}H" if limit % 3600 == 0 else f"PT{limit}S"
        sketch.note(
            f"'{task_name}' is asked again every {seconds} s as long as '{name}' would lead back to '{wait_name}', "
            f"for at most {task[POLL]['for']}; the state machine sets no limit."
        )
        if not any(wait_name in _ways(s) for n, s in states.items() if n != name):
            del states[wait_name]
        return


def _ways(state: dict[str, Any]) -> list[Any]:
    listed = [*(state.get("Choices") or ()), *(state.get("Catch") or ())]
    return [state.get("Next"), state.get("Default"), *(x.get("Next") for x in listed)]
