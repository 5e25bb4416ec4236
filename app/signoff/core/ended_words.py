"""What is said about a step that is over."""

from __future__ import annotations

from signoff.core.definition import FormConfig, SignalConfig, SubflowConfig
from signoff.core.plan import Plan
from signoff.core.states import RunState, StepState, StepStatus
from signoff.core.wording import clock, listed, sentence


def ended_words(plan: Plan, state: RunState, step_id: str, step: StepState) -> tuple[str, str]:
    """What became of it, and what may follow."""
    label, when = f"'{plan.label(step_id)}'", clock(step.since)
    match step.status:
        case StepStatus.SUCCEEDED if step.by_hand:
            return f"{label} was done by hand by {step.by_hand} on {when}.", ""
        case StepStatus.SUCCEEDED:
            done = {
                "approved": "was approved",
                "elapsed": "is over",
                "submitted": "was filled in",
                "received": "got its signal",
            }.get(step.outcome, "succeeded")
            return f"{label} {done} on {when}{_by(step)}.", ""
        case StepStatus.REJECTED:
            said = step.approval.votes[-1].comment if step.approval and step.approval.votes else ""
            return sentence(f"{label} was rejected on {when}{_by(step)}" + (f": {said}" if said else "")), ""
        case StepStatus.FAILED:
            message = step.error.message if step.error else "no reason was given"
            return sentence(f"{label} failed on {when}: {message}"), ""
        case StepStatus.EXPIRED:
            config = plan.steps[step_id].config
            if isinstance(config, SignalConfig):
                return f"{label} expired on {when}: the signal '{config.signal}' did not come in time.", ""
            if isinstance(config, SubflowConfig):
                return f"{label} expired on {when}: the run {step.child} did not end in time.", ""
            deed = "filled it in" if isinstance(config, FormConfig) else "decided it"
            return f"{label} expired on {when}: nobody {deed} in time.", ""
        case StepStatus.NOT_TAKEN:
            return f"{label} was not taken: no way into it was chosen.", ""
        case StepStatus.BLOCKED:
            known = step.cause in plan.steps
            cause = f"'{plan.label(step.cause)}'" if known else "an earlier step"
            mendable = not known or state.steps[step.cause].status is not StepStatus.REJECTED
            opens = f"It opens again when {cause} is mended." if mendable else ""
            return f"{label} cannot begin, because {cause} did not end well.", opens
        case _:
            return f"{label} was {step.status} on {when}.", ""


def _by(step: StepState) -> str:
    if not step.approval or not step.approval.votes:
        return ""
    names = list(dict.fromkeys(v.name for v in step.approval.votes if v.outcome == step.outcome))
    return f" by {listed(names)}" if names else ""
