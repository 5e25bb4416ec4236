"""How moving to another version changes the state. Everything comes from the event: no plan is asked."""

from __future__ import annotations

from signoff.core import events as e
from signoff.core.altered import altered
from signoff.core.evolve.steps import begun_again
from signoff.core.migration_events import outputs_after
from signoff.core.plan import Plan
from signoff.core.states import RunState, RunStatus, StepState, StepStatus

_NEVER_BEGAN = (StepStatus.PENDING, StepStatus.BLOCKED, StepStatus.NOT_TAKEN)


def migrated(plan: Plan, state: RunState, event: e.RunMigrated) -> RunState:
    """The steps of the new version; what was done stays done, also where its step was removed."""
    steps: dict[str, StepState] = {}
    kept = set()
    for new, old, generation in event.steps:
        was = state.steps.get(old) or state.retired.get(old)
        kept.add(old)
        if was is None:
            steps[new] = StepState(generation=generation, changed=state.sequence, since=event.at)
        elif was.generation == generation:
            steps[new] = was
        else:
            steps[new] = begun_again(state, was, generation, event.at)
    retired = {i: s for i, s in state.retired.items() if i not in kept}
    retired.update({i: s for i, s in state.steps.items() if i not in kept and s.status not in _NEVER_BEGAN})
    goes_on = state.status is RunStatus.STALLED
    return altered(
        state,
        digest=event.to_digest,
        version=event.definition_version,
        steps=steps,
        retired=retired,
        edges=dict(event.ways),
        outputs=outputs_after(state.outputs, event),
        partial=outputs_after(state.partial, event),
        input=state.input if event.input is None else event.input,
        input_changed=state.input_changed if event.input is None else state.sequence,
        status=RunStatus.RUNNING if goes_on else state.status,
        since=event.at if goes_on else state.since,
        reason="" if goes_on else state.reason,
    )
