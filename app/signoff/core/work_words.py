"""What `explain` says of activities under way that call more than once: (what is, what happens next)."""

from __future__ import annotations

from signoff.core.definition import Poll
from signoff.core.plan import Plan
from signoff.core.polling import deadline
from signoff.core.states import ItemsState, StepState, StepStatus
from signoff.core.wording import clock, listed, sentence


def items_words(items: ItemsState, label: str) -> tuple[str, str]:
    """Work on a list: how many are done, which do not go well, what is due."""
    open_now = f", {len(items.open)} under way" if items.open else ""
    said = f"{label} works on a list: {items.done} of {items.total} done{open_now}."
    failing = sorted({*items.failed, *(x.item for x in items.open if x.error)})
    if failing:
        names = listed([str(i) for i in failing], most=10)
        said += f" Not well so far: item {names} (counted from 0)."
    due = [x.due for x in items.open if x.status is StepStatus.RETRYING and x.due]
    if due:
        return said, f"An item is tried again at {clock(min(due))}."
    first = min((x.due for x in items.open if x.due), default=None)
    return said, f"An item must answer by {clock(first)}." if first else "A worker takes the next item."


def poll_words(plan: Plan, poll: Poll, step: StepState, label: str) -> tuple[str, str]:
    """An activity that is asked again."""
    times = "once" if step.polls == 1 else f"{step.polls} times"
    end = deadline(poll, step, plan.worktime, step.since) if step.since else None
    due = f"It is asked again at {clock(step.due)} and gives up at {clock(end)}." if step.due else ""
    return f"{label} was asked {times}, and what it waits for ('{poll.until}') is not true yet.", due


def probe_words(step: StepState, label: str) -> tuple[str, str]:
    """A lost call that is looked up."""
    lost = sentence(step.error.message) if step.error else "Its answer was lost."
    said = f"It is not known whether {label} took effect: {lost}"
    match step.status:
        case StepStatus.SCHEDULED:
            return f"{said} A probe waits for a free worker since {clock(step.since)}.", "A worker takes it."
        case StepStatus.RUNNING:
            due = f"It must answer by {clock(step.due)}." if step.due else ""
            return f"{said} Worker '{step.worker}' is finding out (probe {step.probe}).", due
        case _:
            return said, f"A probe finds out at {clock(step.due)}." if step.due else ""
