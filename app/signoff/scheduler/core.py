"""What all operations of one scheduler share: its table, its ready queue, its counters and its settings."""

from collections.abc import Callable, Hashable
from datetime import datetime

from signoff.scheduler.errors import DependencyCycle, SchedulerError
from signoff.scheduler.listeners import ChangeFeed
from signoff.scheduler.metrics import Meter
from signoff.scheduler.records import Cause, StateChange
from signoff.scheduler.states import TaskState
from signoff.scheduler.stop import StopDesk
from signoff.scheduler.table import TaskTable


class SchedulerCore:
    """Plain state; ``submission``, ``claiming`` and ``endings`` are the operations on it, all under one lock.

    Attributes:
        fresh: slots that became ready since the last claim, in no order.
        queue: older ready slots, a heap; it may hold slots that are not ready any more.
        stale: how many such slots ``fresh`` and ``queue`` hold together.
        running: number of running tasks.
        started: a claim was made, so no cycle may come into being any more.
        accept_unknown: dependencies may be unknown: in open graphs, and while a checked batch is entered.
        trusted: a checked batch is being entered, its edges need no check.
        unusual: submission has more to do than to link edges: the scheduler is closing, or has listeners or
            optional edges.
        watched: completion has more to do than to release dependents: there are timings, listeners, stop
            signals or optional edges.
        edges_touched: edges looked at by endings.
        suspect: a cycle may exist, where no claim was made yet: a task was submitted before one that it waits for.
        stop_requests: slot of a running task → who asked it to stop, and why.
    """

    def __init__(
        self,
        *,
        max_concurrency: int | None,
        open_graph: bool,
        strict: bool,
        timings: bool,
        clock: Callable[[], float],
        now: Callable[[], datetime],
    ) -> None:
        self.max_concurrency = max_concurrency
        self.open_graph = open_graph
        self.accept_unknown = open_graph
        self.trusted = False
        self.unusual = False
        self.watched = timings
        self.edges_touched = 0
        self.strict = strict
        self.timings = timings
        self.clock = clock
        self.now = now
        self.table = TaskTable()
        self.generations = self.table.generation
        self.fresh: list[int] = []
        self.queue: list[int] = []
        self.stale = 0
        self.running = 0
        self.started = False
        self.suspect = False
        self.closing = False
        self.kept_reason = ""
        self.stop_requests: dict[int, Cause] = {}
        self.stops = StopDesk()
        self.meter = Meter()
        self.feed = ChangeFeed()

    def note(self, slot: int, source: TaskState | None, target: TaskState) -> None:
        """Tell the listeners about one change; call only when there are listeners."""
        table = self.table
        change = StateChange(table.ids[slot], table.generation_of(slot), source, target, self.clock())
        self.feed.pending.append(change)

    def refuse[E: SchedulerError](self, error: E) -> E:
        """Count a refused graph operation and give the error back to be raised."""
        self.meter.graph_errors[error.code] += 1
        if isinstance(error, DependencyCycle):
            self.meter.counts["cycles"] += len(error.paths)
        return error

    def cause(self, slot: int, state: TaskState, reason: str, by: str = "") -> Cause:
        """Record of a bad end that begins at this slot."""
        table = self.table
        task: Hashable = table.ids[slot]
        return Cause(task, table.generation_of(slot), state, reason, by, self.now(), (task,))
