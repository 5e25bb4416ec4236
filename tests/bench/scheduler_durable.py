"""The durable scheduler on SQLite, `synchronous=FULL`: microseconds per task, for the page of the benchmarks.

``python -m tests.bench.scheduler_durable`` prints its section alone.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from signoff.scheduler import DurableTaskScheduler, StoredTask
from signoff.store.tasks import open_task_graph

SIZE, WIDTH, SINGLE, REPETITIONS = 20_000, 1_000, 300, 3


def build(scheduler: DurableTaskScheduler) -> int:
    for start in range(0, SIZE, 2_000):
        tasks = [
            StoredTask(f"t{i}", [f"t{i - WIDTH}", f"t{i - WIDTH + 1}"] if i >= WIDTH else [])
            for i in range(start, start + 2_000)
        ]
        scheduler.submit_many(tasks)
    return SIZE


def drain(scheduler: DurableTaskScheduler) -> int:
    count = 0
    while claims := scheduler.ready():
        scheduler.complete_many(claims)
        count += len(claims)
    return count


def submit_singly(scheduler: DurableTaskScheduler) -> int:
    for i in range(SINGLE):
        scheduler.submit(f"s{i}")
    return SINGLE


def run_singly(scheduler: DurableTaskScheduler) -> int:
    count = 0
    while claims := scheduler.ready(1):
        scheduler.complete(claims[0].task, claims[0].generation, fence=claims[0].fence)
        count += 1
    return count


STEPS: dict[str, Callable[[DurableTaskScheduler], int]] = {
    "submit_many, 2,000 tasks and 4,000 edges a commit": build,
    "drain, 1,000 claims a commit, complete_many": drain,
    "submit, one a commit": submit_singly,
    "ready(1) and complete, two commits a task": run_singly,
}


def section() -> str:
    """Markdown: the medians of all steps, each on a fresh file."""
    figures: dict[str, list[float]] = {name: [] for name in STEPS}
    for _ in range(REPETITIONS):
        with tempfile.TemporaryDirectory() as folder:
            store = open_task_graph(Path(folder) / "tasks.db")
            scheduler = DurableTaskScheduler(store)
            for name, step in STEPS.items():
                start = time.perf_counter()
                count = step(scheduler)
                figures[name].append((time.perf_counter() - start) / count * 1e6)
            store.close()
    lines = [
        "## The durable form",
        "",
        f"SQLite, WAL, `synchronous=FULL`, one process; {SIZE:,} tasks in layers of {WIDTH:,}, two dependencies each,",
        f"then {SINGLE} without any. Wall-clock time, median of {REPETITIONS}.",
        "",
        "| | µs per task |",
        "|---|--:|",
        *(f"| {name} | {statistics.median(values):.0f} |" for name, values in figures.items()),
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    print(section())
