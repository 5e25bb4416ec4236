"""What each command meets in each state, as data. The states page and the tests are made from these tables.

A cell holds `accepted` or the code of the refusal that a well-formed command gets: one that names the
current generation, attempt and fence, a timer that is due, a person on the roster, a reason.
`decide` holds the rules; these tables say what they come to, and a test compares every cell.
"""

from __future__ import annotations

from collections.abc import Mapping

from signoff.core import commands as c
from signoff.core.definition import StepKind
from signoff.core.states import RunStatus, StepStatus

ACCEPTED = "accepted"

Row = Mapping[type[c.Command], str]

STEP_COMMANDS: tuple[type[c.Command], ...] = (
    c.ClaimActivity,
    c.CompleteActivity,
    c.FailActivity,
    c.ExpireLease,
    c.FireTimer,
    c.Decide,
    c.WithdrawVote,
    c.SubmitForm,
    c.ReturnForm,
    c.ReceiveSignal,
    c.EndSubflow,
    c.CheckApprovers,
    c.RetryStep,
    c.ReplayDeadLetter,
    c.SkipStep,
    c.ResolveOutcome,
    c.CompleteByHand,
    c.ReassignStep,
)
RUN_COMMANDS: tuple[type[c.Command], ...] = (
    c.StartRun,
    c.PauseRun,
    c.ResumeRun,
    c.CancelRun,
    c.TerminateRun,
    c.EditInput,
    c.MigrateRun,
)

_NO_RESULT = {c.CompleteActivity: "stale_result", c.FailActivity: "stale_result", c.ExpireLease: "stale_result"}
_NO_FORM = {c.SubmitForm: "unknown_step", c.ReturnForm: "unknown_step"}
_NO_ACTIVITY = {c.CompleteActivity: "unknown_step", c.FailActivity: "unknown_step", c.ExpireLease: "unknown_step"}
_USUAL: Row = {
    c.ReceiveSignal: "unknown_step",
    c.EndSubflow: "unknown_step",
    c.ClaimActivity: "not_claimable",
    c.FireTimer: "obsolete_timer",
    c.CheckApprovers: "not_open",
    c.RetryStep: "not_failed",
    c.ReplayDeadLetter: "no_dead_letter",
    c.SkipStep: "cannot_skip_now",
    c.ResolveOutcome: "not_in_doubt",
    c.CompleteByHand: "not_an_activity",
    c.ReassignStep: "unknown_step",
    c.WithdrawVote: "unknown_step",
}
_BASE: Mapping[StepKind, Row] = {
    StepKind.ACTIVITY: {
        **_USUAL,
        **_NO_RESULT,
        **_NO_FORM,
        c.Decide: "unknown_step",
        c.CompleteByHand: "cannot_complete_now",
    },
    StepKind.APPROVAL: {
        **_USUAL,
        **_NO_ACTIVITY,
        **_NO_FORM,
        c.Decide: "not_open",
        c.WithdrawVote: "not_open",
        c.ReassignStep: "not_open",
    },
    StepKind.WAIT: {**_USUAL, **_NO_ACTIVITY, **_NO_FORM, c.Decide: "unknown_step"},
    StepKind.SUBFLOW: {
        **_USUAL,
        **_NO_ACTIVITY,
        **_NO_FORM,
        c.Decide: "unknown_step",
        c.EndSubflow: "obsolete_child",
    },
    StepKind.SIGNAL: {
        **_USUAL,
        **_NO_ACTIVITY,
        **_NO_FORM,
        c.Decide: "unknown_step",
        c.ReceiveSignal: "not_waiting",
    },
    StepKind.FORM: {
        **_USUAL,
        **_NO_ACTIVITY,
        c.Decide: "unknown_step",
        c.SubmitForm: "not_open",
        c.ReturnForm: "not_open",
        c.ReassignStep: "not_open",
    },
}
_MENDABLE: Row = {c.RetryStep: ACCEPTED, c.SkipStep: ACCEPTED}

