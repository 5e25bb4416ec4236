"""The graphs and the drivers of the scheduler benchmark. One call of ``measure`` is one measured process.

Time is the processor time of that process: one thread, no waiting, and neighbours on the machine count less.
"""

from __future__ import annotations

import json
import os
import random
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

type Graph = tuple[list[tuple[int, ...]], Sequence[int]]

LAYERS = 100
FAN_IN = 3


class Sample(NamedTuple):
    """One run: processor seconds for building and for draining, growth of the peak memory in MiB."""

    build_s: float
    drain_s: float
    peak_mib: float

    @property
    def total_s(self) -> float:
        return self.build_s + self.drain_s


def make_graph(shape: str, size: int, shuffled: bool) -> Graph:
    """Dependencies by task, and the order of submission (seeded: every driver gets the same)."""
    dice = random.Random(1)
    if shape == "chain":
        graph = [(i - 1,) if i else () for i in range(size)]
    elif shape == "fan":
        graph = [(), *((0,) for _ in range(size - 2)), tuple(range(1, size - 1))]
    else:
        width = max(size // LAYERS, 1)
        graph = [
            tuple({(i // width - 1) * width + dice.randrange(width) for _ in range(FAN_IN)}) if i >= width else ()
            for i in range(size)
        ]
    order = list(range(size))
    if shuffled:
        dice.shuffle(order)
    return graph, order


def graphlib_batches(graph: Graph, shuffled: bool) -> tuple[float, float]:
    from graphlib import TopologicalSorter

    dependencies, order = graph
    start = time.process_time()
    sorter: TopologicalSorter[int] = TopologicalSorter()
    for task in order:
        sorter.add(task, *dependencies[task])
    built = time.process_time()
    sorter.prepare()
    count = 0
    while sorter.is_active():
        tasks = sorter.get_ready()
        count += len(tasks)
        sorter.done(*tasks)
    return checked(count, order, start, built)


def graphlib_one_by_one(graph: Graph, shuffled: bool) -> tuple[float, float]:
    from graphlib import TopologicalSorter

    dependencies, order = graph
    start = time.process_time()
    sorter: TopologicalSorter[int] = TopologicalSorter()
    for task in order:
        sorter.add(task, *dependencies[task])
    built = time.process_time()
    sorter.prepare()
    count = 0
    while sorter.is_active():
        for task in sorter.get_ready():
            sorter.done(task)
            count += 1
    return checked(count, order, start, built)


def signoff_batches(graph: Graph, shuffled: bool, timings: bool = False) -> tuple[float, float]:
    from signoff.scheduler import TaskScheduler

    dependencies, order = graph
    start = time.process_time()
    scheduler = TaskScheduler(open_graph=shuffled, timings=timings)
    for task in order:
        scheduler.submit(task, dependencies[task])
    built = time.process_time()
    count = 0
    while claims := scheduler.ready():
        count += len(claims)
        scheduler.complete_many(claims)
    return checked(count, order, start, built)


def signoff_timed(graph: Graph, shuffled: bool) -> tuple[float, float]:
    return signoff_batches(graph, shuffled, timings=True)


def signoff_one_by_one(graph: Graph, shuffled: bool) -> tuple[float, float]:
    from signoff.scheduler import TaskScheduler

    dependencies, order = graph
    start = time.process_time()
    scheduler = TaskScheduler(open_graph=shuffled, timings=False)
    for task in order:
        scheduler.submit(task, dependencies[task])
    built = time.process_time()
    count = 0
    while claims := scheduler.ready():
        for task, generation in claims:
            scheduler.complete(task, generation)
            count += 1
    return checked(count, order, start, built)


def signoff_bulk(graph: Graph, shuffled: bool) -> tuple[float, float]:
    from signoff.scheduler import TaskScheduler

    dependencies, order = graph
    start = time.process_time()
    scheduler = TaskScheduler(timings=False)
    scheduler.submit_many((task, dependencies[task]) for task in order)
    built = time.process_time()
    count = 0
    while claims := scheduler.ready():
        count += len(claims)
        scheduler.complete_many(claims)
    return checked(count, order, start, built)


def networkx_order(graph: Graph, shuffled: bool) -> tuple[float, float]:
    import networkx as nx

    dependencies, order = graph
    start = time.process_time()
    digraph: nx.DiGraph[int] = nx.DiGraph()
    digraph.add_nodes_from(order)
    digraph.add_edges_from((dependency, task) for task in order for dependency in dependencies[task])
    built = time.process_time()
    return checked(sum(1 for _ in nx.topological_sort(digraph)), order, start, built)


def rustworkx_batches(graph: Graph, shuffled: bool) -> tuple[float, float]:
    import rustworkx as rx

    dependencies, order = graph
    start = time.process_time()
    digraph = rx.PyDiGraph()
    digraph.add_nodes_from(range(len(order)))
    digraph.add_edges_from_no_data([(dep, task) for task in order for dep in dependencies[task]])
    built = time.process_time()
    sorter = rx.TopologicalSorter(digraph)
    count = 0
    while sorter.is_active():
        tasks = sorter.get_ready()
        count += len(tasks)
        sorter.done(tasks)
    return checked(count, order, start, built)


def checked(count: int, order: Sequence[int], start: float, built: float) -> tuple[float, float]:
    """Build and drain time, if the drain was complete."""
    end = time.process_time()
    if count != len(order):
        raise AssertionError(f"only {count} of {len(order)} tasks came out")
    return built - start, end - built


DRIVERS: dict[str, Callable[[Graph, bool], tuple[float, float]]] = {
    "graphlib": graphlib_batches,
    "signoff": signoff_batches,
    "signoff, timings on": signoff_timed,
    "signoff, submit_many": signoff_bulk,
    "graphlib, one by one": graphlib_one_by_one,
    "signoff, one by one": signoff_one_by_one,
    "networkx": networkx_order,
    "rustworkx": rustworkx_batches,
}


def python_for(driver: str) -> str:
    """The interpreter a driver runs in: rustworkx lives with the other peers, if `make setup-bench` made a place."""
    return os.environ.get("SIGNOFF_BENCH_PEER_PY", sys.executable) if driver == "rustworkx" else sys.executable


@cache
def version(library: str) -> str:
    """Version of an installed library, empty if it is not there."""
    ask = f"from importlib.metadata import version; print(version({library!r}))"
    done = subprocess.run([python_for(library), "-c", ask], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def available(driver: str) -> bool:
    """Whether the library of a driver is installed."""
    library = driver.split(",")[0]
    return library in ("signoff", "graphlib") or bool(version(library))


def measure(driver: str, shape: str, size: int, shuffled: bool) -> Sample:
    """Run one driver in a process of its own."""
    command = [python_for(driver), "-m", "tests.bench.scheduler_cases", driver, shape, str(size), str(int(shuffled))]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    if done.returncode:
        raise RuntimeError(f"{driver} failed on {shape} {size}: {done.stderr[-500:]}")
    return Sample(*json.loads(done.stdout))


def peak_mib() -> float:
    """Largest resident size of this program so far, in MiB.

    ``getrusage`` is only asked where there is no ``/proc``: on Linux it counts what the parent had when it forked.
    """
    with suppress(OSError):
        status = Path("/proc/self/status").read_text(encoding="ascii")
        return int(status.split("VmHWM:")[1].split()[0]) / 1024
    kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return kib / 1024 if sys.platform != "darwin" else kib / 2**20


def main(arguments: list[str]) -> None:
    driver, shape, size, shuffled = arguments[0], arguments[1], int(arguments[2]), bool(int(arguments[3]))
    DRIVERS[driver](make_graph("chain", 10, False), shuffled)  # imports are not part of the measurement
    graph = make_graph(shape, size, shuffled)
    before = peak_mib()
    build, drain = DRIVERS[driver](graph, shuffled)
    result: list[Any] = [build, drain, peak_mib() - before]
    print(json.dumps(result))


if __name__ == "__main__":
    main(sys.argv[1:])
