"""Random runs that move between random versions at random moments keep every invariant and replay."""

from __future__ import annotations

from typing import Any

from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from signoff.core.history import replay_history
from signoff.core.rejection import Rejection
from tests.core.kit import JSON, World, definition_of
from tests.core.strategies import documents, inputs, sensible


def like(first: JSON, second: JSON) -> JSON:
    """The second with the first's step wherever they would be of another kind."""
    known = {s["id"]: s for s in first["steps"]}
    steps = [s if s["kind"] == known.get(s["id"], s)["kind"] else known[s["id"]] for s in second["steps"]]
    made = {**second, "input": first["input"], "steps": steps}
    try:
        definition_of(made)
    except AssertionError:
        reject()
    return made


@settings(deadline=None, max_examples=150, suppress_health_check=list(HealthCheck))
@given(
    first=documents(most=4),
    second=documents(most=4),
    input=inputs(),
    acts=st.lists(st.tuples(st.integers(0, 60), st.integers(0, 3), st.integers(0, 90)), max_size=25),
)
def test_runs_move_there_and_back_at_any_moment(
    first: JSON, second: JSON, input: JSON, acts: list[tuple[int, int, int]]
) -> None:
    world = World(first, input)
    versions = [first, like(first, second)]
    moved = 0
    for number, what, minutes in acts:
        world.later(minutes=minutes)
        if what == 0:
            command: Any = world.migration(versions[(moved + 1) % 2])
        else:
            found = sensible(world)
            if not found:
                break
            command = found[number % len(found)]
        answer = world.send(command)
        if isinstance(answer, Rejection):
            assert answer.message.endswith((".", "!", "?"))
        else:
            moved += what == 0
    history = replay_history(world.ledger.plans.__getitem__, world.events)
    assert history.state == world.state
    assert history.state.digest == world.plan.digest
