"""People: who may decide, when it is settled, and what happens to clicks that come twice or late (semantics §7)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from signoff.core import commands as c
from signoff.core import events as e
from signoff.core.facts import Directory
from signoff.core.quorum import distinct, person_key, settled_outcome
from signoff.core.states import Actor, ApprovalState, Vote
from tests.core.kit import CLOCK, DIRECTORY, PEOPLE, START, World, activity, approval, document, edge, person


@pytest.mark.parametrize(
    ("roster", "required", "votes", "outcome"),
    [
        ("abc", 1, "", None),
        ("abc", 1, "a+", "approved"),
        ("abc", 1, "a-", None),
        ("abc", 1, "a- b-", None),
        ("abc", 1, "a- b- c-", "rejected"),
        ("abc", 1, "a- b+", "approved"),
        ("abc", 2, "a+", None),
        ("abc", 2, "a+ b+", "approved"),
        ("abc", 2, "a- b-", "rejected"),
        ("abc", 2, "a- b+", None),
        ("abc", 3, "a-", "rejected"),
        ("abc", 3, "a+ b+ c+", "approved"),
        ("abr", 2, "a-", "rejected"),  # r started the run and may not decide
        ("abr", 1, "a- b-", "rejected"),
    ],
)
def test_when_votes_settle(roster: str, required: int, votes: str, outcome: str | None) -> None:
    cast = tuple(Vote(v[0], v[0], "approved" if v[1] == "+" else "rejected", "", START, "web") for v in votes.split())
    approval_state = ApprovalState(tuple(roster), required, "sha256:x", False, cast)
    assert settled_outcome(approval_state, "r") == outcome


def test_one_person_has_one_key() -> None:
    assert person_key("Ann") == person_key("ANN") == person_key("ann")
    assert person_key("Łódź") == person_key("łódź")
    assert person_key("mu\u0308ller") == person_key("M\u00fcller")
    assert person_key("straße") == person_key("STRASSE")
    assert person_key("ann") != person_key("anne")
    assert distinct(["Ann", "bob", "ANN", "Bob"]) == ("Ann", "bob")


def test_c03_the_first_rejection_settles_three_of_three() -> None:
    world = World(document(approval("p", required=3), *map(activity, "ab"), edges="p>a p:rejected>b"))
    assert world.explain().of("p").waits_for == ("ann", "bob", "cem")
    world.reject("p", "bob")
    assert world.statuses == {"p": "rejected", "a": "not_taken", "b": "scheduled"}
    assert world.explain().of("p").waits_for == ()
    late = world.no(world.vote("p", "ann"))
    assert (late.code, late.evidence) == ("already_handled", True)
    assert late.sentence == "'P' was already handled by Bob on 2027-01-04 09:00 UTC: rejected. Nothing to do."


@pytest.mark.parametrize(
    ("required", "rule", "status"),
    [
        (1, {}, "rejected"),
        (1, {"rejection": "when_unreachable"}, "waiting"),
        (2, {}, "waiting"),
        (2, {"rejection": "at_once"}, "rejected"),
        (3, {}, "rejected"),
    ],
)
def test_when_the_first_rejection_settles(required: int, rule: dict[str, str], status: str) -> None:
    """One of three: the first answer counts. Several: when the rest cannot reach the quorum, or by policy."""
    world = World(document(approval("p", required=required, **rule)))
    world.reject("p", "bob")
    assert world.statuses["p"] == status


def test_c04_one_person_in_two_letter_cases_is_one_vote() -> None:
    world = World(document(approval("p", required=2)))
    world.approve("p", "ann")
    assert "(1 of 2 approvals given)" in world.explain().of("p").sentence
    for login in ("ann", "ANN", "Ann"):
        again = world.no(world.vote("p", login))
        assert (again.code, again.known) == ("already_decided", True)
    assert not world.no(world.vote("p", "Ann", "rejected")).known
    assert world.run == "running"
    world.approve("p", "BOB")
    assert world.run == "succeeded"
    assert world.state.outputs["p"]["decided_by"] == ["ann", "bob"]


def test_one_person_in_two_groups_is_asked_once() -> None:
    groups = {"team": ("ann", "bob"), "leads": ("Ann",)}
    world = World(
        document(approval("p", ("team", "leads"), people=["ANN"], required=0)),
        directory=Directory(1, groups, PEOPLE),
    )
    state = world.step("p").approval
    assert state is not None
    assert (state.roster, state.required) == (("ann", "bob"), 2)


def test_c05_nobody_approves_their_own_request() -> None:
    world = World(document(approval("p")), by="ann")
    for actor in (person("ann"), person("ANN"), replace(person("ann"), channel="cli")):
        refusal = world.no(replace(world.vote("p", "ann"), actor=actor))
        assert (refusal.code, refusal.evidence) == ("own_request", True)
        assert refusal.message == "You started this run, so you may not decide 'P' yourself."
    assert world.explain(reader="ann").of("p").actions == ("reassign_step",)
    assert world.explain(reader="bob").of("p").actions == ("decide", "reassign_step")


def test_c05_where_the_definition_allows_it_the_requester_decides() -> None:
    world = World(document(approval("p", requester_may_decide=True)), by="ann")
    world.approve("p", "ann")
    vote = next(x for x in world.events if isinstance(x, e.DecisionRecorded))
    assert (vote.actor.id, vote.authority) == ("ann", "group team")


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"actor": person("dan")}, "not_an_approver"),
        ({"actor": person("nobody")}, "not_an_approver"),
        ({"actor": Actor("worker", "ann")}, "not_a_person"),
        ({"actor": Actor("service", "ann")}, "not_a_person"),
        ({"outcome": "maybe"}, "unknown_outcome"),
        ({"outcome": "rejected", "comment": " "}, "comment_missing"),
        ({"comment": "x" * 10_001}, "bad_comment"),
        ({"comment": "\ud800"}, "bad_text"),
        ({"actor": person("dan"), "comment": "\ud800"}, "bad_text"),
        ({"generation": 2}, "changed_meanwhile"),
        ({"generation": 0}, "changed_meanwhile"),
        ({"shown_digest": "sha256:other"}, "changed_meanwhile"),
        ({"step": "nowhere"}, "unknown_step"),
        ({"step": "a"}, "unknown_step"),
    ],
)
def test_decisions_that_are_refused(change: dict[str, Any], code: str) -> None:
    world = World(document(approval("p"), activity("a")))
    assert world.no(world.vote("p", "ann", **change)).code == code


def test_an_outsider_learns_nothing_from_a_settled_approval() -> None:
    world = World(document(approval("p"), activity("a")))
    world.approve("p", "ann")
    refusal = world.no(world.vote("p", "dan"))
    assert refusal.code == "not_an_approver"
    assert "Ann" not in refusal.sentence


def test_a_deactivated_person_decides_nothing_more() -> None:
    world = World(document(approval("p")))
    world.directory = replace(DIRECTORY, people={k: v for k, v in PEOPLE.items() if k != "ann"})
    assert world.no(world.vote("p", "ann")).code == "not_an_approver"
    world.approve("p", "bob")


def test_who_joins_later_is_not_on_the_frozen_roster() -> None:
    world = World(document(approval("p", ("pair",))))
    world.directory = Directory(9, {"pair": ("ann", "bob", "cem")}, PEOPLE)
    assert world.no(world.vote("p", "cem")).code == "not_an_approver"
    opened = next(x for x in world.events if isinstance(x, e.ApprovalOpened))
    assert (opened.roster, opened.directory_version) == (("ann", "bob"), 7)


def test_who_left_the_group_but_not_the_house_still_decides_what_they_were_asked() -> None:
    world = World(document(approval("p", ("pair",))))
    world.directory = Directory(9, {"pair": ("bob",)}, PEOPLE)
    world.approve("p", "ann")
    vote = next(x for x in world.events if isinstance(x, e.DecisionRecorded))
    assert vote.authority == "frozen roster"


@pytest.mark.parametrize(
    ("groups", "more", "by", "why"),
    [
        (("nobody",), {}, "dan", "group 'nobody' has no active member"),
        (("solo",), {}, "eve", "'eve', who started the run, may not"),
        (("pair",), {"required": 3}, "dan", "needs 3 people, but only 2"),
        (("pair",), {"required": 2}, "ann", "needs 2 people, but only 1"),
    ],
)
def test_a_quorum_that_cannot_be_met_is_never_clamped(
    groups: tuple[str, ...], more: dict[str, Any], by: str, why: str
) -> None:
    world = World(document(approval("p", groups, **more)), by=by)
    error = world.step("p").error
    assert error is not None
    assert (world.run, error.code) == ("stalled", "no_approver")
    assert why in world.state.reason
    assert "retry_step" in world.explain().of("p").actions


def test_everyone_means_everyone_who_may_decide() -> None:
    world = World(document(approval("p", required=0)), by="ann")
    world.approve("p", "bob", "cem")
    assert world.run == "succeeded"


def leave(world: World, *gone: str) -> None:
    world.directory = replace(DIRECTORY, version=8, people={k: v for k, v in PEOPLE.items() if k not in gone})


def test_approvers_who_leave_after_the_opening_make_the_step_say_so() -> None:
    world = World(document(approval("p", ("pair",), required=2), activity("a"), edges="p>a"))
    check = c.CheckApprovers(actor=CLOCK, step="p")
    assert world.no(check).code == "still_decidable"
    leave(world, "ann")
    world.ok(check)
    assert world.run == "stalled"
    assert world.state.reason == (
        "'P' failed: No approver: 2 more approvals are needed, but only 1 of those asked may still decide."
    )
    assert world.no(check).code == "not_open"
    world.directory = replace(DIRECTORY, groups={"pair": ("bob", "cem")})
    world.ok(world.retry("p"))
    world.approve("p", "bob", "cem")
    assert world.statuses["a"] == "scheduled"


def test_a_vote_that_leaves_too_few_says_so_at_once() -> None:
    world = World(document(approval("p", required=2)))
    leave(world, "cem")
    world.ok(world.vote("p", "ann", "rejected"))
    error = world.step("p").error
    assert error is not None
    assert (world.statuses["p"], error.code) == ("failed", "no_approver")


def test_c12_silence_never_approves() -> None:
    world = World(document(approval("p", expires="PT1H"), *map(activity, "ab"), edges="p>a p:expired>b"))
    world.later(hours=1)
    late = world.no(world.vote("p", "ann"))
    assert late.code == "expired"  # by the clock, even before the timer has fired
    world.ok(world.timer("p"))
    assert world.statuses == {"p": "expired", "a": "not_taken", "b": "scheduled"}
    assert world.no(world.vote("p", "ann")).code == "expired"
    ended = next(x for x in world.events if isinstance(x, e.ApprovalExpired))
    assert not hasattr(ended, "actor")
    assert ended.due == START + timedelta(hours=1)
    assert "nobody decided it in time" in world.explain().of("p").sentence
    assert "p" not in world.state.outputs


def test_c12_without_a_way_for_it_the_run_stalls() -> None:
    world = World(document(approval("p", expires="PT1H"), activity("a"), edges="p>a"))
    world.fire("p")
    assert world.statuses == {"p": "expired", "a": "blocked"}
    assert world.run == "stalled"


def test_a_vote_does_not_stop_the_clock_of_an_approval() -> None:
    world = World(document(approval("p", required=2, expires="PT1H")))
    due = world.step("p").due
    world.approve("p", "ann")
    assert (world.step("p").due, world.step("p").timer) == (due, "expiry")
    assert world.step("p").since == START


def test_a_vote_of_an_earlier_generation_never_counts_again() -> None:
    world = World(document(approval("p", required=2, expires="PT1H")))
    old = world.vote("p", "bob")
    world.approve("p", "ann")
    world.fire("p")
    world.ok(world.retry("p"))
    assert world.no(old).code == "changed_meanwhile"
    world.approve("p", "ann")
    assert world.run == "running"
    world.approve("p", "bob")
    assert world.run == "succeeded"


# Separation of duties between steps


def test_who_decided_the_first_step_is_not_asked_in_the_second() -> None:
    second = approval("q", required=2, deciders_differ_from=["p"])
    world = World(document(approval("p"), second, edges="p>q"))
    world.approve("p", "ann")
    state = world.step("q").approval
    assert state is not None
    assert (state.roster, state.excluded) == (("bob", "cem"), ("ann",))
    refusal = world.no(world.vote("q", "ANN"))
    assert refusal.code == "decided_before"
    assert refusal.message == "You decided an earlier step of this run, so you may not decide 'Q' as well."
    world.approve("q", "bob", "cem")
    assert world.run == "succeeded"


def test_where_that_leaves_too_few_the_step_says_so() -> None:
    world = World(
        document(approval("p"), approval("q", ("pair",), required=2, deciders_differ_from=["p"]), edges="p>q")
    )
    world.approve("p", "ann")
    assert world.run == "stalled"
    assert "needs 2 people, but only 1" in world.state.reason
    both = approval("q", ("pair",), deciders_differ_from=["p"])
    world = World(document(approval("p", ("pair",), required=2), both, edges="p>q"))
    world.approve("p", "ann", "bob")
    assert "who started the run or decided an earlier step may not" in world.state.reason


# What is shown


FORM = [
    {"name": "a", "label": "Amount", "type": "number"},
    {"name": "b", "label": "Amount", "type": "number"},
    {"name": "note", "type": "text", "required": False},
]


def opened(world: World) -> e.ApprovalOpened:
    return next(x for x in world.events if isinstance(x, e.ApprovalOpened))


def test_two_fields_with_one_label_are_both_shown() -> None:
    world = World(document(approval("p"), input=FORM), {"a": 1, "b": 2})
    assert opened(world).shown == {"Amount": 1.0, "Amount (b)": 2.0}


def test_what_is_shown_is_bound_to_the_decision() -> None:
    shows = {"Total": "=input.a + input.b"}
    digests = set()
    for a in (1.0, 2.0):
        world = World(document(approval("p", shows=shows), input=FORM), {"a": a, "b": 2})
        assert opened(world).shown == {"Total": a + 2}
        digests.add(opened(world).shown_digest)
        world.ok(world.vote("p", "ann", shown_digest=opened(world).shown_digest))
    assert len(digests) == 2


@pytest.mark.parametrize(
    ("shown", "why"),
    [
        ("=input.a / 0.0", "not finite"),
        ("=[input.a][3]", "could not be evaluated"),
        ("=b'bytes'", "not JSON"),
        ("=9007199254740993", "2^53"),
        ("=input.note + 'x'", "wrong type"),
    ],
)
def test_what_cannot_be_shown_is_an_error_of_the_step(shown: str, why: str) -> None:
    world = World(document(approval("p", shows={"X": shown}), input=FORM), {"a": 1, "b": 2})
    assert world.run == "stalled"
    assert why in world.state.reason


def test_an_instant_is_shown_as_text() -> None:
    world = World(document(approval("p", shows={"X": "=timestamp('2027-03-28T01:30:00+02:00')"})))
    assert opened(world).shown == {"X": "2027-03-27T23:30:00+00:00"}


def test_a_decision_reaches_the_next_conditions() -> None:
    links = [edge("p>a", when="steps.p.output.comment == 'Because.'"), edge("p>b", otherwise=True)]
    world = World(document(approval("p"), *map(activity, "ab"), edges=links))
    world.approve("p", "cem")
    assert world.statuses == {"p": "succeeded", "a": "scheduled", "b": "not_taken"}


# The input is edited while people are asked


def test_nobody_decides_on_what_is_no_longer_true() -> None:
    world = World(document(approval("p", required=2, expires="P1D"), input=FORM), {"a": 500, "b": 2})
    world.approve("p", "ann")
    old = world.vote("p", "bob", shown_digest=opened(world).shown_digest)
    world.later(hours=1)
    world.ok(world.edit({"a": 5000, "b": 2}))
    assert world.no(old).code == "changed_meanwhile"
    step = world.step("p")
    assert step.approval is not None
    assert (step.generation, step.round, step.approval.votes) == (2, 1, ())
    assert step.due == world.now + timedelta(days=1)
    last = [x for x in world.events if isinstance(x, e.ApprovalOpened)][-1]
    assert last.shown == {"Amount": 5000.0, "Amount (b)": 2.0}
    world.approve("p", "ann", "bob")
    assert world.run == "succeeded"


def test_an_edit_that_shows_nothing_new_asks_nobody_again() -> None:
    world = World(document(approval("p", required=2, shows={"A": "=input.a"}), input=FORM), {"a": 1, "b": 2})
    world.approve("p", "ann")
    world.ok(world.edit({"a": 1, "b": 3}))
    world.approve("p", "bob")
    assert world.run == "succeeded"


def test_an_edit_after_which_nothing_can_be_shown_is_a_visible_error() -> None:
    shows = {"N": "=input.note + '!'"}
    world = World(document(approval("p", shows=shows), input=FORM), {"a": 1, "b": 2, "note": "x"})
    world.ok(world.edit({"a": 1, "b": 2, "note": None}))
    assert world.statuses["p"] == "failed"
    assert "wrong type" in world.state.reason


def test_an_edit_during_a_pause_asks_again_too() -> None:
    world = World(document(approval("p", expires="P1D"), input=FORM), {"a": 1, "b": 2})
    world.pause()
    world.ok(world.edit({"a": 3, "b": 2}))
    world.later(hours=5)
    world.resume()
    assert world.step("p").due == world.now + timedelta(days=1)
    world.approve("p", "ann")
    assert world.run == "succeeded"
