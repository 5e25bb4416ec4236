"""Who may do what, on the engine itself: every face goes through these rules."""

from __future__ import annotations

import threading

import pytest

from signoff import errors
from signoff.core.states import Actor
from signoff.engine.permissions import MAY, ROLES
from tests.engine.office import TENANT, Office, ask, call, chain, person


def open_approval(office: Office, **more: object) -> str:
    office.publish(chain("buy", ask("manager", **more), call("order")))
    run_id = office.start("buy")
    office.until_step(run_id, "manager", "waiting")
    return run_id


def test_two_people_at_once_make_one_decision(office: Office) -> None:
    """C01, twenty times."""
    office.publish(chain("buy", ask("manager"), call("order")))
    for _ in range(20):
        run_id = office.start("buy")
        office.until_step(run_id, "manager", "waiting")
        results: list[object] = []

        def decide(login: str, run: str = run_id, into: list[object] = results) -> None:
            try:
                into.append(office.decide(run, "manager", login))
            except errors.Refused as error:
                into.append(error.code)

        pair = [threading.Thread(target=decide, args=(who,)) for who in ("grace", "alan")]
        for t in pair:
            t.start()
        for t in pair:
            t.join()
        office.until_status(run_id, "succeeded")
        assert sorted(type(r).__name__ for r in results) == ["dict", "str"]
        assert "already_handled" in results
        assert office.types(run_id).count("approval.settled") == 1
        assert office.evidence(run_id) == ["already_handled"]
    assert office.connectors.count("order") == 20


