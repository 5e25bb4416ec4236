"""The raw limit: SQLite writing the very same rows in the very same batches, with nothing around it.

A recording journal keeps every statement with its rows, commit by commit, while the embedded engine runs
the load; then a bare connection replays them into an empty database of the same schema.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from signoff.connectors.registry import build_registry
from signoff.core.states import Actor
from signoff.engine.handle import Engine
from signoff.engine.request import Request
from signoff.engine.writer import Writer
from signoff.runtime.local import LocalLink
from signoff.runtime.worker import Worker
from signoff.store.clock import utc_now
from signoff.store.dialects import Batch
from signoff.store.dialects.sqlite import open_engine
from signoff.store.journal import Journal
from signoff.store.migrate import upgrade
from tests.bench.load import ADA, TENANT, document

Statement = tuple[str, list[Sequence[Any]]]


class RecordingJournal(Journal):
    """A journal that remembers what it writes."""

    commits: list[list[Statement]]
    recording = False

    def begin(self) -> Any:
        if not hasattr(self, "commits"):
            self.commits = []
        if self.recording:
            self.commits.append([])
        return super().begin()

    def _write(self, batch: Batch) -> list[int]:
        if self.recording:
            self.commits[-1] += [(statement, list(rows)) for statement, rows in batch]
        return super()._write(batch)


def raw_share(folder: Path, *, concurrency: int, count: int) -> tuple[float, float, float]:
    """(engine seconds, raw seconds, share) for the same rows in the same batches."""
    database = _fresh(folder / "engine.db")
    journals: list[RecordingJournal] = []

    def make() -> Engine:
        journals.append(RecordingJournal(database))
        return Engine(journals[0], utc_now, build_registry(("tests.bench.activities",)))

    left = threading.Semaphore(0)
    writer = Writer(make, lambda news: left.release() if news.run_status == "succeeded" else None)
    writer.start()
    _ask(writer, "save_person", {"login": "ada", "roles": ["designer", "publisher", "starter"], "groups": []})
    _ask(writer, "create_draft", {"document": document("python:bench.trivial")}, ADA)
    _ask(writer, "publish", {"name": "bench", "revision": 1}, ADA)
    worker = Worker("bench", LocalLink(writer), build_registry(("tests.bench.activities",)), slots=64)
    worker.start()
    before = _copy(database, folder / "raw.db")
    journals[0].recording = True
    began = time.perf_counter()
    started = 0
    for started in range(min(concurrency, count)):
        _start(writer, started)
    started = min(concurrency, count)
    for _ in range(count):
        left.acquire(timeout=60)
        if started < count:
            _start(writer, started)
            started += 1
    seconds = time.perf_counter() - began
    worker.close()
    writer.close()
    commits = [c for c in journals[0].commits if c]
    database.dispose()
    raw = _replay(before, commits)
    return seconds, raw, raw / seconds


def _fresh(path: Path) -> Any:
    engine = open_engine(path)
    with engine.connect() as connection:
        upgrade(connection)
        connection.commit()
    return engine


def _copy(database: Any, target: Path) -> Any:
    """The database as it is now, for the replay to write into."""
    source = database.raw_connection()
    source.cursor().execute("VACUUM INTO ?", (str(target),))
    source.close()
    return open_engine(target)


def _replay(database: Any, commits: list[list[Statement]]) -> float:
    raw = database.raw_connection()
    cursor = raw.cursor()
    began = time.perf_counter()
    for statements in commits:
        cursor.execute("BEGIN IMMEDIATE")
        for statement, rows in statements:
            cursor.executemany(statement, rows)
        cursor.execute("COMMIT")
    seconds = time.perf_counter() - began
    raw.close()
    database.dispose()
    return seconds


def _ask(writer: Writer, do: str, args: dict[str, Any], actor: Actor | None = None) -> None:
    answered: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    origin = "client" if actor else "engine"
    writer.submit(Request(do, TENANT, actor or Actor("system", "bench"), args, answered.put, origin=origin))
    answer = answered.get(timeout=30)
    assert "ok" in answer, answer


def _start(writer: Writer, number: int) -> None:
    args = {"definition": "bench", "input": {"x": number}}
    writer.submit(Request("start_run", TENANT, ADA, args, lambda answer: None))
