"""A worker: takes leased attempts, calls their connectors in threads, renews leases, reports outcomes.

The same class runs embedded and in a process of its own; only its `Link` differs.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from time import monotonic
from typing import Any, Protocol

from signoff.connectors.call import ActivityError, Call, Connector, Lost
from signoff.core.progress import Progress
from signoff.errors import SignoffError, Unavailable
from signoff.runtime.service import Service

log = logging.getLogger("signoff.worker")
MAX_OUTCOME_PAUSE_S = 5.0
REPORT_PAUSE_S = 1.0


class Link(Protocol):
    """A worker's connection to the engine."""

    def offer(self, worker: str, args: dict[str, Any], on_task: Callable[[dict[str, Any]], None]) -> None:
        """Say how many tasks can be taken; `on_task` is called (quickly returning) for each.

        In `args`: `pools` that are served, slots that are `free`; `claims`, those at work now: the engine frees a slot
        for each when its outcome comes; `received`, the mark of the newest task that has come: the engine knows which
        are still on their way.
        """
        ...

    def request(self, worker: str, do: str, tenant: str, args: dict[str, Any]) -> dict[str, Any]:
        """Send a worker request and wait; raises SignoffError, Unavailable where it may be sent again."""
        ...

    def post(
        self, worker: str, do: str, tenant: str, args: dict[str, Any], done: Callable[[dict[str, Any]], None]
    ) -> None:
        """Send without waiting; `done` gets the raw answer later, from another thread."""
        ...


