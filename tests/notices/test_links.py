"""Links in mails: what they are bound to, single use, revocation, and that no raw token is kept anywhere."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from signoff.errors import NotFound, Refused
from signoff.store.database import open_database
from signoff.wiring import Settings, open_verifier
from tests.counted import counted
from tests.engine.office import TENANT, Clock, Office, ask, chain, person
from tests.notices.mailing import BUY, by_link, mailing_office, mails, text_of, tokens, waiting
from tests.notices.smtp import Mailbox, mail_server
from tests.stores import Stores


@pytest.fixture(autouse=True)
def _on_both_stores(store: Stores) -> None:
    """Every test of this file runs on SQLite and on PostgreSQL."""


@pytest.fixture
def box() -> Iterator[Mailbox]:
    with mail_server() as found:
        yield found


@pytest.fixture
def office(tmp_path: Path, box: Mailbox) -> Iterator[Office]:
    with mailing_office(tmp_path / "data", box) as found:
        yield found
        found.check_replay()
    with open_verifier(Settings(tmp_path / "data")) as verifier:
        assert [f for f in verifier.findings() if f.code != "unsealed"] == []


def sql(office: Office, statement: str, parameters: tuple[Any, ...] = ()) -> list[Any]:
    engine = open_database(Settings(office.folder).where)
    with engine.begin() as connection:
        found = connection.exec_driver_sql(statement, parameters)
        rows = [tuple(r) for r in found] if found.returns_rows else []
    engine.dispose()
    return rows


def decision(office: Office, run_id: str) -> dict[str, Any]:
    events = office.signoff.queries.list_events(TENANT, run_id)
    return next(e.data for e in events if e.type == "approval.decision_recorded")


def test_each_manager_gets_a_link_and_one_decides_with_it(office: Office, box: Mailbox) -> None:
    """Security list, 3 and 4: 256 random bits each, only their SHA-256 stored; the decision names its link."""
    run_id = waiting(office)
    links = tokens(mails(office, box))
    assert set(links) == {"alan", "edith", "grace"}
    assert len(set(links.values())) == 3
    assert all(len(t) >= 43 for t in links.values())
    by_link(office, "grace", links["grace"], run_id)
    office.until_status(run_id, "succeeded")
    told = decision(office, run_id)
    assert told["actor"]["channel"] == "link"
    [(name, used)] = sql(office, "SELECT token_hash, used_at FROM approval_link WHERE login='grace'")
    assert told["link"] == name[:16]
    assert used
    assert {r[0] for r in sql(office, "SELECT revoked FROM approval_link WHERE login <> 'grace'")} == {"approved"}


def test_a_second_use_says_who_handled_it_and_is_evidence(office: Office, box: Mailbox) -> None:
    """W8: a second click gets "already handled"; both requests and identities stay in the audit trail."""
    run_id = waiting(office)
    links = tokens(mails(office, box))
    by_link(office, "grace", links["grace"], run_id)
    for who, outcome, known in (("grace", "approved", True), ("grace", "rejected", False), ("alan", "approved", False)):
        with pytest.raises(Refused, match=r"already handled by Grace on \d{4}-\d\d-\d\d \d\d:\d\d UTC") as refused:
            by_link(office, who, links[who], run_id, outcome)
        assert refused.value.known is known
    assert office.evidence(run_id) == ["already_handled"] * 3
    assert office.types(run_id).count("approval.decision_recorded") == 1


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"who": "alan"}, "link_of_another"),
        ({"tenant": "other"}, None),
        ({"step": "second"}, "link_does_not_fit"),
        ({"generation": 2}, "link_does_not_fit"),
        ({"outcome": "returned"}, "link_does_not_fit"),
        ({"shown_digest": "sha256:" + "0" * 64}, "changed_meanwhile"),
        ({"shown_digest": ""}, "changed_meanwhile"),
    ],
)
def test_a_link_is_good_for_nothing_else(
    office: Office, box: Mailbox, change: dict[str, Any], code: str | None
) -> None:
    """Security list, 4: each bound field flipped in the request is refused, and is evidence."""
    run_id = waiting(office, chain("buy", ask("manager"), ask("second"), input=BUY["input"]))
    token = tokens(mails(office, box))["grace"]
    change = dict(change)
    who, outcome = change.pop("who", "grace"), change.pop("outcome", "approved")
    if code is None:  # a tenant in which the person does not exist
        with pytest.raises(Exception, match="no active account"):
            by_link(office, who, token, run_id, outcome, **change)
    else:
        with pytest.raises(Refused) as refused:
            by_link(office, who, token, run_id, outcome, **change)
        assert refused.value.code == code
        assert office.evidence(run_id) == [code]
    assert office.view(run_id).state.steps["manager"].status == "waiting"
    assert sql(office, "SELECT used_at FROM approval_link WHERE used_at IS NOT NULL") == []


def test_a_link_of_one_run_opens_no_other(office: Office, box: Mailbox) -> None:
    first = waiting(office)
    token = tokens(mails(office, box))["grace"]
    second = office.start("buy", amount=7)
    office.until_step(second, "manager", "waiting")
    with pytest.raises(Refused) as refused:
        by_link(office, "grace", token, second)
    assert refused.value.code == "link_does_not_fit"
    assert (office.evidence(first), office.evidence(second)) == (["link_does_not_fit"], [])


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("step", "'second'"),
        ("generation", "2"),
        ("round", "2"),
        ("login", "'alan'"),
        ("actions", "'approved rejected returned'"),
        ("shown_digest", "'sha256:x'"),
        ("expires_at", "expires_at + 1"),
        ("issued_at", "issued_at + 1"),
    ],
)
def test_a_changed_row_makes_the_link_worthless(office: Office, box: Mailbox, column: str, value: str) -> None:
    """Security list, 4: each bound column flipped in the database; the token itself seals them."""
    run_id = waiting(office, chain("buy", ask("manager"), ask("second"), input=BUY["input"]))
    token = tokens(mails(office, box))["grace"]
    before = sql(office, f"SELECT {column} FROM approval_link WHERE login='grace'")[0][0]
    sql(office, f"UPDATE approval_link SET {column}={value} WHERE login='grace'")
    with pytest.raises(Refused) as refused:
        by_link(office, "grace", token, run_id)
    assert refused.value.code == "link_altered"
    assert office.evidence(run_id) == ["link_altered"]
    assert office.signoff.queries.find_link(TENANT, token) is None
    where = "alan" if column == "login" else "grace"
    number = sql(office, f"SELECT min(id) FROM approval_link WHERE login='{where}'")[0][0]
    if column != "login":
        sql(office, f"UPDATE approval_link SET {column}=? WHERE id=?", (before, number))
    else:
        sql(office, "UPDATE approval_link SET login='grace' WHERE token_hash=?", (hashed(token),))


def hashed(token: str) -> str:
    import hashlib

    return hashlib.sha256(token.encode()).hexdigest()


def test_a_link_of_another_tenant_does_not_exist(office: Office, box: Mailbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor can it be told from one that nobody sent (security list, 10): the same work is done for both."""
    run_id = waiting(office)
    token = tokens(mails(office, box))["grace"]
    office.running.save_person("grace", roles=("approver",), tenant="other")
    with pytest.raises(NotFound) as refused:
        by_link(office, "grace", token, run_id, tenant="other")
    assert refused.value.code == "unknown_link"
    assert office.signoff.queries.find_link("other", token) is None
    works = []
    for given in ("y" * 43, token, "x" * 43):
        with counted(monkeypatch) as work:
            assert office.signoff.queries.find_link("other", given) is None
            with pytest.raises(NotFound):
                office.signoff.do("open_link", person("grace", "link"), "other", link=given)
        works.append(work)
    assert works[1] == works[2]
    with pytest.raises(NotFound):
        by_link(office, "grace", "x" * 43, run_id)
    assert office.evidence(run_id) == []


