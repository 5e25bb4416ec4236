"""The pure graph algorithms: tables for the meaning, networkx as the oracle for random graphs."""

from collections.abc import Mapping
from itertools import pairwise

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from signoff.core import graph

Graph = Mapping[int, set[int]]


@st.composite
def graphs(draw: st.DrawFn, acyclic: bool = False) -> dict[int, set[int]]:
    """Up to 12 nodes whose keys are in a random order."""
    size = draw(st.integers(0, 12))
    nodes = draw(st.permutations(range(size)))
    pairs = draw(st.sets(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=30))
    edges = [(a % size, b % size) for a, b in pairs] if size else []
    if acyclic:
        edges = [(min(edge), max(edge)) for edge in edges if edge[0] != edge[1]]
    return {node: {b for a, b in edges if a == node} for node in nodes}


def as_networkx(successors: Graph) -> "nx.DiGraph[int]":
    answer: nx.DiGraph[int] = nx.DiGraph()
    answer.add_nodes_from(successors)
    answer.add_edges_from((a, b) for a, targets in successors.items() for b in targets)
    return answer


def test_the_empty_graph_has_an_order_no_cycle_and_no_depth() -> None:
    assert graph.topological_order({}) == []
    assert graph.find_cycle({}) is None
    assert graph.all_cycle_paths({}) == []
    assert graph.longest_path_length({}) == 0
    assert graph.reversed_graph({}) == {}
    assert graph.reachable_from({}, []) == set()


def test_ties_follow_the_order_of_the_keys_not_that_of_the_values() -> None:
    assert graph.topological_order({"z": ["b", "a"], "a": [], "b": [], "m": []}) == ["z", "a", "b", "m"]
    assert graph.topological_order({"a": [], "b": ["c"], "c": [], "d": []}) == ["a", "b", "c", "d"]


def test_a_repeated_successor_counts_once() -> None:
    assert graph.topological_order({"a": ["b", "b"], "b": []}) == ["a", "b"]
    assert graph.reversed_graph({"a": ["b", "b"], "b": []}) == {"a": [], "b": ["a"]}


def test_a_cycle_is_reported_as_a_path_and_stops_order_and_depth() -> None:
    cyclic = {"start": ["a"], "a": ["b"], "b": ["c"], "c": ["a", "end"], "end": []}
    assert graph.find_cycle(cyclic) == ["a", "b", "c", "a"]
    with pytest.raises(graph.CycleFound, match="a → b → c → a") as caught:
        graph.topological_order(cyclic)
    assert caught.value.path == ["a", "b", "c", "a"]
    with pytest.raises(graph.CycleFound):
        graph.longest_path_length(cyclic)


def test_a_node_that_points_to_itself_is_a_cycle_of_one() -> None:
    assert graph.all_cycle_paths({"a": ["a"], "b": ["a"]}) == [["a", "a"]]


def test_each_cyclic_component_is_reported_once_in_key_order() -> None:
    cyclic = {"q": ["p"], "p": ["q", "a"], "a": ["b"], "b": ["a"], "lone": []}
    assert graph.all_cycle_paths(cyclic) == [["q", "p", "q"], ["a", "b", "a"]]


def test_a_shortest_cycle_through_the_first_node_is_chosen() -> None:
    assert graph.find_cycle({1: [2, 3], 2: [4], 3: [1], 4: [1]}) == [1, 3, 1]


def test_reachable_nodes_include_the_starts() -> None:
    successors = {"a": ["b"], "b": ["c"], "c": [], "d": ["c"]}
    assert graph.reachable_from(successors, ["b"]) == {"b", "c"}
    assert graph.reachable_from(successors, ["d", "a"]) == {"a", "b", "c", "d"}


@pytest.mark.parametrize(
    "ask", [graph.topological_order, graph.all_cycle_paths, graph.reversed_graph, graph.longest_path_length]
)
def test_a_successor_without_a_key_is_named(ask: object) -> None:
    assert callable(ask)
    with pytest.raises(graph.UnknownNode, match=r"'ghost' \(a successor of 'a'\)") as caught:
        ask({"a": ["ghost"]})
    assert caught.value.node == "ghost"


def test_a_search_names_an_unknown_start_and_an_unknown_successor() -> None:
    with pytest.raises(graph.UnknownNode, match="a start of the search"):
        graph.reachable_from({"a": []}, ["b"])
    with pytest.raises(graph.UnknownNode, match="a successor of 'a'"):
        graph.reachable_from({"a": ["b"]}, ["a"])


def test_long_chains_and_long_cycles_need_no_recursion() -> None:
    size = 50_000
    chain = {node: [node + 1] for node in range(size - 1)} | {size - 1: list[int]()}
    assert graph.topological_order(chain) == list(range(size))
    assert graph.longest_path_length(chain) == size
    ring = chain | {size - 1: [0]}
    assert graph.find_cycle(ring) == [*range(size), 0]


@given(graphs())
def test_order_or_cycle_agrees_with_networkx(successors: dict[int, set[int]]) -> None:
    oracle = as_networkx(successors)
    if nx.is_directed_acyclic_graph(oracle):
        place = {node: index for index, node in enumerate(successors)}
        assert graph.topological_order(successors) == list(
            nx.lexicographical_topological_sort(oracle, key=place.__getitem__)
        )
        assert graph.find_cycle(successors) is None
    else:
        with pytest.raises(graph.CycleFound):
            graph.topological_order(successors)


@given(graphs())
def test_every_cyclic_component_has_one_real_cycle(successors: dict[int, set[int]]) -> None:
    oracle = as_networkx(successors)
    components = [
        part for part in nx.strongly_connected_components(oracle) if len(part) > 1 or part & set(oracle[min(part)])
    ]
    paths = graph.all_cycle_paths(successors)
    assert {frozenset(part) for part in components} == {
        next(frozenset(part) for part in components if path[0] in part) for path in paths
    }
    assert len(paths) == len(components)
    for path in paths:
        assert path[0] == path[-1]
        assert len(set(path)) == len(path) - 1
        assert all(after in successors[before] for before, after in pairwise(path))


@given(graphs(acyclic=True))
def test_depth_agrees_with_networkx(successors: dict[int, set[int]]) -> None:
    expected = nx.dag_longest_path_length(as_networkx(successors)) + 1 if successors else 0
    assert graph.longest_path_length(successors) == expected


@given(graphs(), st.sets(st.integers(0, 11)))
def test_reachable_and_reversed_agree_with_networkx(successors: dict[int, set[int]], picks: set[int]) -> None:
    oracle = as_networkx(successors)
    starts = {pick for pick in picks if pick in successors}
    descendants = [nx.descendants(oracle, start) for start in starts]
    assert graph.reachable_from(successors, starts) == starts.union(*descendants)
    turned = graph.reversed_graph(successors)
    assert {node: set(before) for node, before in turned.items()} == {
        node: set(oracle.predecessors(node)) for node in oracle
    }
    assert list(turned) == list(successors)
