"""Steps that call for each item of a list: their data, their clocks, what a state of theirs comes to. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime

from signoff.core import events as e
from signoff.core.states import ItemsData, ItemsState, ItemState, StepStatus, TimerKind


def with_items(partial: Mapping[str, ItemsData], event: e.ItemsOpened | e.ItemSucceeded) -> dict[str, ItemsData]:
    """The lists and results so far, with one more fact."""
    old = partial.get(event.step)
    if isinstance(event, e.ItemsOpened):
        kept = {i: old.outputs[i] for i in event.kept} if old else {}
        return {**partial, event.step: ItemsData(event.items, kept, {}, event.round)}
    assert old is not None
    outputs = {**old.outputs, event.item: event.output}
    fences = {**old.fences, event.item: event.fence}
    return {**partial, event.step: ItemsData(old.items, outputs, fences, old.round)}


def opened(event: e.ItemsOpened) -> ItemsState:
    """How far a step is that has just begun."""
    total, kept = len(event.items), frozenset(event.kept)
    if not kept:
        return ItemsState(total)
    again = tuple(i for i in range(total) if i not in kept)
    return ItemsState(total, next=total, again=again, done=len(kept))


def put(items: ItemsState, one: ItemState) -> ItemsState:
    """With an item as it is now; one that was not open before is the one that was upcoming."""
    if items.find(one.item) is None:
        began = {"again": items.again[1:]} if items.again else {"next": items.next + 1}
        return replace(items, open=(*items.open, one), **began)
    return replace(items, open=tuple(one if x.item == one.item else x for x in items.open))


def without(items: ItemsState, item: int) -> ItemsState:
    """Without an open item; one that never became open (its input could not be made) has begun all the same."""
    if items.find(item) is None:
        began = {"again": items.again[1:]} if items.again else {"next": items.next + 1}
        return replace(items, **began)
    return replace(items, open=tuple(x for x in items.open if x.item != item))


def only_running(items: ItemsState) -> ItemsState:
    """With nothing to come, and only those items open whose calls are under way."""
    under_way = tuple(x for x in items.open if x.status is StepStatus.RUNNING)
    return replace(items, open=under_way, again=(), next=items.total)


def status_of(items: ItemsState, before: StepStatus) -> StepStatus:
    """What the step is: running while any item is, else scheduled, else retrying."""
    found = {x.status for x in items.open}
    for status in (StepStatus.RUNNING, StepStatus.SCHEDULED, StepStatus.RETRYING):
        if status in found:
            return status
    return StepStatus.RETRYING if items.failed else before


def clock_of(items: ItemsState) -> tuple[TimerKind | None, datetime | None]:
    """The step's one timer: it fires when the first of its items is due."""
    due = min((x.due for x in items.open if x.due), default=None)
    return (TimerKind.RUN, due) if due else (None, None)


def shifted(items: ItemsState, began: datetime, at: datetime) -> ItemsState:
    """After a pause from `began` to `at` each item has as much time left as before."""

    def one(x: ItemState) -> ItemState:
        stood, first = at - max(began, x.since or began), x.first_scheduled_at
        moved = first + (at - max(began, first)) if first else None
        return replace(x, due=x.due + stood if x.due else None, first_scheduled_at=moved)

    return replace(items, open=tuple(one(x) for x in items.open))
