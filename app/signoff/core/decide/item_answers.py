"""Claims and answers of the items of a list. The fencing token, which grows over the step, says which item it is."""

from __future__ import annotations

from typing import Any

from signoff.core import commands as c
from signoff.core import events as e
from signoff.core.decide.advance import after, fail_step
from signoff.core.decide.build import Build
from signoff.core.decide.items import go_on, item_over
from signoff.core.definition import ActivityConfig
from signoff.core.payload import plain_json
from signoff.core.rejection import Rejection
from signoff.core.retry import within_total
from signoff.core.states import ErrorInfo, ItemState, RunStatus, StepStatus

Answer = c.CompleteActivity | c.FailActivity | c.ExpireLease


def is_for_each(build: Build, step_id: str) -> bool:
    """Whether what is called for the step now is called for each item of a list; it is undone as a whole."""
    config = build.plan.steps[step_id].config
    each = isinstance(config, ActivityConfig) and config.for_each is not None
    return each and not build.state.steps[step_id].undo


def claim_item(build: Build, command: c.ClaimActivity) -> Rejection | None:
    """Hand the scheduled attempt of an item to one worker, with the step's next fencing token."""
    step = build.state.steps[command.step]
    one = step.items.find(command.item) if step.items else None
    config = build.plan.steps[command.step].config
    assert isinstance(config, ActivityConfig)
    fits = (
        one is not None
        and one.status is StepStatus.SCHEDULED
        and (step.generation, one.attempt) == (command.generation, command.attempt)
        and build.state.status in (RunStatus.RUNNING, RunStatus.STALLED)
    )
    if one is None or not fits:
        message = f"Item {command.item} of step '{command.step}' is not waiting for a worker."
        return Rejection("not_claimable", message, "Claim another task.", evidence=False)
    build.emit(
        e.ActivityStarted(
            at=build.now,
            step=command.step,
            generation=step.generation,
            attempt=one.attempt,
            fence=step.fence + 1,
            worker=command.actor.id,
            run_due=within_total(config.retry, one.first_scheduled_at or build.now, build.now, config.timeouts.run_s),
            item=one.item,
        )
    )
    return None


def _find(build: Build, command: Answer) -> ItemState | None:
    step = build.state.steps[command.step]
    if step.items is None or command.generation != step.generation:
        return None
    for one in step.items.open:
        if (one.fence, one.attempt, one.status) == (command.fence, command.attempt, StepStatus.RUNNING):
            return one
    return None


def item_of(build: Build, command: Answer) -> ItemState:
    """The item whose claim a fitting answer is about."""
    found = _find(build, command)
    assert found is not None
    return found


def stale_item(build: Build, command: Answer) -> Rejection | None:
    """Refuse what is not about a claim that is under way."""
    if _find(build, command) is not None:
        return None
    label = build.plan.label(command.step)
    if _is_known(build, command):
        message = f"The answer of item {command.item} of '{label}' is already known."
        return Rejection("already_known", message, "Nothing to do.", known=True)
    claim = f"{command.generation}.{command.attempt} #{command.fence}"
    message = f"The result for an item of '{label}' is from claim {claim}, which is not under way."
    return Rejection("stale_result", message, "Nothing to do; it is kept as evidence.")


def _is_known(build: Build, command: Answer) -> bool:
    """True where this very output of the item was accepted before, so that the sender may forget it."""
    if not isinstance(command, c.CompleteActivity) or command.item < 0:
        return False
    step, data = build.state.steps[command.step], build.state.partial.get(command.step)
    outputs: Any = data.outputs if data else dict(enumerate(build.state.outputs.get(command.step) or ()))
    if data and data.fences.get(command.item) != command.fence:
        return False
    if command.generation != step.generation or command.item not in outputs:
        return False
    try:
        return bool(plain_json(command.output) == outputs[command.item])
    except ValueError:
        return False


def item_answered(build: Build, command: Answer, output: Any, error: ErrorInfo | None) -> None:
    """Take the result of an item, or its failure; then go on with the list."""
    one = item_of(build, command)
    if error:
        item_over(build, command.step, one, error)
    else:
        build.emit(
            e.ItemSucceeded(
                at=build.now,
                step=command.step,
                generation=command.generation,
                item=one.item,
                attempt=one.attempt,
                fence=one.fence,
                output=output,
            )
        )
    go_on(build, command.step, fail_step)
    after(build, command.step)
