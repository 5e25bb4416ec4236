"""Approval policies: so many of each group, in sequence, by amount; distinct people; never clamped; typed decisions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations, product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signoff.core import commands as c
from signoff.core import events as e
from signoff.core.document import read_document, write_document
from signoff.core.facts import Directory
from signoff.core.quorum import counted, lacking, seated, settled_outcome, stage_of
from signoff.core.quorum import given as counted_number
from signoff.core.states import ApprovalState, Quota, Vote
from signoff.core.validate import Surroundings, validate
from signoff.engine.sentences import sentence_of
from tests.core.kit import CLOCK, PEOPLE, START, World, document, once, person

FINANCE, LEGAL, BOSS = ("ann", "bob", "cem"), ("cem", "dan", "eve"), ("fay",)
NAMES = {**PEOPLE, "fay": "Fay", "gus": "Gus", "req": "Req"}
GROUPS = {"finance": FINANCE, "legal": LEGAL, "boss": BOSS, "empty": ()}
DIRECTORY = Directory(3, GROUPS, NAMES)
TWO_AND_ONE = [{"groups": ["finance"], "required": 2}, {"groups": ["legal"]}]


def opened(*quotas: dict[str, Any], by: str = "req", **more: Any) -> World:
    input = more.pop("input", None)
    step = {"id": "p", "kind": "approval", "label": "P", "quotas": list(quotas), **more}
    doc = document(step, once("a"), edges="p>a", input=[{"name": "amount", "type": "number"}])
    return World(doc, input or {"amount": 5.0}, by=by, directory=DIRECTORY)


def asked(world: World) -> ApprovalState:
    found = world.step("p").approval
    assert found is not None
    return found


# The rule, against one that tries everything


def brute(quotas: Sequence[Quota], people: Sequence[str]) -> int:
    """The most places that can be filled, by trying every way to give every person a quota or none."""
    best = 0
    for chosen in product(range(-1, len(quotas)), repeat=len(people)):
        fits = all(i < 0 or p in quotas[i].people for p, i in zip(people, chosen, strict=True))
        if fits and all(chosen.count(i) <= q.required for i, q in enumerate(quotas)):
            best = max(best, sum(i >= 0 for i in chosen))
    return best


def reference(
    quotas: Sequence[Quota], votes: Sequence[tuple[str, bool]], everybody: Sequence[str], at_once: bool
) -> Any:
    """What the votes come to: all places filled, no way left to fill them, or neither."""
    places = sum(q.required for q in quotas)
    approvers = [p for p, yes in votes if yes]
    if brute(quotas, approvers) == places:
        return "approved"
    rejected = [p for p, yes in votes if not yes]
    open_to = [p for p in everybody if p not in rejected]
    return "rejected" if rejected and (at_once or brute(quotas, open_to) < places) else None


QUOTAS = st.lists(
    st.builds(
        Quota,
        st.sampled_from(["x", "y"]),
        st.integers(1, 2),
        st.lists(st.sampled_from("abcd"), min_size=1, max_size=4, unique=True).map(tuple),
    ),
    min_size=1,
    max_size=3,
).map(tuple)


@settings(deadline=None, max_examples=300)
@given(
    QUOTAS,
    st.lists(st.tuples(st.sampled_from("abcd"), st.booleans()), max_size=4, unique_by=lambda v: v[0]),
    st.booleans(),
)
def test_quotas_settle_as_the_reference_says(
    quotas: tuple[Quota, ...], votes: list[tuple[str, bool]], at_once: bool
) -> None:
    everybody = sorted({p for q in quotas for p in q.people})
    cast = [v for v in votes if v[0] in everybody]
    state = ApprovalState(
        tuple(everybody), sum(q.required for q in quotas), "sha256:x", True, votes_of(cast), quotas=quotas
    )
    assert settled_outcome(state, "r", at_first_rejection=at_once) == reference(quotas, cast, everybody, at_once)
    assert counted_number(state) == brute(quotas, [p for p, yes in cast if yes])
    free = [p for p in everybody if p not in [v[0] for v in cast]]
    approvers = [p for p, yes in cast if yes]
    assert lacking(state, free) == state.required - brute(quotas, [*approvers, *free])


def votes_of(cast: Sequence[tuple[str, bool]]) -> tuple[Vote, ...]:
    return tuple(Vote(p, p, "approved" if yes else "rejected", "", START, "web") for p, yes in cast)


@settings(deadline=None, max_examples=200)
@given(QUOTAS, st.lists(st.sampled_from("abcd"), max_size=4, unique=True))
def test_nobody_fills_two_places_and_the_order_of_votes_does_not_matter(
    quotas: tuple[Quota, ...], people: list[str]
) -> None:
    filled = seated(quotas, people)
    everyone = [p for places in filled for p in places]
    assert len(everyone) == len(set(everyone)) == brute(quotas, people)
    assert all(
        set(places) <= set(q.people) and len(places) <= q.required for q, places in zip(quotas, filled, strict=True)
    )
    totals = {sum(map(len, seated(quotas, order))) for order in permutations(people)}
    assert totals == {len(everyone)}


@settings(deadline=None, max_examples=200)
@given(QUOTAS, st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=6))
def test_a_sequence_settles_as_the_reference_says(quotas: tuple[Quota, ...], acts: list[tuple[int, bool]]) -> None:
    """Whoever is asked votes; the reference keeps its own account of stages."""
    everybody = sorted({p for q in quotas for p in q.people})
    votes: list[tuple[str, bool]] = []
    stage, have = 0, 0
    for number, yes in acts:
        voted = [p for p, _ in votes]
        may = [p for p in quotas[stage].people if p not in voted]
        if not may:
            break
        votes.append((may[number % len(may)], yes))
        have += yes
        if have == quotas[stage].required:
            stage, have = stage + 1, 0
        if stage == len(quotas):
            break
    state = ApprovalState(
        tuple(everybody), sum(q.required for q in quotas), "x", True, votes_of(votes), quotas=quotas, in_sequence=True
    )
    assert stage_of(state) == stage
    found = settled_outcome(state, "r")
    if stage == len(quotas):
        assert found == "approved"
        return
    free = [p for p in everybody if p not in [v[0] for v in votes]]
    left = (replace(quotas[stage], required=quotas[stage].required - have), *quotas[stage + 1 :])
    reachable = brute(left, free) == sum(q.required for q in left)
    rejected = any(not yes for _, yes in votes)
    assert found == ("rejected" if rejected and not reachable else None)


# Per group


def test_two_of_finance_and_one_of_legal() -> None:
    world = opened(*TWO_AND_ONE)
    assert asked(world).roster == ("ann", "bob", "cem", "dan", "eve")
    opening = next(x for x in world.events if isinstance(x, e.ApprovalOpened))
    said = "'P' was put before 2 of finance (ann, bob, cem) and 1 of legal (cem, dan, eve)."
    assert sentence_of(opening, world.plan) == said
    world.approve("p", "ann", "bob")
    assert "(finance 2 of 2, legal 0 of 1)" in world.explain().of("p").sentence
    world.approve("p", "dan")
    assert world.step("p").status == "succeeded"


def test_who_is_in_both_groups_counts_once_and_for_the_one_that_lacks_somebody() -> None:
    world = opened(*TWO_AND_ONE)
    world.approve("p", "cem", "ann")
    assert counted(asked(world)) == (("ann", "cem"), ())
    world.approve("p", "bob")
    assert world.step("p").status == "succeeded", "cem moved to legal, for ann and bob are of finance"


def test_three_of_finance_do_not_stand_in_for_legal() -> None:
    world = opened(*TWO_AND_ONE, by="cem")
    world.approve("p", "ann", "bob")
    assert world.step("p").status == "waiting"
    assert world.no(world.vote("p", "cem")).code == "own_request"


def test_a_rejection_counts_when_the_rest_cannot_reach_it_or_at_once_by_policy() -> None:
    world = opened(*TWO_AND_ONE)
    world.reject("p", "ann")
    assert world.step("p").status == "waiting"
    world.reject("p", "dan")
    world.reject("p", "eve")
    assert world.step("p").status == "rejected", "finance needs bob and cem, so nobody is left for legal"
    strict = opened(*TWO_AND_ONE, rejection="at_once")
    strict.reject("p", "bob")
    assert strict.step("p").status == "rejected"
    one_each = opened({"groups": ["finance"]}, {"groups": ["legal"]})
    one_each.reject("p", "bob")
    assert one_each.step("p").status == "rejected", "where one of each is enough, the first answer counts"


def test_all_of_a_group_and_a_named_person() -> None:
    world = opened({"groups": ["finance"], "required": 0}, {"people": ["fay"]})
    assert asked(world).required == 4
    world.approve("p", "fay", "ann", "bob", "cem")
    assert world.run == "running"
    assert world.step("p").status == "succeeded"


@pytest.mark.parametrize(
    ("quotas", "words"),
    [
        ([{"groups": ["empty"]}], "1 of empty (only 0 can be had)"),
        ([{"groups": ["boss"]}, {"people": ["fay"]}], "1 of fay (only 0 can be had)"),
        (
            [{"groups": ["finance"], "required": 3}, {"groups": ["legal"], "required": 3}],
            "3 of legal (only 2 can be had)",
        ),
        ([{"groups": ["boss"], "when": "input.amount > 10.0"}], "no quota of this approval applies here"),
    ],
)
def test_what_cannot_be_met_is_a_visible_state(quotas: list[dict[str, Any]], words: str) -> None:
    world = opened(*quotas)
    assert world.run == "stalled"
    error = world.step("p").error
    assert error is not None
    assert error.code == "no_approver"
    assert words in error.message


def test_who_leaves_makes_it_unreachable_and_that_is_seen() -> None:
    world = opened(*TWO_AND_ONE)
    world.approve("p", "ann")
    world.directory = Directory(4, GROUPS, {k: v for k, v in NAMES.items() if k not in ("bob", "dan", "eve")})
    world.ok(c.CheckApprovers(actor=CLOCK, step="p"))
    error = world.step("p").error
    assert error is not None
    assert "2 more approvals are needed (finance 1 of 2, legal 0 of 1), but only 1 can be had" in error.message


def test_who_is_replaced_counts_for_the_group_of_whom_they_replace() -> None:
    world = opened(*TWO_AND_ONE)
    world.approve("p", "ann")
    assert world.no(world.reassignment("p", "gus")).code == "no_quota"
    world.ok(world.reassignment("p", "gus", remove=("bob",)))
    assert [q.people for q in asked(world).quotas] == [("ann", "cem", "gus"), ("cem", "dan", "eve")]
    world.approve("p", "gus", "eve")
    assert world.step("p").status == "succeeded"
    other = opened(*TWO_AND_ONE)
    assert other.no(other.reassignment("p", remove=("dan", "eve", "cem"))).code == "quorum_unreachable"


def test_an_escalation_stands_in_for_whatever_is_short() -> None:
    rung = {"after": "P1D", "groups": ["boss"]}
    world = opened(*TWO_AND_ONE, escalation=[rung])
    world.approve("p", "ann", "bob")
    world.fire("p")
    assert [q.people[-1] for q in asked(world).quotas] == ["cem", "fay"]
    world.approve("p", "fay")
    assert world.step("p").status == "succeeded"


# In sequence


def test_one_group_after_another() -> None:
    world = opened(*TWO_AND_ONE, in_sequence=True)
    assert asked(world).roster == FINANCE
    assert world.no(world.vote("p", "dan")).code == "not_your_turn"
    world.approve("p", "ann", "cem")
    step = next(x for x in world.events if isinstance(x, e.NextAsked))
    assert (step.stage, step.name, step.people, step.roster) == (
        1,
        "legal",
        ("dan", "eve"),
        ("ann", "cem", "dan", "eve"),
    )
    assert sentence_of(step, world.plan) == "'P' was approved by enough, so it was put before legal: dan, eve."
    assert world.explain().of("p").waits_for == ("dan", "eve")
    assert "(finance 2 of 2, then legal 0 of 1)" in world.explain().of("p").sentence
    assert world.no(world.vote("p", "bob")).code == "passed_on"
    assert world.no(world.withdrawal("p", "ann")).code == "stage_passed"
    world.approve("p", "eve")
    assert world.step("p").status == "succeeded"
    assert world.no(world.vote("p", "bob")).code == "already_handled"
    assert world.no(world.vote("p", "dan")).code == "already_handled"


def test_a_vote_is_withdrawn_in_its_own_stage() -> None:
    world = opened(*TWO_AND_ONE, in_sequence=True)
    world.approve("p", "ann")
    world.ok(world.withdrawal("p", "ann"))
    world.approve("p", "bob", "ann")
    assert asked(world).roster == ("bob", "ann", "cem", "dan", "eve")


def test_a_sequence_that_cannot_be_finished_any_more_is_rejected_before_its_end() -> None:
    """Cem is needed for legal, where only he is left; so his approval of finance leaves nobody for legal."""
    world = opened({"groups": ["finance"]}, {"people": ["cem"]}, in_sequence=True, rejection="when_unreachable")
    world.approve("p", "cem")
    assert world.run == "stalled"
    error = world.step("p").error
    assert error is not None
    assert error.code == "no_approver"
    assert "1 more approval is needed (finance 1 of 1, then cem 0 of 1), but none can be had" in error.message


def test_a_rejection_in_the_last_stage() -> None:
    world = opened(*TWO_AND_ONE, in_sequence=True)
    world.approve("p", "ann", "bob")
    world.reject("p", "dan")
    world.reject("p", "eve")
    assert world.step("p").status == "waiting", "cem of legal has not voted in finance"
    world.reject("p", "cem")
    assert world.step("p").status == "rejected"


def test_a_later_group_is_replaced_before_its_turn() -> None:
    world = opened(*TWO_AND_ONE, in_sequence=True)
    world.ok(world.reassignment("p", "gus", remove=("dan",)))
    assert asked(world).roster == FINANCE
    assert world.no(world.vote("p", "gus")).code == "not_your_turn"
    world.approve("p", "ann", "bob")
    assert asked(world).roster == ("ann", "bob", "cem", "eve", "gus")
    world.approve("p", "gus")
    assert world.step("p").status == "succeeded"


# By amount


@pytest.mark.parametrize(("amount", "required"), [(5.0, 1), (5000.0, 2)])
def test_the_number_by_amount(amount: float, required: int) -> None:
    step = {"id": "p", "kind": "approval", "label": "P", "groups": ["finance"]}
    step["required_by"] = "input.amount > 1000.0 ? 2 : 1"
    world = World(
        document(step, input=[{"name": "amount", "type": "number"}]), {"amount": amount}, by="req", directory=DIRECTORY
    )
    opening = next(x for x in world.events if isinstance(x, e.ApprovalOpened))
    assert (opening.required, opening.reckoned) == (required, {"required": required})
    world.approve("p", *FINANCE[:required])
    assert world.run == "succeeded"


def test_the_groups_by_amount() -> None:
    step = {
        "id": "p",
        "kind": "approval",
        "label": "P",
        "groups_by": "input.amount > 1000.0 ? ['boss', 'legal'] : ['finance']",
    }
    doc = document(step, input=[{"name": "amount", "type": "number"}])
    world = World(doc, {"amount": 5000.0}, by="req", directory=DIRECTORY)
    opening = next(x for x in world.events if isinstance(x, e.ApprovalOpened))
    assert (opening.groups, opening.roster) == (("boss", "legal"), ("fay", "cem", "dan", "eve"))
    world.approve("p", "fay")
    decision = next(x for x in world.events if isinstance(x, e.DecisionRecorded))
    assert decision.authority == "group boss"


def test_a_quota_only_above_an_amount() -> None:
    quotas = [{"groups": ["finance"]}, {"groups": ["boss"], "when": "input.amount > 1000.0"}]
    small = opened(*quotas)
    assert [q.name for q in asked(small).quotas] == ["finance"]
    large = opened(*quotas, input={"amount": 2000.0})
    opening = next(x for x in large.events if isinstance(x, e.ApprovalOpened))
    assert opening.reckoned == {"quotas": [True, True]}
    assert [q.name for q in asked(large).quotas] == ["finance", "boss"]


@pytest.mark.parametrize("source", ["input.amount", "input.amount - 100.0", "600", "input.nothing"])
def test_an_expression_that_gives_no_number_stops_the_step_and_can_be_mended(source: str) -> None:
    step = {"id": "p", "kind": "approval", "label": "P", "groups": ["finance"], "required_by": source}
    fields = [{"name": "amount", "type": "number"}, {"name": "nothing", "type": "number", "required": False}]
    world = World(document(step, input=fields), {"amount": 1.5}, by="req", directory=DIRECTORY)
    error = world.step("p").error
    assert error is not None
    assert error.code == "mapping_error"


# What is wrong is said before


AROUND = Surroundings(groups=set(GROUPS), group_sizes={g: len(m) for g, m in GROUPS.items()}, people=set(NAMES))


def problems(**more: Any) -> list[str]:
    step = {"id": "p", "kind": "approval", "label": "P", **more}
    definition, wrong = read_document(document(step, input=[{"name": "amount", "type": "number"}]))
    assert definition is not None
    return [p.code for p in (*wrong, *validate(definition, AROUND)) if p.severity == "error"]


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"groups": ["finance"], "quotas": TWO_AND_ONE}, "mixed_policy"),
        ({"quotas": TWO_AND_ONE, "required_by": "2"}, "mixed_policy"),
        ({"quotas": [{"required": 2}]}, "no_approvers"),
        ({"quotas": [{"groups": ["ghosts"]}]}, "unknown_group"),
        ({"quotas": [{"groups": ["empty"]}]}, "empty_group"),
        ({"quotas": [{"people": ["zoe"]}]}, "unknown_person"),
        ({"quotas": [{"groups": ["finance"], "required": -1}]}, "bad_quorum"),
        ({"quotas": [{"groups": ["finance"], "required": 4}]}, "quorum_unreachable"),
        ({"quotas": [{"people": ["ann"]}, {"people": ["ann"]}]}, "quorum_unreachable"),
        ({"quotas": [{"groups": ["finance"]}] * 11}, "too_many_quotas"),
        ({"quotas": [{"groups": ["finance"], "when": "input.amuont > 1.0"}]}, "unknown_input"),
        ({"quotas": [{"groups": ["finance"], "when": "input.amount"}]}, "type_mismatch"),
        ({"groups": ["finance"], "required_by": "input.amount > 1.0"}, "type_mismatch"),
        ({"groups": ["finance"], "required_by": "steps.later.output"}, "unknown_name"),
        ({"groups_by": "'finance'"}, "type_mismatch"),
        ({"groups_by": "["}, "bad_expression"),
        ({"groups": ["finance"], "fields": [{"name": "A B"}]}, "bad_field"),
        ({"groups": ["finance"], "fields": [{"name": "c", "type": "choice"}]}, "no_options"),
    ],
)
def test_what_is_wrong_with_a_policy_is_said(more: dict[str, Any], code: str) -> None:
    assert code in problems(**more)


def test_good_policies_can_be_published_and_come_back_from_their_document() -> None:
    good: dict[str, Any] = {
        "quotas": [*TWO_AND_ONE, {"groups": ["boss"], "when": "input.amount > 1.0"}],
        "in_sequence": True,
    }
    assert problems(**good) == []
    assert problems(groups=["finance"], required_by="input.amount > 1.0 ? 2 : 1") == []
    assert problems(groups_by="input.amount > 1.0 ? ['boss'] : ['finance']") == []
    definition, _ = read_document(document({"id": "p", "kind": "approval", "label": "P", **good}))
    assert definition is not None
    written = write_document(definition)["steps"][0]
    assert written["quotas"] == [
        TWO_AND_ONE[0],
        {"groups": ["legal"]},
        {"groups": ["boss"], "when": "input.amount > 1.0"},
    ]
    again, _ = read_document(write_document(definition))
    assert again == definition


def test_nobody_but_a_person_decides_in_a_quota() -> None:
    world = opened(*TWO_AND_ONE)
    assert (
        world.no(replace(world.vote("p", "ann"), actor=replace(person("ann"), kind="service"))).code == "not_a_person"
    )
