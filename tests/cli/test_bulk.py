"""Bulk commands and migration on the command line."""

from __future__ import annotations

import json

from tests.cli.test_cli import Shell, office, shell
from tests.engine.office import Office, ask, call, chain

__all__ = ["office", "shell"]


def test_runs_are_moved_and_cancelled_in_bulk(office: Office, shell: Shell) -> None:
    office.publish(chain("buy", ask("manager"), call("order")))
    runs = [office.start("buy") for _ in range(2)]
    office.publish(chain("buy", ask("boss", label="Manager"), call("order")))
    said = shell.run("run", "migrate", runs[0], "--to", "2", "--dry-run", login="katherine")
    assert "Would move the run to version 2." in said
    assert "1 of 1 can. Nothing was changed." in said
    words = ("--to", "2", "--map", "manager=boss", "--reason", "renamed")
    assert "1 done, 0 refused" in shell.run("run", "migrate", runs[0], *words, login="katherine")
    assert office.view(runs[0]).state.steps["boss"].status == "waiting"
    lost = shell.run("run", "migrate", runs[1], "--to", "2", "--map", "manager=", login="katherine", status=1)
    assert "no such step" in lost
    assert "2 of 2 can" in shell.run("run", "bulk", "cancel", "--definition", "buy", login="katherine")
    done = shell.run(
        "run", "bulk", "cancel", "--version", "1", "--apply", "--reason", "no", "--json", login="katherine"
    )
    assert json.loads(done)["done"] == 1
    assert office.view(runs[1]).row.status == "cancelled"
    assert "Use one of: pause" in shell.run("run", "bulk", "decide", login="katherine", status=1)
    assert "OLD=NEW" in shell.run("run", "bulk", "migrate", "--to", "2", "--map", "x", login="katherine", status=1)
