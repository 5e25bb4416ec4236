"""The scheduler guide: its examples run, and its diagram is the one the transition table gives."""

import re
from pathlib import Path

import pytest

from signoff.scheduler import TaskScheduler
from signoff.scheduler.states import TaskState, state_diagram

GUIDE = Path(__file__).resolve().parents[2] / "assets" / "docs" / "scheduler.md"
DIAGRAM = re.compile(r"(<!-- state diagram: .*? -->\n```mermaid\n)(.*?)(```\n<!-- end of the state diagram -->)", re.S)
EXAMPLES = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.S)


def test_there_are_three_examples() -> None:
    assert len(EXAMPLES) == 3


@pytest.mark.parametrize("example", EXAMPLES, ids=["by hand", "run", "other graphs"])
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
    methods = [name for name in vars(TaskScheduler) if not name.startswith("_")]
    missing = [name for name in (*methods, *TaskState) if name not in text]
    assert missing == []


def write_diagram() -> None:
    """Put the current diagram into the guide."""
    text = GUIDE.read_text(encoding="utf-8")
    GUIDE.write_text(DIAGRAM.sub(lambda match: match[1] + state_diagram() + match[3], text), encoding="utf-8")


if __name__ == "__main__":
    write_diagram()
