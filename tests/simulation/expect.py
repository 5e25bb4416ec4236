"""What the auditor knows of an answer from its own ledgers: beforehand (`must_refuse`) and after (`must_show`)."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from signoff.core import events as e
from signoff.core.definition import ApprovalConfig, FormConfig
from signoff.core.quorum import find_person, person_key
from signoff.core.states import RunStatus, StepStatus
from tests.simulation.ask import Ask
from tests.simulation.auditor import Auditor
from tests.simulation.ledger import RunLedger, until

OPERATIONS: dict[str, type[e.Event]] = {
    "pause_run": e.RunPaused,
    "resume_run": e.RunResumed,
    "cancel_run": e.RunStopping,
    "terminate_run": e.RunEnded,
    "retry_step": e.StepRetried,
    "skip_step": e.StepSkipped,
    "replay_dead_letter": e.StepRetried,
    "confirm_effect": e.EffectConfirmed,
    "deny_effect": e.EffectDenied,
    "edit_input": e.InputEdited,
    "complete_step": e.StepCompletedByHand,
    "reassign_step": e.PeopleReassigned,
}


OF_UNDOING: dict[str, tuple[type[e.Event], ...]] = {
    "retry_step": (e.CompensationRetried,),
    "replay_dead_letter": (e.CompensationRetried,),
    "skip_step": (e.StepCompensated,),
}
"""What the same requests come to on a step that could not be undone."""


def must_refuse(auditor: Auditor, ask: Ask, now: datetime, roles: dict[str, set[str]]) -> str:
    """Why a good answer to this request would be wrong now; "" where it may be good. Asked before it is sent alone."""
    if ask.key and ask.key in auditor.answers and auditor.answers[ask.key][0] == ask.told():
        return ""
    if ask.origin == "client":
        if person_key(ask.actor.id) in auditor.inactive:
            return "has no active account"
        needed = _role(ask.do)
        if needed and not needed & roles.get(ask.actor.id.casefold(), set()):
            return "has no such role"
    ledger = auditor.runs.get(str(ask.args.get("run_id")))
    if ledger is None:
        return ""
    if ask.do in ("complete", "fail", "expire_lease"):
        return _claim(ledger, ask, now)
    if ask.do == "fire_timer":
        return _timer(ledger, ask, now)
    if ask.do == "decide":
        return _decision(ledger, ask, now)
    if ask.do in ("submit_form", "return_form"):
        return _form(ledger, ask, now)
    return _operation(ledger, ask) if ask.do in OPERATIONS else ""


def _role(do: str) -> set[str]:
    if do in OPERATIONS:
        return {"operator"}
    return {"decide": {"approver"}, "start_run": {"starter", "operator"}, "publish": {"publisher"}}.get(do, set())


def _claim(ledger: RunLedger, ask: Ask, now: datetime) -> str:
    state, a = ledger.mirror, ask.args
    step = state.steps.get(a["step"])
    newest = ledger.fences.get(a["step"], [0])[-1]
    if state.is_terminal:
        return "the run has ended"
    if step is not None and step.items:
        claims = [(step.generation, x.attempt, x.fence) for x in step.items.open if x.status is StepStatus.RUNNING]
        if (a["generation"], a["attempt"], a["fence"]) not in claims:
            return "no claim of an item"
    elif step is None or (a["generation"], a["attempt"], a["fence"]) != (step.generation, step.attempt, newest):
        return "an older claim"
    if step.status is not StepStatus.RUNNING:
        return f"the claim is over, the step is {step.status}"
    if a.get("digest", state.digest) not in ("", state.digest):
        return "made by another version"
    if ask.do == "expire_lease" and now <= min(ledger.leases[a["step"], a["fence"]]):
        return "the lease has not run out"
    return ""


def _timer(ledger: RunLedger, ask: Ask, now: datetime) -> str:
    state, a = ledger.mirror, ask.args
    step = state.steps.get(a["step"])
    if state.is_terminal or state.status is RunStatus.PAUSED:
        return f"the run is {state.status}"
    if a["kind"] == "deadline":
        due = ledger.ending.deadline
        return "no deadline, or the run is being stopped" if due is None or state.stopping else "not due" * (due > now)
    if step is None or step.timer is None or str(step.timer) != a["kind"] or step.generation != a["generation"]:
        return "no such timer is armed"
    if step.attempt != a["attempt"]:
        return "a timer of another attempt"
    return "not due" if step.due is None or step.due > now else ""


def _decision(ledger: RunLedger, ask: Ask, now: datetime) -> str:
    state, a = ledger.mirror, ask.args
    step = state.steps.get(a["step"])
    if state.is_terminal or state.status is RunStatus.PAUSED:
        return f"the run is {state.status}"
    if step is None or step.approval is None or step.status is not StepStatus.WAITING:
        return "nobody is asked"
    approval, human = step.approval, ask.actor.id
    who = a.get("on_behalf_of") or human
    if not find_person(who, approval.roster):
        return "not on the roster"
    if who != human and find_person(human, approval.roster):
        return "is asked themselves"
    decided = [p for v in approval.votes for p in (v.person, v.human)]
    if find_person(who, decided) or find_person(human, decided):
        return "has decided already"
    if person_key(state.started_by) in (person_key(who), person_key(human)) and not approval.requester_may_decide:
        return "asked for it"
    if a["generation"] != step.generation or a.get("shown_digest") not in ("", None, approval.shown_digest):
        return "saw something else"
    config = ledger.plan.steps[a["step"]].config
    if not isinstance(config, ApprovalConfig):
        return "no approval"
    for other in config.deciders_differ_from:
        voted = state.steps[other].approval
        if voted and {person_key(who), person_key(human)} & {person_key(v.human) for v in voted.votes}:
            return "decided an earlier step"
    if a["outcome"] == "returned" and step.round >= config.max_rounds:
        return "no more rounds"
    expires = until(step)
    return "too late" if expires is not None and expires <= now else ""


def _form(ledger: RunLedger, ask: Ask, now: datetime) -> str:
    state, a = ledger.mirror, ask.args
    step, config = state.steps.get(a["step"]), ledger.plan.steps[a["step"]].config
    if state.is_terminal or state.status is RunStatus.PAUSED:
        return f"the run is {state.status}"
    if step is None or step.approval is None or step.status is not StepStatus.WAITING:
        return "nobody is asked"
    if not isinstance(config, FormConfig) or not find_person(ask.actor.id, step.approval.roster):
        return "not asked"
    if a["generation"] != step.generation or a.get("shown_digest") not in ("", None, step.approval.shown_digest):
        return "saw something else"
    if ask.do == "return_form" and step.round >= config.max_rounds:
        return "no more rounds"
    if ask.do == "submit_form" and not (isinstance(a["values"].get("n"), int) and a["values"]["n"] >= 0):
        return "wrong values"
    expires = until(step)
    return "too late" if expires is not None and expires <= now else ""


def _operation(ledger: RunLedger, ask: Ask) -> str:
    state, a = ledger.mirror, ask.args
    if state.is_terminal:
        return "the run has ended"
    if not str(a.get("reason") or "").strip():
        return "no reason"
    seen = a.get("seen_sequence")
    step = state.steps.get(str(a.get("step")))
    if ask.do == "replay_dead_letter" and (step is None or step.status is not StepStatus.FAILED):
        return "no dead letter"
    if step is not None and ask.do in ("retry_step", "skip_step", "replay_dead_letter", "complete_step"):
        if seen is not None and step.changed > seen:
            return "the step changed meanwhile"
        if step.status is StepStatus.RUNNING:
            return "its effect may happen"
    if ask.do in ("confirm_effect", "deny_effect"):
        if step is None or step.status is not StepStatus.OUTCOME_UNKNOWN:
            return "its outcome is not in doubt"
        if seen is not None and step.changed > seen:
            return "the step changed meanwhile"
    changed = max(state.input_changed, *(s.changed for s in state.steps.values()))
    if ask.do == "edit_input" and seen is not None and changed > seen:
        return "the run changed meanwhile"
    if ask.do == "resume_run" and state.status is not RunStatus.PAUSED:
        return "not paused"
    return ""


def must_show(auditor: Auditor, ask: Ask, answer: dict[str, Any]) -> None:
    """An answer that was let out is true: what it says was done is in the log."""
    if ask.key and ask.origin == "client":
        auditor.keyed(ask.key, ask.told(), answer)
    if "ok" not in answer:
        return
    assert not ask.fault or answer["ok"].get("obsolete"), f"{ask.do} was accepted, but: {ask.fault}"
    a = ask.args
    if ask.do == "start_run":
        run_id = answer["ok"]["run_id"]
        assert run_id in auditor.runs, "an acknowledged run does not exist"
        assert auditor.state(run_id).business_key == a["business_key"]
        assert auditor.state(run_id).started_by == ask.actor.id
    elif ask.do == "decide":
        event = auditor.runs[a["run_id"]].said.get((e.DecisionRecorded, a["comment"]))
        assert isinstance(event, e.DecisionRecorded), "an acknowledged decision is not there"
        got = (event.step, event.generation, event.outcome, person_key(event.actor.id))
        assert got == (a["step"], a["generation"], a["outcome"], person_key(ask.actor.id)), "recorded as something else"
    elif ask.do == "withdraw_vote":
        event = auditor.runs[a["run_id"]].said.get((e.VoteWithdrawn, a["comment"]))
        assert isinstance(event, e.VoteWithdrawn), "an acknowledged withdrawal is not there"
        assert person_key(event.actor.id) == person_key(ask.actor.id)
    elif ask.do == "bulk":
        kinds = (OPERATIONS[a["command"]], *OF_UNDOING.get(a["command"], ()))
        for one in answer["ok"]["results"]:
            words = f"{a['reason']} ({answer['ok']['bulk_id']})"
            said = auditor.runs[one["run_id"]].said
            assert one["done"] == any((k, words) in said for k in kinds), f"bulk says {one}, the log does not"
    elif ask.do == "submit_form":
        filled = auditor.runs[a["run_id"]].filled.get((a["step"], a["generation"]))
        assert filled is not None, "an acknowledged form is not there"
        assert (filled.output, filled.actor.id) == (a["values"], ask.actor.id), "recorded as something else"
    elif ask.do == "send_signal":
        message = (a["name"], a["key"], a["id"])
        found_rows = auditor.rows("SELECT 1 FROM signal_message WHERE name=? AND key=? AND message_id=?", *message)
        assert found_rows, "an acknowledged message is lost"
    elif ask.do in OPERATIONS:
        kinds = (OPERATIONS[ask.do], *OF_UNDOING.get(ask.do, ()))
        said = auditor.runs[a["run_id"]].said
        found: Any = next((said[k, a["reason"]] for k in kinds if (k, a["reason"]) in said), None)
        assert found is not None, f"an acknowledged {ask.do} is not there"
        assert found.actor is not None
        assert found.actor.id == ask.actor.id
        if ask.do == "cancel_run":
            assert found.compensate == bool(a.get("compensate")), "undone, or not, otherwise than asked for"
    elif ask.do in ("complete", "fail"):
        done = auditor.runs[a["run_id"]].completions.get((a["step"], a["fence"]))
        assert done is not None, "an acknowledged outcome is not there"
        assert (done.generation, done.attempt) == (a["generation"], a["attempt"])
    elif ask.do == "save_draft":
        revision = (a["name"], answer["ok"]["revision"])
        assert auditor.revisions.setdefault(revision, a["document"]) == a["document"], "two drafts share a revision"
    elif ask.do == "publish":
        known = auditor.versions.setdefault((a["name"], answer["ok"]["version"]), answer["ok"]["digest"])
        assert known == answer["ok"]["digest"], "a version changed its digest"