def test_a_link_ends_with_what_it_is_for(office: Office, box: Mailbox) -> None:
    """Revoked when somebody was taken off, when the work was sent back, and when another had the last word."""
    form = {"id": "fill", "kind": "form", "label": "Fill", "groups": ["managers"], "fields": [{"name": "n"}]}
    document = chain("buy", form, ask("manager", required=2, returns_to=["fill"]))
    office.publish(document)
    run_id = office.start("buy")
    office.until_step(run_id, "fill", "waiting")
    links = tokens(mails(office, box))
    task = office.signoff.queries.find_task(TENANT, "alan", run_id, "fill")
    seen = {"generation": task.generation, "shown_digest": task.shown_digest}
    office.signoff.submit_form(person("alan"), TENANT, run_id, "fill", {"n": "x"}, link=links["alan"], **seen)
    office.until_step(run_id, "manager", "waiting")
    asked = tokens(mails(office, box))
    office.running.save_person("dan", roles=("approver",), groups=None)
    office.signoff.operate(
        "reassign_step",
        person("katherine"),
        TENANT,
        run_id,
        step="manager",
        remove=["edith"],
        add=["dan"],
        reason="ill",
    )
    with pytest.raises(Refused) as refused:
        by_link(office, "edith", asked["edith"], run_id)
    assert refused.value.code == "not_an_approver"
    asked = tokens(mails(office, box))
    by_link(office, "grace", asked["grace"], run_id)
    by_link(office, "alan", asked["alan"], run_id, "returned", comment="Again, please.")
    office.until_step(run_id, "fill", "waiting")
    with pytest.raises(Refused) as refused:
        by_link(office, "dan", asked["dan"], run_id)
    assert refused.value.code in ("link_revoked", "not_open")
    open_ones = sql(office, "SELECT DISTINCT step FROM approval_link WHERE used_at IS NULL AND revoked_at IS NULL")
    assert {r[0] for r in open_ones} <= {"fill"}


