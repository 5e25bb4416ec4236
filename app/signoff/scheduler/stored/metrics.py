"""The metrics of a stored graph, added up from what every process wrote with its commits (T18)."""

from collections import defaultdict

from signoff.scheduler.metrics import DurationStats
from signoff.scheduler.snapshot import GroupMetrics, Metrics
from signoff.scheduler.states import TaskState
from signoff.scheduler.stored.ports import Tables

type Group = tuple[str, str]
type Figures = dict[str, float]


def state_counts(tables: Tables) -> dict[TaskState, int]:
    """Number of newest generations per state; every state has an entry."""
    counts = dict.fromkeys(TaskState, 0)
    for states in _group_states(tables).values():
        for state, count in states.items():
            counts[state] += count
    return counts


def stored_metrics(tables: Tables) -> Metrics:
    """Everything as of this snapshot. Durations are by the clocks of the processes that wrote them."""
    by_group: dict[Group, Figures] = defaultdict(dict)
    total: Figures = defaultdict(float)
    for tenant, kind, name, value in tables.ledger.figures():
        by_group[kind, tenant][name] = value
        total[name] = max(total[name], value) if name.endswith(".longest_s") else total[name] + value
    group_states = _group_states(tables)
    states = state_counts(tables)
    groups = {
        group: GroupMetrics(
            _durations(by_group.get(group, {}), "ready_wait"), _durations(by_group.get(group, {}), "run_time"), found
        )
        for group, found in group_states.items()
    }

    def whole(name: str) -> int:
        return int(total.get(name, 0))

    prefix = "graph_error."
    return Metrics(
        states=states,
        blocked=states[TaskState.BLOCKED],
        cycles=whole("cycles"),
        ready_wait=_durations(total, "ready_wait"),
        run_time=_durations(total, "run_time"),
        claim_conflicts=whole("claim_conflicts"),
        late_callbacks=whole("late_callbacks"),
        duplicate_callbacks=whole("duplicate_callbacks"),
        duplicate_submissions=whole("duplicate_submissions"),
        replaced=whole("replaced"),
        lease_expiries=whole("lease_expiries"),
        optional_failures=whole("optional_failures"),
        function_failures=whole("function_failures"),
        graph_errors={name.removeprefix(prefix): int(value) for name, value in total.items() if prefix in name},
        edges_touched=whole("edges_touched"),
        propagation_s=total.get("propagation_s", 0.0),
        listener_errors=0,
        groups=groups,
    )


def _group_states(tables: Tables) -> dict[Group, dict[TaskState, int]]:
    found: dict[Group, dict[TaskState, int]] = defaultdict(lambda: dict.fromkeys(TaskState, 0))
    for tenant, kind, state, count in tables.ledger.tallies():
        if count:
            found[kind, tenant][TaskState(state)] += count
    for tenant, kind, count in tables.ledger.waiting():
        found[kind, tenant][TaskState.WAITING] += count
        found[kind, tenant][TaskState.PENDING] -= count
    return dict(found)


def _durations(figures: Figures, name: str) -> DurationStats:
    return DurationStats(
        int(figures.get(f"{name}.count", 0)),
        figures.get(f"{name}.total_s", 0.0),
        figures.get(f"{name}.longest_s", 0.0),
    )
