"""Which steps begin, die or are blocked when edges resolve (semantics §3), as tables."""

from __future__ import annotations

import pytest

from tests.core.kit import World, activity, approval, document, edge, wait


def ended(world: World, ends: str) -> None:
    """`a+ b- c!` completes a, fails b for good, and rejects c."""
    for word in ends.split():
        match word[-1]:
            case "+":
                world.done(word[:-1])
            case "-":
                world.breaks(word[:-1])
            case "!":
                world.reject(word[:-1], "ann")


@pytest.mark.parametrize(
    ("join", "ends", "target", "run"),
    [
        ("all", "a+ b+", "scheduled", "running"),
        ("all", "a+", "pending", "running"),
        ("all", "a-", "pending", "running"),
        ("all", "a- b+", "blocked", "stalled"),
        ("all", "b+ a-", "blocked", "stalled"),
        ("all", "a- b-", "blocked", "stalled"),
        ("any", "a+", "scheduled", "running"),
        ("any", "a-", "pending", "running"),
        ("any", "a- b+", "scheduled", "running"),
        ("any", "a- b-", "blocked", "stalled"),
        ("cancel_rest", "a- b+", "scheduled", "running"),
        ("cancel_rest", "a- b-", "blocked", "stalled"),
    ],
)
def test_a_join_of_two(join: str, ends: str, target: str, run: str) -> None:
    world = World(document(activity("a"), activity("b"), activity("c", join=join), edges="a>c b>c"))
    ended(world, ends)
    assert (world.statuses["c"], world.run) == (target, run)


@pytest.mark.parametrize(
    ("edges", "ends", "expected", "run"),
    [
        # a failure that nobody handles blocks what follows, with the first cause, down to the end
        ("a>b b>c c>d", "a-", {"b": "blocked", "c": "blocked", "d": "blocked"}, "stalled"),
        # handled: the good way dies, the handler runs
        ("a>b a:failed>c c>d", "a-", {"b": "not_taken", "c": "scheduled", "d": "pending"}, "running"),
        ("a>b a:failed>c", "a+", {"b": "scheduled", "c": "not_taken"}, "running"),
        # an optional edge follows every end, but what needs the good one stays blocked
        ("a>b a:any>c", "a-", {"b": "blocked", "c": "scheduled"}, "running"),
        ("a>b a:any>c", "a- c+", {"b": "blocked", "c": "succeeded"}, "stalled"),
        ("a:any>b", "a- b+", {"b": "succeeded"}, "succeeded"),
        ("a:any>b", "a+ b+", {"b": "succeeded"}, "succeeded"),
        # an optional edge follows a blocked step too
        ("a>b b:any>c", "a-", {"b": "blocked", "c": "scheduled"}, "running"),
        ("a>b b:any>c", "a- c+", {"b": "blocked", "c": "succeeded"}, "stalled"),
        # dead paths end where a live one joins
        ("a:failed>b b>d a>c c>d", "a+ c+", {"b": "not_taken", "d": "scheduled"}, "running"),
        ("a:failed>b b>c c>d", "a+", {"b": "not_taken", "c": "not_taken", "d": "not_taken"}, "succeeded"),
        # two failures, one block: the cause is the first by the order of the connections
        ("a>c b>c c>d", "b- a-", {"c": "blocked", "d": "blocked"}, "stalled"),
    ],
)
def test_edges_by_outcome(edges: str, ends: str, expected: dict[str, str], run: str) -> None:
    steps = [activity(i) for i in sorted({x for e in edges.split() for x in (e[0], e[-1])})]
    world = World(document(*steps, edges=edges))
    ended(world, ends)
    assert {i: world.statuses[i] for i in expected} == expected
    assert world.run == run


def test_the_cause_is_the_step_that_really_failed() -> None:
    world = World(document(activity("a"), activity("b"), activity("c"), edges="a>b b>c"))
    world.breaks("a")
    assert world.step("b").cause == world.step("c").cause == "a"
    assert world.explain().of("c").sentence == "'C' cannot begin, because 'A' did not end well."
    assert world.explain().of("c").next == "It opens again when 'A' is mended."


NUMBER = [{"name": "n", "type": "number", "required": False}]


