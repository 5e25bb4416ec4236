"""The command line against a real installation, each command in a process of its own."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from signoff.cli.context import save_settings
from signoff.connectors.call import ActivityError, Call
from signoff.runtime.lock import EngineLock
from signoff.store.dialects.sqlite import sqlite_module
from signoff.wiring import Settings, listen, open_embedded
from tests.engine.office import PEOPLE, Connectors, Office, ask, call, chain


class Shell:
    """Runs `signoff …` on a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def run(self, *words: str, login: str = "", status: int = 0) -> str:
        """The output of a command; asserts its exit status."""
        environment = {**os.environ, "SIGNOFF_DATA": str(self.folder), "SIGNOFF_USER": login, "COLUMNS": "180"}
        done = subprocess.run(
            [sys.executable, "-m", "signoff.cli.main", *words],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        output = done.stdout + done.stderr
        assert done.returncode == status, output
        assert "Traceback" not in output
        return output


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    folder = tmp_path / "data"
    settings = Settings(folder)
    connectors = Connectors()
    save_settings(settings)
    with open_embedded(folder, connectors=connectors) as running:
        listen(running, settings)
        for login, (roles, groups) in PEOPLE.items():
            running.save_person(login, name=login.title(), roles=roles, groups=groups)
        yield Office(running, connectors, folder)


@pytest.fixture
def shell(office: Office) -> Shell:
    return Shell(office.folder)


def test_a_whole_story_from_the_shell(shell: Shell, office: Office, tmp_path: Path) -> None:
    file = tmp_path / "buy.json"
    fields = [{"name": "amount", "type": "number"}]
    file.write_text(json.dumps(chain("buy", ask("manager"), call("order", "flaky"), input=fields)), "utf-8")
    assert "can be published" in shell.run("definition", "validate", str(file))
    assert "revision 1" in shell.run("definition", "save", str(file), login="ada")
    assert "version 1 with digest sha256:" in shell.run("definition", "publish", "buy", login="ada")
    assert "same content as version 1" in shell.run("definition", "publish", "buy", login="ada")
    office.connectors.broken.add("order")
    start = ("run", "start", "buy", "--input", '{"amount": 5}', "--key", "k")
    run_id = shell.run(*start, login="ada").strip()
    assert "started before" in shell.run(*start, login="ada")
    office.until_step(run_id, "manager", "waiting")
    assert run_id in shell.run("inbox", login="grace")
    assert "own" not in shell.run("approve", run_id, "manager", "--comment", "fine", login="grace")
    office.until_status(run_id, "stalled")
    assert "order is broken" in shell.run("run", "show", run_id)
    assert "Expected a reason" in shell.run("run", "skip", run_id, "order", login="katherine", status=1)
    shell.run("run", "skip", run_id, "order", "--reason", "by hand", "--output", '{"n": 1}', login="katherine")
    assert office.view(run_id).row.status == "succeeded"
    history = json.loads(shell.run("run", "history", run_id, "--json"))
    assert [e["sequence"] for e in history] == list(range(1, len(history) + 1))
    assert {e["data"]["actor"]["channel"] for e in history if "actor" in e["data"]} == {"cli"}
    assert "succeeded" in shell.run("run", "list", "--status", "succeeded")


def test_what_is_wrong_with_a_file_is_said_without_an_engine(tmp_path: Path) -> None:
    """The same sentences as everywhere else."""
    file = tmp_path / "bad.json"
    document = chain("bad", *({"id": f"s{i}", "kind": "wait", "duration": "PT1H"} for i in range(21)))
    file.write_text(json.dumps(document), "utf-8")
    output = Shell(tmp_path / "nothing").run("definition", "validate", str(file), status=1)
    assert "21 steps; at most 20 are allowed" in output
    assert "'S20'" in output
    file.write_text("{nonsense", "utf-8")
    assert "is not JSON" in Shell(tmp_path).run("definition", "validate", str(file), status=1)
    assert "cannot be read" in Shell(tmp_path).run("definition", "validate", str(tmp_path / "no.json"), status=1)


def test_one_may_not_approve_ones_own_request(shell: Shell, office: Office) -> None:
    """C05 from the shell."""
    office.running.save_person("grace", roles=("approver", "starter"), groups=("managers",))
    office.publish(chain("buy", ask("manager")))
    run_id = office.start("buy", by="grace")
    office.until_step(run_id, "manager", "waiting")
    assert "You started this run" in shell.run("approve", run_id, "manager", login="grace", status=1)
    assert office.evidence(run_id) == ["own_request"]


def test_rejecting_needs_a_comment(shell: Shell, office: Office) -> None:
    office.publish(chain("buy", ask("manager")))
    run_id = office.start("buy")
    office.until_step(run_id, "manager", "waiting")
    assert "comment" in shell.run("reject", run_id, "manager", login="grace", status=1)
    shell.run("reject", run_id, "manager", "--comment", "too dear", login="grace")
    assert office.view(run_id).row.status == "rejected"


@pytest.mark.parametrize(
    ("words", "login", "sentence"),
    [
        (("run", "show", "r-none"), "", "There is no run 'r-none'"),
        (("run", "pause", "r-none", "--reason", "x"), "", "Nobody was named"),
        (("run", "pause", "r-none", "--reason", "x"), "ada", "takes the role operator"),
        (("run", "start", "ghost"), "ada", "there is none"),
        (("run", "start", "ghost", "--input", "[]"), "ada", "must be a JSON object"),
        (("definition", "publish", "ghost"), "ada", "no draft 'ghost'"),
    ],
)
def test_errors_are_sentences(shell: Shell, words: tuple[str, ...], login: str, sentence: str) -> None:
    assert sentence in shell.run(*words, login=login, status=1)


def test_the_doctor_names_the_sqlite_that_runs(shell: Shell) -> None:
    output = shell.run("doctor")
    assert "free of the WAL-reset bug" in output
    assert "The engine answers." in output
    assert "BAD" not in output


def test_a_folder_without_an_installation_is_said_plainly(tmp_path: Path) -> None:
    assert "is not a data folder" in Shell(tmp_path / "none").run("run", "list", status=1)


def test_beyond_loopback_up_refuses_without_tls(tmp_path: Path) -> None:
    shell = Shell(tmp_path / "x")
    assert "without TLS" in shell.run("up", "--host", "0.0.0.0", status=1)
    assert "must be exact" in shell.run("up", "--origin", "*", status=1)
    assert not (tmp_path / "x").exists()


def test_the_first_account_of_a_new_installation(tmp_path: Path) -> None:
    folder = tmp_path / "new"
    command = [sys.executable, "-m", "signoff.cli.main", "person", "add", "ada", "--role", "administrator"]
    environment = {**os.environ, "SIGNOFF_DATA": str(folder)}
    done = subprocess.run(
        command,
        input="secret word\nsecret word\n",
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert "Account 'ada' is saved." in done.stdout
    assert "secret word" not in done.stdout + done.stderr
    with open_embedded(folder, slots=0) as running:
        assert running.signoff.sign_in("default", "ada", "secret word")["login"] == "ada"


def test_accounts_are_changed_by_an_administrator_while_the_engine_runs(office: Office, tmp_path: Path) -> None:
    office.running.save_person("mary", roles=("administrator",))
    lock = EngineLock(office.folder)
    lock.acquire(0.0, threading.Event())
    environment = {**os.environ, "SIGNOFF_DATA": str(office.folder)}
    try:
        for who, status in (("ada", 1), ("mary", 0)):
            command = [
                sys.executable,
                "-m",
                "signoff.cli.main",
                "person",
                "add",
                "eve",
                "--role",
                "starter",
                "--as",
                who,
            ]
            done = subprocess.run(
                command,
                input="pw pw\npw pw\n",
                env=environment,
                capture_output=True,
                text=True,
                check=False,
                timeout=60,
            )
            assert done.returncode == status, done.stderr
    finally:
        lock.release()
    assert office.signoff.sign_in("default", "eve", "pw pw")["login"] == "eve"


def test_verify_and_replay_prove_the_database(office: Office, shell: Shell) -> None:
    office.publish(chain("works", call("a"), ask("p")))
    run_id = office.start("works")
    office.until_step(run_id, "p", "waiting")
    assert "equal byte for byte" in shell.run("run", "replay", run_id)
    assert json.loads(shell.run("run", "replay", run_id, "--json"))["equal"] is True
    assert "everything is as it must be" in shell.run("verify")
    damaged = sqlite_module().connect(str(office.folder / "signoff.db"))
    damaged.execute("DELETE FROM approval_person WHERE login = 'grace'")
    damaged.commit()
    damaged.close()
    assert f"roster_differs: {run_id}: " in shell.run("verify", status=1)
    (finding,) = json.loads(shell.run("verify", "--json", status=1))["findings"]
    assert finding["code"] == "roster_differs"
    assert "equal byte for byte" in shell.run("run", "replay", run_id, status=1)
    assert "There is no run" in shell.run("run", "replay", "r-none", status=1)


@pytest.mark.parametrize("happened", [True, False])
def test_what_became_of_a_lost_call_is_said_from_the_shell(shell: Shell, office: Office, happened: bool) -> None:
    def lose(call: Call) -> None:
        raise ActivityError("The answer was lost.", code="outcome_unknown")

    office.connectors["lose"] = lose
    office.publish(chain("pay", call("pay", "lose", effect="at_most_once")))
    run_id = office.start("pay")
    office.until_status(run_id, "stalled")
    words = ("--happened", "--output", '{"id": 7}') if happened else ("--did-not-happen",)
    shell.run("run", "resolve", run_id, "pay", *words, "--reason", "asked the bank", login="katherine")
    types = office.types(run_id)
    assert ("effect.confirmed" if happened else "effect.denied") in types


def test_a_form_is_filled_in_from_the_command_line(office: Office, shell: Shell) -> None:
    form = {"id": "details", "kind": "form", "groups": ["managers"], "fields": [{"name": "n", "type": "integer"}]}
    office.publish(chain("buy", {**form, "prefill": {"n": 4}}))
    run_id = shell.run("run", "start", "buy", login="ada").split()[0]
    assert "form" in shell.run("inbox", login="grace")
    shown = shell.run("submit", run_id, "details", login="grace")
    assert "integer" in shown
    assert "4" in shown
    assert "Field 'n'" in shell.run("submit", run_id, "details", "--values", '{"n": "x"}', login="grace", status=1)
    assert "succeeded" in shell.run("submit", run_id, "details", "--values", '{"n": 5}', login="grace")


def test_files_are_given_by_their_paths(office: Office, shell: Shell, tmp_path: Path) -> None:
    file = {"type": "file", "options": [".txt"]}
    form = {"id": "details", "kind": "form", "groups": ["managers"], "fields": [{"name": "list", **file}]}
    office.publish(
        chain("buy", form, ask("manager", fields=[{"name": "copy", **file}]), input=[{"name": "offer", **file}])
    )
    text, other = tmp_path / "an offer.txt", tmp_path / "an offer.exe"
    text.write_bytes(b"cheap")
    other.write_bytes(b"cheap")
    start = ("run", "start", "buy")
    assert "NAME=PATH" in shell.run(*start, "--file", "offer", login="ada", status=1)
    assert "cannot be read" in shell.run(*start, "--file", "offer=nowhere.txt", login="ada", status=1)
    twice = ("--input", '{"offer": 1}', "--file", f"offer={text}")
    assert "given twice" in shell.run(*start, *twice, login="ada", status=1)
    assert "ending that is allowed" in shell.run(*start, "--file", f"offer={other}", login="ada", status=1)
    run_id = shell.run(*start, "--file", f"offer={text}", login="ada").split()[0]
    office.until_step(run_id, "details", "waiting")
    assert "'Manager'" in shell.run("submit", run_id, "details", "--file", f"list={text}", login="grace")
    office.until_step(run_id, "manager", "waiting")
    assert "Field 'copy'" in shell.run("approve", run_id, "manager", login="grace", status=1)
    shell.run("approve", run_id, "manager", "--file", f"copy={text}", login="grace")
    outputs = office.view(run_id).state.outputs
    given = {"file": f"sha256:{hashlib.sha256(b'cheap').hexdigest()}", "name": "an offer.txt", "size": 5}
    assert outputs["manager"]["values"]["copy"] == {**given, "type": "text/plain"}
    assert "everything is as it must be" in shell.run("verify")


def test_messages_from_the_command_line(office: Office, shell: Shell) -> None:
    office.publish(chain("sell", {"id": "paid", "kind": "signal", "signal": "payment"}))
    run_id = shell.run("run", "start", "sell", "--business-key", "K-1", login="ada").split()[0]
    assert "payment" in shell.run("run", "show", run_id)
    sent = shell.run("signal", "send", "payment", "--key", "K-1", "--payload", '{"n": 1}', "--id", "m", login="ada")
    assert f"m used by step 'paid' of {run_id}" in sent
    assert "later kept" in shell.run("signal", "send", "payment", "--key", "K-1", "--id", "later", login="ada")
    assert "later" in shell.run("signal", "list", "--status", "kept")
    words = ("signal", "discard", "payment", "--key", "K-1", "--id", "later", "--reason", "twice")
    assert "discarded" in shell.run(*words, login="katherine")
    assert "everything is as it must be" in shell.run("verify")


def test_a_child_names_its_parent_on_the_command_line(office: Office, shell: Shell) -> None:
    office.publish(chain("inner", ask("manager")))
    office.publish(chain("outer", {"id": "sub", "kind": "subflow", "definition": "inner"}))
    run_id = shell.run("run", "start", "outer", login="ada").split()[0]
    child = office.view(run_id).state.steps["sub"].child
    assert child in shell.run("run", "show", run_id)
    assert f"Started by step 'sub' of the run {run_id}." in shell.run("run", "show", child)
    assert "everything is as it must be" in shell.run("verify")
