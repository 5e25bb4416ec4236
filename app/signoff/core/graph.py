"""Pure graph algorithms over a successor mapping, shared by the engine and the task scheduler.

Every function takes ``successors: Mapping[N, Collection[N]]``: each node is a key, its value holds the
nodes it points to (repeated successors count once). Results depend on the *order of the keys* only, never
on the iteration order of the values, so sets are welcome and answers are the same in every process. Nothing
here recurses, so a chain of a million nodes is fine. V is the number of nodes, E the number of edges.
"""

from collections import deque
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from heapq import heapify, heappop, heappush
from typing import Any


class CycleFound(ValueError):
    """An order or a depth was asked of a graph that has a cycle.

    Attributes:
        path: one concrete cycle ``[a, b, c, a]``; a node that points to itself gives ``[a, a]``.
    """

    def __init__(self, path: Sequence[Any]) -> None:
        self.path: list[Any] = list(path)
        super().__init__(
            f"Expected an acyclic graph, but its edges form the cycle {format_path(path)}. Remove one of these edges."
        )


class UnknownNode(ValueError):
    """A node is named as a successor or as a start, but is not a key of the mapping.

    Attributes:
        node: the node that has no key.
    """

    def __init__(self, node: Any, named_by: str) -> None:
        self.node: Any = node
        super().__init__(
            f"Expected every node to be a key of the graph, but {node!r} ({named_by}) is not. "
            "Add it as a key, with an empty collection if nothing follows it."
        )


def format_path(path: Iterable[Any]) -> str:
    """Write a path for people: ``a → b → a``."""
    return " → ".join(str(node) for node in path)


def topological_order[N: Hashable](successors: Mapping[N, Collection[N]]) -> list[N]:
    """Order the nodes so that every edge points forward. O(V log V + E log E).

    Of all nodes whose predecessors are placed, the one whose key comes first is placed next, which makes the
    answer unique (the smallest such order by key position; with keys already in a valid order, that order).

    Raises:
        CycleFound: no such order exists; the error holds one cycle.
        UnknownNode: a successor is not a key.
    """
    nodes, after = _indexed(successors)
    waiting_for = _in_degrees(after)
    free = [index for index, count in enumerate(waiting_for) if not count]
    heapify(free)
    order: list[N] = []
    while free:
        index = heappop(free)
        order.append(nodes[index])
        for target in after[index]:
            waiting_for[target] -= 1
            if not waiting_for[target]:
                heappush(free, target)
    if len(order) < len(nodes):
        raise CycleFound([nodes[index] for index in _cycles(after)[0]])
    return order


def find_cycle[N: Hashable](successors: Mapping[N, Collection[N]]) -> list[N] | None:
    """Find one concrete cycle ``[a, b, c, a]``, or None if the graph is acyclic. O(V + E log E).

    It is a shortest cycle through the first node (by key order) that lies on any cycle.

    Raises:
        UnknownNode: a successor is not a key.
    """
    paths = all_cycle_paths(successors)
    return paths[0] if paths else None


def all_cycle_paths[N: Hashable](successors: Mapping[N, Collection[N]]) -> list[list[N]]:
    """Find one concrete cycle for each strongly connected component that has one. O(V + E log E).

    Each path ``[a, b, c, a]`` starts at the component's first node by key order and is a shortest cycle
    through it; the paths are sorted by that node. Removing one edge of a path may leave other cycles in
    the same component.

    Raises:
        UnknownNode: a successor is not a key.
    """
    nodes, after = _indexed(successors)
    return [[nodes[index] for index in path] for path in _cycles(after)]


def reachable_from[N: Hashable](successors: Mapping[N, Collection[N]], starts: Iterable[N]) -> set[N]:
    """Collect the starts and every node that can be reached from them. O(V + E).

    Raises:
        UnknownNode: a start, or a successor that was reached, is not a key.
    """
    seen = set(starts)
    for node in seen:
        if node not in successors:
            raise UnknownNode(node, "a start of the search")
    stack = list(seen)
    while stack:
        node = stack.pop()
        for target in successors[node]:
            if target not in seen:
                if target not in successors:
                    raise UnknownNode(target, f"a successor of {node!r}")
                seen.add(target)
                stack.append(target)
    return seen