@pytest.mark.parametrize(
    ("n", "expected", "run"),
    [
        (50.0, {"b": "scheduled", "c": "not_taken", "d": "not_taken"}, "running"),
        (5.0, {"b": "not_taken", "c": "scheduled", "d": "not_taken"}, "running"),
        (0.0, {"b": "not_taken", "c": "not_taken", "d": "scheduled"}, "running"),
        (None, {"b": "failed", "c": "failed", "d": "failed"}, "stalled"),
    ],
)
def test_conditions_and_otherwise(n: float | None, expected: dict[str, str], run: str) -> None:
    """A missing value is a visible error at every step that depends on it, never a silent false."""
    links = [
        edge("a>b", when="input.n > 10.0"),
        edge("a>c", when="input.n > 1.0 && input.n <= 10.0"),
        edge("a>d", otherwise=True),
    ]
    world = World(document(*map(activity, "abcd"), edges=links, input=NUMBER), {"n": n})
    world.done("a")
    assert {i: world.statuses[i] for i in expected} == expected
    assert world.run == run
    if n is None:
        assert "wrong type" in world.explain().of("b").sentence
        assert "'otherwise'" in world.explain().of("d").sentence


def test_one_retry_mends_all_siblings_that_one_value_had_stopped() -> None:
    links = [edge("a>b", when="input.n > 10.0"), edge("a>c", otherwise=True)]
    world = World(document(*map(activity, "abc"), edges=links, input=NUMBER), {})
    world.done("a")
    assert world.no(world.retry("b", seen_sequence=0)).code == "changed_meanwhile"
    world.ok(world.edit({"n": 3.0}))
    world.ok(world.retry("b"))
    assert world.statuses == {"a": "succeeded", "b": "not_taken", "c": "scheduled"}
    world.done("c")
    assert world.run == "succeeded"


def test_a_retry_without_mending_fails_again_and_says_so() -> None:
    links = [edge("a>b", when="input.n > 10.0")]
    world = World(document(*map(activity, "ab"), edges=links, input=NUMBER), {})
    world.done("a")
    world.ok(world.retry("b"))
    assert world.step("b").generation == 2
    assert world.statuses["b"] == "failed"
    assert world.run == "stalled"


def test_a_bad_end_is_handled_only_where_the_handlers_condition_holds() -> None:
    for n, expected, run in ((50.0, "scheduled", "running"), (1.0, "blocked", "stalled")):
        links = [edge("a:failed>b", when="input.n > 10.0")]
        world = World(document(*map(activity, "ab"), edges=links, input=NUMBER), {"n": n})
        world.breaks("a")
        assert (world.statuses["b"], world.run) == (expected, run)


def test_a_good_end_with_no_way_on_ends_the_branch() -> None:
    world = World(document(*map(activity, "ab"), edges=[edge("a>b", when="false")]))
    world.done("a")
    assert world.statuses["b"] == "not_taken"
    assert world.run == "succeeded"


# Joins of any: what the other branches still mean


def test_later_branches_are_recorded_and_ignored() -> None:
    world = World(document(*map(activity, "ab"), activity("c", join="any"), edges="a>c b>c"))
    world.done("a", "c")
    assert world.run == "running"
    world.done("b")
    assert world.run == "succeeded"
    assert world.kinds().count("activity.scheduled") == 3


@pytest.mark.parametrize("policy", ["stall", "fail"])
@pytest.mark.parametrize("order", ["a- b+ c+", "b+ a- c+", "b+ c+ a-"])
def test_a_failure_that_another_branch_outran_needs_nobody(policy: str, order: str) -> None:
    steps = [activity("a"), activity("b"), activity("c", join="any")]
    world = World(document(*steps, edges="a>c b>c", policies={"failure": policy}))
    ended(world, order)
    assert world.run == "succeeded"


def test_a_failure_far_down_the_losing_branch_needs_nobody_either() -> None:
    world = World(document(*map(activity, "abx"), activity("c", join="any"), edges="a>x x>c b>c"))
    ended(world, "a- b+ c+")
    assert world.statuses["x"] == "blocked"
    assert world.run == "succeeded"
    world = World(document(*map(activity, "abxy"), activity("c", join="any"), edges="a>x x>c b>c x>y"))
    ended(world, "a- b+ c+")
    assert world.run == "stalled"  # y needs it


def test_with_policy_fail_a_join_of_any_is_waited_for() -> None:
    steps = [activity("a"), activity("b"), activity("c", join="any")]
    world = World(document(*steps, edges="a>c b>c", policies={"failure": "fail"}))
    world.breaks("a")
    assert world.run == "running"
    world.breaks("b")
    assert world.run == "failed"


def test_a_failed_branch_can_be_skipped_into_a_join_of_any_while_it_waits() -> None:
    for join in ("any", "cancel_rest"):
        world = World(document(*map(activity, "ab"), activity("c", join=join), edges="a>c b>c"))
        world.breaks("a")
        world.ok(world.skip("a"))
        assert world.statuses["c"] == "scheduled"
        assert world.statuses["b"] == ("cancelled" if join == "cancel_rest" else "scheduled")


