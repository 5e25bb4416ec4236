"""The sweeper: deletes contents of files that no run has any more and no upload waits for."""

from __future__ import annotations

from signoff.runtime.service import Service
from signoff.store.files import FileStore, folder_of, iter_wanted
from signoff.store.reads.reader import Reader

PAUSE_S = 600.0


class Sweeper(Service):
    """Looks every ten minutes; the rows are read first, so that what comes meanwhile is young and stays."""

    name = "sweeper"

    def __init__(self, reader: Reader, files: FileStore) -> None:
        super().__init__()
        self._reader, self._files = reader, files

    def work(self) -> float | None:
        """Delete what nobody wants."""
        wanted = {(folder_of(tenant), digest) for tenant, digest in iter_wanted(self._reader)}
        self._files.sweep(lambda folder, digest: (folder, digest) in wanted)
        return PAUSE_S
