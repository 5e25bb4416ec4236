"""Cycles in a stored graph. Edges stay in the store; what is held is one number per task looked at."""

from array import array
from collections import deque
from collections.abc import Iterable, Mapping, Sequence

from signoff.core.graph import all_cycle_paths
from signoff.scheduler.stored.ports import Tables


def path_between(tables: Tables, start: int, goals: set[int]) -> list[str] | None:
    """A shortest path over pending dependents from a node (left out) to one of the goal nodes, as task ids.

    O(what depends on the start).
    """
    came_from: dict[int, tuple[int, str]] = {}
    queue = deque([start])
    while queue:
        node = queue.popleft()
        for _, target, task in tables.edges.iter_pending(node):
            if target in came_from or target == start:
                continue
            came_from[target] = node, task
            if target in goals:
                path, step = [task], node
                while step != start:
                    step, task = came_from[step][0], came_from[step][1]
                    path.append(task)
                return path[::-1]
            queue.append(target)
    return None


def batch_cycles(tables: Tables, batch: Mapping[str, Sequence[str]], nodes: Mapping[str, int]) -> list[list[str]]:
    """The cycles there would be with these tasks (id → dependencies): the batch and what waits for it now."""
    successors: dict[str, list[str]] = {task: [] for task in batch}
    queue = deque((task, nodes[task]) for task in batch if task in nodes)
    while queue:
        task, node = queue.popleft()
        for _, target, name in tables.edges.iter_pending(node):
            if name in batch:
                continue
            successors[task].append(name)
            if name not in successors:
                successors[name] = []
                queue.append((name, target))
    for task, dependencies in batch.items():
        for dependency in dependencies:
            if dependency in successors:
                successors[dependency].append(task)
    return all_cycle_paths(successors)


def all_cycles(tables: Tables) -> list[list[str]]:
    """One cycle per group of unfinished tasks that wait for each other. O(V+E) time, 8 bytes per task.

    Dependencies nobody submitted yet count as satisfiable.
    """
    span = _span(version for version, _, _, _ in tables.versions.iter_unfinished())
    left, nodes = array("i", bytes(4 * len(span))), array("q", bytes(8 * len(span)))
    ready: deque[int] = deque()
    count = 0
    for version, node, state, unmet in tables.versions.iter_unfinished():
        left[version - span.start] = unmet if state == "pending" else 0
        nodes[version - span.start] = node
        count += 1
    for _, version in tables.edges.iter_unknown():
        if version in span:
            left[version - span.start] -= 1
    ready.extend(place for place, node in enumerate(nodes) if node and left[place] <= 0)
    while ready:
        place = ready.popleft()
        count -= 1
        for version, _, _ in tables.edges.iter_pending(nodes[place]):
            left[version - span.start] -= 1
            if not left[version - span.start]:
                ready.append(version - span.start)
    return _paths(tables, {nodes[place] for place, waits in enumerate(left) if waits > 0}) if count else []


def _span(versions: Iterable[int]) -> range:
    lowest, highest = 0, -1
    for version in versions:
        lowest, highest = (min(lowest, version), max(highest, version)) if highest >= 0 else (version, version)
    return range(lowest, highest + 1)


def _paths(tables: Tables, stuck: set[int]) -> list[list[str]]:
    names: dict[int, str] = {}
    successors: dict[int, list[int]] = {}
    for node in sorted(stuck):
        successors[node] = []
        for _, target, task in tables.edges.iter_pending(node):
            if target in stuck:
                successors[node].append(target)
                names[target] = task
    return [[names[node] for node in path] for path in all_cycle_paths(successors)]
