"""Links of people who decide for somebody absent: theirs alone, in both names, while the absence lasts."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from signoff.errors import Forbidden, Refused
from signoff.wiring import Settings, open_verifier
from tests.engine.office import TENANT, Clock, Office, ask, chain, person
from tests.notices.mailing import BUY, by_link, mailing_office, mails, text_of, tokens, waiting
from tests.notices.smtp import Mailbox, mail_server
from tests.notices.test_links import sql
from tests.stores import Stores

DAY = timedelta(days=1)


@pytest.fixture(autouse=True)
def _on_both_stores(store: Stores) -> None:
    """Every test of this file runs on SQLite and on PostgreSQL."""


@pytest.fixture
def box() -> Iterator[Mailbox]:
    with mail_server() as found:
        yield found


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def office(tmp_path: Path, box: Mailbox, clock: Clock) -> Iterator[Office]:
    """Grace is absent for a day and Eve decides for her."""
    with mailing_office(tmp_path / "data", box, now=clock) as found:
        found.running.save_person("eve", name="Eve", roles=("approver",), email="eve@office.example")
        found.running.save_person("root", name="Root", roles=("administrator",))
        absent(found, clock, "grace")
        yield found
        found.check_replay()
    with open_verifier(Settings(tmp_path / "data")) as verifier:
        assert [f for f in verifier.findings() if f.code != "unsealed"] == []


def absent(office: Office, clock: Clock, who: str, days: int = 1) -> int:
    until = (clock.now + days * DAY).isoformat()
    return int(office.signoff.do("set_absence", person(who), TENANT, delegate="eve", ends=until)["id"])


def for_grace(office: Office, token: str, run_id: str, outcome: str = "approved", **more: Any) -> Any:
    return by_link(office, "eve", token, run_id, outcome, **{"on_behalf_of": "grace", **more})


def refused(office: Office, token: str, run_id: str, **more: Any) -> str:
    with pytest.raises(Refused) as found:
        for_grace(office, token, run_id, **more)
    return found.value.code


def test_a_deputy_decides_by_a_link_of_their_own(office: Office, box: Mailbox, clock: Clock) -> None:
    run_id = waiting(office)
    found = mails(office, box)
    token = tokens(found)["eve"]
    told = text_of(next(m for m in found if "eve" in str(m["To"])))
    assert "You decide for Grace, who is absent." in " ".join(told.split())
    link = office.signoff.queries.find_link(TENANT, token)
    assert (link.login, link.on_behalf_of, link.expires_at) == ("eve", "grace", clock.now + DAY)
    assert office.signoff.do("open_link", person("eve", "link"), TENANT, link=token)["run_id"] == run_id
    for_grace(office, token, run_id)
    office.until_status(run_id, "succeeded")
    told = next(e for e in office.signoff.queries.list_events(TENANT, run_id) if "decision_recorded" in e.type)
    assert (told.data["actor"]["id"], told.data["on_behalf_of"], told.data["delegation"]["person"]) == (
        "eve", "grace", "grace",
    )  # fmt: skip
    assert told.data["actor"]["channel"] == "link"
    assert "Eve for Grace" in told.sentence or "Eve on behalf of Grace" in told.sentence
    assert refused(office, token, run_id) == "already_handled"
    with pytest.raises(Refused, match=r"already handled by Eve for Grace on"):
        for_grace(office, token, run_id)


def test_it_is_good_for_whom_it_names_only(office: Office, box: Mailbox) -> None:
    """Not for oneself, for nobody else who is absent, and not in the hands of the absent person."""
    run_id = waiting(office)
    found = tokens(mails(office, box))
    assert refused(office, found["eve"], run_id, on_behalf_of="") == "link_does_not_fit"
    assert refused(office, found["eve"], run_id, on_behalf_of="alan") == "link_does_not_fit"
    for who in ("grace", "alan"):
        with pytest.raises(Refused) as stopped:
            by_link(office, who, found["eve"], run_id, on_behalf_of="")
        assert stopped.value.code == "link_of_another"
    with pytest.raises(Refused) as stopped:
        by_link(office, "alan", found["alan"], run_id, on_behalf_of="grace")
    assert stopped.value.code == "link_does_not_fit"
    for_grace(office, found["eve"], run_id)


def test_it_ends_with_the_absence(office: Office, box: Mailbox, clock: Clock) -> None:
    """Over by itself; another absence of the same people does not bring it back."""
    run_id = waiting(office)
    token = tokens(mails(office, box))["eve"]
    clock.move(days=1)
    assert refused(office, token, run_id) == "link_expired"
    absent(office, clock, "grace")
    assert refused(office, token, run_id) == "link_expired"
    assert office.evidence(run_id) == ["link_expired", "link_expired"]


def test_it_is_revoked_with_the_absence(office: Office, box: Mailbox, clock: Clock) -> None:
    run_id = waiting(office)
    token = tokens(mails(office, box))["eve"]
    number = office.signoff.queries.list_absences(TENANT, person="grace")[0].id
    office.signoff.do("revoke_absence", person("grace"), TENANT, id=number)
    assert sql(office, "SELECT revoked FROM approval_link WHERE login='eve'") == [("absence over",)]
    assert refused(office, token, run_id) == "absence_over"
    absent(office, clock, "grace")
    assert refused(office, token, run_id) in ("absence_over", "link_revoked")
    with pytest.raises(Refused):
        office.signoff.do("open_link", person("eve", "link"), TENANT, link=token)
    assert sql(office, "SELECT message FROM audit WHERE action='revoke_absence'") == [
        (f"absence {number} revoked; 1 links ended.",)
    ]


def test_it_ends_when_the_absent_person_answers_after_all(office: Office, box: Mailbox) -> None:
    run_id = waiting(office, chain("buy", ask("manager", required=2), input=BUY["input"]))
    found = tokens(mails(office, box))
    by_link(office, "grace", found["grace"], run_id)
    assert sql(office, "SELECT revoked FROM approval_link WHERE login='eve'") == [("answered",)]
    assert refused(office, found["eve"], run_id) == "already_decided"


def test_two_links_of_one_vote_are_one_vote(office: Office, box: Mailbox) -> None:
    run_id = waiting(office, chain("buy", ask("manager", required=2), input=BUY["input"]))
    found = tokens(mails(office, box))
    for_grace(office, found["eve"], run_id)
    with pytest.raises(Refused):
        by_link(office, "grace", found["grace"], run_id)
    assert office.view(run_id).state.steps["manager"].status == "waiting"


def test_separation_of_duties_holds_for_a_deputy(office: Office, box: Mailbox) -> None:
    """Who asked gets no link to decide for somebody else either; nor does whoever is asked themselves get a second."""
    office.running.save_person("eve", roles=("approver", "starter"), groups=None)
    office.publish(BUY)
    run_id = office.start("buy", by="eve", amount=3)
    office.until_step(run_id, "manager", "waiting")
    assert "eve" not in tokens(mails(office, box))
    moot = office.signoff.queries.list_deliveries(TENANT, status="moot").items
    assert [d.login for d in moot] == ["eve"]


def test_who_is_asked_themselves_gets_their_own_link(office: Office, box: Mailbox) -> None:
    office.running.save_person("eve", roles=("approver",), groups=("managers",))
    run_id = waiting(office)
    found = tokens(mails(office, box))
    link = office.signoff.queries.find_link(TENANT, found["eve"])
    assert link.on_behalf_of == ""
    by_link(office, "eve", found["eve"], run_id)


@pytest.mark.parametrize(("column", "value"), [("on_behalf_of", "'alan'"), ("on_behalf_of", "''"), ("absence", "7")])
def test_a_changed_row_makes_it_worthless(office: Office, box: Mailbox, column: str, value: str) -> None:
    run_id = waiting(office)
    token = tokens(mails(office, box))["eve"]
    before = sql(office, f"SELECT {column} FROM approval_link WHERE login='eve'")[0][0]
    sql(office, f"UPDATE approval_link SET {column}={value} WHERE login='eve'")
    assert refused(office, token, run_id) == "link_altered"
    sql(office, f"UPDATE approval_link SET {column}=? WHERE login='eve'", (before,))


def test_a_closed_account_decides_for_nobody(office: Office, box: Mailbox) -> None:
    run_id = waiting(office)
    token = tokens(mails(office, box))["eve"]
    office.running.save_person("eve", roles=("approver",), active=False)
    with pytest.raises(Forbidden):
        for_grace(office, token, run_id)
