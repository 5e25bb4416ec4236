"""Every order in which a few actors can use a small world, compared with the reference model after every step.

The scheduler does everything under one lock, so an interleaving is an order of whole operations. (That the lock
covers them is what ``test_threads`` is for.)
"""

from collections.abc import Callable, Iterator

import pytest

from tests.scheduler.pair import Pair

type Program = tuple[Callable[["World"], object], ...]

DIAMOND = (("a", ()), ("b", ()), ("c", ("a", "b")), ("d", ("c",)))


class World(Pair):
    """The pair, and what each claimer holds."""

    def __init__(self, watched: bool, slots: int | None) -> None:
        super().__init__(slots=slots, watched=watched)
        self.held: dict[str, list[tuple[str, int]]] = {"one": [], "two": []}
        self.ever: list[tuple[str, int]] = []
        for task, dependencies in DIAMOND:
            self.submit(task, dependencies)
        self.submit("e", ("a",), ("b",))


def claim(who: str, limit: int | None = 1) -> Callable[[World], object]:
    def step(world: World) -> None:
        claims = world.ready(limit)
        assert not set(claims) & set(world.ever), "claimed twice"
        world.held[who] += claims
        world.ever += claims

    return step


def end(who: str, how: str) -> Callable[[World], object]:
    """Report the last claim of that claimer; if there is none, report something that nobody claimed."""

    def step(world: World) -> None:
        claim = world.held[who][-1] if world.held[who] else ("d", 1)
        (world.complete if how == "complete" else world.fail)(*claim)

    return step


def cancel(task: str) -> Callable[[World], object]:
    return lambda world: world.cancel(task)


def close(queued: str) -> Callable[[World], object]:
    return lambda world: world.close(queued)


def resubmit(task: str, *dependencies: str) -> Callable[[World], object]:
    return lambda world: world.submit(task, dependencies)


def interleavings(lengths: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    if not any(lengths):
        yield ()
    for actor, left in enumerate(lengths):
        if left:
            rest = (*lengths[:actor], left - 1, *lengths[actor + 1 :])
            for order in interleavings(rest):
                yield (actor, *order)


def run_all(programs: tuple[Program, ...], watched: bool, slots: int | None) -> int:
    count = 0
    for order in interleavings(tuple(len(program) for program in programs)):
        world = World(watched, slots)
        steps = [iter(program) for program in programs]
        for actor in order:
            next(steps[actor])(world)
        count += 1
    return count


@pytest.mark.parametrize("queued", ["cancel", "keep"])
@pytest.mark.parametrize("how", ["complete", "fail"])
def test_two_claimers_two_completers_a_canceller_and_close(how: str, queued: str) -> None:
    programs: tuple[Program, ...] = (
        (claim("one"), claim("one")),
        (claim("two"),),
        (end("one", "complete"),),
        (end("two", how),),
        (cancel("b"),),
        (close(queued),),
    )
    assert run_all(programs, watched=how == "fail", slots=2) == 2520


def test_the_same_callback_from_two_sides_and_a_new_generation() -> None:
    programs: tuple[Program, ...] = (
        (claim("one", None), end("one", "complete"), end("one", "fail")),
        (end("one", "complete"), end("one", "fail")),
        (resubmit("b", "a"), resubmit("a")),
    )
    assert run_all(programs, watched=True, slots=None) == 210


def test_two_dependencies_that_complete_together_release_their_dependent_once() -> None:
    programs: tuple[Program, ...] = (
        (claim("one"), end("one", "complete"), claim("one", None)),
        (claim("two"), end("two", "complete"), claim("two", None)),
    )
    assert run_all(programs, watched=False, slots=None) == 20
