"""Models of other systems on the command line: printed, saved as drafts, refused by name."""

from __future__ import annotations

import json
from pathlib import Path

from tests.arch.sources import ROOT
from tests.cli.test_cli import Shell, office, shell
from tests.engine.office import Office

__all__ = ["office", "shell"]

MODELS = ROOT / "tests" / "interchange" / "models"
LEAVE = str(MODELS / "leave.bpmn")
LOOP = {
    "StartAt": "A",
    "States": {"A": {"Type": "Pass", "Next": "B"}, "B": {"Type": "Pass", "Next": "A"}},
}


def test_a_model_becomes_a_draft_that_can_be_published(office: Office, shell: Shell) -> None:
    said = shell.run("definition", "import", LEAVE, login="ada")
    assert "note: The way back from 'Approve the leave' to 'Ask for leave'" in said
    assert "Saved 'leave' as revision 1." in said
    drawn = json.loads(shell.run("definition", "show", "leave", "--draft"))
    assert [s["id"] for s in drawn["steps"]][:2] == ["ask_for_leave", "approve_the_leave"]
    assert "leave" in shell.run("definition", "import", LEAVE, login="ada", status=1), "a draft of that name is there"
    assert "Saved 'holiday'" in shell.run("definition", "import", LEAVE, "--name", "holiday", login="ada")


def test_a_dry_run_needs_no_installation_and_saves_nothing(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    for file in sorted(MODELS.iterdir()):
        made = json.loads(shell.run("definition", "import", str(file), "--dry-run", "--json"))
        assert made["document"]["steps"]
        assert made["refusals"] == []
    said = shell.run("definition", "import", LEAVE, "--dry-run", "--format", "bpmn")
    assert '"kind": "approval"' in said


def test_what_cannot_be_expressed_is_refused_by_name(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    file = tmp_path / "loop.json"
    file.write_text(json.dumps(LOOP), "utf-8")
    assert "a loop from 'B' to 'A'" in shell.run("definition", "import", str(file), status=1)
    assert "it is no XML" in shell.run("definition", "import", str(file), "--format", "bpmn", status=1)
    assert "is not known" in shell.run("definition", "import", str(file), "--format", "visio", status=1)
    assert "cannot be read" in shell.run("definition", "import", str(tmp_path / "absent.json"), status=1)
    file.write_text("nothing", "utf-8")
    assert "say which format" in shell.run("definition", "import", str(file), status=1)
