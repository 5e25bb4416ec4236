"""``python -m tests.bench.drain``: an engine that comes back to very many overdue timers, and who asks it meanwhile.

Runs that wait for a timer which came due while nothing ran, in one SQLite file; then an engine process on it, and one
client that starts runs one after another until the backlog is gone, and as often again on the idle engine.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from signoff.cli.context import save_settings
from signoff.store.clock import utc_now
from signoff.store.database import open_database
from signoff.store.reads.reader import Reader
from signoff.store.times import to_micros
from signoff.wiring import Settings, open_remote
from tests.bench import crowd as crowds
from tests.bench.crowd import ADA, TENANT, gather
from tests.bench.figures import machine, table, versions

ROOT = Path(__file__).parents[2]
PAUSE_S = 0.02
LEAST = 200


def percentile(values: list[float], share: float) -> float:
    """The value below which that share of all lies."""
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def backlog(settings: Settings, count: int) -> None:
    """So many runs whose timer is overdue: waits of a second, and nothing that fires them."""
    crowds.STEPS["timed"]["duration"] = "PT1S"
    made = gather(settings)
    made.originals = {"timed": made.originals["timed"]}
    made.grow(3 * count)  # a third of each kind
    threading.Event().wait(1.5)


def measure(settings: Settings, count: int) -> tuple[float, float, list[float], list[float]]:
    """(seconds to the first answer, seconds until all have fired, answer times meanwhile, and idle, milliseconds)."""
    backlog(settings, count)
    base = [sys.executable, "-m", "signoff.cli.main", "process", "engine", "--data", str(settings.folder)]
    overdue = to_micros(utc_now())
    began = time.perf_counter()
    process = subprocess.Popen(base, stdin=subprocess.DEVNULL)
    reader = Reader(open_database(settings.where, read_only=True))
    pause = threading.Event()
    try:
        signoff, client = open_remote(settings, wait_s=60.0)

        def ask() -> float:
            since = time.perf_counter()
            signoff.start_run(ADA, TENANT, "queued", {})
            return (time.perf_counter() - since) * 1e3

        busy, idle = [ask()], []
        ready = time.perf_counter() - began
        while reader.one("SELECT 1 FROM timer WHERE due < ? LIMIT 1", (overdue,)):
            busy.append(ask())
            pause.wait(PAUSE_S)
        drained = time.perf_counter() - began
        pause.wait(2.0)
        for _ in range(max(LEAST, len(busy))):
            idle.append(ask())
            pause.wait(PAUSE_S)
        client.close()
        signoff.queries.close()
        return ready, drained, busy, idle
    finally:
        reader.close()
        process.terminate()
        process.wait(30)


def report(count: int, ready: float, drained: float, busy: list[float], idle: list[float]) -> str:
    """The page."""
    rows = [
        [
            name,
            f"{percentile(found, 0.5):.1f} ms",
            f"{percentile(found, 0.95):.1f} ms",
            f"{max(found):.1f} ms",
            f"{len(found):,}",
        ]
        for name, found in (("while the backlog drains", busy), ("idle, afterwards", idle))
    ]
    return "\n".join(
        [
            "# Benchmark: back after an outage",
            "",
            f"Written by `python -m tests.bench.drain`; do not edit. An engine process starts on {count:,} runs",
            "(SQLite `synchronous=FULL`) whose timers came due while nothing ran; a client starts runs",
            "one after another.",
            "",
            f"Machine: {machine()}. {versions('signoff', 'sqlalchemy', 'orjson')}.",
            "",
            table(["answer to a new request", "p50", "p95", "slowest", "requests"], rows),
            "",
            f"First answer after {ready:.2f} s; all {count:,} timers had fired after {drained:.1f} s "
            f"({count / drained:,.0f} a second); p95 {percentile(busy, 0.95) / percentile(idle, 0.95):.1f}× that of",
            "the idle engine. Due timers are taken a part at a time, so that whoever asks waits for one part at most.",
            "",
        ]
    )


def main() -> None:
    """Measure and write the page."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.drain")
    parser.add_argument("--timers", type=int, default=100_000)
    parser.add_argument("--no-write", action="store_true", help="do not write the page")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="signoff-drain-") as folder:
        settings = Settings(Path(folder) / "data", modules=("tests.bench.activities",))
        save_settings(settings)
        page = report(options.timers, *measure(settings, options.timers))
    print(page)
    if not options.no_write:
        (ROOT / "assets" / "docs" / "benchmarks-outage.md").write_text(page, "utf-8")


if __name__ == "__main__":
    main()
