"""What explain says about a step that is being undone."""

from __future__ import annotations

from signoff.core.plan import Plan
from signoff.core.states import StepState, StepStatus
from signoff.core.wording import clock, sentence


def undo_words(plan: Plan, step_id: str, step: StepState) -> tuple[str, str] | None:
    """What is, and what happens by itself; None where nothing of the step is undone."""
    config = plan.steps[step_id].config
    compensation = getattr(config, "compensation", None)
    if not step.undo or compensation is None:
        return None
    label, due = f"'{plan.label(step_id)}'", clock(step.due) if step.due else ""
    attempts = f"attempt {step.undo} of {compensation.retry.max_attempts}"
    message = step.error.message if step.error else "it gave no reason"
    match step.status:
        case StepStatus.SCHEDULED:
            return f"The compensation of {label} waits for a free worker.", "A worker takes it."
        case StepStatus.RUNNING:
            said = f"{label} is being undone by worker '{step.worker}' since {clock(step.since)} ({attempts})."
            return said, f"It must answer by {due}." if due else ""
        case StepStatus.RETRYING:
            said = f"Undoing {label} failed at attempt {step.undo - 1 or 1}: {message}"
            return sentence(said), f"It is tried again at {due}." if due else ""
        case StepStatus.COMPENSATED:
            return f"{label} succeeded and was undone on {clock(step.since)}.", ""
        case StepStatus.FAILED:
            return (
                sentence(f"{label} was done, but undoing it failed on {clock(step.since)}: {message}"),
                "An operator lets it be tried again, or undoes it by hand and says so.",
            )
        case _:
            return None
