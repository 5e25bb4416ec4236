"""Completing by hand, reassigning and withdrawing on the command line."""

from __future__ import annotations

from tests.cli.test_cli import Shell, office, shell
from tests.engine.office import Office, ask, call, chain

__all__ = ["office", "shell"]


def test_people_and_work_are_stood_in_for(office: Office, shell: Shell) -> None:
    office.connectors.broken.add("order")
    office.publish(chain("buy", ask("manager", required=2), call("order", "flaky")))
    run_id = office.start("buy")
    office.until_step(run_id, "manager", "waiting")
    words = ("--add", "dan", "--remove", "alan", "--reason", "on leave")
    said = shell.run("run", "reassign", run_id, "manager", *words, login="katherine")
    assert "decision of Edith, Grace or Dan" in said
    shell.run("approve", run_id, "manager", login="grace")
    assert "0 of 2" in shell.run("withdraw", run_id, "manager", "--comment", "too early", login="grace")
    for login in ("grace", "edith"):
        shell.run("approve", run_id, "manager", login=login)
    office.until_status(run_id, "stalled")
    refused = shell.run("run", "complete", run_id, "order", login="katherine", status=1)
    assert "Expected a reason to complete step 'Order' by hand" in refused
    done = shell.run(
        "run", "complete", run_id, "order", "--output", '{"n": 1}', "--reason", "by phone", login="katherine"
    )
    assert "The run succeeded" in done
    assert "did 'Order' by hand: by phone" in shell.run("run", "history", run_id)
