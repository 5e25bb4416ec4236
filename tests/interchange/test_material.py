"""The foreign models at hand: the table is as it is written, hundreds run, recorded histories are met."""

from __future__ import annotations

from collections import Counter

import pytest

from signoff.core.script import Script
from tests.conftest import SHARED_MISSING
from tests.interchange import table
from tests.interchange.material import CORPUS
from tests.interchange.recorded import HISTORIES, Play, play, play_all, read_histories, read_machines

pytestmark = [pytest.mark.corpus, pytest.mark.skipif(not HISTORIES.exists(), reason=SHARED_MISSING)]


@pytest.mark.timeout(600)
def test_the_table_is_as_it_is_written() -> None:
    assert table.page() == table.PAGE.read_text("utf-8"), "write it anew: python -m tests.interchange.table"


@pytest.mark.parametrize(
    ("folder", "at_least"),
    [
        ("asl/aws-samples", 50),
        ("bpmn/camunda-examples", 35),
        ("bpmn/spiff-samples", 80),
        ("conductor", 100),
        ("kestra", 130),
    ],
)
def test_models_of_every_format_run_to_an_end(folder: str, at_least: int) -> None:
    assert (CORPUS / folder).is_dir()
    rows = table.rows_of(folder)
    assert Counter(r.verdict for r in rows)["runs"] >= at_least
    assert not [r.file for r in rows if r.verdict == "stalls"]
    assert all(r.translated.refusals for r in rows if r.verdict == "refused")
    odd = [(r.file, p) for r in rows for p in r.played if not p.ended and p.status != "stalled"]
    assert not odd, "every way ends, or stalls and says why"
    assert all(p.stopped for r in rows for p in r.played if p.status == "stalled")


def test_recorded_histories_are_met_in_order_end_and_error() -> None:
    matches = play_all()
    counted = Counter(m.verdict for m in matches)
    assert [f"{m.history.number} {m.history.test}: {m.why}" for m in matches if m.verdict == "differs"] == []
    assert counted["matches"] >= 220
    assert {h for m in matches if m.verdict == "matches" for h in m.history.entered} >= {
        "Task",
        "Choice",
        "Map",
        "Fail",
    }


def test_a_history_that_went_another_way_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The comparison can fail: without the recorded answers histories differ."""
    known = read_machines()
    histories = read_histories()
    monkeypatch.setattr(Play, "script", lambda self: Script())
    assert "differs" in {play(h, known).verdict for h in histories}
