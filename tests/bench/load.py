"""The load: runs of ten trivial activities, a given number at a time, through the engine's real processes.

`engine` and `worker` are processes of their own as under `signoff up`; the load starts runs over the wire
and follows the feed. Everything is on: validation, permissions, projections, live updates.
"""

from __future__ import annotations

import queue
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from signoff.cli.context import save_settings
from signoff.core.states import Actor
from signoff.engine.client import Signoff
from signoff.engine.views import FeedEvent
from signoff.runtime.client import WireClient
from signoff.wiring import Settings, open_remote, start_engine
from tests.bench.figures import percentile

STEPS = 10
TENANT = "default"
ADA = Actor("person", "ada", channel="api")


def document(connector: str) -> dict[str, Any]:
    """A chain of ten activities with one condition each."""
    steps = [{"id": f"s{i}", "kind": "activity", "label": f"Step {i}", "connector": connector} for i in range(STEPS)]
    for i, step in enumerate(steps):
        step["input"] = {"i": i, "x": "=input.x"}
        step["output"] = [{"name": "i", "type": "integer"}, {"name": "x", "type": "integer"}]
    edges = [
        {"from": f"s{i}", "to": f"s{i + 1}", "when": f"steps.s{i}.output.i >= 0 && steps.s{i}.output.x >= 0"}
        for i in range(STEPS - 1)
    ]
    fields = [{"name": "x", "type": "integer"}]
    return {"name": "bench", "title": "Bench", "input": fields, "steps": steps, "edges": edges}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one measurement gave."""

    steps_per_s: float
    p50_ms: float
    p95_ms: float
    commits_per_step: float


def prepare(folder: Path) -> Settings:
    """A data folder with one account and the published definition."""
    settings = Settings(folder, modules=("tests.bench.activities",))
    save_settings(settings)
    running = start_engine(settings, services=False)
    try:
        running.save_person("ada", roles=("designer", "publisher", "starter"))
        running.signoff.create_draft(ADA, TENANT, document("python:bench.trivial"))
        running.signoff.publish(ADA, TENANT, "bench", 1)
    finally:
        running.close()
    return settings


@contextmanager
def processes(settings: Settings, environment: dict[str, str]) -> Iterator[tuple[Signoff, WireClient]]:
    """Engine and worker processes, and a connection to them."""
    where = ["--data", str(settings.folder)]
    base = [sys.executable, "-m", "signoff.cli.main", "process"]
    started = [
        subprocess.Popen([*base, *role, *where], env=environment, stdin=subprocess.DEVNULL)
        for role in (["engine"], ["worker", "--slots", "64"])
    ]
    try:
        signoff, client = open_remote(settings, wait_s=30.0)
        try:
            yield signoff, client
        finally:
            client.close()
            signoff.queries.close()
    finally:
        for process in reversed(started):
            process.terminate()
            process.wait(20)


def drive(signoff: Signoff, client: WireClient, *, concurrency: int, count: int) -> Outcome:
    """Start `count` runs, `concurrency` at a time, and wait until all have ended."""
    ended: queue.SimpleQueue[FeedEvent] = queue.SimpleQueue()
    seen: dict[str, list[float]] = {}
    commits: set[Any] = set()

    def listen(news: FeedEvent) -> None:
        commits.add(news.at)
        seen.setdefault(news.run_id, []).append(news.at.timestamp())
        if news.run_status == "succeeded":
            ended.put(news)

    stop = signoff.feed.subscribe(listen)
    actor = {"kind": "person", "id": "ada", "channel": "api"}

    def start(number: int) -> None:
        args = {"definition": "bench", "input": {"x": number}}
        client.post({"do": "start_run", "tenant": TENANT, "actor": actor, "args": args}, lambda answer: None)

    began = time.perf_counter()
    for number in range(min(concurrency, count)):
        start(number)
    started = min(concurrency, count)
    for _ in range(count):
        ended.get(timeout=60)
        if started < count:
            start(started)
            started += 1
    seconds = time.perf_counter() - began
    stop()
    gaps = [b - a for times in seen.values() for a, b in pairwise(times)]
    return Outcome(
        steps_per_s=STEPS * count / seconds,
        p50_ms=1e3 * percentile(gaps, 0.5),
        p95_ms=1e3 * percentile(gaps, 0.95),
        commits_per_step=len(commits) / (STEPS * count),
    )
