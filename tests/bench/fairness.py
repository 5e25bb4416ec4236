"""``python -m tests.bench.fairness``: what a tenant with a very long queue costs another one, on SQLite with FULL.

One worker with eight slots is always busy. A second tenant starts a run after every fortieth call; its claim wait is
the time from that request to the lease. Measured with 10² and with 10⁵ queued calls of the first tenant, in one
process, alternating; the figure is the ratio of the p95s. Processor time, so that neighbours count less.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from tests.bench.figures import median, percentile
from tests.engine.counter import Counter, step

SLOTS, EVERY, SAMPLES, ROUNDS = 8, 40, 60, 3
SHORT, LONG = 100, 100_000


class Busy:
    """An engine with a hot tenant whose queue has a given length, and a cool one."""

    def __init__(self, folder: Path, queued: int) -> None:
        self.counter, self.queued = Counter(folder), queued
        for tenant in ("hot", "cool"):
            self.counter.tenant(tenant)
            self.counter.publish(tenant, "work", step())
        left = queued
        while left:
            left -= len(self.counter.start("hot", times=min(left, 250)))
        self.counter.offer(SLOTS)

    def waits_ms(self) -> list[float]:
        """Claim waits of the cool tenant; the hot one's queue is filled up again as it is worked off."""
        counter, waits, done = self.counter, [], 0
        began: dict[str, float] = {}
        while len(waits) < SAMPLES:
            task = counter.tasks.pop(0)
            done += 1
            if done % EVERY == 0:
                at = time.process_time()
                began[counter.start("cool")[0]] = at
            known = len(counter.tasks)
            counter.finish(task)
            for given in counter.tasks[known:]:
                if (at := began.pop(given["run_id"], 0.0)) > 0:
                    waits.append((time.process_time() - at) * 1000)
            if task["tenant"] == "hot":
                counter.start("hot")
        return waits


def measure() -> tuple[float, float, float]:
    """Medians of the p95s with a short and with a long queue (milliseconds), and of their ratio."""
    rounds = []
    with tempfile.TemporaryDirectory() as folder:
        both = []
        for name, queued in (("short", SHORT), ("long", LONG)):
            (Path(folder) / name).mkdir()
            both.append(Busy(Path(folder) / name, queued))
        for _ in range(ROUNDS):
            short, long = (percentile(busy.waits_ms(), 95) for busy in both)
            rounds.append((short, long, long / short))
        for busy in both:
            busy.counter.close()
    short, long, ratio = (median([r[i] for r in rounds]) for i in range(3))
    return short, long, ratio


if __name__ == "__main__":
    short, long, ratio = measure()
    print(f"p95 claim wait beside {SHORT:,} queued calls of another tenant: {short:.2f} ms")
    print(f"p95 claim wait beside {LONG:,}: {long:.2f} ms; ratio {ratio:.2f} (goal: at most 2)")
