"""`signoff limits` in a process of its own."""

from __future__ import annotations

import json

from tests.cli.test_cli import Shell, office, shell
from tests.engine.office import Office, ask, chain

__all__ = ["office", "shell"]


def test_limits_are_shown_and_set(shell: Shell, office: Office) -> None:
    office.running.save_person("mary", roles=("administrator",))
    office.publish(chain("buy", ask("manager")))
    office.start("buy")
    shown = shell.run("limits", "show")
    assert "10000" in shown
    assert "Share" not in shown
    wanted = json.dumps({"open_runs": 1, "pools": {"gpu": {"at_once": 2}}})
    assert "takes the role administrator" in shell.run("limits", "set", wanted, "--reason", "x", login="ada", status=1)
    assert "reason" in shell.run("limits", "set", wanted, login="mary", status=1)
    shell.run("limits", "set", wanted, "--reason", "month end", login="mary")
    shown = shell.run("limits", "show")
    assert "open_runs" in shown
    assert "gpu: 2 at once" in shown
    told = json.loads(shell.run("limits", "show", "--json"))
    assert told["limits"] == json.loads(wanted)
    assert told["used"]["open_runs"] == 1
    assert "1 may be" in shell.run("run", "start", "buy", login="ada", status=1)
