"""Calling for each item of a list: bounded parallelism, own attempts, one output in the order of the items."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from signoff.core import events as e
from signoff.core.decide.build import Build
from signoff.core.decide.inputs import resolved
from signoff.core.definition import ActivityConfig, ForEach, Step
from signoff.core.expression import ExpressionError
from signoff.core.flow import resolve_edges, scope_of
from signoff.core.payload import plain_json
from signoff.core.retry import retry_due, within_total
from signoff.core.states import ErrorInfo, ItemsState, ItemState, StepStatus, idempotency_key
from signoff.core.wording import listed, sentence

Fail = Callable[[Build, str, ErrorInfo], None]
SHOWN_ITEMS = 10


def _parts(build: Build, step_id: str) -> tuple[ActivityConfig, ForEach]:
    config = build.plan.steps[step_id].config
    assert isinstance(config, ActivityConfig)
    assert config.for_each is not None
    return config, config.for_each


def _items(build: Build, step_id: str) -> ItemsState:
    items = build.state.steps[step_id].items
    assert items is not None
    return items


def open_items(build: Build, step: Step, fail: Fail) -> None:
    """Evaluate the list and begin with it; items that had succeeded and have not changed are kept.

    Raises:
        ExpressionError: the list cannot be made, or is none.
    """
    _, each = _parts(build, step.id)
    items = build.plan.lists[step.id].evaluate(scope_of(build.state))
    if not isinstance(items, list):
        raise ExpressionError(f"'{each.items}' gives no list to go through.")
    if len(items) > each.max_items:
        message = f"The list has {len(items)} items; at most {each.max_items} are allowed."
        fail(build, step.id, ErrorInfo("too_many_items", message, False))
        return
    state = build.state.steps[step.id]
    before = build.state.partial.get(step.id)
    kept: tuple[int, ...] = ()
    if before is not None and before.round == state.round:
        same = (i for i in sorted(before.outputs) if i < len(items) and before.items[i] == items[i])
        kept = tuple(same)
    build.emit(
        e.ItemsOpened(
            at=build.now, step=step.id, generation=state.generation, round=state.round, items=items, kept=kept
        )
    )
    go_on(build, step.id, fail)


def go_on(build: Build, step_id: str, fail: Fail) -> None:
    """Begin as many items as may be under way; end the step where none is left."""
    _, each = _parts(build, step_id)
    while not build.state.stopping and not _items(build, step_id).failed:
        items = _items(build, step_id)
        if items.upcoming is None or len(items.open) >= each.parallel:
            break
        schedule_item(build, step_id, items.upcoming, 1)
    if not _items(build, step_id).open:
        _end(build, step_id, fail)


def schedule_item(build: Build, step_id: str, item: int, attempt: int) -> None:
    """Let a worker take an item; one whose input cannot be made has failed."""
    config, _ = _parts(build, step_id)
    state, data = build.state.steps[step_id], build.state.partial[step_id]
    scope = {**scope_of(build.state), "item": data.items[item], "index": item}
    try:
        given = resolved(build.plan.templates[step_id], scope, build.plan.label(step_id))
    except ExpressionError as problem:
        _fail_item(build, step_id, item, ErrorInfo("mapping_error", str(problem), False))
        return
    one = state.items.find(item) if state.items else None
    first = one.first_scheduled_at if one and one.first_scheduled_at else build.now
    build.emit(
        e.ActivityScheduled(
            at=build.now,
            step=step_id,
            generation=state.generation,
            attempt=attempt,
            key=f"{idempotency_key(build.state.run_id, step_id, state)}/{item}",
            input=given,
            queue_due=within_total(config.retry, first, build.now, config.timeouts.queue_s),
            item=item,
        )
    )


def _fail_item(build: Build, step_id: str, item: int, error: ErrorInfo) -> None:
    generation = build.state.steps[step_id].generation
    build.emit(e.ItemFailed(at=build.now, step=step_id, generation=generation, item=item, error=error))


def item_over(build: Build, step_id: str, one: ItemState, error: ErrorInfo) -> None:
    """The attempt of an item gave no result: try again where its policy allows it, else it has failed."""
    config, _ = _parts(build, step_id)
    generation = build.state.steps[step_id].generation
    build.emit(
        e.ActivityFailed(
            at=build.now,
            step=step_id,
            generation=generation,
            attempt=one.attempt,
            fence=one.fence,
            error=error,
            item=one.item,
        )
    )
    due = None
    hopeless = build.state.stopping or _items(build, step_id).failed
    if not hopeless:
        due = retry_due(
            config.retry,
            config.effect,
            error,
            attempt=one.attempt,
            first_scheduled_at=one.first_scheduled_at,
            now=build.now,
            jitter=build.facts.jitter,
        )
    if due is None:
        _fail_item(build, step_id, one.item, error)
        return
    build.emit(
        e.RetryArmed(at=build.now, step=step_id, generation=generation, attempt=one.attempt + 1, due=due, item=one.item)
    )


def fire_items(build: Build, step_id: str) -> None:
    """Act on every item that is due: its run or queue time is over, or it is tried again."""
    for one in _items(build, step_id).open:
        items = _items(build, step_id)
        if one.due is None or one.due > build.now or one not in items.open:
            continue
        match one.status:
            case StepStatus.RUNNING:
                error = ErrorInfo("run_timeout", "It did not answer within its run time.")
                item_over(build, step_id, one, error)
            case StepStatus.SCHEDULED:
                item_over(build, step_id, one, ErrorInfo("queue_timeout", "No worker took it in time."))
            case _:
                schedule_item(build, step_id, one.item, one.attempt + 1)


def withdraw_items(build: Build, step_id: str, reason: str) -> None:
    """The run is being stopped: await only calls that are under way."""
    generation = build.state.steps[step_id].generation
    build.emit(e.ItemsWithdrawn(at=build.now, step=step_id, generation=generation, reason=reason))


def _end(build: Build, step_id: str, fail: Fail) -> None:
    items, state = _items(build, step_id), build.state
    if items.failed:
        fail(build, step_id, _error_of(items))
        return
    if items.done < items.total:
        build.emit(e.StepCancelled(at=build.now, step=step_id, reason=state.reason))
        return
    outputs = state.partial[step_id].outputs
    try:
        output: list[Any] = plain_json([outputs[i] for i in range(items.total)])
    except ValueError as problem:
        message = f"Something is wrong with the output of '{build.plan.label(step_id)}'. {problem}"
        fail(build, step_id, ErrorInfo("invalid_output", message, False))
        return
    edges = resolve_edges(build.plan, state, step_id, "succeeded", output)
    generation = state.steps[step_id].generation
    build.emit(e.ItemsSucceeded(at=build.now, step=step_id, generation=generation, output=output, edges=edges))


def _error_of(items: ItemsState) -> ErrorInfo:
    """Which items failed, and why the first of them did."""
    first = items.error or ErrorInfo("failed", "It gave no reason.")
    names = listed([str(i) for i in sorted(items.failed)], most=SHOWN_ITEMS)
    what = f"Item {names}" if len(items.failed) == 1 else f"Items {names}"
    said = f"{what} of {items.total} failed (counted from 0); {items.done} had succeeded. {sentence(first.message)}"
    return ErrorInfo("items_failed" if len(items.failed) > 1 else first.code, said, False)
