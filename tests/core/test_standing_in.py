"""Somebody decides for somebody who is absent: dated, one decision for each human, separation of duties for both."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from signoff.core import events as e
from signoff.core.answering import why_not
from signoff.core.facts import Absence, Directory
from signoff.core.standing_in import absent_for
from signoff.core.states import SignIn
from signoff.engine.sentences import actor_of, sentence_of
from tests.core.kit import GROUPS, PEOPLE, START, World, approval, document, form

DAY = timedelta(days=1)


def away(*pairs: str, begins: Any = START - DAY, ends: Any = START + DAY) -> Directory:
    """`ann>eve`: Ann is absent, and Eve decides for her."""
    absences = []
    for number, pair in enumerate(pairs, 1):
        person, delegate = pair.split(">")
        absences.append(Absence(number, person, delegate, begins, ends, "On leave.", person))
    return Directory(9, GROUPS, PEOPLE, tuple(absences))


def world_of(*pairs: str, steps: tuple[Any, ...] = (), by: str = "dan", edges: str = "", **more: Any) -> World:
    world = World(document(*(steps or (approval("p", **more),)), edges=edges), by=by)
    world.directory = away(*pairs)
    return world


def test_eve_decides_on_behalf_of_ann() -> None:
    world = world_of("ann>eve")
    signed = SignIn("password", START, None, "abc", "10.0.0.1", "Browser")
    world.ok(world.vote("p", "eve", on_behalf_of="ANN", signed_in=signed))
    decision = next(x for x in world.events if isinstance(x, e.DecisionRecorded))
    assert (decision.actor.id, decision.on_behalf_of, decision.authority) == ("eve", "ann", "group team")
    assert decision.delegation is not None
    assert (decision.delegation.number, decision.delegation.name, decision.delegation.reason) == (1, "Ann", "On leave.")
    assert decision.signed_in == signed
    assert sentence_of(decision, world.plan) == "Eve on behalf of Ann approved 'P': Because."
    assert actor_of(decision) == "Eve on behalf of Ann"
    assert world.state.outputs["p"]["decided_by"] == ["ann"]
    assert "was approved on 2027-01-04 09:00 UTC by Eve (for Ann)" in world.explain().of("p").sentence


@pytest.mark.parametrize(
    ("pairs", "who", "whom", "code"),
    [
        ((), "eve", "ann", "not_standing_in"),
        (("ann>eve",), "eve", "bob", "not_standing_in"),
        (("ann>eve",), "olga", "ann", "not_standing_in"),
        (("ann>dan",), "dan", "ann", "own_request"),
        (("ann>bob",), "bob", "ann", "asked_yourself"),
        (("dan>eve",), "eve", "dan", "not_an_approver"),
        (("ann>eve", "eve>olga"), "olga", "ann", "not_standing_in"),
        (("ann>eve", "eve>olga"), "olga", "eve", "not_an_approver"),
    ],
)
def test_who_may_not(pairs: tuple[str, ...], who: str, whom: str, code: str) -> None:
    """No right; the requester as delegate; who is asked; for somebody who is not asked; nothing is passed on."""
    world = world_of(*pairs)
    refused = world.no(world.vote("p", who, on_behalf_of=whom))
    assert (refused.code, refused.evidence) == (code, True)


def test_not_before_and_not_after_the_absence() -> None:
    world = World(document(approval("p")))
    world.directory = away("ann>eve", begins=START + DAY, ends=START + 2 * DAY)
    assert world.no(world.vote("p", "eve", on_behalf_of="ann")).code == "not_standing_in"
    world.later(days=2)
    assert world.no(world.vote("p", "eve", on_behalf_of="ann")).code == "not_standing_in"
    world.now -= timedelta(seconds=1)
    world.ok(world.vote("p", "eve", on_behalf_of="ann"))


def test_the_requester_is_not_approved_by_their_delegate_nor_decides_as_one() -> None:
    """Ann started it: Eve, who decides for Ann, may not; and Ann, who decides for Bob, may not either."""
    world = world_of("ann>eve", "bob>ann", by="ann")
    assert world.no(world.vote("p", "eve", on_behalf_of="ann")).code == "own_request"
    assert world.no(world.vote("p", "ann", on_behalf_of="bob")).code == "own_request"


def test_one_human_counts_once_for_whomever() -> None:
    world = world_of("ann>eve", "bob>eve", required=2)
    world.ok(world.vote("p", "eve", on_behalf_of="ann"))
    again = world.no(world.vote("p", "eve", on_behalf_of="bob"))
    assert again.code == "counted_already"
    assert again.message.startswith("You have already decided 'P' as Eve (for Ann) on ")
    twice = world.no(world.vote("p", "eve", on_behalf_of="ann"))
    assert (twice.code, twice.known) == ("already_decided", True)
    assert world.no(world.vote("p", "ann")).code == "already_decided"
    assert world.explain().of("p").waits_for == ("bob", "cem")
    assert world.run == "running"
    world.approve("p", "bob")
    assert world.run == "succeeded"


def test_who_is_absent_may_decide_themselves_and_is_first() -> None:
    world = world_of("ann>eve", required=2)
    world.approve("p", "ann")
    assert world.no(world.vote("p", "eve", on_behalf_of="ann")).code == "already_decided"


def test_deciders_must_differ_whether_they_decided_for_themselves_or_for_others() -> None:
    steps = (approval("p", ("pair",)), approval("q", deciders_differ_from=["p"]))
    world = world_of("ann>eve", "cem>eve", steps=steps, edges="p>q")
    world.ok(world.vote("p", "eve", on_behalf_of="ann"))
    assert world.no(world.vote("q", "eve", on_behalf_of="cem")).code == "decided_before"
    assert world.no(world.vote("q", "ann")).code == "decided_before"
    world.approve("q", "bob")
    assert world.run == "succeeded"


def test_a_vote_for_somebody_is_withdrawn_by_who_gave_it() -> None:
    world = world_of("ann>eve", required=2)
    world.ok(world.vote("p", "eve", on_behalf_of="ann"))
    assert world.no(world.withdrawal("p", "ann")).code == "no_vote"
    world.ok(world.withdrawal("p", "eve"))
    world.approve("p", "ann", "bob")
    assert world.run == "succeeded"


def test_who_decided_for_somebody_is_not_asked_as_well() -> None:
    rung = {"after": "PT1H", "groups": ["solo"]}
    world = world_of("ann>eve", required=2, escalation=[rung])
    world.ok(world.vote("p", "eve", on_behalf_of="ann"))
    assert world.no(world.reassignment("p", "eve")).code == "decided_before"
    world.fire("p")
    assert [x.added for x in world.events if isinstance(x, e.PeopleEscalated)] == [()]


def test_who_comes_later_in_a_sequence_does_not_stand_in_before() -> None:
    quotas = [{"groups": ["pair"]}, {"groups": ["solo"]}]
    step = {"id": "p", "kind": "approval", "label": "P", "quotas": quotas, "in_sequence": True}
    world = world_of("ann>eve", steps=(step,))
    assert world.no(world.vote("p", "eve", on_behalf_of="ann")).code == "asked_yourself"


def test_forms_are_filled_in_and_returned_on_behalf_of_somebody() -> None:
    world = world_of("ann>eve", steps=(form("f", ("pair",)),))
    world.ok(replace(world.submission("f", "eve"), on_behalf_of="ann"))
    filled = next(x for x in world.events if isinstance(x, e.FormSubmitted))
    assert (filled.actor.id, filled.on_behalf_of) == ("eve", "ann")
    assert sentence_of(filled, world.plan) == "Eve on behalf of Ann filled in 'F'."
    first = approval("p", ("solo",))
    other = world_of("ann>eve", steps=(first, form("f", ("pair",), returns_to=["p"])), edges="p>f")
    other.approve("p", "eve")
    other.ok(replace(other.returning("f", "eve"), on_behalf_of="ann"))
    back = next(x for x in other.events if isinstance(x, e.WorkReturned))
    assert (back.on_behalf_of, back.delegation is not None) == ("ann", True)


def test_who_left_is_stood_in_for_by_nobody() -> None:
    world = world_of("ann>eve")
    world.directory = replace(away("ann>eve"), people={k: v for k, v in PEOPLE.items() if k != "ann"})
    assert world.no(world.vote("p", "eve", on_behalf_of="ann")).code == "not_an_approver"


def test_the_question_who_may_has_the_same_answer() -> None:
    world = world_of("ann>eve", "bob>dan")
    assert why_not(world.plan, world.state, "p", "ann", by="eve") is None
    refused = why_not(world.plan, world.state, "p", "bob", by="dan")
    assert refused is not None
    assert refused.code == "own_request"
    told = world.explain(reader="eve", acts_for=("ann",)).of("p")
    assert "decide" in told.actions
    assert "decide" not in world.explain(reader="eve").of("p").actions
    assert [a.person for a in absent_for(world.directory, "EVE", world.now)] == ["ann"]