_SPECIAL: Mapping[tuple[StepKind, StepStatus], Row] = {
    (StepKind.ACTIVITY, StepStatus.PENDING): {},
    (StepKind.ACTIVITY, StepStatus.SCHEDULED): {
        c.ClaimActivity: ACCEPTED,
        c.FireTimer: ACCEPTED,
        c.SkipStep: ACCEPTED,
        c.CompleteByHand: ACCEPTED,
    },
    (StepKind.ACTIVITY, StepStatus.RUNNING): {
        c.CompleteActivity: ACCEPTED,
        c.FailActivity: ACCEPTED,
        c.ExpireLease: ACCEPTED,
        c.FireTimer: ACCEPTED,
        c.SkipStep: "effect_under_way",
        c.CompleteByHand: "effect_under_way",
    },
    (StepKind.ACTIVITY, StepStatus.RETRYING): {
        c.FailActivity: "already_known",
        c.FireTimer: ACCEPTED,
        c.SkipStep: ACCEPTED,
        c.CompleteByHand: ACCEPTED,
    },
    (StepKind.ACTIVITY, StepStatus.WAITING): {
        c.FireTimer: ACCEPTED,
        c.SkipStep: ACCEPTED,
        c.CompleteByHand: ACCEPTED,
    },
    (StepKind.ACTIVITY, StepStatus.OUTCOME_UNKNOWN): {
        c.SkipStep: "outcome_unknown",
        c.ResolveOutcome: ACCEPTED,
        c.CompleteByHand: ACCEPTED,
    },
    (StepKind.ACTIVITY, StepStatus.SUCCEEDED): {c.CompleteActivity: "already_known"},
    (StepKind.ACTIVITY, StepStatus.FAILED): {
        **_MENDABLE,
        c.ReplayDeadLetter: ACCEPTED,
        c.CompleteByHand: ACCEPTED,
        c.FailActivity: "already_known",
    },
    (StepKind.ACTIVITY, StepStatus.SKIPPED): {},
    (StepKind.ACTIVITY, StepStatus.NOT_TAKEN): {},
    (StepKind.ACTIVITY, StepStatus.BLOCKED): {},
    (StepKind.ACTIVITY, StepStatus.CANCELLED): {},
    (StepKind.APPROVAL, StepStatus.PENDING): {},
    (StepKind.APPROVAL, StepStatus.WAITING): {
        c.FireTimer: ACCEPTED,
        c.Decide: ACCEPTED,
        c.WithdrawVote: ACCEPTED,
        c.ReassignStep: ACCEPTED,
        c.CheckApprovers: "still_decidable",
        c.SkipStep: ACCEPTED,
    },
    (StepKind.APPROVAL, StepStatus.SUCCEEDED): {c.Decide: "already_handled", c.WithdrawVote: "already_handled"},
    (StepKind.APPROVAL, StepStatus.REJECTED): {c.Decide: "already_handled", c.WithdrawVote: "already_handled"},
    (StepKind.APPROVAL, StepStatus.EXPIRED): {**_MENDABLE, c.Decide: "expired", c.WithdrawVote: "expired"},
    (StepKind.APPROVAL, StepStatus.FAILED): _MENDABLE,
    (StepKind.APPROVAL, StepStatus.SKIPPED): {},
    (StepKind.APPROVAL, StepStatus.NOT_TAKEN): {},
    (StepKind.APPROVAL, StepStatus.BLOCKED): {},
    (StepKind.APPROVAL, StepStatus.CANCELLED): {},
    (StepKind.WAIT, StepStatus.PENDING): {},
    (StepKind.WAIT, StepStatus.WAITING): {c.FireTimer: ACCEPTED, c.SkipStep: ACCEPTED},
    (StepKind.WAIT, StepStatus.SUCCEEDED): {},
    (StepKind.WAIT, StepStatus.FAILED): _MENDABLE,
    (StepKind.WAIT, StepStatus.SKIPPED): {},
    (StepKind.WAIT, StepStatus.NOT_TAKEN): {},
    (StepKind.WAIT, StepStatus.BLOCKED): {},
    (StepKind.WAIT, StepStatus.CANCELLED): {},
    (StepKind.SUBFLOW, StepStatus.PENDING): {},
    (StepKind.SUBFLOW, StepStatus.WAITING): {c.EndSubflow: ACCEPTED, c.FireTimer: ACCEPTED, c.SkipStep: ACCEPTED},
    (StepKind.SUBFLOW, StepStatus.SUCCEEDED): {},
    (StepKind.SUBFLOW, StepStatus.REJECTED): {},
    (StepKind.SUBFLOW, StepStatus.FAILED): _MENDABLE,
    (StepKind.SUBFLOW, StepStatus.EXPIRED): _MENDABLE,
    (StepKind.SUBFLOW, StepStatus.SKIPPED): {},
    (StepKind.SUBFLOW, StepStatus.NOT_TAKEN): {},
    (StepKind.SUBFLOW, StepStatus.BLOCKED): {},
    (StepKind.SUBFLOW, StepStatus.CANCELLED): {},
    (StepKind.SIGNAL, StepStatus.PENDING): {},
    (StepKind.SIGNAL, StepStatus.WAITING): {c.FireTimer: ACCEPTED, c.ReceiveSignal: ACCEPTED, c.SkipStep: ACCEPTED},
    (StepKind.SIGNAL, StepStatus.SUCCEEDED): {},
    (StepKind.SIGNAL, StepStatus.EXPIRED): _MENDABLE,
    (StepKind.SIGNAL, StepStatus.FAILED): _MENDABLE,
    (StepKind.SIGNAL, StepStatus.SKIPPED): {},
    (StepKind.SIGNAL, StepStatus.NOT_TAKEN): {},
    (StepKind.SIGNAL, StepStatus.BLOCKED): {},
    (StepKind.SIGNAL, StepStatus.CANCELLED): {},
    (StepKind.FORM, StepStatus.PENDING): {},
    (StepKind.FORM, StepStatus.WAITING): {
        c.FireTimer: ACCEPTED,
        c.SubmitForm: ACCEPTED,
        c.ReturnForm: ACCEPTED,
        c.ReassignStep: ACCEPTED,
        c.CheckApprovers: "still_decidable",
        c.SkipStep: ACCEPTED,
    },
    (StepKind.FORM, StepStatus.SUCCEEDED): {c.SubmitForm: "already_handled", c.ReturnForm: "already_handled"},
    (StepKind.FORM, StepStatus.EXPIRED): {**_MENDABLE, c.SubmitForm: "expired", c.ReturnForm: "expired"},
    (StepKind.FORM, StepStatus.FAILED): _MENDABLE,
    (StepKind.FORM, StepStatus.SKIPPED): {},
    (StepKind.FORM, StepStatus.NOT_TAKEN): {},
    (StepKind.FORM, StepStatus.BLOCKED): {},
    (StepKind.FORM, StepStatus.CANCELLED): {},
}

