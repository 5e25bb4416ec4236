"""What the chain of hashes and encryption cost: the same work in one process, with and without, turn by turn.

``python -m tests.bench.proofs [--rounds N] [--count RUNS]`` prints it alone; `make bench` has it as well.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from signoff.connectors.registry import build_registry
from signoff.engine.handle import Engine
from signoff.engine.writer import Writer
from signoff.runtime.local import LocalLink
from signoff.runtime.worker import Worker
from signoff.store.clock import utc_now
from signoff.store.journal import Journal
from signoff.store.keyring import Keyring
from signoff.store.ledger import Ledger
from signoff.store.rows import Rows
from signoff.store.vault import Vault
from tests.bench.figures import median
from tests.bench.load import ADA, STEPS, document
from tests.bench.raw import _ask, _fresh, _start

GOAL = 0.10
KINDS = ("none", "chain", "chain and encryption")


class NoLedger(Ledger):
    """Writes events as they are: no secret, no commitment, no hash, no ciphertext."""

    def chain(self, rows: Rows) -> list[tuple[Any, ...]]:
        """Only what the schema wants."""
        written = []
        for pk, seq, kind, version, step, at, body, _ in rows.events:
            written.append((pk, seq, kind, version, step, at, body, None, None, None, None))
        rows.events = written
        return []


def measured(folder: Path, kind: str, *, concurrency: int, count: int) -> tuple[float, float]:
    """(steps per second, processor microseconds per step) of an engine with its worker in this process."""
    folder.mkdir()
    database, vault = _fresh(folder / "signoff.db"), Vault(Keyring(folder / "keys.json"))

    def make() -> Engine:
        journal = Journal(database, vault)
        if kind == "none":
            journal.ledger = NoLedger(journal, vault)
        return Engine(journal, utc_now, build_registry(("tests.bench.activities",)))

    left = threading.Semaphore(0)
    writer = Writer(make, lambda news: left.release() if news.run_status == "succeeded" else None)
    writer.start()
    worked = document("python:bench.trivial")
    worked["input"][0]["sensitive"] = kind == "chain and encryption"
    _ask(writer, "save_person", {"login": "ada", "roles": ["designer", "publisher", "starter"], "groups": []})
    _ask(writer, "create_draft", {"document": worked}, ADA)
    _ask(writer, "publish", {"name": "bench", "revision": 1}, ADA)
    worker = Worker("bench", LocalLink(writer), build_registry(("tests.bench.activities",)), slots=64)
    worker.start()
    busy, began, started = time.process_time(), time.perf_counter(), min(concurrency, count)
    for number in range(started):
        _start(writer, number)
    for _ in range(count):
        assert left.acquire(timeout=60), "a run did not end"
        if started < count:
            _start(writer, started)
            started += 1
    seconds, busy = time.perf_counter() - began, time.process_time() - busy
    worker.close()
    writer.close()
    database.dispose()
    return count * STEPS / seconds, busy / (count * STEPS) * 1e6


def overhead(folder: Path, *, rounds: int, count: int, concurrency: int = 64) -> dict[str, tuple[float, float]]:
    """Median steps per second, and processor microseconds per step, by kind, measured in turns."""
    found: dict[str, list[tuple[float, float]]] = {kind: [] for kind in KINDS}
    for n in range(rounds):
        for kind in KINDS[n % 3 :] + KINDS[: n % 3]:  # nobody is always first
            place = folder / f"{n}-{kind.replace(' ', '-')}"
            found[kind].append(measured(place, kind, concurrency=concurrency, count=count))
    return {kind: (median([v[0] for v in values]), median([v[1] for v in values])) for kind, values in found.items()}


def told(found: dict[str, tuple[float, float]]) -> list[list[str]]:
    """Rows for the table of `make bench`: with, without, and the share that it costs."""
    (speed, busy), rows = found["none"], []
    for kind in KINDS[1:]:
        name = f"64 at a time in one process, {kind} (beside it: without)"
        for what, value, bare, lost in (
            ("steps/s", found[kind][0], speed, 1 - found[kind][0] / speed),
            ("processor µs per step", found[kind][1], busy, found[kind][1] / busy - 1),
        ):
            verdict = "within" if lost <= GOAL else "beyond"
            words = f"costs {lost:.1%}, {verdict} the goal of {GOAL:.0%}"
            rows.append([f"{what}, {name}", f"{value:,.0f}", f"{bare:,.0f}", words])
    return rows


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--count", type=int, default=200)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = overhead(Path(folder), rounds=options.rounds, count=options.count)
    for row in told(found):
        print(*row, sep=" | ")


if __name__ == "__main__":
    main()
