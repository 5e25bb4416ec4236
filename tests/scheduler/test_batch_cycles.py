"""The quick look for cycles says what the search for cycle paths says."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from signoff.scheduler.cycles import batch_cycle_paths, is_acyclic
from signoff.scheduler.table import TaskTable

GRAPHS = st.integers(0, 7).flatmap(
    lambda size: st.lists(st.lists(st.integers(0, 8), max_size=3).map(tuple), min_size=size, max_size=size)
)


@given(GRAPHS)
def test_a_batch_is_acyclic_exactly_where_it_has_no_cycle_path(edges: list[tuple[int, ...]]) -> None:
    """Ids from `len(edges)` on are not in the batch; repeated dependencies and loops on itself occur."""
    found = batch_cycle_paths(TaskTable(), dict(enumerate(edges)))
    assert is_acyclic({place: place for place in range(len(edges))}, edges) is (not found)