STEP_TABLE: Mapping[tuple[StepKind, StepStatus], Row] = {
    place: {**_BASE[place[0]], **special} for place, special in _SPECIAL.items()
}
"""Each (kind, status) that can be reached while the run is running, and what each command on the step meets.

Retry and skip of a failed or expired step assume that nothing handled its end; else `already_dealt_with`.
Skipping assumes that the step may be skipped; else `not_skippable`.
"""

_OVER: Row = {
    c.StartRun: "already_started",
    c.PauseRun: "run_over",
    c.ResumeRun: "run_over",
    c.CancelRun: "run_over",
    c.TerminateRun: "run_over",
    c.EditInput: "run_over",
    c.MigrateRun: "run_over",
}
_OPEN: Row = {
    c.StartRun: "already_started",
    c.PauseRun: ACCEPTED,
    c.ResumeRun: "not_paused",
    c.CancelRun: ACCEPTED,
    c.TerminateRun: ACCEPTED,
    c.EditInput: ACCEPTED,
    c.MigrateRun: ACCEPTED,
}
RUN_TABLE: Mapping[RunStatus, Row] = {
    RunStatus.RUNNING: _OPEN,
    RunStatus.STALLED: _OPEN,
    RunStatus.PAUSED: {**_OPEN, c.PauseRun: "already_paused", c.ResumeRun: ACCEPTED},
    RunStatus.CANCELLING: {
        **_OPEN,
        c.PauseRun: "stopping",
        c.CancelRun: "already_stopping",
        c.EditInput: "stopping",
        c.MigrateRun: "stopping",
    },
    RunStatus.COMPENSATING: {
        **_OPEN,
        c.PauseRun: "stopping",
        c.CancelRun: "already_stopping",
        c.EditInput: "stopping",
        c.MigrateRun: "stopping",
    },
    RunStatus.SUCCEEDED: _OVER,
    RunStatus.REJECTED: _OVER,
    RunStatus.FAILED: _OVER,
    RunStatus.CANCELLED: _OVER,
    RunStatus.TERMINATED: _OVER,
}
"""What a command on the whole run meets in each run status."""

