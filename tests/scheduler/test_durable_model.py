"""Random operations on the durable scheduler and the reference model, compared after every one, across restarts."""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from signoff.scheduler.errors import LeaseLost
from tests.scheduler import pair
from tests.scheduler.durable_pair import DurablePair

IDS = st.sampled_from("abcdef")
LISTS = st.lists(IDS, max_size=3)
GENERATIONS = st.sampled_from([None, None, None, 1, 2, 3])
FOLDER = tempfile.TemporaryDirectory(prefix="signoff-durable-")
NUMBERS = itertools.count()


class DurableMachine(RuleBasedStateMachine):
    @initialize(
        slots=st.sampled_from([None, None, 0, 1, 2]),
        open_graph=st.booleans(),
        strict=st.sampled_from([False, False, True]),
        page=st.sampled_from([1, 2, 1000]),
    )
    def begin(self, slots: int | None, open_graph: bool, strict: bool, page: int) -> None:
        path = Path(FOLDER.name) / "graphs.db"  # one file, a graph of its own for each example
        name = f"graph {next(NUMBERS)}"
        self.pair = DurablePair(path, name, slots=slots, open_graph=open_graph, strict=strict, page=page)

    def teardown(self) -> None:
        if hasattr(self, "pair"):
            self.pair.store.close()

    @rule(task=IDS, required=LISTS, optional=LISTS | st.just([]), generation=GENERATIONS)
    def submit(self, task: str, required: list[str], optional: list[str], generation: int | None) -> None:
        self.pair.submit(task, required, optional, generation)

    @rule(task=IDS, required=LISTS)
    def submit_plain(self, task: str, required: list[str]) -> None:
        self.pair.submit(task, required)

    @rule(graph=st.dictionaries(IDS, LISTS, max_size=4))
    def submit_many(self, graph: dict[str, list[str]]) -> None:
        self.pair.submit_many(graph)

    @rule(limit=st.sampled_from([None, None, 0, 1, 2]), all_or_nothing=st.booleans())
    def ready(self, limit: int | None, all_or_nothing: bool) -> None:
        self.pair.ready(limit, all_or_nothing)

    @rule(data=st.data(), success=st.booleans())
    def answer_a_claim(self, data: st.DataObject, success: bool) -> None:
        if self.pair.claims:
            claim = data.draw(st.sampled_from(self.pair.claims))
            (self.pair.complete if success else self.pair.fail)(*claim)

    @rule(task=IDS, generation=st.sampled_from([1, 2]), success=st.booleans())
    def answer_anything(self, task: str, generation: int, success: bool) -> None:
        (self.pair.complete if success else self.pair.fail)(task, generation)

    @rule(task=IDS, generation=GENERATIONS, confirmed=st.booleans())
    def cancel(self, task: str, generation: int | None, confirmed: bool) -> None:
        self.pair.cancel(task, generation, confirmed)

    @rule(task=IDS, dependency=IDS, optional=st.booleans())
    def add_dependency(self, task: str, dependency: str, optional: bool) -> None:
        self.pair.add_dependency(task, dependency, optional)

    @rule()
    def leases_run_out(self) -> None:
        self.pair.expire()

    @rule(really=st.sampled_from([False, False, True]))
    def restart(self, really: bool) -> None:
        if really:
            self.pair.restart()

    @rule(queued=st.sampled_from(["cancel", "keep"]), really=st.sampled_from([False, False, False, True]))
    def close(self, queued: str, really: bool) -> None:
        if really:
            self.pair.close(queued)


DurableMachine.TestCase.settings = settings(
    max_examples=100, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
)


class TestDurableMachine(DurableMachine.TestCase):  # type: ignore[misc, name-defined]
    @pytest.fixture(autouse=True)
    def _lost_leases_are_state_conflicts(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The model knows no fencing tokens: to it a claim that was taken back was never made."""
        real = pair.answer

        def answer(operation: Any) -> Any:
            try:
                return real(operation)
            except LeaseLost:
                return "StateConflict"

        def named(operation: Any) -> Any:
            found = answer(operation)
            return "StateConflict" if found == "LeaseLost" else found

        monkeypatch.setattr(pair, "answer", named)
