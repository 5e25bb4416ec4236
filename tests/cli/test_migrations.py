"""`signoff migration` in a process of its own."""

from __future__ import annotations

import json

from tests.cli.test_cli import Shell, office, shell
from tests.engine.office import Office, ask, call, chain

__all__ = ["office", "shell"]


def test_a_plan_goes_from_proposal_to_moved_runs(shell: Shell, office: Office) -> None:
    office.publish(chain("buy", ask("manager"), call("order")))
    run_id = office.start("buy")
    office.publish(chain("buy", ask("boss"), call("order"), policies={"migration": "approved"}))
    words = ("migration", "propose", "buy", "--from", "1", "--to", "2", "--map", "manager=boss")
    assert "reason" in shell.run(*words, login="katherine", status=1)
    assert "is proposed" in shell.run(*words, "--reason", "new wording", login="katherine")
    plan_id = json.loads(shell.run("migration", "list", "--json"))["items"][0]["plan_id"]
    assert "somebody else has approved" in " ".join(
        shell.run("migration", "dry-run", plan_id, login="katherine").split()
    )
    assert "takes the role" in shell.run("migration", "approve", plan_id, login="katherine", status=1)
    assert "is approved" in shell.run("migration", "approve", plan_id, login="ada")
    assert "1 done" in shell.run("migration", "apply", plan_id, "--reason", "go", login="katherine")
    assert office.view(run_id).row.version == 2
    assert "withdrawn" in shell.run("migration", "withdraw", plan_id, "--reason", "over", login="katherine")
    assert "withdrawn" in shell.run("migration", "list")
