"""Runs that steps of other runs start: begun, paused, resumed, stopped and answered in the commit of the cause."""

from __future__ import annotations

from typing import TYPE_CHECKING

from signoff.core import commands as c
from signoff.core.effects import ChildEnded, ChildMoved, ChildStart
from signoff.core.implied import implied_children
from signoff.core.rejection import Rejection
from signoff.core.states import Actor, RunState, RunStatus
from signoff.engine.file_requests import hand_down
from signoff.errors import NotFound, SignoffError
from signoff.store.definitions import find_version
from signoff.store.rows import RunKey

if TYPE_CHECKING:
    from signoff.engine.transaction import Transaction

ENGINE = Actor("system", "engine", "Engine", "engine")


def start_child(tx: Transaction, parent: RunState, effect: ChildStart) -> None:
    """Start the child of a step's generation, once; where it cannot start, the step fails with the reason."""
    if _find(tx, parent.tenant, effect.child) is not None:
        return
    row = find_version(tx.journal, parent.tenant, effect.definition, effect.version)
    if row is None or row.digest != effect.digest:
        why = f"There is no version {effect.version} of '{effect.definition}' with the digest that was published."
        _fail(tx, parent, effect, why)
        return
    name = tx.directory(parent.tenant)[0].people.get(parent.started_by, "")
    command = c.StartRun(
        actor=Actor("person", parent.started_by, name, "engine"),
        run_id=effect.child,
        tenant=parent.tenant,
        input=effect.input,
        business_key=parent.business_key,
        parent=parent.run_id,
        parent_step=effect.step,
        parent_generation=effect.generation,
        depth=parent.depth + 1,
    )
    try:
        above = tx.run(parent.tenant, parent.run_id)[0]
        key = RunKey(tx.journal.run_ids(), row.id, sensitive=above.sensitive)
        result = tx.begin_run(key, tx.plan_of_version(row.id), command)
        if not isinstance(result, Rejection):
            hand_down(tx, parent.tenant, above.pk, effect.child, effect.input)
    except SignoffError as error:
        _fail(tx, parent, effect, error.message)
        return
    if isinstance(result, Rejection):
        _fail(tx, parent, effect, result.message)


def _fail(tx: Transaction, parent: RunState, effect: ChildStart, why: str) -> None:
    ended = ChildEnded(parent.run_id, effect.step, effect.generation, effect.child, "not started", why, None)
    end_in_parent(tx, parent.tenant, ended)


def move_child(tx: Transaction, tenant: str, effect: ChildMoved) -> None:
    """Pause, resume, cancel or terminate a child, because that happened to what started it."""
    child = _find(tx, tenant, effect.child)
    if child is None or child.is_terminal:
        return
    paused = child.status is RunStatus.PAUSED
    stopping = bool(child.stopping)
    match effect.do:
        case "pause" if not paused and not stopping:
            tx.command(tenant, effect.child, c.PauseRun(actor=ENGINE, reason=effect.reason))
        case "resume" if paused:
            tx.command(tenant, effect.child, c.ResumeRun(actor=ENGINE, reason=effect.reason))
        case "cancel" if not stopping:
            cancel = c.CancelRun(actor=ENGINE, reason=effect.reason, compensate=effect.compensate)
            tx.command(tenant, effect.child, cancel)
        case "terminate":
            tx.command(tenant, effect.child, c.TerminateRun(actor=ENGINE, reason=effect.reason))
        case _:
            pass


def end_in_parent(tx: Transaction, tenant: str, effect: ChildEnded) -> None:
    """Tell the waiting step how its child ended; an output that is too large is said instead."""
    parent = _find(tx, tenant, effect.parent)
    step = implied_children(parent).get(effect.child, "") if parent is not None else ""
    if parent is None or not step:
        return  # nobody waits for it any more

    def command(outcome: str, reason: str, output: object) -> c.EndSubflow:
        return c.EndSubflow(
            actor=ENGINE,
            step=step,
            generation=parent.steps[step].generation,
            child=effect.child,
            outcome=outcome,
            reason=reason,
            output=output,
        )

    if _is_sensitive(tx, tenant, effect.child):
        tx.run(tenant, effect.parent)[0].sensitive = True
    try:
        tx.command(tenant, effect.parent, command(effect.outcome, effect.reason, effect.output))
    except SignoffError as error:
        tx.command(tenant, effect.parent, command("failed", error.message, None))


def _is_sensitive(tx: Transaction, tenant: str, run_id: str) -> bool:
    return _find(tx, tenant, run_id) is not None and tx.run(tenant, run_id)[0].sensitive


def _find(tx: Transaction, tenant: str, run_id: str) -> RunState | None:
    try:
        return tx.run(tenant, run_id)[2]
    except NotFound:
        return None
