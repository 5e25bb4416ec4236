"""Trial runs on the command line: no installation is needed."""

from __future__ import annotations

import json
from pathlib import Path

from tests.arch.sources import ROOT
from tests.cli.test_cli import Shell

PURCHASE = str(ROOT / "assets" / "templates" / "purchase_approval.json")


def test_a_definition_is_tried_from_a_file(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    said = shell.run("definition", "trial", PURCHASE)
    assert "Manager approves" in said
    assert "The run is succeeded after" in said
    assert "was put before Managers 1, Managers 2, Managers 3 until 2027-01-" in said
    done = json.loads(shell.run("definition", "trial", PURCHASE, "--choose", "manager_approval=rejected", "--json"))
    assert done["status"] == "rejected"
    assert done["history"][0] == "Starter started the run with version 0."
    failed = shell.run("definition", "trial", PURCHASE, "--fail", "place_order=http_503")
    assert "The run is stalled" in failed
    script = json.dumps({"answers": {"place_order": [{"error": "boom"}, {"output": {"status": 200}, "after": 5}]}})
    assert json.loads(shell.run("definition", "trial", PURCHASE, "--script", script, "--json"))["status"] == "succeeded"


def test_what_cannot_be_tried_is_said(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    assert "is missing" in shell.run("definition", "trial", PURCHASE, "--input", "{}", status=1)
    assert "names no step" in shell.run("definition", "trial", PURCHASE, "--choose", "nobody=x", status=1)
    assert "unknown part" in shell.run("definition", "trial", PURCHASE, "--script", '{"x": 1}', status=1)
    bad = json.dumps({"answers": {"place_order": [{"nothing": 1}]}})
    assert "Use after, error" in shell.run("definition", "trial", PURCHASE, "--script", bad, status=1)
    file = tmp_path / "bad.json"
    file.write_text(json.dumps({"name": "x", "steps": [], "edges": []}), "utf-8")
    assert "nothing was tried" in shell.run("definition", "trial", str(file), status=1)
