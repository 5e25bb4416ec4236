"""Versions on the command line, each command in a process of its own."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.test_cli import Shell, office, shell
from tests.engine.office import Office, ask, call, chain

__all__ = ["office", "shell"]


def test_versions_are_compared_archived_and_restored(office: Office, shell: Shell, tmp_path: Path) -> None:
    old, new = chain("buy", ask("manager"), call("order")), chain("buy", ask("manager"))
    office.publish(old)
    office.publish(new)
    assert "Removed the activity 'Order'." in shell.run("definition", "diff", "buy", "--old", "1", "--new", "2")
    assert "Nothing differs." in shell.run("definition", "diff", "buy")
    files = [tmp_path / "old.json", tmp_path / "new.json"]
    for file, content in zip(files, (old, new), strict=True):
        file.write_text(json.dumps(content), "utf-8")
    changes = json.loads(shell.run("definition", "diff-files", *map(str, files), "--json"))
    assert changes[0]["what"] == "step_removed"
    words = ("definition", "archive", "buy", "--version", "2", "--reason", "wrong")
    assert "New runs use version 1." in shell.run(*words, login="ada")
    assert "is not archived. New runs use version 2." in shell.run(
        "definition", "unarchive", "buy", "--version", "2", "--reason", "right", login="ada"
    )
    assert "as revision 3" in shell.run("definition", "restore", "buy", "1", login="ada")
    assert "takes the role administrator" in shell.run(
        "definition", "delete-version", "buy", "1", "--reason", "tidy", login="ada", status=1
    )
