"""Reminders and escalation: each once, at its time, to whom it says; late votes; pauses; what never happens."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from signoff.core import events as e
from signoff.core.definition import ApprovalConfig
from signoff.core.document import read_document, write_document
from signoff.core.effects import Notice
from signoff.core.evolve import evolve
from signoff.core.explain import explain
from signoff.core.facts import Directory
from signoff.core.react import react
from signoff.core.states import RunState, StepStatus, TimerKind
from signoff.core.validate import Surroundings, validate
from signoff.engine.sentences import sentence_of
from tests.core.kit import DIRECTORY, GROUPS, PEOPLE, World, approval, document, form, once

DAILY = {"every": "P1D", "at_most": 3}
TO_EVE = {"after": "P3D", "groups": ["solo"]}


def asked(world: World, step: str = "p") -> Any:
    found = world.step(step).approval
    assert found is not None
    return found


def of(world: World, *kinds: type[e.Event]) -> list[Any]:
    return [x for x in world.events if isinstance(x, kinds)]


def notices(world: World, topic: str) -> list[Notice]:
    """What was put into the outbox under this topic, from the history alone."""
    found, state = [], RunState()
    for event in world.events:
        new = evolve(world.plan, state, event)
        found += [x for x in react(world.plan, state, new, [event]) if isinstance(x, Notice) and x.topic == topic]
        state = new
    return found


def test_c13_a_reminder_a_day_and_one_escalation() -> None:
    world = World(document(approval("p", reminders=DAILY, escalation=[TO_EVE]), once("a"), edges="p>a"))
    for day in (1, 2, 3):
        world.fire("p")
        assert len(of(world, e.ReminderSent)) == day
        assert not of(world, e.PeopleEscalated)
    world.fire("p")
    (escalated,) = of(world, e.PeopleEscalated)
    assert (escalated.asked, escalated.added, escalated.removed) == (("ann", "bob", "cem"), ("eve",), ())
    assert [x.due for x in of(world, e.ReminderSent)] == [world.events[0].at + timedelta(days=d) for d in (1, 2, 3)]
    assert escalated.due == world.events[0].at + timedelta(days=3)
    assert (world.step("p").timer, world.step("p").due) == (None, None)
    world.approve("p", "eve")
    decision = of(world, e.DecisionRecorded)[-1]
    assert decision.authority == "asked by escalation"
    refused = world.no(world.vote("p", "ann"))
    assert refused.code == "already_handled"
    assert [n.data["people"] for n in notices(world, "reminder")] == [["ann", "bob", "cem"]] * 3
    assert [(n.data["people"], n.data["asked"]) for n in notices(world, "escalated")] == [
        (["eve"], ["ann", "bob", "cem"])
    ]


def test_a_late_vote_counts_where_it_is_still_asked_for() -> None:
    world = World(document(approval("p", escalation=[TO_EVE])))
    world.fire("p")
    world.approve("p", "ann")
    assert world.run == "succeeded"


def test_what_was_handed_over_is_out_of_the_hands_of_the_first() -> None:
    world = World(document(approval("p", escalation=[{**TO_EVE, "hand_over": True}])))
    world.fire("p")
    assert asked(world).roster == ("eve",)
    refused = world.no(world.vote("p", "ann"))
    assert refused.code == "handed_over"
    assert refused.message == "'P' was handed over to eve, because it was not answered in time."
    told = world.explain(names=PEOPLE).of("p")
    assert told.sentence.endswith("It was escalated: Eve is asked instead of Ann, Bob and Cem.")
    assert told.waits_for == ("eve",)
    world.approve("p", "eve")
    assert world.run == "succeeded"


def test_nothing_is_handed_over_that_could_not_be_decided_then() -> None:
    """Two are needed and Eve is one: those asked before stay, and the event says so."""
    world = World(document(approval("p", required=2, escalation=[{**TO_EVE, "hand_over": True}])))
    world.fire("p")
    (event,) = of(world, e.PeopleEscalated)
    assert (event.added, event.removed) == (("eve",), ())
    assert sentence_of(event, world.plan).endswith("so it was escalated to eve as well.")
    world.approve("p", "eve", "bob")
    assert world.run == "succeeded"


def test_votes_given_before_count_on() -> None:
    world = World(document(approval("p", required=2, escalation=[{**TO_EVE, "hand_over": True}])))
    world.approve("p", "ann")
    world.fire("p")
    assert asked(world).roster == ("ann", "eve")
    world.approve("p", "eve")
    assert world.run == "succeeded"


def test_silence_settles_nothing() -> None:
    world = World(document(approval("p", reminders=DAILY, escalation=[{**TO_EVE, "hand_over": True}], expires="P5D")))
    for _ in range(5):
        world.fire("p")
    assert world.kinds()[-3:] == ["people.escalated", "approval.expired", "run.stalled"]
    assert world.step("p").status is StepStatus.EXPIRED
    assert not of(world, e.DecisionRecorded)


@pytest.mark.parametrize(
    ("directory", "by"),
    [
        (Directory(8, {**GROUPS, "solo": ()}, PEOPLE), "dan"),
        (DIRECTORY, "eve"),
        (Directory(8, {**GROUPS, "solo": ("bob",)}, PEOPLE), "dan"),
    ],
)
def test_an_escalation_that_finds_nobody_new_says_so_and_takes_nobody_off(directory: Directory, by: str) -> None:
    """An empty group; who started the run; who is asked already."""
    world = World(document(approval("p", escalation=[{**TO_EVE, "hand_over": True}])), by=by)
    world.directory = directory
    world.fire("p")
    (event,) = of(world, e.PeopleEscalated)
    assert (event.added, event.removed, event.roster) == ((), (), ("ann", "bob", "cem"))
    assert "but nobody new could be asked" in sentence_of(event, world.plan)


def test_who_decided_another_step_is_not_asked_by_escalation() -> None:
    q = approval("q", ("pair",), deciders_differ_from=["p"], escalation=[TO_EVE])
    world = World(document(approval("p", ("solo",)), q, edges="p>q"))
    world.approve("p", "eve")
    world.fire("q")
    assert of(world, e.PeopleEscalated)[-1].added == ()


def test_several_rungs_one_after_another() -> None:
    rungs = [{"after": "PT1H", "people": ["eve"]}, {"after": "PT2H", "people": ["olga"], "hand_over": True}]
    world = World(document(approval("p", ("pair",), escalation=rungs)))
    world.fire("p")
    world.fire("p")
    assert [x.number for x in of(world, e.PeopleEscalated)] == [1, 2]
    assert asked(world).roster == ("olga",)
    assert asked(world).released == ("ann", "bob", "eve")
    world.ok(world.reassignment("p", "ann"))
    assert asked(world).released == ("bob", "eve")


def test_a_server_that_slept_reminds_once_and_never_after_the_expiry() -> None:
    world = World(document(approval("p", reminders={"every": "PT1H", "at_most": 5}, expires="P1D")))
    world.later(hours=3, minutes=30)
    (event,) = world.ok(world.timer("p"))
    assert isinstance(event, e.ReminderSent)
    assert event.number == 3
    world.later(days=2)
    world.ok(world.timer("p"))
    assert world.kinds()[-2:] == ["approval.expired", "run.stalled"]
    assert of(world, e.ApprovalExpired)[0].due == world.events[0].at + timedelta(days=1)


def test_a_rung_fires_once_and_not_before_its_time() -> None:
    world = World(document(approval("p", escalation=[TO_EVE], expires="P4D")))
    first = world.timer("p")
    assert world.no(first).code == "not_due"
    world.fire("p")
    assert world.no(first).code == "obsolete_timer"
    assert world.no(world.timer("p", TimerKind.LADDER)).code == "obsolete_timer"
    assert world.step("p").timer is TimerKind.EXPIRY


def test_a_pause_moves_reminders_escalation_and_expiry() -> None:
    world = World(document(approval("p", reminders={"every": "P1D", "at_most": 1}, escalation=[TO_EVE], expires="P5D")))
    begun = world.now
    world.later(hours=12)
    world.pause()
    world.later(days=10)
    world.resume()
    days = [(r.due - begun).days for r in asked(world).ladder]
    assert days == [11, 13]
    assert world.step("p").expires == begun + timedelta(days=15)
    assert world.no(world.timer("p")).code == "not_due"


def test_a_vote_at_the_expiry_is_too_late_though_a_rung_is_armed() -> None:
    world = World(document(approval("p", escalation=[TO_EVE], expires="P4D")))
    world.later(days=4)
    assert world.no(world.vote("p", "ann")).code == "expired"


def test_working_time_counts_in_the_zone_and_is_shown_before() -> None:
    """Monday 09:00 UTC; the office opens at 09:00 and closes at 17:00, and two working days later is Wednesday."""
    rung = {"after": "P2D working", "groups": ["solo"]}
    world = World(document(approval("p", reminders={"every": "PT8H working", "at_most": 2}, escalation=[rung])))
    assert [(r.kind, r.due) for r in asked(world).ladder] == [
        ("reminder", datetime(2027, 1, 4, 17, 0, tzinfo=UTC)),
        ("reminder", datetime(2027, 1, 5, 17, 0, tzinfo=UTC)),
        ("escalation", datetime(2027, 1, 6, 9, 0, tzinfo=UTC)),
    ]
    told = explain(world.plan, world.state).of("p")
    assert told.next == (
        "A reminder is sent at 2027-01-04 17:00 UTC. At 2027-01-06 09:00 UTC group 'solo' is asked as well."
    )
    assert told.due is None


def test_forms_have_a_ladder_too() -> None:
    world = World(document(form("f", ("pair",), reminders=DAILY, escalation=[{**TO_EVE, "hand_over": True}])))
    for _ in range(4):
        world.fire("f")
    assert asked(world, "f").roster == ("eve",)
    assert world.no(world.submission("f", "ann")).code == "handed_over"
    world.ok(world.submission("f", "eve"))
    assert world.run == "succeeded"


def test_asking_again_begins_the_ladder_anew() -> None:
    doc = document(
        approval("p", shows={"N": "=input.n"}, escalation=[TO_EVE]), input=[{"name": "n", "type": "integer"}]
    )
    world = World(doc, {"n": 1})
    world.fire("p")
    world.ok(world.edit({"n": 2}))
    assert asked(world).roster == ("ann", "bob", "cem")
    assert asked(world).ladder[0].due == world.now + timedelta(days=3)


def test_a_move_to_another_version_keeps_what_is_left_of_the_ladder() -> None:
    before = document(approval("p", escalation=[TO_EVE]), once("a"), edges="p>a")
    world = World(before)
    world.later(days=1)
    world.ok(world.migration(document(approval("p", escalation=[TO_EVE]), once("b"), edges="p>b")))
    assert asked(world).ladder[0].due == world.events[0].at + timedelta(days=3)
    world.fire("p")
    assert asked(world).roster[-1] == "eve"


def problems(**more: Any) -> set[str]:
    definition, wrong = read_document(document(approval("p", **more)))
    assert definition is not None
    around = Surroundings(groups=set(GROUPS), group_sizes={g: len(m) for g, m in GROUPS.items()}, people=set(PEOPLE))
    return {p.code for p in (*wrong, *validate(definition, around))}


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"reminders": {"every": "P1D", "at_most": 0}}, "bad_reminders"),
        ({"reminders": {"every": "", "at_most": 2}}, "no_duration"),
        ({"reminders": {"every": "daily"}}, "bad_duration"),
        ({"reminders": {"every": "PT0S"}}, "bad_duration"),
        ({"reminders": {"every": "P3D"}, "expires": "P2D"}, "never_happens"),
        ({"escalation": [{"groups": ["solo"]}]}, "no_duration"),
        ({"escalation": [{"after": "P1D"}]}, "no_approvers"),
        ({"escalation": [{"after": "P1D", "groups": ["ghosts"]}]}, "unknown_group"),
        ({"escalation": [{"after": "P1D", "groups": ["nobody"]}]}, "empty_group"),
        ({"escalation": [{"after": "P1D", "people": ["zoe"]}]}, "unknown_person"),
        ({"escalation": [TO_EVE, {"after": "P1D", "people": ["olga"]}]}, "rungs_out_of_order"),
        ({"escalation": [TO_EVE], "expires": "P3D"}, "never_happens"),
        ({"escalation": [{"after": f"P{n}D", "people": ["eve"]} for n in range(1, 12)]}, "too_many_rungs"),
    ],
)
def test_what_is_wrong_with_a_ladder_is_said(more: dict[str, Any], code: str) -> None:
    assert code in problems(**more)


def test_a_ladder_comes_back_from_its_document_and_a_plain_approval_says_nothing_of_it() -> None:
    definition, wrong = read_document(document(approval("p", reminders=DAILY, escalation=[TO_EVE]), approval("q")))
    assert definition is not None
    assert not wrong
    written = write_document(definition)["steps"]
    assert written[0]["reminders"] == {"every": "P1D"}
    assert written[0]["escalation"] == [TO_EVE]
    assert {"reminders", "escalation"}.isdisjoint(written[1])
    again, _ = read_document(write_document(definition))
    assert again == definition
    assert isinstance(definition.steps[0].config, ApprovalConfig)
