"""Brakes against guessing are counted in the store: shared by web processes and engines, bounded."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from signoff import errors
from signoff.api.app import create_api
from signoff.engine import braking
from signoff.store import failures
from tests.engine.office import TENANT, Clock, Office, open_office, person
from tests.stores import Stores


@pytest.fixture(autouse=True)
def _on_both_stores(store: Stores) -> None:
    """Every test of this file runs on SQLite and on PostgreSQL."""


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def office(tmp_path: Path, clock: Clock) -> Iterator[Office]:
    with open_office(tmp_path / "data", now=clock, services=False) as found:
        found.running.save_person("grace", roles=("approver",), password="right")
        yield found


def tried(office: Office, login: str, **more: Any) -> str:
    try:
        office.signoff.sign_in(TENANT, login, "wrong", **more)
    except errors.SignoffError as error:
        return error.code
    return "in"


def kept(office: Office) -> list[tuple[Any, ...]]:
    return office.signoff.queries._reader.rows("SELECT name, at FROM failure ORDER BY id")


def test_another_engine_on_the_same_store_has_not_forgotten(tmp_path: Path, clock: Clock) -> None:
    """A restart, or another engine that takes over, is no way around."""
    with open_office(tmp_path / "data", now=clock, services=False) as office:
        office.running.save_person("grace", roles=("approver",), password="right")
        assert [tried(office, "grace") for _ in range(9)] == ["not_signed_in"] * 8 + ["too_many"]
    with open_office(tmp_path / "data", now=clock, services=False) as office:
        with pytest.raises(errors.Unavailable, match="too many failed sign-ins") as refused:
            office.signoff.sign_in(TENANT, "grace", "right")
        assert refused.value.remedy == "Try again in 301 seconds."
        clock.move(minutes=4, seconds=59)
        assert tried(office, "grace") == "too_many"
        clock.move(seconds=2)
        assert office.signoff.sign_in(TENANT, "grace", "right")["login"] == "grace"


def test_web_processes_count_bad_bearers_together(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(braking, "MAX_BEARERS", 6)
    doors = [TestClient(create_api(office.signoff)) for _ in range(2)]
    headers = {"Authorization": "Bearer sgn_wrong"}
    assert [doors[n % 2].get("/me", headers=headers).status_code for n in range(8)] == [401] * 6 + [429] * 2
    assert len(kept(office)) == 6, "what is refused as too many writes nothing"
    good = office.signoff.sign_in(TENANT, "grace", "right")["session"]
    answer = doors[0].get("/me", headers={"Authorization": f"Bearer {good}"})
    assert answer.status_code == 200, "whoever has a good one is not held up"


def test_links_that_do_not_exist_are_braked(office: Office) -> None:
    actor = person("grace", "link")
    codes = []
    for n in range(22):
        with pytest.raises(errors.SignoffError) as refused:
            office.signoff.do("open_link", actor, TENANT, link=f"{n:043}")
        codes.append(refused.value.code)
    assert codes == ["unknown_link"] * 20 + ["too_many"] * 2
    office.running.save_person("alan", roles=("approver",))
    with pytest.raises(errors.NotFound):
        office.signoff.do("open_link", person("alan", "link"), TENANT, link="x" * 43)


def test_only_failures_write_and_what_was_typed_is_not_kept(office: Office) -> None:
    office.signoff.sign_in(TENANT, "grace", "right", address="192.0.2.7")
    assert kept(office) == []
    tried(office, "my-password-in-the-wrong-field", address="192.0.2.7")
    assert len(kept(office)) == 3
    assert all(len(name) == 64 for name, _ in kept(office))
    assert "192.0.2.7" not in str(kept(office))


def test_what_is_kept_is_bounded_and_forgotten(office: Office, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failures, "MOST", 12)
    for n in range(20):
        tried(office, f"somebody-{n}", address=f"192.0.2.{n}")
    assert len(kept(office)) == 12
    clock.move(minutes=6)
    tried(office, "grace")
    assert len(kept(office)) == 3
