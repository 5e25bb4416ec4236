"""The list of runs by definition and status: every page of it says what a walk over everything says."""

from __future__ import annotations

import pytest

from tests.engine.office import TENANT, Office, ask, chain, person

PAGE = 3


@pytest.mark.parametrize("status", ["", "running", "cancelled", "succeeded"])
def test_the_pages_of_a_definition_are_what_a_walk_over_all_runs_finds(
    office: Office, status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("signoff.store.reads.runs.VERSIONS_AT_ONCE", 2)
    for version in range(3):
        for name in ("seen", "other"):
            office.publish(chain(name, ask("manager", instructions=f"Version {version}")))
            ids = [office.start(name) for _ in range(4)]
            office.signoff.operate("cancel_run", person("katherine"), TENANT, ids[version], reason="a test")
            office.decide(ids[3], "manager", "grace")
            office.until_status(ids[3], "succeeded")
    everything = office.signoff.queries.list_runs(TENANT, limit=200).items
    wanted = [r.run_id for r in everything if r.definition == "seen" and status in ("", str(r.status))]
    found: list[str] = []
    cursor: str | None = None
    while True:
        page = office.signoff.queries.list_runs(TENANT, definition="seen", status=status, cursor=cursor, limit=PAGE)
        found += [r.run_id for r in page.items]
        cursor = page.next_cursor
        if cursor is None:
            break
    assert len(everything) == 24
    assert found == wanted
    assert office.signoff.queries.list_runs("elsewhere", definition="seen").items == ()