def test_an_outrun_failure_is_neither_retried_nor_skipped() -> None:
    world = World(document(*map(activity, "ab"), activity("c", join="any"), edges="a>c b>c"))
    ended(world, "a- b+")
    assert world.no(world.retry("a")).code == "already_dealt_with"
    assert world.no(world.skip("a")).code == "already_dealt_with"
    assert world.explain().of("a").actions == ()


def test_the_first_answer_cancels_the_rest() -> None:
    steps = [approval("ask"), wait("late"), activity("x"), activity("go", join="cancel_rest")]
    world = World(document(*steps, edges="ask>go late>x x>go"))
    world.approve("ask", "ann")
    assert world.statuses == {"ask": "succeeded", "late": "cancelled", "x": "cancelled", "go": "scheduled"}
    assert world.step("late").due is None
    world.done("go")
    assert world.run == "succeeded"


def test_cancel_rest_leaves_work_under_way_and_what_others_need() -> None:
    steps = [*map(activity, "abx"), activity("go", join="cancel_rest"), activity("other")]
    world = World(document(*steps, edges="a>go b>x x>go b>other"))
    world.done("a")
    assert world.statuses["b"] == "scheduled"  # 'other' needs it
    assert world.statuses["x"] == "cancelled"
    world = World(document(*map(activity, "ab"), activity("go", join="cancel_rest"), edges="a>go b>go"))
    world.claim("b")
    world.done("a")
    assert world.statuses["b"] == "running"
    world.ok(world.failure("b", retryable=False))
    world.done("go")
    assert world.run == "succeeded"


# Rejections and policies


def test_a_rejection_ends_the_run_when_the_other_branch_is_done() -> None:
    world = World(document(approval("ask"), activity("b"), activity("go"), edges="ask>go b>go"))
    world.reject("ask", "ann")
    assert world.run == "running"
    world.done("b")
    assert world.statuses["go"] == "blocked"
    assert world.run == "rejected"
    assert world.state.reason == "Rejected at 'ASK'."


def test_a_handled_rejection_goes_on() -> None:
    world = World(document(approval("ask"), *map(activity, "ab"), edges="ask>a ask:rejected>b"))
    world.reject("ask", "ann")
    assert world.statuses["a"] == "not_taken"
    world.done("b")
    assert world.run == "succeeded"


def test_a_failure_beside_a_rejection_waits_for_a_person_first() -> None:
    world = World(document(approval("ask"), activity("b"), edges=""))
    world.reject("ask", "ann")
    world.breaks("b")
    assert world.run == "stalled"
    world.ok(world.skip("b"))
    assert world.run == "rejected"


def test_policy_fail_awaits_what_runs_and_cancels_the_rest() -> None:
    steps = [*map(activity, "abc"), wait("w"), approval("p")]
    world = World(document(*steps, edges="", policies={"failure": "fail"}))
    world.claim("b")
    world.breaks("a")
    assert world.run == "cancelling"
    assert world.statuses == {"a": "failed", "b": "running", "c": "cancelled", "w": "cancelled", "p": "cancelled"}
    assert "'B'" in world.explain().sentence
    world.ok(world.completion("b"))
    assert world.run == "failed"
    assert world.statuses["b"] == "succeeded"


def test_optional_sources_are_named_to_the_approver() -> None:
    world = World(document(activity("check"), approval("ask"), edges="check:any>ask"))
    world.breaks("check")
    opened = next(e for e in world.events if e.wire == "approval.opened")
    assert opened.shown == {"CHECK": "(failed)"}  # type: ignore[attr-defined]


@pytest.mark.parametrize("first", ["a", "x"])
def test_two_failures_one_retried(first: str) -> None:
    """What the other failure blocks stays blocked; the rest opens again."""
    world = World(document(*map(activity, "axbc"), edges="a>b b>c x>c"))
    ended(world, "a- x-")
    other = "x" if first == "a" else "a"
    world.ok(world.retry(first))
    world.done(first)
    if first == "a":
        assert world.statuses["b"] == "scheduled"
        world.done("b")
        assert world.step("c").cause == "x"
    assert world.statuses["c"] == "blocked"
    assert world.run == "stalled"
    world.ok(world.retry(other))
    world.done(other)
    if other == "a":
        world.done("b")
    world.done("c")
    assert world.run == "succeeded"


def test_conditions_can_ask_how_a_branch_ended_that_was_never_done() -> None:
    links = [
        edge("a:failed>b"),
        edge("a>c"),
        edge("b>d"),
        edge("c>d"),
        edge("d>e", when="steps.b.outcome == 'not_taken'"),
    ]
    world = World(document(*map(activity, "abcde"), edges=links))
    world.done("a", "c", "d")
    assert world.statuses["e"] == "scheduled"
