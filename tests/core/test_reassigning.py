"""Who is asked changes while a step is open, and a voter takes a vote back: quorum and separation of duties hold."""

from __future__ import annotations

from dataclasses import replace

import pytest

from signoff.core import events as e
from signoff.core.facts import Directory
from signoff.core.states import Actor
from signoff.engine.sentences import sentence_of
from tests.core.kit import DIRECTORY, OPERATOR, World, approval, document, form
from tests.core.test_answering import agree, open_together


def roster(world: World, step: str = "p") -> tuple[str, ...]:
    asked = world.step(step).approval
    assert asked is not None
    return asked.roster


def test_somebody_on_leave_is_replaced_and_votes_count_on() -> None:
    world = World(document(approval("p", required=2)))
    world.approve("p", "ann")
    (event,) = world.ok(world.reassignment("p", "eve", remove=("bob",)))
    assert isinstance(event, e.PeopleReassigned)
    said = "Olga Ops reassigned 'P' (eve asked as well; bob asked no more): On leave."
    assert sentence_of(event, world.plan) == said
    assert roster(world) == ("ann", "cem", "eve")
    assert world.explain().of("p").waits_for == ("cem", "eve")
    assert world.no(world.vote("p", "bob")).code == "not_an_approver"
    agree(world, "p")
    world.approve("p", "EVE")
    decision = [x for x in world.events if isinstance(x, e.DecisionRecorded)][-1]
    assert decision.authority == "named by an operator"
    assert world.run == "succeeded"


def test_the_number_of_approvals_is_never_lowered() -> None:
    """Everyone of three must approve: taking the last one off would turn silence into consent."""
    world = World(document(approval("p", required=0)))
    world.approve("p", "ann", "bob")
    refusal = world.no(world.reassignment("p", remove=("cem",)))
    assert refusal.code == "quorum_unreachable"
    assert refusal.message == "Expected to reassign 'P', but with Ann and Bob asked it lacks 1 who may answer."
    world.ok(world.reassignment("p", "eve", remove=("cem",)))
    assert world.run == "running"
    world.approve("p", "eve")
    assert world.run == "succeeded"


def test_a_vote_cannot_be_taken_away_by_an_operator() -> None:
    world = World(document(approval("p", required=2, rejection="when_unreachable")))
    world.reject("p", "ann")
    refusal = world.no(world.reassignment("p", "eve", remove=("ANN",)))
    assert refusal.code == "has_voted"
    assert "Ann has already rejected it" in refusal.message


@pytest.mark.parametrize(
    ("add", "remove", "code"),
    [
        (("dan",), (), "own_request"),
        (("DAN",), (), "own_request"),
        (("ann",), (), "already_asked"),
        (("nobody",), (), "unknown_person"),
        (("olga",), (), "own_assignment"),
        ((), ("eve",), "not_asked"),
        ((), (), "nobody_named"),
        ((), ("ann", "bob", "cem"), "quorum_unreachable"),
    ],
)
def test_separation_of_duties_holds_for_whoever_is_named(
    add: tuple[str, ...], remove: tuple[str, ...], code: str
) -> None:
    world = World(document(approval("p")))
    assert world.no(world.reassignment("p", *add, remove=remove)).code == code
    assert roster(world) == ("ann", "bob", "cem")


def test_who_decided_a_step_that_must_differ_is_not_named_either() -> None:
    world = World(document(approval("p", ("solo",)), approval("q", deciders_differ_from=["p"]), edges="p>q"))
    world.approve("p", "eve")
    assert world.no(world.reassignment("q", "eve")).code == "decided_before"
    together = open_together()
    together.approve("p", "ann")
    assert together.no(together.reassignment("q", remove=("bob", "cem"))).code == "quorum_unreachable"


def test_where_the_requester_may_decide_they_can_be_named() -> None:
    world = World(document(approval("p", ("pair",), requester_may_decide=True)))
    world.ok(world.reassignment("p", "dan", remove=("ann", "bob")))
    world.approve("p", "dan")
    assert world.run == "succeeded"


def test_a_form_is_reassigned() -> None:
    world = World(document(form("f", ("pair",))))
    world.ok(world.reassignment("f", "cem", remove=("ann", "bob")))
    assert world.no(world.submission("f", "ann")).code == "not_an_approver"
    world.ok(world.submission("f", "cem"))
    assert world.run == "succeeded"


