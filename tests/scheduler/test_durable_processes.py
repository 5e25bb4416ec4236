"""Real processes on one file: nothing is lost, nothing is released twice, whoever is killed or stopped meanwhile."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from signoff.scheduler import TaskState
from signoff.scheduler.durable import DurableTaskScheduler
from signoff.scheduler.stored.version import LeasedClaim, StoredTask
from signoff.store.tasks import TaskGraphStore, open_task_graph
from tests.arch.sources import ROOT
from tests.stores import Stores, place

pytestmark = pytest.mark.process
LEASE_S = 2.0


def start(path: Path, mode: str, log: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.scheduler.durable_worker", str(place(path)), str(LEASE_S), mode, str(log)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str], line: str = "") -> str:
    out, err = process.communicate(line, timeout=100)
    assert process.returncode == 0, err
    return out


OPEN: list[TaskGraphStore] = []


@pytest.fixture(autouse=True)
def _closing(store: Stores) -> Iterator[None]:
    yield
    while OPEN:
        OPEN.pop().close()


def open_graph(path: Path) -> DurableTaskScheduler:
    OPEN.append(open_task_graph(place(path)))
    return DurableTaskScheduler(OPEN[-1], lease_s=LEASE_S, page=20)


def until_claimed(scheduler: DurableTaskScheduler) -> LeasedClaim:
    """The next claim; waits for a lease of another process to run out."""
    pause = threading.Event()
    for _ in range(2000):
        if claims := scheduler.ready(1):
            return claims[0]
        pause.wait(0.02)
    raise AssertionError("nothing became claimable")


def test_four_processes_drain_one_graph_and_one_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "g.db"
    scheduler = open_graph(path)
    tasks = [
        StoredTask(f"t{i}", [f"t{j}" for j in {i - 10, i - 7} if j >= 0], partition=str(i % 4)) for i in range(200)
    ]
    scheduler.submit_many(tasks)
    logs = [tmp_path / f"log{i}" for i in range(4)]
    victim = start(path, "die", logs[0])
    assert victim.stdout is not None
    assert victim.stdout.readline() == "holds 4\n"
    processes = [start(path, "drain", log) for log in logs[1:]]
    victim.kill()
    victim.communicate()
    for process in processes:
        finish(process)

    expected = expected_states(tasks)
    assert {task.task: scheduler.tasks.state(task.task) for task in tasks} == expected
    lines = [line.split() for log in logs for line in log.read_text().splitlines()]
    ran = Counter(line[0] for line in lines if line[0] != "!")
    fences = Counter(tuple(line) for line in lines if line[0] != "!")
    assert set(ran) == {task for task, state in expected.items() if state is not TaskState.BLOCKED}
    assert max(fences.values()) == 1, "one claim, with its token, was handed out twice"
    metrics = scheduler.metrics()
    assert metrics.lease_expiries >= 4, "what the killed process held was claimed again"
    assert sum(ran.values()) - len(ran) <= metrics.lease_expiries  # a second run needs a lease that ran out
    assert metrics.run_time.count == len(ran)  # each ended once


def expected_states(tasks: list[StoredTask]) -> dict[str, TaskState]:
    states: dict[str, TaskState] = {}
    for task in tasks:
        if any(states[str(d)] is not TaskState.SUCCEEDED for d in task.dependencies):
            states[task.task] = TaskState.BLOCKED
        else:
            states[task.task] = TaskState.FAILED if int(task.task[1:]) % 50 == 49 else TaskState.SUCCEEDED
    return states


def test_a_process_stopped_past_its_lease_wakes_up_and_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "g.db"
    scheduler = open_graph(path)
    scheduler.submit_many([StoredTask("a", partition="x"), StoredTask("b", ["a"], partition="y")])
    slow = start(path, "hold", tmp_path / "log")
    assert slow.stdout is not None
    assert slow.stdout.readline() == "holds a 1 1\n"
    slow.send_signal(signal.SIGSTOP)
    claim = until_claimed(scheduler)
    assert (claim.task, claim.fence, claim.expiries) == ("a", 2, 1)
    slow.send_signal(signal.SIGCONT)
    assert "refused LeaseLost" in finish(slow, "go on\n")
    assert scheduler.tasks.state("b") is TaskState.PENDING
    scheduler.complete("a", 1, "by the fast one", fence=claim.fence)
    assert until_claimed(scheduler).task == "b"
    assert scheduler.tasks.info("a").result == "by the fast one"
    assert scheduler.metrics().lease_expiries == 1


def test_a_stopped_process_that_answers_after_the_end_is_told_the_known_end(tmp_path: Path) -> None:
    path = tmp_path / "g.db"
    scheduler = open_graph(path)
    scheduler.submit("a")
    slow = start(path, "hold", tmp_path / "log")
    assert slow.stdout is not None
    assert slow.stdout.readline() == "holds a 1 1\n"
    slow.send_signal(signal.SIGSTOP)
    claim = until_claimed(scheduler)
    scheduler.complete("a", 1, "by the fast one", fence=claim.fence)
    slow.send_signal(signal.SIGCONT)
    assert "answered succeeded" in finish(slow, "go on\n")
    assert scheduler.tasks.info("a").result == "by the fast one"
    assert scheduler.metrics().duplicate_callbacks == 1


def test_threads_share_one_scheduler(tmp_path: Path) -> None:
    scheduler = open_graph(tmp_path / "g.db")
    scheduler.submit_many([StoredTask(f"t{i}", [f"t{i - 5}"] if i >= 5 else []) for i in range(100)])
    seen: list[tuple[str, int]] = []

    def work() -> None:
        while claims := scheduler.ready(2):
            for claim in claims:
                seen.append((claim.task, claim.fence))
                scheduler.complete(claim.task, 1, fence=claim.fence)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    work()  # threads that found nothing for a moment have left; the rest
    assert scheduler.tasks.counts()[TaskState.SUCCEEDED] == 100
    assert len(seen) == len(set(seen)) == 100
