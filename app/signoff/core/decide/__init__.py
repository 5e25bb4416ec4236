"""`decide(plan, state, command, facts)`: events, or a Rejection. The rules of the engine, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from signoff.core import commands as c
from signoff.core.decide import (
    activities,
    approvals,
    by_hand,
    forms,
    migrating,
    operators,
    outcomes,
    reassigning,
    runs,
    signals,
    subflows,
    timers,
)
from signoff.core.decide.build import Build
from signoff.core.decide.limiting import pause_long_history
from signoff.core.events import Event
from signoff.core.facts import Facts
from signoff.core.payload import is_text
from signoff.core.plan import Plan
from signoff.core.rejection import Rejection
from signoff.core.states import RunState

Handler = Callable[[Build, Any], Rejection | None]

_HANDLERS: dict[type[c.Command], Handler] = {
    c.StartRun: runs.start,
    c.ClaimActivity: activities.claim,
    c.CompleteActivity: activities.complete,
    c.FailActivity: activities.fail,
    c.ExpireLease: activities.expire_lease,
    c.FireTimer: timers.fire,
    c.Decide: approvals.decide,
    c.SubmitForm: forms.submit,
    c.ReceiveSignal: signals.receive,
    c.EndSubflow: subflows.end,
    c.ReturnForm: forms.return_work,
    c.CheckApprovers: approvals.check_approvers,
    c.PauseRun: operators.pause,
    c.ResumeRun: operators.resume,
    c.CancelRun: operators.cancel,
    c.TerminateRun: operators.terminate,
    c.RetryStep: operators.retry,
    c.ReplayDeadLetter: outcomes.replay,
    c.SkipStep: operators.skip,
    c.ResolveOutcome: outcomes.resolve,
    c.CompleteByHand: by_hand.complete,
    c.ReassignStep: reassigning.reassign,
    c.WithdrawVote: reassigning.withdraw,
    c.EditInput: operators.edit_input,
    c.MigrateRun: migrating.migrate,
}


def decide(
    plan: Plan, state: RunState, command: c.Command, facts: Facts
) -> tuple[RunState, tuple[Event, ...]] | Rejection:
    """Decide one command.

    Args:
        plan: of the version the run is pinned to.
        state: the run as it is; an empty `RunState` for `StartRun`.
        command: what is asked.
        facts: everything from outside that the decision needs.

    Returns:
        The new state and the events that lead to it, or a Rejection, in which case nothing changed.
    """
    words = getattr(command, "comment", "") or getattr(command, "reason", "")
    if not is_text(words):
        message = "The comment or reason holds half of a character, which cannot be stored."
        return Rejection("bad_text", message, "Write it again.", evidence=False)
    build = Build(plan, state, facts)
    refused = _HANDLERS[type(command)](build, command)
    if refused is not None:
        return refused
    pause_long_history(build, state.sequence)
    return build.state, tuple(build.events)