def test_people_who_left_are_replaced_before_nobody_is_left() -> None:
    world = World(document(approval("p", ("pair",))))
    world.directory = Directory(9, {**DIRECTORY.groups, "pair": ("bob",)}, {"bob": "Bob", "cem": "Cem", "olga": "O"})
    world.ok(world.reassignment("p", "cem", remove=("ann",)))
    assert roster(world) == ("bob", "cem")
    assert world.no(world.reassignment("p", "ann")).code == "unknown_person"


def test_it_takes_a_reason_and_an_open_step() -> None:
    world = World(document(approval("p"), approval("q"), edges="p>q"))
    assert world.no(replace(world.reassignment("p", "eve"), reason="")).code == "no_reason"
    assert world.no(world.reassignment("q", "eve")).code == "not_open"
    assert world.no(world.reassignment("nowhere", "eve")).code == "unknown_step"
    world.approve("p", "ann")
    assert world.no(world.reassignment("p", "eve")).code == "not_open"


def test_what_is_asked_again_is_asked_of_those_of_the_definition() -> None:
    """A new round freezes a new roster: naming somebody is about what is open."""
    world = World(document(form("f", ("pair",)), approval("p", returns_to=["f"]), edges="f>p"))
    world.ok(world.submission("f", "ann"))
    world.ok(world.reassignment("p", "eve"))
    world.ok(world.vote("p", "eve", "returned"))
    world.ok(world.submission("f", "bob"))
    assert roster(world) == ("ann", "bob", "cem")


def test_a_vote_is_withdrawn_and_given_again() -> None:
    world = World(document(approval("p", required=2)))
    world.approve("p", "ann")
    (event,) = world.ok(world.withdrawal("p", "ANN"))
    assert isinstance(event, e.VoteWithdrawn)
    assert sentence_of(event, world.plan) == "ANN withdrew the decision on 'P': A mistake."
    assert world.explain().of("p").waits_for == ("ann", "bob", "cem")
    assert "0 of 2 approvals given" in world.explain().of("p").sentence
    agree(world, "p")
    world.approve("p", "bob")
    assert world.run == "running"
    world.ok(world.vote("p", "ann", "approved"))
    assert world.run == "succeeded"


def test_a_withdrawn_vote_no_longer_keeps_its_voter_from_another_step() -> None:
    world = open_together()
    world.approve("p", "ann")
    assert world.no(world.vote("q", "ann")).code == "decided_before"
    world.ok(world.withdrawal("p", "ann"))
    world.approve("q", "ann")
    assert world.no(world.vote("p", "ann")).code == "decided_before"


def test_only_an_open_vote_of_ones_own_is_withdrawn() -> None:
    world = World(document(approval("p", required=2, expires="PT2H")))
    assert world.no(world.withdrawal("p", "bob")).code == "no_vote"
    assert world.no(world.withdrawal("p", "dan")).code == "not_an_approver"
    assert world.no(replace(world.withdrawal("p", "ann"), actor=Actor("service", "ann"))).code == "not_a_person"
    world.approve("p", "ann")
    assert world.no(world.withdrawal("p", "ann", generation=4)).code == "changed_meanwhile"
    world.pause()
    assert world.no(world.withdrawal("p", "ann")).code == "paused"
    world.resume()
    world.approve("p", "bob")
    refusal = world.no(world.withdrawal("p", "ann"))
    assert refusal.code == "already_handled"
    assert "already handled by Bob" in refusal.message


def test_silence_after_a_withdrawal_is_silence() -> None:
    """C12: what was withdrawn does not come back when the time is up."""
    world = World(document(approval("p", required=2, expires="PT2H")))
    world.approve("p", "ann")
    world.ok(world.withdrawal("p", "ann"))
    world.fire("p")
    assert world.step("p").status == "expired"
    assert world.no(world.withdrawal("p", "ann")).code == "expired"


def test_explain_offers_what_the_reader_may_do() -> None:
    world = World(document(approval("p", required=2)))
    assert "withdraw_vote" not in world.explain(reader="ann").of("p").actions
    world.approve("p", "ann")
    assert "withdraw_vote" in world.explain(reader="ann").of("p").actions
    assert "withdraw_vote" not in world.explain(reader="bob").of("p").actions
    assert "reassign_step" in world.explain(reader=OPERATOR.id).of("p").actions
