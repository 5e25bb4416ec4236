"""The sentences that graph, inbox, API and alerts show (semantics §11), as people will read them."""

from __future__ import annotations

import pytest

from signoff.core import commands as c
from signoff.core.wording import clock, listed, sentence
from tests.core.kit import OPERATOR, World, activity, approval, document, once, wait

BEGAN = "2027-01-04 09:00 UTC"


def told(world: World, step: str) -> tuple[str, str]:
    found = world.explain().of(step)
    return found.sentence, found.next


def test_an_activity_through_its_life() -> None:
    world = World(document(activity("a", retry={"initial_s": 60.0, "jitter": 0.0}), activity("b"), edges="a>b"))
    assert told(world, "a") == (f"'A' has waited for a free worker since {BEGAN}.", "A worker takes it.")
    assert told(world, "b") == ("'B' has not begun.", "It begins after 'A'.")
    world.claim("a")
    assert told(world, "a") == (
        f"'A' is being done by worker 'w1' since {BEGAN} (attempt 1 of 3).",
        "It must answer by 2027-01-04 09:01 UTC.",
    )
    world.ok(world.failure("a"))
    assert told(world, "a") == ("'A' failed at attempt 1 of 3: It broke.", "It tries again at 2027-01-04 09:01 UTC.")
    world.fire("a")
    world.done("a")
    assert told(world, "a") == ("'A' succeeded on 2027-01-04 09:01 UTC.", "")
    world.done("b")
    assert world.explain().sentence == "The run succeeded on 2027-01-04 09:01 UTC."


def test_an_approval_through_its_life() -> None:
    world = World(document(approval("p", required=2, expires="P1D")))
    assert told(world, "p") == (
        f"'P' has waited for a decision of ann, bob or cem since {BEGAN} (0 of 2 approvals given).",
        "It expires at 2027-01-05 09:00 UTC.",
    )
    world.approve("p", "bob")
    assert world.explain().of("p").waits_for == ("ann", "cem")
    world.approve("p", "cem")
    assert told(world, "p") == (f"'P' was approved on {BEGAN} by Bob and Cem.", "")


def test_a_rejection_is_told_with_its_reason() -> None:
    world = World(document(approval("p", required=0)))
    world.ok(world.vote("p", "ann", "rejected", comment="Too dear"))
    assert told(world, "p") == (f"'P' was rejected on {BEGAN} by Ann: Too dear.", "")
    assert world.explain().sentence == f"The run was rejected on {BEGAN}. Rejected at 'P'."


def test_a_wait() -> None:
    world = World(document(wait("w")))
    assert told(world, "w") == (
        "'W' waits until 2027-01-04 10:00 UTC.",
        "The run goes on at 2027-01-04 10:00 UTC.",
    )


def test_joins_are_told_with_and_or_or() -> None:
    steps = [*map(activity, "ab"), activity("c"), activity("d", join="any")]
    world = World(document(*steps, edges="a>c b>c a>d b>d"))
    assert told(world, "c")[1] == "It begins after 'A' and 'B'."
    assert told(world, "d")[1] == "It begins after 'A' or 'B'."


def test_a_stalled_run_says_what_can_be_done() -> None:
    world = World(document(once("a"), activity("b"), edges="a>b"))
    world.breaks("a")
    found = world.explain()
    assert found.sentence == "The run needs a person. 'A' failed: It broke."
    assert found.next == "An operator retries or skips the step, mends the input, or cancels the run."
    assert found.of("a").actions == ("retry_step", "skip_step", "complete_step")
    assert found.actions == ("pause_run", "edit_input", "cancel_run", "terminate_run")


def test_only_what_the_reader_may_do_is_offered() -> None:
    world = World(document(once("a"), approval("p")))
    world.breaks("a")
    found = world.explain(may=("decide",), reader="bob")
    assert (found.actions, found.of("a").actions, found.of("p").actions) == ((), (), ("decide",))
    assert world.explain(may=("decide",), reader="dan").of("p").actions == ()
    assert world.explain(may=("retry_step",), reader="bob").of("p").actions == ()
    assert world.explain(reader="BOB").of("p").actions == ("decide", "reassign_step")


def test_stopping_pausing_and_ends() -> None:
    world = World(document(activity("a")))
    world.pause()
    assert (
        world.explain().sentence == f"The run has been paused since {BEGAN}: Audit. Nothing starts and no clock runs."
    )
    assert world.explain().next == "An operator resumes the run."
    assert told(world, "a")[1] == "It goes on when the run is resumed."
    assert world.explain().actions[0] == "resume_run"
    world.resume()
    world.claim("a")
    world.cancel()
    assert world.explain().sentence == "The run is being stopped (No longer needed.); it waits for the answer of 'A'."
    world.ok(c.TerminateRun(actor=OPERATOR, reason="Wrong customer"))
    assert world.explain().sentence == f"The run was terminated on {BEGAN}: Wrong customer."
    assert told(world, "a")[0] == f"'A' was cancelled on {BEGAN}."


@pytest.mark.parametrize(
    ("names", "text"),
    [
        ([], ""),
        (["Ann"], "Ann"),
        (["Ann", "Bob"], "Ann or Bob"),
        (list("abcd"), "a, b, c or d"),
        (list("abcdef"), "a, b, c or 3 others"),
    ],
)
def test_lists_of_names(names: list[str], text: str) -> None:
    assert listed(names, "or") == text


def test_other_peoples_words_become_sentences() -> None:
    assert [sentence(x) for x in ("no", "no.", "no! ", "", "wait…")] == ["no.", "no.", "no!", "", "wait…"]
    assert clock(None) == "an unknown time"


def test_what_a_rejection_blocks_does_not_promise_to_open_again() -> None:
    world = World(document(approval("p", required=0), activity("a"), wait("w"), edges="p>a"))
    world.reject("p", "ann")
    assert told(world, "a") == ("'A' cannot begin, because 'P' did not end well.", "")


def test_nothing_is_promised_in_a_run_that_is_over() -> None:
    world = World(document(once("a"), activity("b"), edges="a>b"))
    world.breaks("a")
    assert told(world, "b")[1] == "It opens again when 'A' is mended."
    world.cancel()
    assert told(world, "b")[1] == ""
