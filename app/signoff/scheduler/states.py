"""The states of a task and the table of transitions between them: the one source of both code and diagram.

``TRANSITIONS`` is what the state diagram in the guide is drawn from (``state_diagram``) and what the tests hold
every observed change of state against. The scheduler stores a state as a small code in a byte array; ``waiting``
has no code of its own: it is ``pending`` with a dependency that nobody submitted yet.
"""

from enum import StrEnum
from typing import Final, NamedTuple


class TaskState(StrEnum):
    """Where a task (one generation of one id) stands. The last four are terminal."""

    WAITING = "waiting"
    PENDING = "pending"
    READY = "ready"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    BLOCKED = "blocked"
    CANCELLED = "cancelled"

    @property
    def is_terminal(self) -> bool:
        """Whether nothing can change this state any more."""
        return self in TERMINAL


TERMINAL: Final = frozenset({TaskState.SUCCEEDED, TaskState.FAILED, TaskState.BLOCKED, TaskState.CANCELLED})

PENDING: Final = 0
READY: Final = 1
RUNNING: Final = 2
SUCCEEDED: Final = 3
FAILED: Final = 4
BLOCKED: Final = 5
CANCELLED: Final = 6

STATE_OF_CODE: Final = (
    TaskState.PENDING,
    TaskState.READY,
    TaskState.RUNNING,
    TaskState.SUCCEEDED,
    TaskState.FAILED,
    TaskState.BLOCKED,
    TaskState.CANCELLED,
)


class Transition(NamedTuple):
    """One allowed change: from which state (None: the submission itself), to which, and on what occasion."""

    source: TaskState | None
    target: TaskState
    occasion: str


TRANSITIONS: Final = (
    Transition(None, TaskState.WAITING, "submit: a dependency is not submitted yet"),
    Transition(None, TaskState.PENDING, "submit: a dependency is unfinished"),
    Transition(None, TaskState.READY, "submit: nothing to wait for"),
    Transition(None, TaskState.BLOCKED, "submit: a required dependency already ended badly"),
    Transition(TaskState.WAITING, TaskState.PENDING, "the last missing dependency is submitted"),
    Transition(TaskState.WAITING, TaskState.BLOCKED, "a required dependency failed, was blocked or cancelled"),
    Transition(TaskState.WAITING, TaskState.CANCELLED, "cancel, close or a newer generation"),
    Transition(TaskState.PENDING, TaskState.WAITING, "add_dependency on a task not submitted yet"),
    Transition(TaskState.PENDING, TaskState.READY, "the last dependency succeeded or, if optional, ended"),
    Transition(TaskState.PENDING, TaskState.BLOCKED, "a required dependency failed, was blocked or cancelled"),
    Transition(TaskState.PENDING, TaskState.CANCELLED, "cancel, close or a newer generation"),
    Transition(TaskState.READY, TaskState.RUNNING, "ready: claimed, once"),
    Transition(TaskState.READY, TaskState.CANCELLED, "cancel, close or a newer generation"),
    Transition(TaskState.RUNNING, TaskState.SUCCEEDED, "complete"),
    Transition(TaskState.RUNNING, TaskState.FAILED, "fail"),
    Transition(TaskState.RUNNING, TaskState.CANCELLED, "the function confirms that it stopped"),
)

ALLOWED: Final = frozenset((change.source, change.target) for change in TRANSITIONS)


def state_diagram() -> str:
    """Draw ``TRANSITIONS`` as a Mermaid state diagram (text, ends with a newline)."""
    lines = ["stateDiagram-v2"]
    for change in TRANSITIONS:
        source = "[*]" if change.source is None else change.source.value
        lines.append(f"    {source} --> {change.target.value}: {change.occasion.replace(':', ' –')}")
    lines += [f"    {state.value} --> [*]" for state in TaskState if state.is_terminal]
    return "\n".join(lines) + "\n"
