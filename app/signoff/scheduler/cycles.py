"""Cycles among the unfinished tasks: one counting pass when there are none, concrete paths when there are some."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from signoff.core.graph import all_cycle_paths
from signoff.scheduler.states import PENDING, READY, RUNNING
from signoff.scheduler.table import TaskTable


def cycle_paths(table: TaskTable) -> list[list[Any]]:
    """Find one cycle per group of tasks that wait for each other, as paths of ids in the direction of the edges.

    Dependencies that nobody submitted yet count as satisfiable. O(V+E) over unfinished tasks.
    """
    stuck = _never_ready(table)
    if not stuck:
        return []
    members = set(stuck)
    successors = {slot: [t for t in table.targets(slot) if t in members] for slot in stuck}
    return [[table.ids[slot] for slot in path] for path in all_cycle_paths(successors)]


def batch_cycle_paths(table: TaskTable, batch: Mapping[Any, Sequence[Hashable]]) -> list[list[Any]]:
    """Find the cycles there would be if these ids (with all their dependencies) were submitted now.

    ``batch`` maps each id to its dependencies; an id the table has already is treated as replaced. Without
    replaced ids and without tasks waiting for an id of the batch only the batch itself is searched.
    """
    successors: dict[Any, list[Any]] = {task: [] for task in batch}
    touches_old = any(task in table.index or task in table.optional_awaited for task in batch)
    if touches_old:
        for slot in table.current_slots():
            if table.state[slot] <= RUNNING:
                successors.setdefault(table.ids[slot], []).extend(
                    table.ids[t] for t in table.targets(slot) if table.state[t] == PENDING and table.ids[t] not in batch
                )
        for task, slots in table.unknown_ids().items():
            ids = (table.ids[slot] for slot in slots if table.state[slot] == PENDING)
            successors.setdefault(task, []).extend(i for i in ids if i not in batch)
    for task, dependencies in batch.items():
        for dependency in dependencies:
            if dependency in successors:
                successors[dependency].append(task)
    return all_cycle_paths(successors)


def is_acyclic(position: Mapping[Any, int], edges: Sequence[Sequence[Hashable]]) -> bool:
    """Whether tasks (id → place; place → dependencies) can all run; other ids do not matter. O(V+E).

    A search in depth along the dependencies, which needs no other lists than those given.
    """
    find = position.get
    looked_at = bytearray(len(edges))  # 1: on the path that is being followed, 2: nothing behind it leads back
    for start in range(len(edges)):
        if looked_at[start]:
            continue
        looked_at[start] = 1
        path, branches = [start], [iter(edges[start])]
        while branches:
            for dependency in branches[-1]:
                source = find(dependency)
                if source is None or looked_at[source] == 2:
                    continue
                if looked_at[source]:
                    return False
                looked_at[source] = 1
                path.append(source)
                branches.append(iter(edges[source]))
                break
            else:
                looked_at[path.pop()] = 2
                branches.pop()
    return True


def _never_ready(table: TaskTable) -> list[int]:
    """Pending tasks that no sequence of successes would ever make ready (Kahn's count on a copy)."""
    size, state, after, optional_after = table.size, table.state, table.after, table.optional_after
    left = _counts(table.missing[:size])
    for slots in table.unknown_ids().values():
        for target in slots:
            left[target] -= 1
    reached = [slot for slot, count in enumerate(left) if not count and state[slot] <= RUNNING]
    reach = reached.append
    for slot in reached:  # grows while it is read
        targets: Any = after[slot]
        if type(targets) is int:
            left[targets] = count = left[targets] - 1
            if not count and state[targets] == PENDING:
                reach(targets)
        elif targets:
            for target in targets:
                left[target] = count = left[target] - 1
                if not count and state[target] == PENDING:
                    reach(target)
        if optional_after and slot in optional_after:
            for target in optional_after[slot]:
                left[target] -= 1
                if not left[target] and state[target] == PENDING:
                    reach(target)
    if len(reached) == sum(state.count(code, 0, size) for code in (PENDING, READY, RUNNING)):
        return []
    return [slot for slot in range(size) if left[slot] > 0 and state[slot] == PENDING]


def _counts(missing: list[int]) -> bytearray | list[int]:
    """The counts as bytes, where they fit: an eighth of the memory to walk through."""
    try:
        return bytearray(missing)
    except ValueError:
        return missing
