"""How the end of a task reaches its dependents: a bad end blocks what requires it; optional edges only wait.

The release after a success is the hot path and has its own module, ``success``. Each function here touches the
out-edges of the tasks that ended and nothing else.
"""

from collections import deque
from collections.abc import Iterable

from signoff.scheduler.states import BLOCKED, PENDING, READY
from signoff.scheduler.table import ENDED, TaskTable, as_list


def block_dependents(table: TaskTable, root: int, fresh: list[int]) -> tuple[list[int], int, int]:
    """Spread the bad end of ``root`` (already marked) breadth-first, so that recorded paths are short.

    Returns:
        the versions now blocked, the number of edges touched, and the number of optional edges that failed.
    """
    state, after, causes = table.state, table.after, table.blocked_via
    blocked: list[int] = []
    touched = failed_optional = 0
    queue = deque([root])
    while queue:
        slot = queue.popleft()
        targets = as_list(after[slot])
        after[slot] = ENDED
        touched += len(targets)
        for target in targets:
            if state[target] == PENDING:
                state[target] = BLOCKED
                causes[target] = slot
                blocked.append(target)
                queue.append(target)
        settled = settle_optional(table, slot, fresh)
        touched += settled
        failed_optional += settled
    return blocked, touched, failed_optional


def path_between(table: TaskTable, start: Iterable[int], goals: set[int]) -> list[int] | None:
    """Find a shortest path along edges from one of ``start`` to one of ``goals``; None if there is none.

    O(tasks reachable from ``start`` and their edges).
    """
    came_from: dict[int, int | None] = dict.fromkeys(start)
    queue = deque(came_from)
    while queue:
        slot = queue.popleft()
        if slot in goals:
            path = [slot]
            while (before := came_from[path[-1]]) is not None:
                path.append(before)
            return path[::-1]
        for target in table.targets(slot):
            if target not in came_from and table.state[target] == PENDING:
                came_from[target] = slot
                queue.append(target)
    return None


def settle_optional(table: TaskTable, slot: int, fresh: list[int]) -> int:
    """Count the optional edges of an ended task as resolved; returns how many there were."""
    targets = table.optional_after.pop(slot, ())
    for target in targets:
        table.missing[target] -= 1
        if not table.missing[target] and table.state[target] == PENDING:
            table.state[target] = READY
            fresh.append(target)
    return len(targets)