def reversed_graph[N: Hashable](successors: Mapping[N, Collection[N]]) -> dict[N, list[N]]:
    """Turn every edge around: each node maps to its predecessors, both in key order. O(V + E log E).

    Raises:
        UnknownNode: a successor is not a key.
    """
    nodes, after = _indexed(successors)
    before: dict[N, list[N]] = {node: [] for node in nodes}
    for index, targets in enumerate(after):
        for target in targets:
            before[nodes[target]].append(nodes[index])
    return before


def longest_path_length[N: Hashable](successors: Mapping[N, Collection[N]]) -> int:
    """Count the nodes on the longest path (the depth); 0 for an empty graph. O(V log V + E log E).

    Raises:
        CycleFound: the graph has a cycle, so paths have no longest length.
        UnknownNode: a successor is not a key.
    """
    depth = dict.fromkeys(successors, 1)
    for node in topological_order(successors):
        for target in successors[node]:
            depth[target] = max(depth[target], depth[node] + 1)
    return max(depth.values(), default=0)


def _indexed[N: Hashable](successors: Mapping[N, Collection[N]]) -> tuple[list[N], list[list[int]]]:
    """Number the nodes in key order; give each one its successors' numbers, ascending and once each."""
    nodes = list(successors)
    position = {node: index for index, node in enumerate(nodes)}
    after: list[list[int]] = []
    for node in nodes:
        targets = set()
        for target in successors[node]:
            index = position.get(target)
            if index is None:
                raise UnknownNode(target, f"a successor of {node!r}")
            targets.add(index)
        after.append(sorted(targets))
    return nodes, after


def _in_degrees(after: list[list[int]]) -> list[int]:
    counts = [0] * len(after)
    for targets in after:
        for target in targets:
            counts[target] += 1
    return counts


def _cycles(after: list[list[int]]) -> list[list[int]]:
    """One shortest cycle through the first node of each cyclic component, sorted by that node."""
    paths = []
    for component in _components(after):
        first = min(component)
        if len(component) > 1 or first in after[first]:
            paths.append(_shortest_cycle(after, first, set(component)))
    return sorted(paths)


def _shortest_cycle(after: list[list[int]], first: int, component: set[int]) -> list[int]:
    """Search breadth-first from ``first`` inside its component until an edge comes back to it."""
    came_from = {first: first}
    queue = deque([first])
    while True:
        index = queue.popleft()
        for target in after[index]:
            if target == first:
                path = [first]
                while index != first:
                    path.append(index)
                    index = came_from[index]
                return [first, *path[:0:-1], first]
            if target in component and target not in came_from:
                came_from[target] = index
                queue.append(target)


def _components(after: list[list[int]]) -> list[list[int]]:
    """Strongly connected components: Tarjan's algorithm (SIAM J. Comput. 1972) with an explicit stack."""
    unseen = -1
    number = [unseen] * len(after)
    low = [0] * len(after)
    on_stack = bytearray(len(after))
    stack: list[int] = []
    found: list[list[int]] = []
    count = 0
    for root in range(len(after)):
        if number[root] != unseen:
            continue
        work = [(root, iter(after[root]))]
        while work:
            index, targets = work[-1]
            if number[index] == unseen:
                number[index] = low[index] = count
                count += 1
                stack.append(index)
                on_stack[index] = 1
            for target in targets:
                if number[target] == unseen:
                    work.append((target, iter(after[target])))
                    break
                if on_stack[target]:
                    low[index] = min(low[index], number[target])
            else:
                work.pop()
                if work:
                    parent = work[-1][0]
                    low[parent] = min(low[parent], low[index])
                if low[index] == number[index]:
                    found.append(_pop_component(stack, index, on_stack))
    return found


def _pop_component(stack: list[int], root: int, on_stack: bytearray) -> list[int]:
    """Take a finished component off Tarjan's stack: everything above its root, and the root."""
    component = []
    member = -1
    while member != root:
        member = stack.pop()
        on_stack[member] = 0
        component.append(member)
    return component
