"""Released histories replay for ever: same digest, same events, same snapshot. `record.py` says how to add one."""

from __future__ import annotations

from pathlib import Path

import pytest

from signoff.core import events as e
from signoff.core.codec import DATA_EVENTS, decode_snapshot, encode_event, encode_snapshot
from signoff.core.digest import canonical_json, definition_digest
from signoff.core.explain import explain
from signoff.core.history import History as Fold
from signoff.core.history import replay_history
from tests.golden import record, shapes
from tests.golden.files import FILES, History, read_history


@pytest.fixture(params=FILES, ids=lambda f: f.stem)
def history(request: pytest.FixtureRequest) -> History:
    path: Path = request.param
    return read_history(path)


def test_there_are_enough() -> None:
    assert len(FILES) >= 12
    assert {f.stem for f in FILES} >= set(shapes.SHAPES), "record the new shape"


def test_together_they_hold_every_event() -> None:
    seen = {x["type"] for f in FILES for x in read_history(f).stored}
    assert seen == {x.wire for x in e.ALL_EVENTS}


def test_the_digest_is_still_the_same(history: History) -> None:
    for digest, plan in history.plans.items():
        assert definition_digest(plan.definition) == plan.digest == digest


def test_the_sequence_has_no_gap(history: History) -> None:
    assert [x["sequence"] for x in history.stored] == list(range(1, len(history.stored) + 1))


def test_replaying_gives_the_recorded_snapshot(history: History) -> None:
    state = replay_history(history.plans.__getitem__, history.events).state
    assert canonical_json(encode_snapshot(state)) == canonical_json(history.snapshot)
    data = [x for x in history.events if x.wire in DATA_EVENTS]
    assert decode_snapshot(history.snapshot, data) == state


def test_events_of_today_are_written_as_they_were(history: History) -> None:
    for stored, event in zip(history.stored, history.events, strict=True):
        if stored["version"] == event.version:
            assert encode_event(event) == stored["data"]


def test_every_prefix_can_be_explained(history: History) -> None:
    follow = Fold(history.plans.__getitem__)
    for event in history.events:
        state = follow.add(event)
        assert follow.plan is not None
        assert explain(follow.plan, state).sentence.endswith((".", "!", "?"))


def test_a_changed_history_is_noticed() -> None:
    history = read_history(FILES[0])
    state = replay_history(history.plans.__getitem__, history.events[:-1]).state
    assert canonical_json(encode_snapshot(state)) != canonical_json(history.snapshot)


def test_nothing_recorded_is_written_over(capsys: pytest.CaptureFixture[str]) -> None:
    before = FILES[0].read_bytes()
    assert record.main([FILES[0].stem]) == 1
    assert "must not change" in capsys.readouterr().out
    assert record.main(["no_such_shape"]) == 1
    assert record.main([]) == 2
    assert FILES[0].read_bytes() == before
