"""The sealer: makes changed runs leaves of the tenants' trees and signs what it has written, outside the database."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from datetime import datetime

from signoff.core.states import Actor
from signoff.engine.writer import Writer
from signoff.runtime.keeper import Keeper
from signoff.runtime.pruner import Pruner
from signoff.runtime.service import Service
from signoff.runtime.submit import submit_all
from signoff.store.checkpoints import CheckpointFiles, Signer, body_of
from signoff.store.clock import utc_now
from signoff.store.reads import ledger
from signoff.store.reads.reader import Reader

log = logging.getLogger("signoff.audit")
EVERY_S = 60.0
EVERY_EVENTS = 1000
PRUNE_EVERY_S = 600.0
PAUSE_S = 1.0
BATCH = 20_000
OLD_RUNS = 100
_ACTOR = Actor("system", "sealer", "Sealer", "engine")


class Sealer(Service):
    """Seals after a minute or a thousand events, whichever comes first, and once more when it is closed.

    What stands in the files is compared with the database before anything is added: a database that does not go on
    from its checkpoints was changed or restored, and is not signed until somebody has looked at it. Runs whose time
    is over are removed on this thread too, every ten minutes, since their tombstones are leaves, and keys are replaced.
    """

    name = "sealer"

    def __init__(
        self,
        reader: Reader,
        writer: Writer,
        signer: Signer,
        files: CheckpointFiles,
        now: Callable[[], datetime] = utc_now,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        self._reader, self._writer = reader, writer
        self._signer, self._files = signer, files
        self._clock = clock
        self._pruner = Pruner(reader, writer, now)
        self._keeper = Keeper(reader, writer, signer)
        self._sealed_at = clock()
        self._prune_at = 0.0
        self._old_left = True
        self._written: dict[str, int] = {}

    def work(self) -> float | None:
        """Seal where it is time."""
        waiting = ledger.unsealed_events(self._reader)
        old = ledger.list_unchained(self._reader, OLD_RUNS) if self._old_left else None
        self._old_left = old is not None
        due = waiting > 0 and self._clock() - self._sealed_at >= EVERY_S
        if due or waiting >= EVERY_EVENTS or old is not None:
            self.seal(old)
        self._keeper.work(self._stopping.is_set)
        if self._clock() >= self._prune_at:
            self.prune()
        return 0.0 if old else PAUSE_S

    def seal(self, old: list[str] | None = None) -> None:
        """Write leaves and checkpoints for everything that changed, then sign."""
        if not self._are_ours():
            return
        args = {"origin": self._signer.name, "limit": BATCH, "old": old}
        submit_all(self._writer, _ACTOR, [("seal", "", args)])
        self._sealed_at = self._clock()
        self.sign()

    def prune(self) -> int:
        """Remove runs whose time is over, and sign their tombstones; returns how many runs.

        A checkpoint that an earlier process wrote and did not come to sign is signed first.
        """
        self._prune_at = self._clock() + PRUNE_EVERY_S
        if not self._are_ours():
            return 0
        self.sign()
        return self._pruner.prune(self._signer.name, self.sign, self._stopping.is_set)

    def sign(self) -> None:
        """Append what is not in the files yet."""
        for tenant in ledger.list_tenants(self._reader):
            for number, body in ledger.list_checkpoints(self._reader, tenant, self._written.get(tenant, 0)):
                self._files.add(tenant, self._signer.sign(body))
                self._written[tenant] = number

    def _are_ours(self) -> bool:
        """Whether the files hold checkpoints of this database; looked at once per tenant and start."""
        tenants = {*ledger.list_tenants(self._reader), *self._files.tenants()}
        return all(t in self._written or self._is_ours(t) for t in sorted(tenants))

    def _is_ours(self, tenant: str) -> bool:
        notes = self._files.notes(tenant)
        stored = ledger.list_checkpoints(self._reader, tenant)
        if [body_of(n) for n in notes] != [body for _, body in stored[: len(notes)]]:
            log.error(
                "checkpoints of tenant %s in %s are not those of the database; nothing is signed until that is"
                " explained (`signoff verify` says more)",
                tenant,
                self._files.path(tenant),
            )
            return False
        self._written[tenant] = len(notes)
        return True

    def close(self, timeout_s: float = 5.0) -> None:
        """Stop, and seal what is left."""
        super().close(timeout_s)
        try:
            if ledger.unsealed_events(self._reader):
                self.seal()
        except Exception:  # the database or the writer may be gone; closing goes on
            log.exception("the last checkpoint could not be written; the next start does it")
