"""Graphs other libraries hold, read as task specs: networkx graphs and ``{node: predecessors}`` mappings."""

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, Protocol, runtime_checkable

from signoff.scheduler.records import TaskSpec
from signoff.scheduler.submission import as_ids


@runtime_checkable
class PredecessorGraph(Protocol):
    """The part of ``networkx.DiGraph`` that is read; an edge (a, b) means that b depends on a."""

    def is_directed(self) -> bool:
        """Whether edges have a direction."""
        ...

    def predecessors(self, node: Any) -> Iterable[Any]:
        """The nodes with an edge to this one."""
        ...

    def __iter__(self) -> Any: ...


type GraphInput = (
    PredecessorGraph
    | Mapping[Any, Iterable[Hashable]]
    | Iterable[TaskSpec | tuple[Hashable, Iterable[Hashable]]]
    | Iterable[TaskSpec]
)


def read_tasks(graph: Any, function: Callable[..., Any] | None, known: Callable[[Any], bool]) -> list[TaskSpec]:
    """Read task specs from any accepted form, in its own order.

    Args:
        graph: task specs; ``(id, dependencies)`` pairs; a mapping ``{node: predecessors}``, where a predecessor
            without a key is a node of its own, as in graphlib (appended after the keys, unless ``known``); or a
            directed networkx graph.
        function: called with the node as its only argument by ``run``, for forms that carry no functions.
        known: tells whether an id was submitted before.

    Raises:
        TypeError: none of these forms, or an undirected graph.
    """
    if isinstance(graph, Mapping):
        return _from_mapping(graph, function, known)
    is_directed = getattr(graph, "is_directed", None)
    if callable(is_directed) and not is_directed():
        raise TypeError("Expected a directed graph to submit, but its edges have no direction. Use a DiGraph.")
    if isinstance(graph, PredecessorGraph):
        return [_spec(node, graph.predecessors(node), function) for node in graph]
    if not isinstance(graph, Iterable):
        raise TypeError(
            "Expected task specs, a {node: predecessors} mapping or a networkx graph, "
            f"but got {type(graph).__name__}."
        )
    specs = []
    for item in graph:
        if isinstance(item, TaskSpec):
            specs.append(item)
        elif isinstance(item, tuple) and len(item) == 2:
            specs.append(_spec(item[0], item[1], function))
        else:
            raise TypeError(f"Expected a TaskSpec or an (id, dependencies) pair in the batch, but got {item!r}.")
    return specs


def _from_mapping(
    graph: Mapping[Any, Iterable[Hashable]], function: Callable[..., Any] | None, known: Callable[[Any], bool]
) -> list[TaskSpec]:
    specs = [_spec(node, predecessors, function) for node, predecessors in graph.items()]
    implied = dict.fromkeys(dep for spec in specs for dep in spec.dependencies if dep not in graph)
    return specs + [_spec(node, (), function) for node in implied if not known(node)]


def _spec(node: Hashable, dependencies: Iterable[Hashable], function: Callable[..., Any] | None) -> TaskSpec:
    return TaskSpec(node, as_ids(node, dependencies), function, args=() if function is None else (node,))
