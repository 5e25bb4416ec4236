"""``python -m tests.bench.large``: what the engine and its pages cost as the tables grow, and how soon it is back.

A thousand to a million waiting runs in one SQLite file; claim, scan for due timers, inbox and list of runs at each
size; the start of an engine process on the least and on the most, up to its first answer; bytes on disk.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from signoff.cli.context import save_settings
from signoff.core.states import Actor
from signoff.engine.handle import Engine
from signoff.engine.queries import Queries
from signoff.engine.request import Request
from signoff.engine.views import Page
from signoff.store.clock import utc_now
from signoff.store.database import open_database
from signoff.store.dialects.sqlite import open_engine
from signoff.store.journal import Journal
from signoff.store.leases import list_due, next_due
from signoff.store.reads.reader import Reader
from signoff.store.times import to_micros
from signoff.wiring import Settings, open_remote, open_vault
from tests.bench.crowd import ADA, POOL, TENANT, Crowd, gather
from tests.bench.figures import machine, median, table, versions

ROOT = Path(__file__).parents[2]
SIZES = (1_000, 10_000, 100_000, 1_000_000)
TIMES, PAGE_SIZE = 21, 50
QUESTIONS = (
    "claim of one waiting call",
    "scan for due timers",
    "first page of an inbox",
    "number beside the inbox",
    "first page of the runs of a definition",
    "first page of the waiting runs",
    "search for a business key",
    "page of one run",
)


def milliseconds(ask: Callable[[], object]) -> float:
    """Median of processor time and what the disk adds, after one call that warms up."""
    ask()
    found = []
    for _ in range(TIMES):
        began = time.perf_counter()
        ask()
        found.append((time.perf_counter() - began) * 1e3)
    return median(found)


def full(page: Page[Any]) -> None:
    """An empty page would be quick, too."""
    assert len(page.items) == PAGE_SIZE, page


def questions(settings: Settings) -> list[float]:
    """What each question costs in this database, in milliseconds, in the order of `QUESTIONS`."""
    vault = open_vault(settings)
    database, reading = open_engine(settings.database), open_database(settings.where, read_only=True)
    engine = Engine(Journal(database, vault), utc_now, {"python:bench.trivial"})
    queries = Queries(Reader(reading, vault), utc_now, {}, [])
    claimed: list[Any] = []
    count = 0

    def claim() -> None:
        nonlocal count
        count += 1
        worker = Actor("system", f"w{count}", channel="worker")
        offer = Request("offer", "", worker, {"pools": [POOL], "free": 1}, lambda answer: None, origin="worker")
        offer.context = claimed.append
        out = engine.process([offer])
        assert len(out.tasks) == 1, out.answers
        engine.process([Request("withdraw", "", worker, {}, lambda answer: None, origin="worker")])

    def scan() -> None:
        assert (due := list_due(reading, to_micros(utc_now()), 256)) == [], due[:2]
        next_due(reading)

    asked = queries.list_runs(TENANT, definition="asked", limit=1).items[0].run_id
    key = queries.list_runs(TENANT, definition="asked", limit=1).items[0].business_key
    try:
        return [
            milliseconds(claim),
            milliseconds(scan),
            milliseconds(lambda: full(queries.list_inbox(TENANT, "max"))),
            milliseconds(lambda: queries.count_inbox(TENANT, "max")),
            milliseconds(lambda: full(queries.list_runs(TENANT, definition="asked"))),
            milliseconds(lambda: full(queries.list_runs(TENANT, status="running"))),
            milliseconds(lambda: queries.list_runs(TENANT, text=key)),
            milliseconds(lambda: queries.get_run(TENANT, asked)),
        ]
    finally:
        engine.journal.close()
        queries.close()
        database.dispose()
        reading.dispose()


def restart(settings: Settings) -> tuple[float, float]:
    """Seconds from the start of an engine process to its first answer, and its peak memory in MiB by then."""
    base = [sys.executable, "-m", "signoff.cli.main", "process", "engine", "--data", str(settings.folder)]
    settings.address_file.unlink(missing_ok=True)
    began = time.perf_counter()
    process = subprocess.Popen(base, stdin=subprocess.DEVNULL)
    try:
        signoff, client = open_remote(settings, wait_s=60.0)
        signoff.start_run(ADA, TENANT, "timed", {})
        seconds = time.perf_counter() - began
        client.close()
        signoff.queries.close()
        status = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
        return seconds, int(status.split("VmHWM:")[1].split()[0]) / 1024
    finally:
        process.terminate()
        process.wait(30)


def measure(folder: Path, sizes: tuple[int, ...]) -> tuple[list[list[float]], list[tuple[float, float]], float]:
    """(milliseconds by size and question; seconds and MiB of restarts on the least and the most; bytes of a run)."""
    settings = Settings(folder, modules=("tests.bench.activities",))
    save_settings(settings)
    crowd: Crowd = gather(settings)
    costs, restarts, bytes_at = [], [], []
    for size in sizes:
        crowd.grow(size)
        bytes_at.append(settings.database.stat().st_size)
        if size in (sizes[0], sizes[-1]):
            runs = [restart(settings) for _ in range(5)]
            restarts.append((median([r[0] for r in runs]), median([r[1] for r in runs])))
        costs.append(questions(settings))
    return costs, restarts, (bytes_at[-1] - bytes_at[0]) / (sizes[-1] - sizes[0])


def report(
    sizes: tuple[int, ...], costs: list[list[float]], restarts: list[tuple[float, float]], waiting: float
) -> str:
    """The page."""
    rows = [
        [name, *(f"{cost[i]:.2f} ms" for cost in costs), f"{costs[-1][i] / costs[0][i]:.1f}×"]
        for i, name in enumerate(QUESTIONS)
    ]
    (first_s, first_mib), (last_s, last_mib) = restarts
    return "\n".join(
        [
            "# Benchmarks on many runs",
            "",
            "Written by `python -m tests.bench.large`; do not edit. One tenant, SQLite `synchronous=FULL`,",
            "so many waiting runs: a third waits for one person's approval, a third for a timer, a third for",
            f"a worker. Medians of {TIMES}. Flat is a last column of at most 2×.",
            "",
            f"Machine: {machine()}. {versions('signoff', 'sqlalchemy', 'orjson')}.",
            "",
            table(["", *(f"{size:,}" for size in sizes), "last to first"], rows),
            "",
            "## Restart",
            "",
            "From the start of an engine process to its first answer (medians of 5):",
            f"{first_s:.2f} s and {first_mib:.0f} MiB at the peak on {sizes[0]:,} runs,",
            f"{last_s:.2f} s and {last_mib:.0f} MiB on {sizes[-1]:,}. Runs are read when something happens to",
            "them, so that nobody waits for the others. The goal is a second and 250 MiB.",
            "",
            "## On disk",
            "",
            f"A waiting run takes {waiting:,.0f} bytes on average, its events, chain, wrapped secret and",
            "indexes included (goal: 700).",
            "",
        ]
    )


def main() -> None:
    """Measure and write the page."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.large")
    parser.add_argument("--most", type=int, default=SIZES[-1], help="the largest number of runs")
    parser.add_argument("--no-write", action="store_true", help="do not write the page")
    options = parser.parse_args()
    sizes = tuple(size for size in SIZES if size <= options.most)
    with tempfile.TemporaryDirectory(prefix="signoff-large-") as folder:
        page = report(sizes, *measure(Path(folder) / "data", sizes))
    print(page)
    if not options.no_write:
        (ROOT / "assets" / "docs" / "benchmarks-large.md").write_text(page, "utf-8")


if __name__ == "__main__":
    main()
