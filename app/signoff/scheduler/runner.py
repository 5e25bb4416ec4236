"""The runner: claims tasks, calls their functions on an executor, reports how they ended."""

import inspect
import os
import queue
import shutil
import tempfile
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, CancelledError, Executor, Future, ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from signoff.scheduler.errors import TaskStopped
from signoff.scheduler.progress import Progress, progress_for
from signoff.scheduler.records import Claim, RunReport
from signoff.scheduler.states import TaskState
from signoff.scheduler.stop import EventStop, FileStop

if TYPE_CHECKING:
    from signoff.scheduler.scheduler import TaskScheduler

RUNNER_GONE = "the runner was interrupted before the function started"


class Runner:
    """One run of a scheduler on one executor; see ``TaskScheduler.run``."""

    def __init__(
        self,
        scheduler: "TaskScheduler",
        workers: int | Executor,
        concurrency: int | None,
        progress: bool | None,
    ) -> None:
        if isinstance(workers, int) and workers < 1:
            raise ValueError(f"Expected at least one worker to run tasks with, not {workers}.")
        if concurrency is not None and concurrency < 1:
            raise ValueError(f"Expected a concurrency of at least 1, not {concurrency}.")
        self._scheduler = scheduler
        self._workers = workers
        default = workers if isinstance(workers, int) else 2 * (os.cpu_count() or 1)
        self._concurrency = concurrency or default
        self._show_progress = progress
        self._futures: dict[Future[Any], Claim] = {}
        self._done: queue.SimpleQueue[Future[Any]] = queue.SimpleQueue()
        self._counts = {TaskState.SUCCEEDED: 0}
        self._failed: dict[Any, BaseException] = {}
        self._cancelled: list[Any] = []
        self._stop_folder: Path | None = None
        self._signals = 0
        self._broken: BrokenExecutor | None = None

    def run(self) -> RunReport:
        """Work until nothing is ready or running; an interrupt asks running functions to stop and waits for them."""
        with ExitStack() as stack:
            if isinstance(self._workers, int):
                executor: Executor = ThreadPoolExecutor(self._workers, thread_name_prefix="signoff-task")
                stack.enter_context(executor)
            else:
                executor = self._workers
            stack.callback(self._remove_stop_folder)
            progress = stack.enter_context(progress_for(self._scheduler, self._show_progress))
            try:
                self._work(executor, progress)
            except BaseException:
                self._interrupt()
                raise
        counts = self._scheduler.tasks.counts()
        unfinished = counts[TaskState.WAITING] + counts[TaskState.PENDING] + counts[TaskState.READY]
        done = self._counts[TaskState.SUCCEEDED]
        return RunReport(done, self._failed, tuple(self._cancelled), unfinished)

    def _work(self, executor: Executor, progress: Progress) -> None:
        while True:
            free = self._concurrency - len(self._futures)
            claims = self._scheduler.ready(free) if free and self._broken is None else []
            self._start_all(executor, claims)
            progress.advance(self._finished)
            if claims and len(self._futures) < self._concurrency and self._done.empty():
                continue  # functionless tasks may have made others ready
            if not self._futures:
                break
            self._report(self._done.get())
        if self._broken is not None:
            raise self._broken

    def _start_all(self, executor: Executor, claims: list[Claim]) -> None:
        """Hand tasks to the executor; whatever happens, no claim is left without an outcome."""
        for position, claim in enumerate(claims):
            try:
                self._start(executor, claim)
            except BrokenExecutor as error:
                self._broken = self._broken or error
                for lost in claims[position:]:
                    self._fail(lost, error)
                return
            except BaseException:
                for task, generation in claims[position:]:
                    if (task, generation) not in self._futures.values():
                        self._scheduler.cancel(task, generation=generation, reason=RUNNER_GONE)
                        self._scheduler.cancel(task, generation=generation, confirmed=True)
                        self._cancelled.append(task)
                raise

    @property
    def _finished(self) -> int:
        return self._counts[TaskState.SUCCEEDED] + len(self._failed) + len(self._cancelled)

    def _start(self, executor: Executor, claim: Claim) -> None:
        """Hand one task to the executor; a task without a function succeeds here and now."""
        task, generation = claim
        work = self._scheduler.tasks.work(task)
        if work.function is None:
            self._scheduler.complete(task, generation)
            self._counts[TaskState.SUCCEEDED] += 1
            return
        wants = _parameters(work.function)
        kwargs = dict(work.kwargs)
        if "inputs" in wants and "inputs" not in kwargs:
            kwargs["inputs"] = self._scheduler.tasks.inputs(task)
        if "stop" in wants and "stop" not in kwargs:
            kwargs["stop"] = self._stop_signal(executor, claim)
        future = executor.submit(work.function, *work.args, **kwargs)
        self._futures[future] = claim
        future.add_done_callback(self._done.put)

    def _report(self, future: "Future[Any]") -> None:
        """Tell the scheduler how one function ended."""
        claim = self._futures.pop(future)
        task, generation = claim
        try:
            result = future.result()
        except (TaskStopped, CancelledError) as error:
            if self._scheduler.tasks.info(task).stop_requested:
                self._scheduler.cancel(task, generation=generation, confirmed=True)
                self._cancelled.append(task)
            else:
                self._fail(claim, error)
        except BaseException as error:
            if isinstance(error, BrokenExecutor):
                self._broken = self._broken or error
            self._fail(claim, error)
        else:
            self._scheduler.complete(task, generation, result)
            self._counts[TaskState.SUCCEEDED] += 1

    def _fail(self, claim: Claim, error: BaseException) -> None:
        self._scheduler.fail(*claim, error)
        self._failed[claim[0]] = error

    def _interrupt(self) -> None:
        """Ask every function of this run to stop, wait for them, and report each: nothing stays running."""
        for future, (task, generation) in list(self._futures.items()):
            self._scheduler.cancel(task, generation=generation, reason=RUNNER_GONE)
            future.cancel()
        while self._futures:
            self._report(self._done.get())

    def _stop_signal(self, executor: Executor, claim: Claim) -> EventStop | FileStop:
        """Make a stop signal that reaches the function wherever this executor runs it."""
        signal: EventStop | FileStop
        if isinstance(executor, ThreadPoolExecutor):
            signal = EventStop()
        else:
            if self._stop_folder is None:
                self._stop_folder = Path(tempfile.mkdtemp(prefix="signoff-stop-"))
            self._signals += 1
            signal = FileStop(self._stop_folder / f"{self._signals}")
        self._scheduler.attach_stop(claim, signal.set)
        return signal

    def _remove_stop_folder(self) -> None:
        if self._stop_folder is not None:
            shutil.rmtree(self._stop_folder, ignore_errors=True)


def _parameters(function: Callable[..., Any]) -> frozenset[str]:
    """Names a function accepts by keyword; empty where that cannot be known (some builtins)."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return frozenset()
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    return frozenset(parameter.name for parameter in parameters if parameter.kind in named)
