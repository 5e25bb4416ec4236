"""The documentation page of states, commands and refusals, written from the tables of `transitions.py`."""

from __future__ import annotations

from signoff.core import commands as c
from signoff.core.definition import StepKind
from signoff.core.states import RunStatus, StepStatus
from signoff.core.transitions import (
    ACCEPTED,
    HELD_TABLE,
    RUN_COMMANDS,
    RUN_MOVES,
    RUN_TABLE,
    STEP_COMMANDS,
    STEP_MOVES,
    STEP_TABLE,
    UNDO_TABLE,
    Row,
)

KINDS = tuple(dict.fromkeys(kind for kind, _ in STEP_TABLE))


def states_page() -> str:
    """The documentation page of states, commands and refusals, in Markdown with Mermaid diagrams."""
    parts = [
        "# States and commands",
        "<!-- Written by `python -m tests.docs.test_states_doc` from signoff/core/transitions.py; do not edit. -->",
        "A run and each of its steps are in exactly one state. Only events change states, and only commands make "
        "events. A command that a state does not allow is refused with a code and a sentence that says what "
        "stands in the way; nothing changes then.",
        "## States of a run",
        _diagram(RUN_MOVES, RunStatus.RUNNING),
        "`succeeded`, `rejected`, `failed`, `cancelled` and `terminated` never change again. A stalled run says why "
        "and what can be done.",
        "## States of a step",
        _diagram(STEP_MOVES, StepStatus.PENDING),
        "## Commands on a run",
        _table("run", [(str(s), row) for s, row in RUN_TABLE.items()], RUN_COMMANDS),
        "## Commands on a step of a running run",
        "`already_known` is the answer to a worker that repeats exactly what was accepted before. Retry and skip are "
        "refused as `already_dealt_with` where an edge handled the bad end, skip as `not_skippable` where the "
        "definition does not allow it.",
        *(_kind_part(kind) for kind in KINDS),
        "## Commands on a step that is undone",
        "While the run is compensated. A compensation that failed stalls the run; retrying tries it again, skipping "
        "says that it was undone by hand.",
        _table("step", [(str(s), row) for s, row in UNDO_TABLE.items()], STEP_COMMANDS),
        "## Commands on steps while the run holds them back",
        "Each command on a step that would accept it in a running run. All runs that are over answer alike.",
        _table("run", [(str(s), row) for s, row in HELD_TABLE.items()], STEP_COMMANDS),
    ]
    return "\n\n".join(parts) + "\n"


def _kind_part(kind: StepKind) -> str:
    rows = [(str(status), row) for (k, status), row in STEP_TABLE.items() if k is kind]
    commands = tuple(x for x in STEP_COMMANDS if any(row[x] != "unknown_step" for _, row in rows))
    return f"### {kind.capitalize()}\n\n{_table('step', rows, commands)}"


def _diagram(
    moves: frozenset[tuple[StepStatus, StepStatus]] | frozenset[tuple[RunStatus, RunStatus]], first: str
) -> str:
    lines = sorted(f"    {a} --> {b}" for a, b in moves)
    return "\n".join(["```mermaid", "stateDiagram-v2", f"    [*] --> {first}", *lines, "```"])


def _table(corner: str, rows: list[tuple[str, Row]], commands: tuple[type[c.Command], ...]) -> str:
    shown = [x for x in commands if any(x in row for _, row in rows)]
    head = f"| {corner} | " + " | ".join(x.__name__ for x in shown) + " |"
    line = "|" + "---|" * (len(shown) + 1)
    body = [f"| **{name}** | " + " | ".join(_cell(row.get(x, "")) for x in shown) + " |" for name, row in rows]
    return "\n".join([head, line, *body])


def _cell(answer: str) -> str:
    return "✓" if answer == ACCEPTED else answer.replace("_", " ")
