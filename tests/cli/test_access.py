"""Tokens, sessions and letters on the command line."""

from __future__ import annotations

import json

from signoff.runtime.notice_settings import load_notice_settings
from tests.cli.test_cli import Shell, office, shell
from tests.engine.office import TENANT, Office

__all__ = ["office", "shell"]


def test_tokens_are_made_listed_and_revoked(office: Office, shell: Shell) -> None:
    office.running.save_person("root", roles=("administrator",), password="x")
    office.running.save_person("robot", roles=("starter",), kind="service")
    said = shell.run("token", "create", "orders", "--scope", "start_run", "--for", "robot", login="root")
    secret = said.splitlines()[0].strip()
    assert secret.startswith("sgn_")
    caller = office.signoff.queries.find_caller(secret)
    assert caller is not None
    assert (caller.login, caller.kind, caller.may) == ("robot", "service", {"start_run"})
    listed = shell.run("token", "list", "--for", "robot")
    assert "orders" in listed
    assert secret not in listed
    refused = shell.run("token", "create", "x", "--scope", "pause_run", "--for", "robot", login="root", status=1)
    assert "may not do this without a token either" in refused
    assert "revoked" in shell.run("token", "revoke", str(caller.token), login="root")
    assert office.signoff.queries.find_caller(secret) is None


def test_sessions_are_shown_and_ended(office: Office, shell: Shell) -> None:
    office.running.save_person("grace", roles=None, groups=None, password="secret")
    session = office.signoff.sign_in(TENANT, "grace", "secret", agent="A telephone")["session"]
    assert "A telephone" in shell.run("sessions", login="grace")
    assert "1 session ended." in shell.run("sessions", "--end", login="grace")
    assert office.signoff.queries.find_session(session) is None


def test_letters_are_set_up_with_references_to_secrets_only(office: Office, shell: Shell) -> None:
    words = (
        "letters",
        "setup",
        "--address",
        "https://signoff.example.org",
        "--host",
        "mail.example.org",
        "--user",
        "us",
    )
    assert "A password is given as env:NAME" in shell.run(*words, "--password", "hunter2", status=1)
    assert "Mail is set up." in shell.run(*words, "--password", "env:MAIL")
    hook = ("letters", "hook", "ops", "--url", "env:CHAT", "--secret", "env:CHAT_SECRET", "--topic", "run.stalled")
    assert "set up" in shell.run(*hook)
    found = load_notice_settings(office.folder)
    assert found.mail is not None
    assert (found.mail.password, found.hooks[0].topics) == ("env:MAIL", ("run.stalled",))
    assert json.loads(shell.run("letters", "list", "--json"))["items"] == []
    assert "There is no such letter" in shell.run(
        "letters", "retry", "17", "--reason", "x", login="katherine", status=1
    )
    assert "removed" in shell.run("letters", "hook", "ops", "--remove")
