"""Migration plans as objects: proposed, tried out, approved by another, applied; what refuses to go without (W11)."""

from __future__ import annotations

from typing import Any

import pytest

from signoff import errors
from signoff.engine.bulk_queries import RunFilter
from signoff.wiring import Settings, open_verifier
from tests.engine.office import TENANT, Office, ask, call, chain, person
from tests.stores import tamper

ADA, OLGA, PIA = person("ada"), person("katherine"), person("pia")


def two_versions(office: Office, **policies: str) -> list[str]:
    office.running.save_person("pia", roles=("publisher", "operator"))
    office.publish(chain("buy", ask("manager"), call("order")))
    runs = [office.start("buy") for _ in range(2)]
    for run_id in runs:
        office.until_step(run_id, "manager", "waiting")
    office.publish(chain("buy", ask("boss"), call("order"), policies=policies))
    return runs


def propose(office: Office, by: Any = OLGA, **plan: Any) -> dict[str, Any]:
    given = {"target": 2, "steps": {"manager": "boss"}, **plan}
    return office.signoff.do(
        "propose_migration", by, TENANT, definition="buy", version=1, plan=given, reason="new wording"
    )


def decide(office: Office, plan_id: str, by: Any = PIA, outcome: str = "approved", comment: str = "") -> Any:
    return office.signoff.do("decide_migration", by, TENANT, plan_id=plan_id, outcome=outcome, comment=comment)


def move(office: Office, run_id: str, **args: Any) -> Any:
    return office.signoff.operate("migrate_run", OLGA, TENANT, run_id, reason="go", **args)


def test_a_plan_is_proposed_tried_out_approved_and_applied(office: Office) -> None:
    runs = two_versions(office, migration="approved")
    plan = propose(office)
    assert plan["status"] == "proposed"
    assert propose(office)["plan_id"] == plan["plan_id"]
    queries, args = office.signoff.queries, {"plan_id": plan["plan_id"]}
    found = queries.bulk.preview(TENANT, OLGA, "migrate_run", RunFilter("buy", 1), args)
    assert [i.can for i in found.items] == [False, False]
    assert "somebody else has approved" in found.items[0].sentence
    decide(office, plan["plan_id"], comment="as agreed")
    found = queries.bulk.preview(TENANT, OLGA, "migrate_run", RunFilter("buy", 1), args)
    assert [i.can for i in found.items] == [True, True]
    done = office.signoff.bulk(OLGA, TENANT, "migrate_run", found.sendable, reason="go", args=args)
    assert done["done"] == 2
    for run_id in runs:
        view = office.view(run_id)
        assert view.row.version == 2
        moved = next(e for e in queries.list_events(TENANT, run_id) if e.type == "run.migrated")
        assert moved.data["plan_id"] == plan["plan_id"]
        assert moved.data["approved_by"] == "pia"
        assert moved.data["plan_digest"] == plan["digest"]
        assert "which pia approved" in moved.sentence
        office.decide(run_id, "boss", "grace")
        office.until_status(run_id, "succeeded")
    seen = queries.plans.get(TENANT, plan["plan_id"])
    assert (seen.status, seen.decided_by, seen.comment) == ("approved", "pia", "as agreed")


@pytest.mark.parametrize("where", ["source", "target"])
def test_either_version_may_ask_for_an_approved_plan(office: Office, where: str) -> None:
    office.running.save_person("pia", roles=("publisher",))
    strict = {"policies": {"migration": "approved"}}
    office.publish(chain("buy", ask("manager"), call("order"), **(strict if where == "source" else {})))
    run_id = office.start("buy")
    office.publish(chain("buy", ask("manager"), call("send"), **(strict if where == "target" else {})))
    with pytest.raises(errors.Refused, match=f"version {1 if where == 'source' else 2} asks for a plan") as refused:
        move(office, run_id, plan={"target": 2})
    assert refused.value.code == "plan_not_approved"
    assert office.view(run_id).row.version == 1
    assert office.evidence(run_id) == ["plan_not_approved"]
    plan = propose(office, steps={})
    decide(office, plan["plan_id"])
    with pytest.raises(errors.Refused, match="asks for a plan"):
        move(office, run_id, plan={"target": 2, "steps": {}, "covers": ["running"]})  # another plan than the approved
    move(office, run_id, plan={"target": 2, "steps": {}})
    assert office.view(run_id).row.version == 2


def test_nobody_approves_a_plan_of_their_own(office: Office) -> None:
    two_versions(office)
    plan = propose(office, by=PIA)
    with pytest.raises(errors.Refused, match="you proposed it yourself"):
        decide(office, plan["plan_id"], by=person("PIA"))
    with pytest.raises(errors.Forbidden, match="approve or reject a migration plan"):
        decide(office, plan["plan_id"], by=OLGA)
    decide(office, plan["plan_id"], by=ADA)
    assert decide(office, plan["plan_id"], by=ADA)["status"] == "approved"
    with pytest.raises(errors.Refused, match="it is approved"):
        decide(office, plan["plan_id"], by=PIA, outcome="rejected", comment="late")


