"""The relay: hands notices from the outbox to whoever wants them, at least once, after their commit."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Any

from signoff.core.states import Actor
from signoff.engine.notice_requests import REQUESTER
from signoff.engine.writer import Writer
from signoff.runtime.notice_settings import NoticeSettings
from signoff.runtime.service import Service
from signoff.runtime.submit import submit_all
from signoff.store.database import Database
from signoff.store.leases import OutboxRow, list_outbox
from signoff.store.vault import Vault

log = logging.getLogger("signoff.notices")
BATCH = 256
PAUSE_S = 1.0
_ACTOR = Actor("system", "relay", "Relay", "engine")
Deliver = Callable[[OutboxRow], None]


def log_notice(row: OutboxRow) -> None:
    """The sink that is always there: one log line per notice, without payloads."""
    log.info("%s run=%s step=%s", row.topic, row.public_id, row.step)


def people_of(row: OutboxRow, *, tell_requester: bool) -> list[str]:
    """Who gets a mail about a notice: those it asks; of the end of a run whoever started it."""
    asked = row.data.get("roster", row.data.get("people"))
    if row.step and isinstance(asked, list):
        return [str(p) for p in asked]
    return [REQUESTER] if row.topic == "run.ended" and tell_requester else []


def letters_of(rows: Iterable[OutboxRow], settings: NoticeSettings) -> list[dict[str, Any]]:
    """The letters to plan, each notice with its receivers by sink (None: the chat tool itself)."""
    found = []
    for row in rows:
        to: dict[str, list[str] | None] = {
            f"hook:{h.name}": None for h in settings.hooks if not h.topics or row.topic in h.topics
        }
        people = people_of(row, tell_requester=settings.tell_requester) if settings.mail else []
        if people:
            to["mail"] = people
        if to:
            generation = row.data.get("generation")
            found.append(
                {
                    "id": row.id,
                    "run_id": row.public_id,
                    "step": row.step,
                    "topic": row.topic,
                    "generation": generation if isinstance(generation, int) else 0,
                    "to": to,
                }
            )
    return found


class Relay(Service):
    """Delivers in order; a notice stays in the outbox until every sink has taken it.

    Sinks must not wait for the network: what goes to people and chat tools is planned as letters in the commit that
    takes the notice out, and sent by the postman.
    """

    name = "relay"

    def __init__(
        self,
        reader: Database,
        writer: Writer,
        sinks: tuple[Deliver, ...] = (log_notice,),
        vault: Vault | None = None,
        settings: NoticeSettings | None = None,
    ) -> None:
        super().__init__()
        self._vault = vault
        self._reader = reader
        self._writer = writer
        self._sinks = sinks
        self._settings = settings or NoticeSettings()
        self.on_letters: Callable[[], None] = lambda: None

    def work(self) -> float | None:
        """Deliver what is there."""
        rows = list_outbox(self._reader, BATCH, self._vault)
        done: list[OutboxRow] = []
        for row in rows:
            try:
                for sink in self._sinks:
                    sink(row)
            except Exception:
                log.exception("notice %s could not be delivered; it stays in the outbox", row.id)
                break
            done.append(row)
        if done:
            letters = letters_of(done, self._settings)
            args = {"ids": [row.id for row in done], "letters": letters}
            submit_all(self._writer, _ACTOR, [("delivered", "", args)])
            if letters:
                self.on_letters()
        return 0.0 if len(done) == BATCH else PAUSE_S
