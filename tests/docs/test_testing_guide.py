"""The examples of the testing guide run, and say what they say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.docs.test_pages import ROOT, blocks
from tests.engine.office import TENANT, ask, call, chain, open_office

FIRST, SECOND = blocks(ROOT / "assets" / "docs" / "testing.md", "python")


def names_of(source: str) -> dict[str, object]:
    names: dict[str, object] = {}
    exec(compile(source, "testing.md", "exec"), names)
    return names


@pytest.mark.parametrize("test", ["test_an_approved_purchase_is_ordered", "test_silence_never_approves"])
def test_the_examples_pass(test: str) -> None:
    names_of(FIRST)[test]()  # type: ignore[operator]


def test_a_recorded_run_is_played_from_the_exported_file(tmp_path: Path) -> None:
    document = chain("buy", ask("manager"), call("order"))
    with open_office(tmp_path / "data") as office:
        office.publish(document)
        run_id = office.start("buy")
        office.until_step(run_id, "manager", "waiting")
        office.decide(run_id, "manager", "grace")
        office.until_status(run_id, "succeeded")
        events = office.signoff.queries.list_events(TENANT, run_id)
    exported = tmp_path / "history.json"
    exported.write_text(
        json.dumps([{"at": e.at.isoformat(), "type": e.type, "step": e.step, "data": e.data} for e in events]), "utf-8"
    )
    assert names_of(SECOND)["still_ends_as_it_did"](document, exported)  # type: ignore[operator]
