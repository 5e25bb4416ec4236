"""Drafts, publishing, pinning: nothing is lost, the same content is the same version, problems are sentences."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from signoff import errors
from tests.engine.office import TENANT, Office, ask, call, chain, person

BAD: dict[str, tuple[dict[str, Any], str]] = {
    "a step more than twenty": (
        chain("bad", *(call(f"s{i}") for i in range(21))),
        "21 steps; at most 20 are allowed. Over the limit: 'S20'",
    ),
    "a cycle": (
        {**chain("bad", call("a"), call("b")), "edges": [{"from": "a", "to": "b"}, {"from": "b", "to": "a"}]},
        "The steps form a cycle: A → B → A",
    ),
    "an unknown step": (
        {**chain("bad", call("a")), "edges": [{"from": "a", "to": "ghost"}]},
        "names the step 'ghost', which does not exist",
    ),
    "a bad expression": (
        {**chain("bad", call("a"), call("b")), "edges": [{"from": "a", "to": "b", "when": "1 +"}]},
        "condition from 'A' to 'B'",
    ),
    "a connector that is not installed": (chain("bad", call("a", "fax")), "calls 'fax', which is not installed"),
    "a group that does not exist": (
        chain("bad", {**ask("a"), "groups": ["ghosts"]}),
        "asks the group 'ghosts', which does not exist",
    ),
}


@pytest.mark.parametrize(("document", "sentence"), BAD.values(), ids=BAD.keys())
def test_what_is_wrong_is_refused_with_a_sentence(office: Office, document: dict[str, Any], sentence: str) -> None:
    office.signoff.create_draft(person("ada"), TENANT, document)
    with pytest.raises(errors.InvalidInput) as caught:
        office.signoff.publish(person("ada"), TENANT, "bad", 1)
    assert sentence in caught.value.message
    draft = office.signoff.queries.find_draft(TENANT, "bad")
    assert draft is not None
    assert sentence in " ".join(p.sentence for p in draft.problems), "the draft shows the same sentence"
    assert office.signoff.queries.find_version(TENANT, "bad") is None


def test_the_second_of_two_editors_is_told_and_nothing_is_lost(office: Office) -> None:
    """C31."""
    office.running.save_person("bob", name="Bob", roles=("designer",))
    document = chain("buy", ask("manager"))
    office.signoff.create_draft(person("ada"), TENANT, document)
    by_ada, by_bob = ({**document, "description": who} for who in ("by Ada", "by Bob"))
    office.signoff.save_draft(person("ada"), TENANT, "buy", by_ada, {}, 1)
    with pytest.raises(errors.Conflict, match="Ada has saved revision 2"):
        office.signoff.save_draft(person("bob"), TENANT, "buy", by_bob, {}, 1)
    stored = office.signoff.queries.find_draft(TENANT, "buy")
    assert stored is not None
    assert (stored.revision, stored.document) == (2, by_ada)


def test_a_repeated_save_is_no_conflict_with_oneself(office: Office) -> None:
    document = chain("buy", ask("manager"))
    office.signoff.create_draft(person("ada"), TENANT, document)
    changed = {**document, "description": "x"}
    first = office.signoff.save_draft(person("ada"), TENANT, "buy", changed, {}, 1)
    again = office.signoff.save_draft(person("ada"), TENANT, "buy", changed, {}, 1)
    assert first["revision"] == again["revision"] == 2


def test_publishing_twice_gives_one_version(office: Office) -> None:
    document = chain("buy", ask("manager"))
    office.signoff.create_draft(person("ada"), TENANT, document)
    answers: list[dict[str, Any]] = []
    threads = [
        threading.Thread(target=lambda: answers.append(office.signoff.publish(person("ada"), TENANT, "buy", 1)))
        for _ in range(5)
    ]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sorted(a["created"] for a in answers) == [False] * 4 + [True]
    assert {(a["version"], a["digest"]) for a in answers} == {(1, answers[0]["digest"])}
    assert len(office.signoff.queries.list_versions(TENANT, "buy")) == 1


def test_positions_do_not_change_the_digest(office: Office) -> None:
    document = chain("buy", ask("manager"))
    first = office.publish(document)
    office.signoff.save_draft(person("ada"), TENANT, "buy", document, {"manager": {"x": 5, "y": 9}}, 1)
    second = office.signoff.publish(person("ada"), TENANT, "buy", 2)
    assert (second["version"], second["created"], second["digest"]) == (1, False, first["digest"])


def test_a_run_stays_on_its_version(office: Office) -> None:
    """C30."""
    office.publish(chain("buy", {**ask("manager"), "label": "Old name"}, call("order")))
    run_id = office.start("buy")
    office.until_step(run_id, "manager", "waiting")
    office.publish(chain("buy", {**ask("manager"), "label": "New name"}))
    office.decide(run_id, "manager", "grace")
    view = office.until_status(run_id, "succeeded")
    assert (view.row.version, view.plan.label("manager")) == (1, "Old name")
    assert office.connectors.count("order") == 1
    newer = office.start("buy")
    assert office.until_step(newer, "manager", "waiting").row.version == 2


def test_an_archived_definition_starts_nothing_new_and_open_runs_go_on(office: Office) -> None:
    office.publish(chain("buy", ask("manager")))
    run_id = office.start("buy")
    office.until_step(run_id, "manager", "waiting")
    with pytest.raises(errors.InvalidInput, match="reason"):
        office.signoff.archive(person("ada"), TENANT, "buy", "")
    office.signoff.archive(person("ada"), TENANT, "buy", "replaced")
    with pytest.raises(errors.Refused, match="archived"):
        office.start("buy")
    office.decide(run_id, "manager", "grace")
    office.until_status(run_id, "succeeded")


def test_names_are_checked_and_taken_once(office: Office) -> None:
    for name in ("", "Buy", "../x", "a" * 64, 7):
        with pytest.raises(errors.InvalidInput):
            office.signoff.create_draft(person("ada"), TENANT, {"name": name})
    office.signoff.create_draft(person("ada"), TENANT, {"name": "buy"})
    with pytest.raises(errors.Conflict, match="exists"):
        office.signoff.create_draft(person("ada"), TENANT, {"name": "buy"})
    with pytest.raises(errors.InvalidInput, match="cannot be renamed"):
        office.signoff.save_draft(person("ada"), TENANT, "buy", {"name": "sell"}, {}, 1)


def test_every_template_publishes_in_an_office_with_its_groups(office: Office) -> None:
    office.connectors["http"] = office.connectors.ok
    for group in ("managers", "finance", "legal", "directors", "it_owners", "operators"):
        office.running.save_person(f"of_{group}", roles=("approver",), groups=(group,))
    templates = office.signoff.queries.list_templates()
    assert len(templates) >= 4
    for template in templates:
        assert office.publish(template["document"])["version"] == 1