class Worker:
    """Takes up to `slots` tasks at once.

    Without an `executor` each task has a daemon thread of its own, so that work that never returns costs
    neither its slot for ever (it is given up with its lease) nor the end of the process.
    """

    def __init__(
        self,
        name: str,
        link: Link,
        connectors: Mapping[str, Connector],
        *,
        pools: tuple[str, ...] = ("default",),
        slots: int = 8,
        executor: Executor | None = None,
    ) -> None:
        self.name = name
        self._link = link
        self._connectors = connectors
        self._pools = pools
        self._slots = slots
        self._executor = executor
        self._lock = threading.Lock()
        self._active: dict[tuple[str, str, int, int, int], tuple[dict[str, Any], threading.Event]] = {}
        self._received: Sequence[int] = (0, 0)
        self._idle = threading.Condition(self._lock)
        self._draining = threading.Event()
        self._pulse = _Pulse(self)

    def start(self) -> None:
        """Offer all slots."""
        self.start_pulse()
        self.offer()

    def start_pulse(self) -> None:
        """Begin renewing leases; slots are offered when the link stands."""
        self._pulse.start()

    def offer_soon(self) -> None:
        """Offer (again) from the heartbeat's thread, until the engine has taken it; for example on a new link."""
        self._pulse.offer_again()

    def offer(self) -> None:
        """Say (again) how many slots are free.

        Raises:
            SignoffError: the engine could not take it just now; `offer_soon` repeats by itself.
        """
        if not self._draining.is_set():
            with self._lock:
                claims, received = [list(c) for c in self._active], self._received
            free, pools = self._slots - len(claims), list(self._pools)
            args = {"pools": pools, "free": free, "claims": claims, "received": list(received)}
            self._link.offer(self.name, args, self._take)

    def close(self, timeout_s: float = 10.0) -> None:
        """Take no more tasks and wait for those at work; what is not done by then is left to its lease."""
        self._draining.set()
        try:
            self._link.request(self.name, "withdraw", "", {})
        except SignoffError:
            log.info("the engine was not there to be told that worker %s stops", self.name)
        with self._idle:
            self._idle.wait_for(lambda: not self._active, timeout_s)
            for _, stop in self._active.values():
                stop.set()
        self._pulse.close()
        if self._executor is not None:
            self._executor.shutdown(wait=False, cancel_futures=True)

    # Tasks

    def _take(self, task: dict[str, Any]) -> None:
        stop = threading.Event()
        with self._lock:
            self._active[_claim(task)] = (task, stop)
            self._received = task.get("mark", self._received)
        self._pulse.hurry(task["heartbeat_s"])
        if self._executor is not None:
            self._executor.submit(self._perform, task, stop)
        else:
            name = f"signoff-{task['step']}"[:60]
            threading.Thread(target=self._perform, args=(task, stop), name=name, daemon=True).start()

    def _perform(self, task: dict[str, Any], stop: threading.Event) -> None:
        try:
            do, args = self._call(task, stop)
        except Lost as error:
            log.warning("task %s of run %s is lost: %s", task["step"], task["run_id"], error)
            self._let_go(task)
            return
        except BaseException as error:
            log.exception("task %s of run %s", task["step"], task["run_id"])
            do, args = "fail", {"code": "error", "message": f"{type(error).__name__}: {error}", "retryable": True}
        claim = {k: task[k] for k in ("run_id", "step", "generation", "attempt", "fence", "digest", "item")}
        if do == "fail" and task.get("progress"):
            args = {**args, "progress": task["progress"]}
        self._report(task, do, {**claim, **args}, 0.05)

    def _call(self, task: dict[str, Any], stop: threading.Event) -> tuple[str, dict[str, Any]]:
        connector = self._connectors.get(task["connector"])
        if connector is None:
            message = f"This worker has no connector '{task['connector']}'."
            return "fail", {"code": "no_connector", "message": message, "retryable": False}
        last = Progress(**task["last"]) if task.get("last") else None

        def tell(progress: Progress) -> None:
            task["progress"] = {"fraction": progress.fraction, "note": progress.note, "details": progress.details}
            self._pulse.soon()

        call = Call(
            task["run_id"], task["step"], task["attempt"], task["key"], task["input"], task["run_s"], stop, last, tell
        )
        try:
            return "complete", {"output": connector(call)}
        except ActivityError as error:
            return "fail", {"code": error.code, "message": error.message, "retryable": error.retryable}
        except Lost:
            raise
        except Exception as error:
            log.info("activity %s of run %s failed", task["step"], task["run_id"], exc_info=True)
            return "fail", {"code": type(error).__name__, "message": str(error)[:2000] or type(error).__name__}

    def _let_go(self, task: dict[str, Any]) -> None:
        """Renew its lease no more; the engine notices when that has run out."""
        with self._idle:
            self._active.pop(_claim(task), None)
            self._idle.notify_all()
        self._pulse.offer_again()

    def _report(self, task: dict[str, Any], do: str, args: dict[str, Any], pause_s: float) -> None:
        """Send the outcome until the engine has answered: an answer is worth more than a repeated call."""

        def done(answer: dict[str, Any]) -> None:
            if answer.get("error") == Unavailable.__name__ and not self._draining.wait(0):
                self._later(pause_s, lambda: self._report(task, do, args, min(pause_s * 2, MAX_OUTCOME_PAUSE_S)))
                return
            with self._idle:
                self._active.pop(_claim(task), None)
                self._idle.notify_all()
            if answer.get("code") == "stale_result":
                self._pulse.offer_again()
            elif "error" in answer and answer.get("code") not in ("already_known", "run_over"):
                log.warning("outcome of %s in run %s: %s", task["step"], task["run_id"], answer.get("message"))

        try:
            self._link.post(self.name, do, task["tenant"], args, done)
        except (TypeError, ValueError) as error:
            message = f"The activity's output is not JSON: {error}"
            bad = {k: v for k, v in args.items() if k != "output"} | {
                "code": "bad_output",
                "message": message,
                "retryable": False,
            }
            self._link.post(self.name, "fail", task["tenant"], bad, done)

    def _later(self, pause_s: float, call: Callable[[], None]) -> None:
        timer = threading.Timer(pause_s, call)
        timer.daemon = True
        timer.start()

    # Leases

    def renew(self) -> float | None:
        """Renew all leases; returns when to do it again, None where nothing is at work.

        A claim that was lost (its lease or its run time is over) is told to stop and gives its slot back, even
        if its function never returns; whatever it still answers is evidence.
        """
        with self._lock:
            claims = list(self._active)
            shortest = min((t["heartbeat_s"] for t, _ in self._active.values()), default=None)
        if not claims or shortest is None:
            return None
        with self._lock:
            told = [self._active[c][0].pop("progress", None) if c in self._active else None for c in claims]
        args = {"claims": [list(c) for c in claims], **({"progress": told} if any(told) else {})}
        try:
            answer = self._link.request(self.name, "heartbeat", "", args)
        except SignoffError:
            self._keep(claims, told)
            raise
        for i, wrong in answer.get("bad", ()):
            log.warning("progress of %s: %s", claims[i][1], wrong)
        with self._idle:
            for i in (*answer["lost"], *answer["stop"]):
                if claims[i] in self._active:
                    self._active[claims[i]][1].set()
            for i in answer["lost"]:
                self._active.pop(claims[i], None)
            self._idle.notify_all()
        if answer["lost"]:
            self.offer_soon()
        return float(shortest) / 3

    def _keep(self, claims: Sequence[tuple[str, str, int, int, int]], told: Sequence[Any]) -> None:
        """Reports that did not arrive travel with the next heartbeat, unless there are newer ones."""
        with self._lock:
            for claim, report in zip(claims, told, strict=True):
                if report and claim in self._active:
                    self._active[claim][0].setdefault("progress", report)


def _claim(task: dict[str, Any]) -> tuple[str, str, int, int, int]:
    return (task["run_id"], task["step"], task["generation"], task["attempt"], task["fence"])


class _Pulse(Service):
    """Renews a worker's leases three times per heartbeat interval."""

    name = "heartbeat"

    def __init__(self, worker: Worker) -> None:
        super().__init__()
        self._worker = worker
        self._shortest = float("inf")
        self._offer_again = False
        self._beat = 0.0

    def offer_again(self) -> None:
        """The engine may not know this worker's slots, or think it lost: say that it is there, until that arrives."""
        self._offer_again = True
        self.wake()

    def soon(self) -> None:
        """Something was reported: it travels at once, at most once a second, else with the next heartbeat."""
        if monotonic() - self._beat >= REPORT_PAUSE_S:
            self._beat = monotonic()
            self.wake()

    def hurry(self, heartbeat_s: float) -> None:
        """A task came; wake only where the current pause could be too long for it."""
        if heartbeat_s < self._shortest:
            self._shortest = heartbeat_s
            self.wake()

    def work(self) -> float | None:
        """One round; with nothing at work it looks again soon enough for any lease."""
        if self._offer_again:
            self._offer_again = False
            try:
                self._worker.offer()
            except BaseException:
                self._offer_again = True  # with the next round, after a pause
                raise
        pause = self._worker.renew()
        limit = self._shortest / 3 if self._shortest != float("inf") else None
        return pause if pause is not None else limit
