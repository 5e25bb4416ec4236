"""The lease rescuer: a claim whose lease ran out without a heartbeat is reported to the core as lost."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from signoff.core.states import Actor
from signoff.engine.writer import Writer
from signoff.runtime.service import Service
from signoff.runtime.submit import submit_all
from signoff.store.database import Database
from signoff.store.leases import list_expired
from signoff.store.times import to_micros

BATCH = 32
"""So many in one commit, so that whoever asks while a backlog drains waits for few others: see `tests.bench.drain`."""
PAUSE_S = 1.0
_ACTOR = Actor("system", "rescuer", "Lease rescuer", "engine")


class Rescuer(Service):
    """Looks for expired leases. The writer checks each again, since a heartbeat may have come in between."""

    name = "rescuer"

    def __init__(self, reader: Database, writer: Writer, now: Callable[[], datetime]) -> None:
        super().__init__()
        self._reader = reader
        self._writer = writer
        self._now = now

    def work(self) -> float | None:
        """Report expired leases."""
        expired = list_expired(self._reader, to_micros(self._now()), BATCH)
        if expired:
            submit_all(
                self._writer,
                _ACTOR,
                [
                    (
                        "expire_lease",
                        x.tenant,
                        {
                            "run_id": x.public_id,
                            "step": x.step,
                            "generation": x.generation,
                            "attempt": x.attempt,
                            "fence": x.fence,
                            "worker": x.worker,
                        },
                    )
                    for x in expired
                ],
            )
        return 0.0 if len(expired) == BATCH else PAUSE_S
