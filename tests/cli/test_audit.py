"""`signoff audit …` against a running engine, and the printed verifier without one."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from signoff.cli.context import save_settings
from signoff.cli.main import app
from signoff.runtime.sealer import Sealer
from signoff.wiring import Settings, listen, start_engine
from tests.engine.office import PEOPLE, TENANT, Connectors, Office, call, chain, person


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    """An engine that the command line reaches over its socket."""
    settings = Settings(tmp_path / "data")
    with start_engine(settings, connectors=Connectors()) as running:
        for login, (roles, groups) in {**PEOPLE, "vera": (["auditor"], []), "root": (["administrator"], [])}.items():
            running.save_person(login, name=login.title(), roles=roles, groups=groups)
        save_settings(settings)
        listen(running, settings)
        yield Office(running, Connectors(), settings.folder)


def run(office: Office, *words: str, login: str = "vera", status: int = 0) -> str:
    done = CliRunner().invoke(app, ["audit", *words], env={"SIGNOFF_DATA": str(office.folder), "SIGNOFF_USER": login})
    assert done.exit_code == status, done.output
    return done.output


def test_retention_is_counted_before_it_is_set(office: Office) -> None:
    office.publish(chain("works", call("a")))
    words = ("retention", "set", "--days", "30", "--most", "90")
    assert "30 days (rule of the tenant)" in " ".join(run(office, *words, "--dry-run").split())
    assert "kept for ever" in run(office, "retention", "show")
    assert "reason" in run(office, *words, login="root", status=1)
    assert "takes the role administrator" in run(office, *words, "--reason", "x", status=1)
    run(office, *words, "--reason", "the law", login="root")
    assert "days: 30 days, most: 90 days" in run(office, "retention", "show")
    told = json.loads(run(office, "retention", "show", "--json"))
    assert told["retention"] == {"days": 30, "most": 90}
    assert [(x["definition"], x["days"], x["due"]) for x in told["preview"]] == [("works", 30, 0)]
    assert "No run was removed" in run(office, "retention", "tombstones")


def test_an_auditor_needs_nothing_but_the_export(office: Office, tmp_path: Path) -> None:
    office.publish(chain("works", call("a")))
    run_id = office.start("works")
    office.signoff.do("cancel_run", *_operator(), run_id=run_id, reason="test", seen_sequence=None)
    next(s for s in office.running.services if isinstance(s, Sealer)).seal()
    bundle, program = tmp_path / "all.jsonl", tmp_path / "verify.py"
    run(office, "export", "--all", "--out", str(bundle))
    program.write_text(run(office, "verifier"), "utf-8")
    key = run(office, "key").strip()
    done = subprocess.run(
        [sys.executable, "-I", str(program), str(bundle), "--key", key], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "nothing is wrong" in run(office, "verify", str(bundle), "--key", key)
    text = bundle.read_text("utf-8")
    bundle.write_text(text.replace('"run.started"', '"run.startled"'), "utf-8")
    assert "altered" in run(office, "verify", str(bundle), "--key", key, status=17)
    page = run(office, "export", run_id, "--html")
    assert "<script" not in page
    assert run_id in page
    run(office, "export", status=1)
    run(office, "export", run_id, login="ada", status=1)


def test_content_is_erased_and_keys_are_rotated(office: Office, tmp_path: Path) -> None:
    office.publish(chain("works", call("a")))
    run_id = office.start("works")
    assert "still running" in run(office, "erase", run_id, "--reason", "asked for", login="root", status=1)
    office.signoff.do("cancel_run", *_operator(), run_id=run_id, reason="test", seen_sequence=None)
    run(office, "hold", run_id, "--reason", "lawsuit", login="root")
    assert "lawsuit" in run(office, "erase", run_id, "--reason", "asked for", login="root", status=1)
    run(office, "hold", run_id, "--reason", "over", "--end", login="root")
    assert "1 old keys were destroyed" in run(office, "rotate-keys", "--reason", "yearly", login="root")
    run(office, "erase", run_id, "--reason", "asked for", login="root")
    run(office, "rotate-keys", "--signing", "--reason", "yearly", login="root")
    listed = [(k["what"], k["state"]) for k in json.loads(run(office, "keys", "--json"))["keys"]]
    assert listed == [(what, state) for what in ("tenant", "signing") for state in ("current", "retired")]
    assert "Expected a reason" in run(office, "rotate-keys", login="root", status=1)
    next(s for s in office.running.services if isinstance(s, Sealer)).seal()
    bundle = tmp_path / "one.jsonl"
    run(office, "export", run_id, "--out", str(bundle))
    assert "erased-ok" in run(office, "verify", str(bundle), "--key", run(office, "key").split()[0])
    assert "erased at" in run(office, "export", run_id, "--html")


def _operator() -> tuple[Any, str]:
    return person("katherine"), TENANT
