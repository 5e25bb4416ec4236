"""How facts about the items of a list change the state."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

from signoff.core import events as e
from signoff.core import items as lists
from signoff.core.altered import altered
from signoff.core.evolve.steps import with_output, with_step, without_partial
from signoff.core.plan import Plan
from signoff.core.states import ItemsState, ItemState, RunState, StepStatus


def _with(state: RunState, step: str, at: datetime, items: ItemsState, **changes: Any) -> RunState:
    status = lists.status_of(items, state.steps[step].status)
    timer, due = lists.clock_of(items)
    return with_step(state, step, at, items=items, status=status, timer=timer, due=due, **changes)


def _items(state: RunState, step: str) -> ItemsState:
    items = state.steps[step].items
    assert items is not None, "no list is open"
    return items


def _open(state: RunState, step: str, item: int) -> ItemState:
    found = _items(state, step).find(item)
    assert found is not None, "that item is not open"
    return found


def opened(plan: Plan, state: RunState, event: e.ItemsOpened) -> RunState:
    """The list is known; nothing of it has begun."""
    state = altered(state, partial=lists.with_items(state.partial, event))
    return with_step(
        state,
        event.step,
        event.at,
        status=StepStatus.SCHEDULED,
        attempt=1,
        first_scheduled_at=event.at,
        items=lists.opened(event),
    )


def scheduled(state: RunState, event: e.ActivityScheduled) -> RunState:
    """An item may be claimed."""
    items = _items(state, event.step)
    old = items.find(event.item)
    first = old.first_scheduled_at if old else event.at
    one = ItemState(
        event.item,
        StepStatus.SCHEDULED,
        event.attempt,
        since=event.at,
        due=event.queue_due,
        first_scheduled_at=first,
    )
    return _with(state, event.step, event.at, lists.put(items, one))


def started(state: RunState, event: e.ActivityStarted) -> RunState:
    """A worker holds the claim of an item."""
    one = replace(
        _open(state, event.step, event.item),
        status=StepStatus.RUNNING,
        fence=event.fence,
        worker=event.worker,
        since=event.at,
        due=event.run_due,
    )
    return _with(state, event.step, event.at, lists.put(_items(state, event.step), one), fence=event.fence)


def attempt_failed(state: RunState, event: e.ActivityFailed) -> RunState:
    """The attempt of an item is over; what follows decides where it goes."""
    one = _open(state, event.step, event.item)
    one = replace(one, status=StepStatus.RETRYING, error=event.error, worker="", since=event.at, due=None)
    return _with(state, event.step, event.at, lists.put(_items(state, event.step), one))


def retry_armed(state: RunState, event: e.RetryArmed) -> RunState:
    """The next attempt of an item has a time."""
    one = replace(_open(state, event.step, event.item), due=event.due)
    return _with(state, event.step, event.at, lists.put(_items(state, event.step), one))


def succeeded(plan: Plan, state: RunState, event: e.ItemSucceeded) -> RunState:
    """One item is done."""
    items = _items(state, event.step)
    state = altered(state, partial=lists.with_items(state.partial, event))
    return _with(state, event.step, event.at, replace(lists.without(items, event.item), done=items.done + 1))


def failed(plan: Plan, state: RunState, event: e.ItemFailed) -> RunState:
    """One item failed for good: nothing more begins."""
    items = lists.only_running(lists.without(_items(state, event.step), event.item))
    items = replace(items, failed=(*items.failed, event.item), error=items.error or event.error)
    return _with(state, event.step, event.at, items)


def withdrawn(plan: Plan, state: RunState, event: e.ItemsWithdrawn) -> RunState:
    """Only what is under way is awaited."""
    return _with(state, event.step, event.at, lists.only_running(_items(state, event.step)))


def all_succeeded(plan: Plan, state: RunState, event: e.ItemsSucceeded) -> RunState:
    """The step has its output."""
    state = with_output(state, event.step, event.output)
    state = without_partial(state, event.step)
    return with_step(
        state,
        event.step,
        event.at,
        status=StepStatus.SUCCEEDED,
        outcome="succeeded",
        edges=event.edges,
        error=None,
        items=None,
    )
