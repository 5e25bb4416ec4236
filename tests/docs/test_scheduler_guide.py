"""The scheduler guide: its examples run, and its diagram is the one the transition table gives."""

import re
from pathlib import Path

import pytest

from signoff.scheduler import DurableTaskScheduler, TaskScheduler
from signoff.scheduler.states import TaskState, state_diagram
from signoff.scheduler.stored.version import LEASE_TRANSITIONS

GUIDE = Path(__file__).resolve().parents[2] / "assets" / "docs" / "scheduler.md"
DIAGRAM = re.compile(r"(<!-- state diagram: .*? -->\n```mermaid\n)(.*?)(```\n<!-- end of the state diagram -->)", re.S)
EXAMPLES = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.S)


def test_there_are_four_examples() -> None:
    assert len(EXAMPLES) == 4


@pytest.mark.parametrize("example", EXAMPLES, ids=["by hand", "run", "other graphs", "durable"])
def test_an_example_runs(example: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(example, str(GUIDE), "exec"), {"__name__": "guide"})
    if "print(" in example:
        assert capsys.readouterr().out == "doing load\ndoing clean\ndoing report\n"


def test_the_diagram_is_current() -> None:
    found = DIAGRAM.search(GUIDE.read_text(encoding="utf-8"))
    assert found is not None
    assert found[2] == state_diagram(), "run: python -m tests.docs.test_scheduler_guide"


def test_the_guide_names_every_state_and_every_method() -> None:
    text = GUIDE.read_text(encoding="utf-8")
    methods = [name for of in (TaskScheduler, DurableTaskScheduler) for name in vars(of) if not name.startswith("_")]
    missing = [name for name in (*methods, *TaskState) if name not in text]
    assert missing == []


def test_the_guide_names_what_leases_add_to_the_states() -> None:
    text = GUIDE.read_text(encoding="utf-8")
    for change in LEASE_TRANSITIONS:
        assert f"{change.source} → {change.target}: {change.occasion}" in text


def test_both_forms_have_the_same_names() -> None:
    """What only one of them has is said in the guide."""
    memory, durable = ({name for name in vars(of) if name[0] != "_"} for of in (TaskScheduler, DurableTaskScheduler))
    assert memory - durable == {"subscribe", "attach_stop", "run"}
    assert durable - memory == {"renew", "advance"}


def write_diagram() -> None:
    """Put the current diagram into the guide."""
    text = GUIDE.read_text(encoding="utf-8")
    GUIDE.write_text(DIAGRAM.sub(lambda match: match[1] + state_diagram() + match[3], text), encoding="utf-8")


if __name__ == "__main__":
    write_diagram()
