"""Published versions: compared, archived and back, restored, and never deleted while runs refer to them (C30)."""

from __future__ import annotations

import pytest

from signoff import errors
from tests.engine.office import TENANT, Office, ask, call, chain, person

ONE = chain("buy", ask("manager"), call("order"))
TWO = chain("buy", {**ask("manager"), "label": "Boss approves"})


def two_versions(office: Office) -> None:
    office.running.save_person("root", roles=("administrator",))
    office.publish(ONE)
    office.publish(TWO)


def version_of(office: Office, run_id: str) -> int:
    return office.view(run_id).row.version


def test_a_run_keeps_its_version_while_the_definition_changes(office: Office) -> None:
    """C30."""
    office.running.save_person("root", roles=("administrator",))
    office.publish(ONE)
    old = office.start("buy")
    office.publish(TWO)
    office.signoff.archive(person("ada"), TENANT, "buy", "replaced", version=1)
    new = office.start("buy")
    assert (version_of(office, old), version_of(office, new)) == (1, 2)
    assert office.view(old).plan.label("manager") == "Manager"
    with pytest.raises(errors.Refused, match=r"version 1 of 'buy', but it has 1 run, 1 of them open"):
        office.signoff.do("delete_version", person("root"), TENANT, name="buy", version=1, reason="tidy")
    office.decide(old, "manager", "grace")
    assert office.until_status(old, "succeeded").state.steps["order"].status == "succeeded"
    with pytest.raises(errors.Refused, match="0 of them open"):
        office.signoff.do("delete_version", person("root"), TENANT, name="buy", version=1, reason="tidy")
    with pytest.raises(errors.Refused, match="archived"):
        office.signoff.start_run(person("ada"), TENANT, "buy", {}, version=1)


def test_new_runs_use_the_newest_version_that_is_not_archived(office: Office) -> None:
    two_versions(office)
    answer = office.signoff.archive(person("ada"), TENANT, "buy", "it is wrong", version=2)
    assert answer["new_runs_use"] == 1
    assert version_of(office, office.start("buy")) == 1
    (row,) = office.signoff.queries.list_definitions(TENANT)
    assert (row.latest_version, row.archived) == (1, False)
    office.signoff.archive(person("ada"), TENANT, "buy", "all of it", version=1)
    with pytest.raises(errors.Refused, match="archived"):
        office.start("buy")
    assert office.signoff.queries.list_definitions(TENANT)[0].archived
    answer = office.signoff.archive(person("ada"), TENANT, "buy", "it was right", version=2, archived=False)
    assert answer["new_runs_use"] == 2
    assert version_of(office, office.start("buy")) == 2


def test_a_whole_definition_is_archived_and_taken_back(office: Office) -> None:
    two_versions(office)
    assert office.signoff.archive(person("ada"), TENANT, "buy", "season is over")["new_runs_use"] is None
    with pytest.raises(errors.Refused, match="archived"):
        office.start("buy")
    with pytest.raises(errors.InvalidInput, match="reason"):
        office.signoff.archive(person("ada"), TENANT, "buy", " ", archived=False)
    assert office.signoff.archive(person("ada"), TENANT, "buy", "spring", archived=False)["new_runs_use"] == 2
    office.start("buy")


def test_an_older_content_is_restored_and_published_again(office: Office) -> None:
    two_versions(office)
    with pytest.raises(errors.Conflict, match="the draft is at revision 2"):
        office.signoff.restore_draft(person("ada"), TENANT, "buy", 1, based_on=1)
    assert office.signoff.restore_draft(person("ada"), TENANT, "buy", 1)["revision"] == 3
    assert office.signoff.restore_draft(person("ada"), TENANT, "buy", 1).get("unchanged")
    assert office.signoff.queries.compare(TENANT, "buy", 1) == ()
    office.signoff.archive(person("ada"), TENANT, "buy", "bad", version=1)
    answer = office.signoff.publish(person("ada"), TENANT, "buy", 3)
    assert (answer["version"], answer["created"]) == (1, False)
    assert not office.signoff.queries.list_versions(TENANT, "buy")[1].archived, "publishing it again takes it back"


def test_a_version_that_never_ran_can_be_deleted_but_not_the_newest(office: Office) -> None:
    two_versions(office)
    with pytest.raises(errors.Forbidden):
        office.signoff.do("delete_version", person("ada"), TENANT, name="buy", version=1, reason="tidy")
    with pytest.raises(errors.Refused, match="its number would be given again"):
        office.signoff.do("delete_version", person("root"), TENANT, name="buy", version=2, reason="tidy")
    with pytest.raises(errors.NotFound):
        office.signoff.do("delete_version", person("root"), TENANT, name="buy", version=9, reason="tidy")
    office.signoff.do("delete_version", person("root"), TENANT, name="buy", version=1, reason="tidy")
    assert [v.version for v in office.signoff.queries.list_versions(TENANT, "buy")] == [2]


def test_what_differs_is_told_between_versions_and_against_the_draft(office: Office) -> None:
    two_versions(office)
    sentences = [c.sentence for c in office.signoff.queries.compare(TENANT, "buy", 1, 2)]
    assert sentences == [
        "Removed the activity 'Order'.",
        "'Manager' is now called 'Boss approves'.",
        "Removed the way from 'Manager' to 'Order'.",
    ]
    assert office.signoff.queries.compare(TENANT, "buy") == (), "the draft is what was published last"
    for old, new in ((9, None), (None, 9)):
        with pytest.raises(errors.NotFound):
            office.signoff.queries.compare(TENANT, "buy", old, new)