def test_a_link_is_good_for_a_while_only(tmp_path: Path, box: Mailbox) -> None:
    clock = Clock()
    with mailing_office(tmp_path / "data", box, now=clock, link_s=3_600.0) as office:
        run_id = waiting(office)
        token = tokens(mails(office, box))["grace"]
        found = office.signoff.queries.find_link(TENANT, token)
        assert found.expires_at == clock.now + timedelta(hours=1)
        clock.move(hours=1)
        with pytest.raises(Refused) as refused:
            by_link(office, "grace", token, run_id)
        assert refused.value.code == "link_expired"
        assert office.evidence(run_id) == ["link_expired"]
        office.decide(run_id, "manager", "grace")


def test_separation_of_duties_holds_for_links(office: Office, box: Mailbox) -> None:
    """Security list, 8: whoever asked may not decide, by link neither; a letter is not even sent."""
    office.running.save_person("grace", roles=("approver", "starter"), groups=None)
    office.publish(BUY)
    run_id = office.start("buy", by="grace", amount=3)
    office.until_step(run_id, "manager", "waiting")
    assert set(tokens(mails(office, box))) == {"alan", "edith"}
    moot = office.signoff.queries.list_deliveries(TENANT, status="moot").items
    assert [(d.login, "not decide" in d.error) for d in moot] == [("grace", True)]


