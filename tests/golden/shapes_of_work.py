"""Shapes of golden histories about activities that call more than once."""

from __future__ import annotations

from tests.core.kit import World, activity, document
from tests.golden.shapes import shape


@shape
def each_item_of_a_list() -> World:
    form = [{"name": "rows", "type": "list"}]
    retry = {"max_attempts": 2, "initial_s": 10.0, "jitter": 0.0}
    each = {"items": "input.rows", "parallel": 2}
    step = activity("copy", for_each=each, input={"row": "=item.n", "at": "=index"}, retry=retry)
    world = World(
        document(step, activity("then"), edges="copy>then", input=form), {"rows": [{"n": n} for n in range(4)]}
    )
    world.item_done("copy", 1, {"n": 10})
    world.ok(world.item_failure("copy", 0))
    world.item_done("copy", 2, {"n": 20})
    world.fire("copy")
    world.claim_item("copy", 3)
    world.ok(world.item_failure("copy", 0, retryable=False))
    world.item_done("copy", 3, {"n": 30})
    world.ok(world.retry("copy"))
    world.pause()
    world.resume()
    world.item_done("copy", 0, {"n": 0})
    world.done("then")
    return world


@shape
def a_list_is_withdrawn() -> World:
    each = {"items": "[1, 2, 3]", "parallel": 2}
    world = World(document(activity("copy", for_each=each, input={"n": "=item"})))
    world.claim_item("copy", 0)
    world.cancel()
    world.item_done("copy", 0, 1)
    return world
