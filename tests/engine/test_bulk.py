"""Bulk commands and moving runs to other versions on a real engine: a preview tells the truth."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from signoff import errors
from signoff.core.states import Actor
from signoff.engine.bulk_queries import Preview, RunFilter
from signoff.wiring import Settings, open_verifier
from tests.engine.office import TENANT, Office, ask, call, chain, open_office, person
from tests.stores import raw_database

OLGA = person("katherine")


def broken(office: Office, count: int = 3) -> list[str]:
    """Stalled runs of 'buy'."""
    office.connectors.broken.add("order")
    office.publish(chain("buy", call("order", "flaky"), ask("p")))
    runs = [office.start("buy") for _ in range(count)]
    for run_id in runs:
        office.until_status(run_id, "stalled")
    return runs


def preview(office: Office, command: str, args: dict[str, Any] | None = None, **which: Any) -> Preview:
    return office.signoff.queries.bulk.preview(TENANT, OLGA, command, RunFilter(**which), args)


def audit(office: Office) -> list[tuple[str, str, str]]:
    db = raw_database(office.folder)
    try:
        return [tuple(r) for r in db.execute("SELECT action, subject, message FROM audit WHERE action LIKE 'bulk%'")]
    finally:
        db.close()


def test_work_of_a_leaver_is_given_to_others_at_once(office: Office) -> None:
    office.publish(chain("buy", ask("p")))
    runs = [office.start("buy") for _ in range(2)]
    change = {"add": ["dan"], "remove": ["alan"]}
    found = preview(office, "reassign_step", change, definition="buy")
    assert [(i.can, i.step) for i in found.items] == [(True, "p")] * 2
    assert {i.sentence for i in found.items} == {"Would reassign 'P'."}
    answer = office.signoff.bulk(OLGA, TENANT, "reassign_step", found.sendable, reason="Alan left", args=change)
    assert (answer["done"], answer["refused"]) == (2, 0)
    for run_id in runs:
        approval = office.view(run_id).state.steps["p"].approval
        assert approval is not None
        assert "alan" not in approval.roster
    assert not preview(office, "reassign_step", {"remove": ["alan"]}, definition="buy").items[0].can


@pytest.mark.parametrize(
    ("command", "args", "outcome"),
    [
        ("complete_step", {"output": {"n": 1}}, "succeeded"),
        ("replay_dead_letter", {}, "failed"),
        ("edit_input", {"input": {}}, "failed"),
    ],
)
def test_other_commands_to_many_runs(office: Office, command: str, args: dict[str, Any], outcome: str) -> None:
    runs = broken(office, 2)
    found = preview(office, command, args, status="stalled")
    assert [i.can for i in found.items] == [True, True], [i.sentence for i in found.items]
    answer = office.signoff.bulk(OLGA, TENANT, command, found.sendable, reason="All of them", args=args)
    assert (answer["done"], answer["refused"]) == (2, 0)
    for run_id in runs:
        office.until_step(run_id, "order", outcome)


def test_nothing_in_doubt_is_nothing_to_answer(office: Office) -> None:
    broken(office, 1)
    (item,) = preview(office, "deny_effect", status="stalled").items
    assert (item.can, item.sentence) == (False, "No step of it can be said not to have happened.")


def test_retrying_all_that_failed_for_one_reason(office: Office) -> None:
    runs = broken(office)
    before = [office.types(r) for r in runs]
    found = preview(office, "retry_step", status="stalled", error="broken")
    assert [i.run_id for i in found.items] == runs
    assert all(i.can and i.sentence == "Would retry 'Order'." and i.step == "order" for i in found.items)
    assert found.items[0].following == ("'Order' may be done (attempt 1).",)
    assert [office.types(r) for r in runs] == before, "a preview writes nothing"
    assert preview(office, "retry_step", error="other").items == ()
    office.connectors.broken.clear()
    answer = office.signoff.bulk(OLGA, TENANT, "retry_step", found.sendable, reason="The shop has opened")
    assert (answer["done"], answer["refused"]) == (3, 0)
    for run_id in runs:
        office.until_step(run_id, "p", "waiting")
        sentences = [e.sentence for e in office.signoff.queries.list_events(TENANT, run_id)]
        assert any(f"The shop has opened ({answer['bulk_id']})" in s for s in sentences)
    assert audit(office) == [
        ("bulk retry_step", answer["bulk_id"], "retry_step on 3 runs, 3 done, 0 refused: The shop has opened")
    ]


def test_what_changed_since_the_preview_is_refused_and_the_rest_is_done(office: Office) -> None:
    runs = broken(office)
    found = preview(office, "cancel_run", definition="buy")
    office.signoff.operate("pause_run", OLGA, TENANT, runs[1], reason="look")
    answer = office.signoff.bulk(OLGA, TENANT, "cancel_run", found.sendable, reason="all of it", idempotency_key="k")
    assert [x["done"] for x in answer["results"]] == [True, False, True]
    assert answer["results"][1]["code"] == "changed_meanwhile"
    assert office.view(runs[1]).row.status == "paused"
    assert office.signoff.bulk(OLGA, TENANT, "cancel_run", found.sendable, reason="all of it", idempotency_key="k") == {
        **answer
    }, "two clicks are one command"


def test_a_preview_says_why_not(office: Office) -> None:
    (run_id,) = broken(office, 1)
    (item,) = preview(office, "resume_run").items
    assert (item.can, item.sentence) == (False, "Expected a paused run to resume, but it is stalled. Nothing to do.")
    office.connectors.broken.clear()
    office.signoff.operate("retry_step", OLGA, TENANT, run_id, reason="x", step="order")
    office.until_step(run_id, "p", "waiting")
    (item,) = preview(office, "retry_step").items
    assert item.sentence == "No step of it can be retried."
    (item,) = preview(office, "skip_step", step="p").items
    assert not item.can
    assert "does not allow it" in item.sentence


def test_who_may_not_is_refused_and_bad_requests_are_sentences(office: Office) -> None:
    runs = broken(office, 1)
    items = [{"run_id": runs[0], "sequence": 1}]
    with pytest.raises(errors.Forbidden, match="send a command to many runs"):
        office.signoff.bulk(person("ada"), TENANT, "cancel_run", items, reason="x")
    for command, listed, reason in (("decide", items, "x"), ("cancel_run", items, ""), ("cancel_run", [], "x")):
        with pytest.raises(errors.InvalidInput):
            office.signoff.bulk(OLGA, TENANT, command, listed, reason=reason)
    with pytest.raises(errors.InvalidInput):
        preview(office, "decide")
    answer = office.signoff.bulk(OLGA, TENANT, "cancel_run", [{"run_id": "r-no", "sequence": 1}], reason="x")
    assert answer["results"][0]["code"] == "not_found"


ONE = chain("buy", ask("manager"), call("order"))
TWO = chain("buy", ask("manager"), call("check"), call("order"))
OTHER = chain("buy", {**ask("manager"), "label": "Boss"}, call("order"))


def move(office: Office, run_id: str, plan: dict[str, Any], *, reason: str, by: Actor = OLGA) -> dict[str, Any]:
    return office.signoff.operate("migrate_run", by, TENANT, run_id, reason=reason, plan=plan)


def verified(folder: Path) -> None:
    with open_verifier(Settings(folder)) as verifier:
        assert list(verifier.findings()) == []


def test_runs_move_to_another_version_and_back(office: Office) -> None:
    office.publish(ONE)
    runs = [office.start("buy") for _ in range(2)]
    office.publish(TWO)
    plan = {"plan": {"target": 2}}
    found = preview(office, "migrate_run", plan, definition="buy", version=1)
    assert [i.sentence for i in found.items] == ["Would move the run to version 2."] * 2
    answer = office.signoff.bulk(OLGA, TENANT, "migrate_run", found.sendable, reason="two pairs of eyes", args=plan)
    assert answer["done"] == 2
    verified(office.folder)
    view = office.view(runs[0])
    assert (view.row.version, view.state.version, list(view.plan.steps)) == (2, 2, ["manager", "check", "order"])
    assert (
        "moved the run from version 1 to version 2" in office.signoff.queries.list_events(TENANT, runs[0])[-1].sentence
    )
    office.decide(runs[0], "manager", "grace")
    office.until_status(runs[0], "succeeded")
    assert office.connectors.count("check") == 1
    back = move(office, runs[1], {"target": 1}, by=OLGA, reason="it was right before")
    assert back["status"] == "running"
    office.decide(runs[1], "manager", "grace")
    office.until_status(runs[1], "succeeded")
    assert office.connectors.count("check") == 1
    verified(office.folder)


def test_people_are_asked_again_where_what_they_see_changed(office: Office) -> None:
    office.publish(ONE)
    run_id = office.start("buy")
    old = office.signoff.queries.find_task(TENANT, "grace", run_id, "manager")
    assert old is not None
    office.publish(OTHER)
    move(office, run_id, {"target": 2}, by=OLGA, reason="renamed")
    with pytest.raises(errors.Refused):
        office.signoff.decide(
            person("grace"),
            TENANT,
            run_id,
            "manager",
            "approved",
            generation=old.generation,
            shown_digest=old.shown_digest,
        )
    (item,) = office.signoff.queries.list_inbox(TENANT, "grace").items
    assert (item.label, item.generation, item.version) == ("Boss", 2, 2)
    office.decide(run_id, "manager", "grace")
    office.until_status(run_id, "succeeded")
    verified(office.folder)


def test_what_cannot_move_says_why_and_is_evidence(office: Office) -> None:
    office.publish(ONE)
    run_id = office.start("buy")
    office.publish(chain("buy", call("order")))
    plan = {"plan": {"target": 2}}
    (item,) = preview(office, "migrate_run", plan).items
    assert "'Manager' is waiting and the new version has no such step" in item.sentence
    with pytest.raises(errors.Refused, match="no such step"):
        move(office, run_id, {"target": 2}, by=OLGA, reason="x")
    assert office.evidence(run_id) == ["step_removed"]
    with pytest.raises(errors.NotFound):
        move(office, run_id, {"target": 9}, by=OLGA, reason="x")
    with pytest.raises(errors.InvalidInput):
        move(office, run_id, {}, by=OLGA, reason="x")
    with pytest.raises(errors.Forbidden):
        move(office, run_id, {"target": 2}, by=person("ada"), reason="x")
    for bad in ({"target": 2, "steps": []}, {"target": 2, "input": 1}, {"target": 2, "covers": ["asleep"]}):
        with pytest.raises(errors.InvalidInput):
            move(office, run_id, bad, by=OLGA, reason="x")
    assert office.view(run_id).row.version == 1


def test_a_moved_run_goes_on_after_a_restart(tmp_path: Path) -> None:
    with open_office(tmp_path / "data") as office:
        office.publish(chain("buy", call("order", "flaky"), {"id": "w", "kind": "wait", "duration": "P1D"}))
        office.connectors.broken.add("order")
        run_id = office.start("buy")
        office.until_status(run_id, "stalled")
        office.publish(chain("buy", call("order"), {"id": "pause", "kind": "wait", "duration": "P1D"}))
        move(office, run_id, {"target": 2, "steps": {"w": "pause"}}, by=OLGA, reason="another shop")
    with open_office(tmp_path / "data") as office:
        assert office.view(run_id).row.status == "stalled"
        office.signoff.operate("retry_step", OLGA, TENANT, run_id, reason="now", step="order")
        office.until_step(run_id, "pause", "waiting")
        office.check_replay()
    verified(tmp_path / "data")