def test_a_hundred_clicks_at_once_are_one_decision(office: Office, box: Mailbox) -> None:
    """Security list, 5."""
    run_id = waiting(office)
    links = tokens(mails(office, box))
    codes: list[str] = []

    def click(who: str) -> None:
        try:
            by_link(office, who, links[who], run_id)
            codes.append("done")
        except Refused as error:
            codes.append(error.code)

    threads = [threading.Thread(target=click, args=(("grace", "alan", "edith")[n % 3],)) for n in range(100)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sorted(set(codes)) == ["already_handled", "done"]
    assert codes.count("done") == 1
    assert office.evidence(run_id) == ["already_handled"] * 99


def test_no_raw_token_is_anywhere(tmp_path: Path, box: Mailbox, caplog: pytest.LogCaptureFixture) -> None:
    """Invariant 8: neither in the database and its log, nor in files of the folder, nor in log lines."""
    caplog.set_level(logging.DEBUG)
    with mailing_office(tmp_path / "data", box) as office:
        run_id = waiting(office)
        links = tokens(mails(office, box))
        by_link(office, "grace", links["grace"], run_id)
        with pytest.raises(Refused):
            by_link(office, "alan", links["alan"], run_id)
        with pytest.raises(NotFound):
            by_link(office, "alan", "a-token-that-nobody-issued-0123456789abcdefgh", run_id)
        kept = [p.read_bytes() for p in (tmp_path).rglob("*") if p.is_file()]
    kept += [p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()]
    kept.append(caplog.text.encode())
    for token in (*links.values(), "a-token-that-nobody-issued-0123456789abcdefgh"):
        assert not any(token.encode() in data for data in kept)
        assert not any(token.encode()[:20] in data for data in kept)


def test_following_a_link_decides_nothing(office: Office, box: Mailbox) -> None:
    run_id = waiting(office)
    links = tokens(mails(office, box))
    actor = person("grace", "link")
    found = office.signoff.do("open_link", actor, TENANT, link=links["grace"])
    assert (found["run_id"], found["step"]) == (run_id, "manager")
    with pytest.raises(Refused) as refused:
        office.signoff.do("open_link", actor, TENANT, link=links["alan"])
    assert refused.value.code == "link_of_another"
    assert office.evidence(run_id) == ["link_of_another"]
    by_link(office, "grace", links["grace"], run_id)
    with pytest.raises(Refused, match="already handled by Grace"):
        office.signoff.do("open_link", actor, TENANT, link=links["grace"])


def test_the_verifier_finds_links_that_lie(office: Office, box: Mailbox) -> None:
    run_id = waiting(office)
    by_link(office, "grace", tokens(mails(office, box))["grace"], run_id)
    office.until_status(run_id, "succeeded")

    def codes() -> set[str]:
        with open_verifier(Settings(office.folder)) as verifier:
            return {f.code for f in verifier.findings() if "link" in f.code or f.code == "foreign_tenant"}

    assert codes() == set()
    for change, back, code in (
        ("used_at=NULL, outcome=''", "used_at=1, outcome='approved'", {"link_unexpected", "link_missing"}),
        ("tenant='x'", f"tenant='{TENANT}'", {"foreign_tenant"}),
    ):
        sql(office, f"UPDATE approval_link SET {change} WHERE login='grace'")
        assert codes() == code
        sql(office, f"UPDATE approval_link SET {back} WHERE login='grace'")
    sql(office, "UPDATE approval_link SET revoked_at=NULL WHERE login='alan'")
    assert codes() == {"link_unexpected"}
    sql(office, "UPDATE approval_link SET revoked_at=1 WHERE login='alan'")
    assert codes() == set()


def test_erasing_a_run_takes_its_links_and_letters_along(tmp_path: Path, box: Mailbox) -> None:
    with mailing_office(tmp_path / "data", box) as office:
        office.running.save_person("root", roles=("administrator",))
        run_id = waiting(office)
        by_link(office, "grace", tokens(mails(office, box))["grace"], run_id, "rejected", comment="no")
        office.until_status(run_id, "rejected")
        mails(office, box)
        office.signoff.do("erase_run", person("root", "cli"), TENANT, run_id=run_id, reason="asked for")
        for table in ("approval_link", "delivery"):
            assert sql(office, f"SELECT count(*) FROM {table}") == [(0,)]


def test_the_requester_hears_of_the_end(office: Office, box: Mailbox) -> None:
    run_id = waiting(office)
    by_link(office, "grace", tokens(mails(office, box))["grace"], run_id)
    last = mails(office, box)[-1]
    assert str(last["To"]).endswith("<ada@office.example>")
    assert f"/runs/{run_id}" in text_of(last)
    assert "/link" not in text_of(last)