def test_a_hundred_submits_at_once_make_one_decision(office: Office) -> None:
    run_id = open_approval(office)
    start = threading.Barrier(100)
    good: list[object] = []

    def submit() -> None:
        start.wait()
        try:
            good.append(office.decide(run_id, "manager", "grace", generation=1))
        except errors.Refused:
            return

    threads = [threading.Thread(target=submit) for _ in range(100)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(good) == 1
    assert office.types(run_id).count("approval.decision_recorded") == 1
    assert len(office.evidence(run_id)) == 99


def test_the_same_person_counts_once_however_the_login_is_written(office: Office) -> None:
    """C04."""
    run_id = open_approval(office, required=2)
    office.decide(run_id, "manager", "grace")
    for login in ("grace", "Grace", "GRACE"):
        with pytest.raises(errors.Refused, match="already decided"):
            office.decide(run_id, "manager", login, generation=1)
    view = office.view(run_id)
    assert view.row.status == "running"
    assert "1 of 2 approvals given" in view.explanation.sentence
    office.decide(run_id, "manager", "alan")
    office.until_status(run_id, "succeeded")


def test_whoever_started_the_run_may_not_approve_it(office: Office) -> None:
    """C05 on the engine: the channel makes no difference."""
    office.running.save_person("grace", roles=("approver", "starter"), groups=("managers",))
    office.publish(chain("buy", ask("manager"), call("order")))
    run_id = office.start("buy", by="grace")
    office.until_step(run_id, "manager", "waiting")
    for channel in ("web", "api", "cli", "link"):
        with pytest.raises(errors.Refused, match="You started this run"):
            office.signoff.decide(person("grace", channel), TENANT, run_id, "manager", "approved", generation=1)
    assert office.evidence(run_id) == ["own_request"] * 4
    assert office.signoff.queries.count_inbox(TENANT, "grace") == 0


def test_a_self_approval_that_is_allowed_is_on_record(office: Office) -> None:
    office.running.save_person("grace", roles=("approver", "starter"), groups=("managers",))
    office.publish(chain("buy", ask("manager", requester_may_decide=True)))
    run_id = office.start("buy", by="grace")
    office.until_step(run_id, "manager", "waiting")
    office.decide(run_id, "manager", "grace")
    office.until_status(run_id, "succeeded")
    decision = next(
        e for e in office.signoff.queries.list_events(TENANT, run_id) if e.type == "approval.decision_recorded"
    )
    assert decision.data["actor"]["id"] == office.view(run_id).row.started_by == "grace"


def test_whoever_is_not_asked_sees_and_decides_nothing(office: Office) -> None:
    """C07."""
    office.running.save_person("dan", roles=("starter", "approver"), groups=("others",))
    run_id = open_approval(office)
    queries = office.signoff.queries
    dan = next(p for p in queries.list_people(TENANT) if p.login == "dan")
    assert queries.list_inbox(TENANT, "dan").items == ()
    assert queries.find_task(TENANT, "dan", run_id, "manager") is None
    with pytest.raises(errors.NotFound):
        queries.get_run(TENANT, run_id, reader=dan)
    assert queries.list_runs(TENANT, reader=dan).items == ()
    with pytest.raises(errors.Refused, match="not among those"):
        office.decide(run_id, "manager", "dan")
    assert office.view(run_id).state.steps["manager"].status == "waiting"


def test_a_foreign_tenant_looks_like_nothing(office: Office) -> None:
    run_id = open_approval(office)
    office.running.save_person("eve", roles=ROLES, groups=("managers",), tenant="other")
    with pytest.raises(errors.NotFound):
        office.signoff.operate("cancel_run", person("eve"), "other", run_id, reason="x")
    with pytest.raises(errors.NotFound):
        office.signoff.decide(person("eve"), "other", run_id, "manager", "approved", generation=1)
    with pytest.raises(errors.NotFound):
        office.signoff.queries.get_run("other", run_id)
    assert office.signoff.queries.list_events("other", run_id) == []
    assert office.signoff.queries.list_attempts("other", run_id) == []
    assert office.evidence(run_id) == []


def test_a_decision_about_something_else_is_refused(office: Office) -> None:
    run_id = open_approval(office)
    with pytest.raises(errors.Refused, match="changed while you were reading"):
        office.decide(run_id, "manager", "grace", shown_digest="sha256:" + "0" * 64)
    assert office.view(run_id).state.steps["manager"].status == "waiting"


def test_a_closed_account_can_do_nothing_any_more(office: Office) -> None:
    run_id = open_approval(office)
    office.running.save_person("grace", roles=("approver",), groups=("managers",), active=False)
    with pytest.raises(errors.Forbidden, match="no active account"):
        office.decide(run_id, "manager", "grace")
    office.decide(run_id, "manager", "alan")
    office.until_status(run_id, "succeeded")


@pytest.mark.parametrize("role", ROLES)
def test_every_request_asks_for_its_role(office: Office, role: str) -> None:
    """The whole table of permissions, role by role, through the engine."""
    office.running.save_person("eve", roles=(role,), groups=())
    for name in sorted(n for n in MAY if not n.startswith("read_")):
        try:
            office.signoff.do(name, person("eve"), TENANT)
            allowed = True
        except errors.Forbidden:
            allowed = False
        except errors.SignoffError:
            allowed = True
        assert allowed == (role in MAY[name]), (role, name)


def test_a_refused_request_is_in_the_audit(office: Office) -> None:
    with pytest.raises(errors.Forbidden):
        office.signoff.operate("cancel_run", person("ada"), TENANT, "r-x", reason="because")
    rows = (
        office.running.reader.connect().exec_driver_sql("SELECT actor, action, subject, outcome FROM audit").fetchall()
    )
    assert ("ada", "cancel_run", "r-x", "refused") in [tuple(r) for r in rows]


def test_worker_and_engine_requests_are_closed_to_people(office: Office) -> None:
    for name in ("complete", "fail", "offer", "withdraw", "heartbeat", "expire_lease", "fire_timer", "delivered"):
        with pytest.raises(errors.Forbidden, match="client connection"):
            office.signoff.do(name, person("katherine"), TENANT)


def test_passwords_sessions_and_guessing(office: Office) -> None:
    office.running.save_person("grace", roles=("approver",), password="right")
    answer = office.signoff.sign_in(TENANT, "Grace", "right")
    found = office.signoff.queries.find_session(answer["session"])
    assert found is not None
    assert found.login == "grace"
    office.signoff.sign_out(TENANT, answer["session"])
    assert office.signoff.queries.find_session(answer["session"]) is None
    again = office.signoff.sign_in(TENANT, "grace", "right")["session"]
    office.running.save_person("grace", roles=("approver",), active=False)
    assert office.signoff.queries.find_session(again) is None
    for login in ("grace", "nobody"):
        codes = []
        for _ in range(10):
            with pytest.raises(errors.SignoffError) as caught:
                office.signoff.sign_in(TENANT, login, "wrong")
            codes.append(caught.value.code)
        assert codes == ["not_signed_in"] * 8 + ["too_many"] * 2, "the same for accounts that do not exist"


def test_an_account_without_a_password_cannot_sign_in(office: Office) -> None:
    with pytest.raises(errors.NotSignedIn):
        office.signoff.sign_in(TENANT, "ada", "")


def test_session_secrets_are_nowhere_in_the_database(office: Office) -> None:
    office.running.save_person("grace", roles=("approver",), password="hidden-word")
    secret = office.signoff.sign_in(TENANT, "grace", "hidden-word")["session"]
    everything = b"".join(p.read_bytes() for p in office.folder.iterdir() if p.is_file())
    assert secret.encode() not in everything
    assert b"hidden-word" not in everything


def test_the_actor_is_who_the_account_says(office: Office) -> None:
    run_id = open_approval(office)
    lie = Actor("worker", "grace", name="Somebody Else", channel="web")
    office.signoff.decide(lie, TENANT, run_id, "manager", "approved", generation=1, comment="x")
    event = next(
        e for e in office.signoff.queries.list_events(TENANT, run_id) if e.type == "approval.decision_recorded"
    )
    assert (event.data["actor"]["kind"], event.actor) == ("person", "Grace")


def test_a_leaver_who_makes_the_quorum_unreachable_is_noticed_at_once(office: Office) -> None:
    run_id = open_approval(office, required=3)
    office.running.save_person("alan", roles=("approver",), groups=("managers",), active=False)
    view = office.until_status(run_id, "stalled")
    assert view.state.steps["manager"].error is not None
    assert "3 more approvals are needed, but only 2 of those asked may still decide" in view.explanation.sentence
    assert office.signoff.queries.list_inbox(TENANT, "grace").items == ()


def test_one_stranger_locks_out_neither_a_person_nor_an_office(office: Office) -> None:
    for login in ("grace", "alan"):
        office.running.save_person(login, roles=("approver",), groups=("managers",), password="right")
    for _ in range(12):
        with pytest.raises(errors.SignoffError):
            office.signoff.sign_in(TENANT, "grace", "wrong", address="203.0.113.9")
    assert office.signoff.sign_in(TENANT, "alan", "right", address="203.0.113.9")["login"] == "alan"
    assert office.signoff.sign_in(TENANT, "grace", "right", address="198.51.100.1")["login"] == "grace"


def test_changing_an_account_keeps_what_is_not_given(office: Office) -> None:
    """Closing an account is not forgetting who it was (C39)."""
    office.running.save_person("mary", roles=("administrator",))
    office.signoff.do("save_person", person("mary"), TENANT, login="grace", active=False)
    found = next(p for p in office.signoff.queries.list_people(TENANT) if p.login == "grace")
    assert (found.name, found.roles, found.active) == ("Grace", ("approver",), False)
    office.signoff.do("save_person", person("mary"), TENANT, login="grace", active=True)
    assert "grace" in office.signoff.queries.list_groups(TENANT)["managers"]


def test_idempotency_keys_belong_to_whoever_uses_them(office: Office) -> None:
    office.publish(chain("buy", ask("manager")))
    first = office.start("buy", by="ada", key="order-1")
    second = office.start("buy", by="dan", key="order-1")
    assert first != second
    assert office.start("buy", by="ada", key="order-1") == first
