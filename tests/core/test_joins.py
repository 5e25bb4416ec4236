"""Which steps begin, die or are blocked when edges resolve (semantics §3), as tables."""

from __future__ import annotations

import pytest

from tests.core.kit import World, activity, document

A_FAILED = {"a": "failed"}


def ended(world: World, ends: str) -> None:
    """`a+ b- c!` completes a, fails b for good, and rejects c."""
    for word in ends.split():
        match word[-1]:
            case "+":
                world.done(word[:-1])
            case "-":
                world.breaks(word[:-1])
            case "!":
                world.reject(word[:-1], "ann", "bob", "cem")


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
