"""Watches over the database file: one that was deleted or replaced stops the engine instead of swallowing commits."""

from __future__ import annotations

import logging
import shutil
from pathlib import Path

from signoff.engine.writer import Writer
from signoff.runtime.service import Service

log = logging.getLogger("signoff.store")
PAUSE_S = 1.0
LITTLE_BYTES = 200_000_000


class StoreWatch(Service):
    """Looks at the file once a second; says once when the disk is nearly full."""

    name = "storewatch"

    def __init__(self, path: Path, writer: Writer) -> None:
        super().__init__()
        self._path = path
        self._writer = writer
        self._known = self._identity()
        self._said = False

    def _identity(self) -> tuple[int, int] | None:
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def work(self) -> float | None:
        """One look."""
        if self._identity() != self._known:
            log.critical("the database %s was deleted or replaced; the engine takes no more requests", self._path)
            why = f"The database '{self._path}' was deleted or replaced while the engine ran."
            self._writer.refuse(f"{why} Stop the engine and restore a backup.")
            return None
        little = shutil.disk_usage(self._path.parent).free < LITTLE_BYTES
        if little and not self._said:
            log.error("less than %d MB are free on the disk of %s", LITTLE_BYTES // 1_000_000, self._path)
        self._said = little
        return PAUSE_S
