"""An office whose people get mail from a real mail server on loopback."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import EmailMessage
from pathlib import Path
from typing import Any

from signoff.core.states import Actor
from signoff.runtime.notice_settings import (
    MailSettings,
    NoticeSettings,
    load_notice_settings,
    save_notice_settings,
)
from signoff.runtime.postman import open_postman
from signoff.runtime.relay import Relay
from signoff.wiring import Settings, open_vault
from tests.engine.office import PEOPLE, TENANT, Office, ask, chain, open_office
from tests.notices.smtp import Mailbox

ADDRESS = "http://localhost:8600"
BUY = chain("buy", ask("manager", shows={"Amount": "=input.amount"}), input=[{"name": "amount", "type": "number"}])


@contextmanager
def mailing_office(folder: Path, box: Mailbox, *, mail: dict[str, Any] | None = None, **more: Any) -> Iterator[Office]:
    """An office with mail, sent by `deliver`; `more` are further notice settings, `now` and `services` the engine's."""
    options = {"services": False} | {name: more.pop(name) for name in ("now", "services") if name in more}
    settings = MailSettings("127.0.0.1", box.port, "none", sender="Signoff <signoff@office.example>", **(mail or {}))
    folder.mkdir(parents=True, exist_ok=True)
    save_notice_settings(folder, NoticeSettings(**{"public_address": ADDRESS, "mail": settings, **more}))
    with open_office(folder, **options) as office:
        for login in PEOPLE:
            office.running.save_person(login, roles=None, groups=None, email=f"{login}@office.example", password="demo")
        yield office


def waiting(office: Office, document: dict[str, Any] = BUY, **values: Any) -> str:
    """A run that waits for its managers."""
    office.publish(document)
    run_id = office.start(document["name"], **(values or {"amount": 5}))
    office.until_step(run_id, "manager", "waiting")
    return run_id


def deliver(office: Office) -> None:
    """One round of the relay and of the postman, by hand: everything that is due now goes out."""
    running = office.running
    settings = load_notice_settings(office.folder)
    now = running.signoff.queries._now
    Relay(running.reader, running.writer, settings=settings, vault=open_vault(Settings(office.folder))).work()
    postman = open_postman(running.reader, running.writer, now, settings, office.folder)
    postman.work()
    postman.close()


def mails(office: Office, box: Mailbox) -> list[EmailMessage]:
    """All mails so far, after everything due was sent."""
    deliver(office)
    return box.messages()


def text_of(message: EmailMessage) -> str:
    """What a text client shows."""
    body = message.get_body(("plain",))
    assert body is not None
    return str(body.get_content()).replace("\r\n", "\n")


def tokens(messages: list[EmailMessage]) -> dict[str, str]:
    """The newest link token of each receiver, by login."""
    found = {}
    for message in messages:
        if link := re.search(r"/link#([\w-]+)", text_of(message)):
            found[str(message["To"]).split("<")[-1].split("@")[0].strip("<")] = link[1]
    return found


def by_link(office: Office, who: str, token: str, run_id: str, outcome: str = "approved", **more: Any) -> Any:
    """A decision through a link, as the web process sends it."""
    task = office.signoff.queries.find_task(TENANT, who, run_id, "manager")
    read = task or office.signoff.queries.find_link(TENANT, token)
    seen = {"generation": read.generation, "shown_digest": read.shown_digest} if read else {"generation": 1}
    step = more.pop("step", "manager")
    tenant = more.pop("tenant", TENANT)
    args = {**seen, "comment": "", **more}
    return office.signoff.decide(
        Actor("person", who, channel="link"), tenant, run_id, step, outcome, link=token, **args
    )