@pytest.mark.parametrize("how", ["rejected", "withdrawn"])
def test_a_plan_that_was_refused_or_withdrawn_moves_nothing(office: Office, how: str) -> None:
    run_id = two_versions(office)[0]
    plan = propose(office)
    if how == "rejected":
        with pytest.raises(errors.InvalidInput, match="comment to reject"):
            decide(office, plan["plan_id"], outcome="rejected")
        decide(office, plan["plan_id"], outcome="rejected", comment="not this week")
    else:
        decide(office, plan["plan_id"])
        office.signoff.do("withdraw_migration", OLGA, TENANT, plan_id=plan["plan_id"], reason="a mistake")
    with pytest.raises(errors.InvalidInput, match=f"was {how}"):
        move(office, run_id, plan_id=plan["plan_id"])
    assert office.view(run_id).row.version == 1
    again = propose(office)
    assert again["created"]
    assert again["plan_id"] != plan["plan_id"]


def test_a_withdrawn_approval_counts_for_no_plan_of_the_same_content(office: Office) -> None:
    run_id = two_versions(office, migration="approved")[0]
    plan = propose(office)
    decide(office, plan["plan_id"])
    office.signoff.do("withdraw_migration", PIA, TENANT, plan_id=plan["plan_id"], reason="a mistake")
    with pytest.raises(errors.Refused, match="asks for a plan"):
        move(office, run_id, plan={"target": 2, "steps": {"manager": "boss"}})


def test_what_is_wrong_with_a_plan_is_said_when_it_is_proposed(office: Office) -> None:
    two_versions(office)
    for wrong, said in (
        ({"steps": {"nobody": "boss"}}, "the source has not"),
        ({"steps": {"manager": "nobody"}}, "the target has not"),
        ({"target": 1}, "Both versions are the same"),
        ({"target": 9}, "no version 9"),
        ({"input": {"x": "=1 +"}}, "input mapping cannot be read"),
    ):
        with pytest.raises((errors.InvalidInput, errors.NotFound), match=said):
            propose(office, **wrong)
    with pytest.raises(errors.InvalidInput, match="reason to propose"):
        office.signoff.do("propose_migration", OLGA, TENANT, definition="buy", version=1, plan={"target": 2})
    with pytest.raises(errors.NotFound):
        decide(office, "p-nothing")
    assert office.signoff.queries.plans.list(TENANT).items == ()


def test_plans_are_listed_newest_first_and_by_definition(office: Office) -> None:
    two_versions(office)
    first, second = propose(office), propose(office, covers=["running"])
    page = office.signoff.queries.plans.list(TENANT, definition="buy", limit=1)
    assert [p.plan_id for p in page.items] == [second["plan_id"]]
    rest = office.signoff.queries.plans.list(TENANT, definition="buy", cursor=page.next_cursor)
    assert [p.plan_id for p in rest.items] == [first["plan_id"]]
    assert office.signoff.queries.plans.list(TENANT, definition="other").items == ()
    assert office.signoff.queries.plans.list("elsewhere").items == ()


def test_everything_about_plans_is_audited(office: Office) -> None:
    two_versions(office)
    plan = propose(office, by=PIA)
    with pytest.raises(errors.Refused):
        decide(office, plan["plan_id"], by=PIA)
    decide(office, plan["plan_id"], by=ADA, outcome="rejected", comment="no")
    rows = office.signoff.queries._reader.rows(
        "SELECT action, actor, outcome FROM audit WHERE subject=? ORDER BY id", (plan["plan_id"],)
    )
    assert rows == [
        ("propose_migration", "pia", "done"),
        ("decide_migration", "pia", "refused"),
        ("decide_migration", "ada", "done"),
    ]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("DELETE FROM migration_plan", "does not exist"),
        ("UPDATE migration_plan SET digest='sha256:0'", "something else"),
        ("UPDATE migration_plan SET status='rejected'", "rejected"),
    ],
)
def test_the_verifier_finds_a_move_by_a_plan_that_was_not_approved(office: Office, change: str, said: str) -> None:
    run_id = two_versions(office, migration="approved")[0]
    plan = propose(office)
    decide(office, plan["plan_id"])
    move(office, run_id, plan_id=plan["plan_id"])
    with open_verifier(Settings(office.folder)) as verifier:
        assert list(verifier.findings()) == []
    tamper(office.folder, change)
    with open_verifier(Settings(office.folder)) as verifier:
        found = [f for f in verifier.findings() if f.code == "plan_not_approved"]
    assert len(found) == 1
    assert said in found[0].message
