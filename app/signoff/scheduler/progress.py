"""A progress bar for long runs, only where somebody can see it."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from signoff.scheduler.states import TaskState

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

    from signoff.scheduler.scheduler import TaskScheduler

WORTH_SHOWING: Final = 100


class Progress:
    """Does nothing; what a run without a terminal reports to."""

    def advance(self, finished: int) -> None:
        """Show that so many tasks of this run have ended."""


class _Bar(Progress):
    def __init__(self, bar: "RichProgress", row: "TaskID") -> None:
        self._bar = bar
        self._row = row

    def advance(self, finished: int) -> None:
        self._bar.update(self._row, completed=finished)


@contextmanager
def progress_for(scheduler: "TaskScheduler", wanted: bool | None) -> Iterator[Progress]:
    """Open a progress bar on standard error if wanted, or (None) for a long run on a terminal."""
    counts = scheduler.tasks.counts()
    left = counts[TaskState.WAITING] + counts[TaskState.PENDING] + counts[TaskState.READY]
    if wanted is None:
        wanted = left >= WORTH_SHOWING and sys.stderr.isatty()
    if not wanted:
        yield Progress()
        return
    from rich.console import Console
    from rich.progress import Progress as RichProgress

    with RichProgress(console=Console(stderr=True)) as bar:
        yield _Bar(bar, bar.add_task("tasks", total=left))
