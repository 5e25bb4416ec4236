"""A worker process of the tests: ``python -m tests.scheduler.durable_worker FILE LEASE_S MODE LOG``.

It claims, writes a line to its log for each task it runs, and completes, until the graph is done. Modes: ``drain``;
``die`` (the same for ten tasks, then claim more, say so, and wait to be killed);
``hold`` (claim one task, say so, wait for a line on standard input, then complete it and print the answer).
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path

from signoff.scheduler import SchedulerError, TaskState
from signoff.scheduler.durable import DurableTaskScheduler
from signoff.store.tasks import open_task_graph

LEFT = (TaskState.WAITING, TaskState.PENDING, TaskState.READY, TaskState.RUNNING)


def drain(scheduler: DurableTaskScheduler, log: Path) -> None:
    pause = threading.Event()
    with log.open("a", encoding="utf-8") as lines:
        while True:
            claims = scheduler.ready(4)
            for claim in claims:
                lines.write(f"{claim.task} {claim.generation} {claim.fence}\n")
                lines.flush()
                try:
                    if int(claim.task[1:]) % 50 == 49:
                        scheduler.fail(claim.task, claim.generation, "unlucky", fence=claim.fence)
                    else:
                        scheduler.complete(claim.task, claim.generation, fence=claim.fence)
                except SchedulerError as error:
                    lines.write(f"! {type(error).__name__} {claim.task}\n")
                    lines.flush()
            if not claims:
                counts = scheduler.tasks.counts()
                if not any(counts[state] for state in LEFT):
                    return
                pause.wait(0.02)


def die(scheduler: DurableTaskScheduler, log: Path) -> None:
    with log.open("a", encoding="utf-8") as lines:
        for _ in range(10):
            (claim,) = scheduler.ready(1)
            lines.write(f"{claim.task} {claim.generation} {claim.fence}\n")
            lines.flush()
            scheduler.complete(claim.task, claim.generation, fence=claim.fence)
        held = scheduler.ready(4)
        lines.writelines(f"{c.task} {c.generation} {c.fence}\n" for c in held)
    print(f"holds {len(held)}", flush=True)
    sys.stdin.readline()


def hold(scheduler: DurableTaskScheduler) -> None:
    (claim,) = scheduler.ready(1)
    print(f"holds {claim.task} {claim.generation} {claim.fence}", flush=True)
    sys.stdin.readline()
    try:
        state = scheduler.complete(claim.task, claim.generation, "by the slow one", fence=claim.fence)
        print(f"answered {state}", flush=True)
    except SchedulerError as error:
        print(f"refused {type(error).__name__}", flush=True)


def main(path: str, lease_s: str, mode: str, log: str) -> None:
    store = open_task_graph(path)
    scheduler = DurableTaskScheduler(store, lease_s=float(lease_s), page=20)
    if mode == "hold":
        hold(scheduler)
    elif mode == "die":
        die(scheduler, Path(log))
    else:
        drain(scheduler, Path(log))
    store.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