HELD_TABLE: Mapping[RunStatus, Row] = {
    RunStatus.PAUSED: {
        c.ClaimActivity: "not_claimable",
        c.CompleteActivity: ACCEPTED,
        c.FailActivity: ACCEPTED,
        c.ExpireLease: ACCEPTED,
        c.FireTimer: "obsolete_timer",
        c.Decide: "paused",
        c.SubmitForm: "paused",
        c.ReturnForm: "paused",
        c.ReceiveSignal: "paused",
        c.EndSubflow: ACCEPTED,
        c.RetryStep: ACCEPTED,
        c.ReplayDeadLetter: ACCEPTED,
        c.SkipStep: ACCEPTED,
        c.ResolveOutcome: ACCEPTED,
        c.WithdrawVote: "paused",
        c.ReassignStep: ACCEPTED,
        c.CompleteByHand: ACCEPTED,
    },
    RunStatus.CANCELLING: {
        c.ClaimActivity: "not_claimable",
        c.CompleteActivity: ACCEPTED,
        c.FailActivity: ACCEPTED,
        c.ExpireLease: ACCEPTED,
        c.FireTimer: ACCEPTED,
        c.Decide: "not_open",
        c.SubmitForm: "not_open",
        c.ReturnForm: "not_open",
        c.ReceiveSignal: "not_waiting",
        c.EndSubflow: ACCEPTED,
        c.RetryStep: "stopping",
        c.ReplayDeadLetter: "stopping",
        c.SkipStep: "cannot_skip_now",
        c.ResolveOutcome: "not_in_doubt",
        c.WithdrawVote: "not_open",
        c.ReassignStep: "not_open",
        c.CompleteByHand: "stopping",
    },
    RunStatus.TERMINATED: {
        c.ClaimActivity: "not_claimable",
        c.CompleteActivity: "run_over",
        c.FailActivity: "run_over",
        c.ExpireLease: "run_over",
        c.FireTimer: "obsolete_timer",
        c.Decide: "run_over",
        c.SubmitForm: "run_over",
        c.ReturnForm: "run_over",
        c.ReceiveSignal: "run_over",
        c.EndSubflow: "run_over",
        c.RetryStep: "run_over",
        c.ReplayDeadLetter: "run_over",
        c.SkipStep: "run_over",
        c.ResolveOutcome: "run_over",
        c.WithdrawVote: "run_over",
        c.ReassignStep: "run_over",
        c.CompleteByHand: "run_over",
    },
}
"""What commands on steps meet where the run holds them back: each on a step that would accept it while the run
is running (a scheduled or running activity, an armed timer of a running activity, an open approval or form, a step that
waits for a signal or a child, a failed step, one of unknown outcome). Every run that is over answers like
`terminated`."""

_UNDO: Row = {
    **_BASE[StepKind.ACTIVITY],
    c.RetryStep: "stopping",
    c.ReplayDeadLetter: "stopping",
    c.SkipStep: "cannot_skip_now",
    c.CompleteByHand: "stopping",
}
UNDO_TABLE: Mapping[StepStatus, Row] = {
    StepStatus.SUCCEEDED: _UNDO,
    StepStatus.SCHEDULED: {**_UNDO, c.ClaimActivity: ACCEPTED},
    StepStatus.RUNNING: {
        **_UNDO,
        c.CompleteActivity: ACCEPTED,
        c.FailActivity: ACCEPTED,
        c.ExpireLease: ACCEPTED,
        c.FireTimer: ACCEPTED,
        c.SkipStep: "effect_under_way",
    },
    StepStatus.RETRYING: {**_UNDO, c.FailActivity: "already_known", c.FireTimer: ACCEPTED},
    StepStatus.FAILED: {
        **_UNDO,
        c.FailActivity: "already_known",
        c.RetryStep: ACCEPTED,
        c.ReplayDeadLetter: ACCEPTED,
        c.SkipStep: ACCEPTED,
    },
    StepStatus.COMPENSATED: {**_UNDO, c.CompleteActivity: "already_known"},
}
"""What commands meet on an activity that is to be undone, is being undone, or has been, while its run is compensated.
A compensation that failed stalls the run; skipping says that it was undone by hand."""

STEP_MOVES: frozenset[tuple[StepStatus, StepStatus]] = frozenset(
    (StepStatus(a), StepStatus(b))
    for a, targets in {
        "pending": "scheduled waiting failed blocked not_taken cancelled",
        "scheduled": "running retrying succeeded skipped cancelled failed pending",
        "running": "scheduled succeeded retrying waiting cancelled failed compensated",
        "retrying": "scheduled succeeded failed outcome_unknown skipped cancelled pending",
        "outcome_unknown": "succeeded cancelled pending",
        "waiting": "scheduled succeeded rejected expired failed skipped cancelled pending",
        "succeeded": "pending scheduled failed",
        "rejected": "pending",
        "failed": "pending skipped compensated succeeded",
        "expired": "pending skipped",
        "skipped": "pending",
        "blocked": "pending",
        "not_taken": "pending",
        "cancelled": "pending",
    }.items()
    for b in targets.split()
)
"""How one event can move a step. A failed attempt passes through `retrying`; where no retry follows, `failed`
follows in the same commit. Back to `pending` leads a retry by an operator or work that was sent back: both begin
a new generation. A completed step that is undone is scheduled, running, retrying again and ends as `compensated`, or as
`failed` where that did not work; then it is tried again, or was done by hand."""

RUN_MOVES: frozenset[tuple[RunStatus, RunStatus]] = frozenset(
    (RunStatus(a), RunStatus(b))
    for a, targets in {
        "running": "paused stalled cancelling succeeded rejected terminated",
        "stalled": "running paused cancelling compensating terminated",
        "paused": "running cancelling terminated",
        "cancelling": "compensating cancelled failed terminated",
        "compensating": "stalled cancelled failed terminated",
    }.items()
    for b in targets.split()
)
"""How one event can move a run."""
