"""``python -m tests.bench.scheduler [--quick]``: the task scheduler beside graphlib, networkx and rustworkx.

One run; every figure is the median of several rounds, a process for each library in each. Prints the table and
writes it to ``assets/docs/benchmarks-scheduler.md``.
"""

from __future__ import annotations

import os
import platform
import random
import statistics
import sys
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from tests.bench.scheduler_cases import DRIVERS, Sample, available, measure, version
from tests.bench.scheduler_durable import section

REPORT = Path(__file__).resolve().parents[2] / "assets" / "docs" / "benchmarks-scheduler.md"
GOAL_IN_ORDER, GOAL_SHUFFLED, GOAL_MEMORY = 0.7, 1.0, 0.9
SHAPES = ("chain", "fan", "layered")
FLAT_SIZES = (1_000, 10_000, 100_000, 1_000_000)


class Case(NamedTuple):
    shape: str
    size: int
    shuffled: bool

    @property
    def title(self) -> str:
        return f"{self.shape}, {self.size:,} tasks, {'shuffled' if self.shuffled else 'in order'}"


type Results = dict[Case, dict[str, list[Sample]]]


def plan(quick: bool) -> list[tuple[Case, tuple[str, ...], int]]:
    """What to measure and how often: (case, drivers of a round, rounds)."""
    jobs: list[tuple[Case, tuple[str, ...], int]] = []
    both, every = ("graphlib", "signoff"), tuple(driver for driver in DRIVERS if available(driver))
    for shape in SHAPES:
        for shuffled in (False, True):
            jobs.append((Case(shape, 10_000 if quick else 100_000, shuffled), every, 3 if quick else 5))
            if not quick:
                jobs.append((Case(shape, 1_000_000, shuffled), both, 5))
    known = {case for case, *_ in jobs}
    flat = [Case("layered", size, False) for size in FLAT_SIZES if size < 100_000]
    return [*jobs, *((case, both, 5) for case in flat if case not in known)]


def run(quick: bool) -> Results:
    """Measure everything: the rounds in a random order, the drivers of a round one right after the other."""
    dice = random.Random(0)
    rounds = [(case, drivers) for case, drivers, count in plan(quick) for _ in range(count)]
    dice.shuffle(rounds)
    results: Results = defaultdict(lambda: defaultdict(list))
    for number, (case, drivers) in enumerate(rounds):
        for driver in dice.sample(drivers, len(drivers)):
            results[case][driver].append(measure(driver, *case))
        if sys.stderr.isatty():
            print(f"\r{number + 1}/{len(rounds)}", end="", file=sys.stderr, flush=True)
    return results


def middle(samples: list[Sample]) -> Sample:
    return Sample(*(statistics.median(values) for values in zip(*samples, strict=True)))


def ratio(ours: list[Sample], base: list[Sample], of: str) -> float:
    """Median of the quotients of each round: what disturbs the machine for a while disturbs both of a round.

    Not a number where a small graph did not move the peak.
    """
    pairs = zip(ours, base, strict=True)
    return statistics.median(getattr(a, of) / getattr(b, of) if getattr(b, of) else float("nan") for a, b in pairs)


def compared(results: Results) -> list[Case]:
    """The cases that goals are set for; the small ones are there for the cost per task only."""
    return [case for case in sorted(results) if case.size >= max(FLAT_SIZES) // 10 or len(results[case]) > 2]


def case_table(case: Case, drivers: dict[str, list[Sample]]) -> list[str]:
    """One table: seconds, ratio to graphlib, memory, ratio to graphlib."""
    base = drivers["graphlib"]
    lines = [
        f"### {case.title}",
        "",
        "| | build ms | drain ms | total ms | × graphlib | peak MiB | × graphlib |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for driver in DRIVERS:
        if driver in drivers:
            sample = middle(drivers[driver])
            total = statistics.median(one.total_s for one in drivers[driver])
            lines.append(
                f"| {driver} | {sample.build_s * 1e3:.0f} | {sample.drain_s * 1e3:.0f} | {total * 1e3:.0f} "
                f"| {ratio(drivers[driver], base, 'total_s'):.2f} | {sample.peak_mib:.0f} "
                f"| {ratio(drivers[driver], base, 'peak_mib'):.2f} |"
            )
    return [*lines, ""]


def goal_table(results: Results) -> list[str]:
    """Each goal, what was measured, and whether it was reached."""
    lines = ["| case | time × graphlib (goal) | memory × graphlib (goal) | reached |", "|---|--:|--:|---|"]
    for case in compared(results):
        drivers = results[case]
        goal = GOAL_SHUFFLED if case.shuffled else GOAL_IN_ORDER
        base, ours = drivers["graphlib"], drivers["signoff"]
        time_ratio, memory = ratio(ours, base, "total_s"), ratio(ours, base, "peak_mib")
        missed = [name for name, bad in (("time", time_ratio > goal), ("memory", memory > GOAL_MEMORY)) if bad]
        verdict = "yes" if not missed else f"no: {', '.join(missed)}"
        lines.append(f"| {case.title} | {time_ratio:.2f} ({goal}) | {memory:.2f} ({GOAL_MEMORY}) | {verdict} |")
    return [*lines, ""]


def flat_table(results: Results) -> list[str]:
    """Cost per task as the graph grows; graphlib's beside it shows what the caches of the machine do to both."""
    lines = ["| tasks (layered, in order) | µs per task | graphlib |", "|--:|--:|--:|"]
    for size in FLAT_SIZES:
        drivers = results.get(Case("layered", size, False), {})
        if "signoff" in drivers:
            ours, theirs = (
                statistics.median(sample.total_s for sample in drivers[name]) / size * 1e6
                for name in ("signoff", "graphlib")
            )
            lines.append(f"| {size:,} | {ours:.2f} | {theirs:.2f} |")
    return [*lines, ""]


def machine() -> str:
    """Where this was measured, in one sentence."""
    versions = ", ".join(f"{name} {version(name)}" for name in ("networkx", "rustworkx") if available(name))
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    return (
        f"{datetime.now(UTC):%Y-%m-%d}, {platform.machine()}, {os.cpu_count()} cores shared with others (load {load} "
        f"at the end), {platform.system()} {platform.release()}, Python {platform.python_version()}, {versions}."
    )


def report(results: Results) -> str:
    """The whole page."""
    lines = [
        "# Task scheduler: measured",
        "",
        "Written by `make bench-scheduler`; do not edit. Medians of 5 rounds, in each of which every library",
        "runs once, in a process of its own; ratios are medians of the ratios of a round.",
        machine(),
        "",
        "`signoff` is `TaskScheduler(timings=False)` with everything else on: states, generations, lock, stable order,",
        "one `submit` per task, `ready()` and `complete_many` per batch; shuffled graphs are open graphs. Times are",
        "processor time of one thread, so that neighbours on the machine count less. Peak memory",
        "is the growth of the process while it builds and drains; the tuples of dependencies are the caller's and are",
        "kept by reference. networkx only sorts; rustworkx is compiled and has no states, generations or lock.",
        "",
        "## Goals",
        "",
        *goal_table(results),
        "## Cost per task",
        "",
        *flat_table(results),
        "## All figures",
        "",
    ]
    for case in compared(results):
        lines += case_table(case, results[case])
    return "\n".join(lines)


def main() -> None:
    quick = "--quick" in sys.argv[1:]
    text = report(run(quick)) + "\n" + section()
    print(text)
    if not quick:
        REPORT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
