"""The relay: hands notices from the outbox to whoever wants them, at least once, after their commit."""

from __future__ import annotations

import logging
from collections.abc import Callable

from signoff.core.states import Actor
from signoff.engine.writer import Writer
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


class Relay(Service):
    """Delivers in order; a notice stays in the outbox until every sink has taken it."""

    name = "relay"

    def __init__(
        self,
        reader: Database,
        writer: Writer,
        sinks: tuple[Deliver, ...] = (log_notice,),
        vault: Vault | None = None,
    ) -> None:
        super().__init__()
        self._vault = vault
        self._reader = reader
        self._writer = writer
        self._sinks = sinks

    def work(self) -> float | None:
        """Deliver what is there."""
        rows = list_outbox(self._reader, BATCH, self._vault)
        done: list[int] = []
        for row in rows:
            try:
                for sink in self._sinks:
                    sink(row)
            except Exception:
                log.exception("notice %s could not be delivered; it stays in the outbox", row.id)
                break
            done.append(row.id)
        if done:
            submit_all(self._writer, _ACTOR, [("delivered", "", {"ids": done})])
        return 0.0 if len(done) == BATCH else PAUSE_S
