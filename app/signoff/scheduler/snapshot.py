"""What the metrics of a scheduler say, as one immutable snapshot (T18)."""

from collections.abc import Mapping
from dataclasses import dataclass

from signoff.scheduler.core import SchedulerCore
from signoff.scheduler.inspection import count_states
from signoff.scheduler.metrics import Durations, DurationStats
from signoff.scheduler.records import NO_WORK
from signoff.scheduler.states import TaskState


@dataclass(frozen=True, slots=True)
class GroupMetrics:
    """Figures of the tasks of one type (``kind``) of one tenant."""

    ready_wait: DurationStats
    run_time: DurationStats
    states: Mapping[TaskState, int]


@dataclass(frozen=True, slots=True)
class Metrics:
    """A snapshot; ``states`` and ``blocked`` are as of now, counts since the scheduler (or durable graph) was created.

    Attributes:
        states: number of tasks (newest generations) per state.
        blocked: number of blocked tasks.
        cycles: cycles that were refused or found by ``check`` and the first claim; the same cycle counts each time.
        ready_wait: from ready to claimed.
        run_time: from claimed to the callback that ended the task.
        claim_conflicts: claims refused because all-or-nothing did not fit the free slots.
        late_callbacks: callbacks of an older generation, refused.
        duplicate_callbacks: repeated callbacks, answered with the known state.
        duplicate_submissions: repeated submissions of a known (id, generation), answered and not executed.
        replaced: versions replaced before they started.
        lease_expiries: claims taken back because their lease ran out; 0 in memory, where claims have no lease.
        optional_failures: optional edges whose source ended without success.
        function_failures: tasks ended by ``fail``.
        graph_errors: refused graph operations by error code; never mixed with function failures.
        edges_touched: edges looked at by completions, failures and cancellations.
        propagation_s: time spent on those edges (needs ``timings``), seconds.
        listener_errors: exceptions raised by listeners (logged, never passed on).
        groups: figures by (kind, tenant).
    """

    states: Mapping[TaskState, int]
    blocked: int
    cycles: int
    ready_wait: DurationStats
    run_time: DurationStats
    claim_conflicts: int
    late_callbacks: int
    duplicate_callbacks: int
    duplicate_submissions: int
    replaced: int
    lease_expiries: int
    optional_failures: int
    function_failures: int
    graph_errors: Mapping[str, int]
    edges_touched: int
    propagation_s: float
    listener_errors: int
    groups: Mapping[tuple[str, str], GroupMetrics]

    @property
    def propagation_per_edge_s(self) -> float:
        """Mean propagation latency per edge in seconds; 0 when no edge was touched."""
        return self.propagation_s / self.edges_touched if self.edges_touched else 0.0


def snapshot(core: SchedulerCore) -> Metrics:
    """Read everything as of now; call under the scheduler's lock. O(V)."""
    meter = core.meter
    states = count_states(core)
    return Metrics(
        states=states,
        blocked=states[TaskState.BLOCKED],
        cycles=meter.counts["cycles"],
        ready_wait=meter.ready_wait.frozen(),
        run_time=meter.run_time.frozen(),
        claim_conflicts=meter.counts["claim_conflicts"],
        late_callbacks=meter.counts["late_callbacks"],
        duplicate_callbacks=meter.counts["duplicate_callbacks"],
        duplicate_submissions=meter.counts["duplicate_submissions"],
        replaced=meter.counts["replaced"],
        lease_expiries=0,
        optional_failures=meter.counts["optional_failures"],
        function_failures=meter.counts["function_failures"],
        graph_errors=dict(meter.graph_errors),
        edges_touched=core.edges_touched,
        propagation_s=meter.propagation_s,
        listener_errors=core.feed.errors,
        groups=_groups(core),
    )


def _groups(core: SchedulerCore) -> dict[tuple[str, str], GroupMetrics]:
    """Figures by (kind, tenant); one group, ("", ""), if no task has either."""
    table, meter = core.table, core.meter
    if not table.work:
        only = GroupMetrics(meter.ready_wait.frozen(), meter.run_time.frozen(), count_states(core))
        return {("", ""): only} if table.size else {}
    states: dict[tuple[str, str], dict[TaskState, int]] = {}
    for slot in table.current_slots():
        of = table.work.get(slot, NO_WORK)
        counts = states.setdefault((of.kind, of.tenant), dict.fromkeys(TaskState, 0))
        counts[table.state_of(slot)] += 1
    groups = states.keys() | meter.group_wait.keys()
    return {
        group: GroupMetrics(
            meter.group_wait.get(group, Durations()).frozen(),
            meter.group_run.get(group, Durations()).frozen(),
            states.get(group, dict.fromkeys(TaskState, 0)),
        )
        for group in sorted(groups)
    }
