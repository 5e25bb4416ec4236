"""Graphs other libraries hold, read as task specs: networkx graphs and ``{node: predecessors}`` mappings."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
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


class Batch:
    """Many tasks to submit together, as parallel lists.

    Attributes:
        ids: the tasks.
        edges: their required dependencies.
        specs: place → everything that a task has beyond those; most have nothing.
    """

    __slots__ = ("edges", "ids", "specs")

    def __init__(self) -> None:
        self.ids: list[Any] = []
        self.edges: list[tuple[Any, ...]] = []
        self.specs: dict[int, TaskSpec] = {}

    def optional(self, place: int) -> tuple[Any, ...]:
        """The optional dependencies of a task."""
        spec = self.specs.get(place) if self.specs else None
        return as_ids(spec.task, spec.optional) if spec and spec.optional else ()


def read_batch(graph: Any, function: Callable[..., Any] | None, known: Callable[[Any], bool]) -> Batch:
    """Read a batch from any accepted form, in its own order; arguments and errors as ``read_tasks``."""
    batch = Batch()
    ids, edges, specs = batch.ids, batch.edges, batch.specs
    for row in _rows(graph, known):
        if type(row) is tuple:
            task, dependencies = row
            if function is not None:
                specs[len(ids)] = _spec(task, (), function)
        else:
            task, dependencies = row.task, row.dependencies
            specs[len(ids)] = row
        ids.append(task)
        edges.append(dependencies if type(dependencies) is tuple else as_ids(task, dependencies))
    return batch


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
    return [row if isinstance(row, TaskSpec) else _spec(row[0], row[1], function) for row in _rows(graph, known)]


def _rows(graph: Any, known: Callable[[Any], bool]) -> Iterable[Any]:
    """Specs or pairs of a task and its dependencies."""
    if isinstance(graph, Mapping):
        return _from_mapping(graph, known)
    is_directed = getattr(graph, "is_directed", None)
    if callable(is_directed) and not is_directed():
        raise TypeError("Expected a directed graph to submit, but its edges have no direction. Use a DiGraph.")
    if isinstance(graph, PredecessorGraph):
        return [(node, graph.predecessors(node)) for node in graph]
    if not isinstance(graph, Iterable):
        raise TypeError(
            "Expected task specs, a {node: predecessors} mapping or a networkx graph, "
            f"but got {type(graph).__name__}."
        )
    return _checked(graph)


def _checked(rows: Iterable[Any]) -> Iterator[Any]:
    for row in rows:
        if not (isinstance(row, TaskSpec) or (isinstance(row, tuple) and len(row) == 2)):
            raise TypeError(f"Expected a TaskSpec or an (id, dependencies) pair in the batch, but got {row!r}.")
        yield row if type(row) is tuple or isinstance(row, TaskSpec) else tuple(row)


def _from_mapping(
    graph: Mapping[Any, Iterable[Hashable]], known: Callable[[Any], bool]
) -> list[tuple[Any, tuple[Any, ...]]]:
    rows = [(node, as_ids(node, predecessors)) for node, predecessors in graph.items()]
    implied = dict.fromkeys(dep for _, dependencies in rows for dep in dependencies if dep not in graph)
    return rows + [(node, ()) for node in implied if not known(node)]


def _spec(node: Hashable, dependencies: Iterable[Hashable], function: Callable[..., Any] | None) -> TaskSpec:
    return TaskSpec(node, as_ids(node, dependencies), function, args=() if function is None else (node,))
