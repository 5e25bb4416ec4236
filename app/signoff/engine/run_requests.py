"""Requests about runs: from JSON arguments to core commands and back to an answer."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from signoff.core import commands as c
from signoff.core.decide.reassigning import MAX_ASKED
from signoff.core.definition import ApprovalConfig, FormConfig
from signoff.core.files import file_references
from signoff.core.payload import plain_json
from signoff.core.rejection import Rejection
from signoff.core.states import Actor, RunState
from signoff.engine import links
from signoff.engine.file_requests import kept_files, usable_files
from signoff.engine.ids import new_run_id
from signoff.engine.limit_requests import over_quota
from signoff.engine.request import Request, ok, refused
from signoff.engine.signing import sign_in_of
from signoff.engine.transaction import Transaction, required
from signoff.errors import InvalidInput, NotFound
from signoff.store.definitions import find_version
from signoff.store.rows import RunKey

Answer = dict[str, Any]


def start_run(tx: Transaction, r: Request) -> Answer:
    """Start the newest or a given version."""
    name = required(r.args, "definition")
    version = r.args.get("version")
    row = find_version(tx.journal, r.tenant, name, version)
    if row is None:
        which = f"version {version} of '{name[:60]}'" if version else f"a published version of '{name[:60]}'"
        raise NotFound(f"Expected to start {which}, but there is none.", remedy="Publish it first.")
    if row.archived:
        return refused(
            Rejection(
                "archived", f"'{name}' is archived, so no new runs of it can start.", "Publish a new version of it."
            )
        )
    if refusal := over_quota(tx, r, name):
        return refused(refusal)
    command = c.StartRun(
        actor=r.actor,
        run_id=new_run_id(tx.now),
        tenant=r.tenant,
        input=required(r.args, "input", dict),
        business_key=str(r.args.get("business_key") or "")[:200],
    )
    plan = tx.plan_of_version(row.id)
    attached = usable_files(tx, r, plan.definition.input, command.input, None)
    key = RunKey(tx.journal.run_ids(), row.id)
    with kept_files(tx, r.tenant, key.pk, "", attached) as kept:
        result = tx.begin_run(key, plan, command)
        kept.refused = isinstance(result, Rejection)
    if isinstance(result, Rejection):
        if result.code == "invalid_input":
            problems: Any = result.details.get("problems", [])
            raise InvalidInput(result.message, problems=tuple(problems))
        return refused(result)
    tx.usage.started(r.tenant, tx.now)
    return ok(run_id=result.run_id, created=True, version=row.version, digest=row.digest)


def submit_form(tx: Transaction, r: Request) -> Answer:
    """A person's values for a form.

    Raises:
        InvalidInput: a value is wrong; every problem names its field.
    """
    command = c.SubmitForm(
        actor=r.actor,
        on_behalf_of=str(r.args.get("on_behalf_of") or ""),
        signed_in=sign_in_of(tx, r),
        step=required(r.args, "step"),
        generation=required(r.args, "generation", int),
        values=_values(required(r.args, "values", dict)),
        shown_digest=str(r.args.get("shown_digest") or ""),
    )
    return _filled_in(tx, r, command)


def _values(given: dict[str, Any]) -> dict[str, Any]:
    try:
        found: dict[str, Any] = plain_json(given)
    except ValueError as error:
        raise InvalidInput(f"The values cannot be stored. {error}", remedy="Correct them.") from None
    return found


def _filled_in(tx: Transaction, r: Request, command: c.SubmitForm | c.Decide) -> Answer:
    """Send what somebody filled in; wrong values are told by field."""
    has_files = any(file_references(command.values or {}))
    result = _with_files(tx, r, command) if has_files else links.answer(tx, r, command)
    if isinstance(result, Rejection) and result.code == "invalid_values":
        problems: Any = result.details.get("problems", [])
        raise InvalidInput(result.message, code="invalid_values", problems=tuple(problems))
    return refused(result) if isinstance(result, Rejection) else answer_of(result, command.step)


def _with_files(tx: Transaction, r: Request, command: c.SubmitForm | c.Decide) -> RunState | Rejection:
    """Files that were named in the values belong to the run where the form or the decision is accepted."""
    key = tx.run(r.tenant, required(r.args, "run_id"))[0]
    config = plan.steps[command.step].config if command.step in (plan := tx.plan(key)).steps else None
    fields = config.fields if isinstance(config, FormConfig | ApprovalConfig) else ()
    attached = usable_files(tx, r, fields, command.values or {}, key.pk)
    with kept_files(tx, r.tenant, key.pk, command.step, attached) as kept:
        result = links.answer(tx, r, command)
        kept.refused = isinstance(result, Rejection)
    return result


def return_form(tx: Transaction, r: Request) -> Answer:
    """A person sends the work back instead of filling in a form."""
    return _answered(
        tx,
        r,
        c.ReturnForm(
            actor=r.actor,
            on_behalf_of=str(r.args.get("on_behalf_of") or ""),
            signed_in=sign_in_of(tx, r),
            step=required(r.args, "step"),
            generation=required(r.args, "generation", int),
            comment=str(r.args.get("comment") or ""),
            shown_digest=str(r.args.get("shown_digest") or ""),
            to=str(r.args.get("to") or ""),
        ),
    )


def decide(tx: Transaction, r: Request) -> Answer:
    """A person's decision on an approval.

    Raises:
        InvalidInput: a value of its fields is wrong; every problem names its field.
    """
    command = c.Decide(
        actor=r.actor,
        on_behalf_of=str(r.args.get("on_behalf_of") or ""),
        signed_in=sign_in_of(tx, r),
        step=required(r.args, "step"),
        generation=required(r.args, "generation", int),
        outcome=required(r.args, "outcome"),
        comment=str(r.args.get("comment") or ""),
        shown_digest=str(r.args.get("shown_digest") or ""),
        to=str(r.args.get("to") or ""),
        values=_values(required(r.args, "values", dict)) if r.args.get("values") is not None else {},
    )
    return _filled_in(tx, r, command)


def withdraw_vote(tx: Transaction, r: Request) -> Answer:
    """A person takes their vote back."""
    return _on_run(
        tx,
        r,
        c.WithdrawVote(
            actor=r.actor,
            step=required(r.args, "step"),
            generation=required(r.args, "generation", int),
            comment=str(r.args.get("comment") or ""),
        ),
    )


def logins(value: object, name: str) -> tuple[str, ...]:
    """Logins from the argument of a request.

    Raises:
        InvalidInput: it is no list of texts, or a very long one.
    """
    if not isinstance(value, list | tuple) or not all(isinstance(x, str) and len(x) <= 200 for x in value):
        raise InvalidInput(f"'{name}' must be a list of logins.", remedy="Correct the request.")
    if len(value) > MAX_ASKED:
        raise InvalidInput(f"'{name}' holds more than {MAX_ASKED} logins.", remedy="Ask fewer people.")
    return tuple(value)


class OperatorRequest:
    """The handler of one operator command; previews build the same command without sending it."""

    def __init__(self, cls: Callable[..., c.OperatorCommand], *names: str) -> None:
        self._cls, self._names = cls, names

    def build(self, actor: Actor, args: dict[str, Any]) -> c.OperatorCommand:
        """The command from the arguments of a request.

        Raises:
            InvalidInput: one is missing or has the wrong type.
        """
        seen = args.get("seen_sequence")
        extra = {n: args[n] for n in self._names if args.get(n) is not None}
        if "step" in self._names:
            extra["step"] = required(args, "step")
        if not isinstance(extra.get("compensate", False), bool):
            raise InvalidInput("'compensate' must be true or false.", remedy="Correct the request.")
        for name in ("add", "remove"):
            if name in extra:
                extra[name] = logins(extra[name], name)
        if "input" in self._names:
            extra["input"] = required(args, "input", dict)
        return self._cls(
            actor=actor,
            reason=str(args.get("reason") or ""),
            seen_sequence=seen if isinstance(seen, int) else None,
            **extra,
        )

    def __call__(self, tx: Transaction, r: Request) -> Answer:
        """Send it."""
        return _on_run(tx, r, self.build(r.actor, r.args))


_operator = OperatorRequest


def _answered(tx: Transaction, r: Request, command: c.Decide | c.ReturnForm) -> Answer:
    result = links.answer(tx, r, command)
    return refused(result) if isinstance(result, Rejection) else answer_of(result, command.step)


def _on_run(tx: Transaction, r: Request, command: c.Command) -> Answer:
    result = tx.command(r.tenant, required(r.args, "run_id"), command)
    return refused(result) if isinstance(result, Rejection) else answer_of(result, getattr(command, "step", ""))


def answer_of(state: RunState, step: str) -> Answer:
    """What a caller learns about the run after its command."""
    found = state.steps.get(step)
    return ok(
        run_id=state.run_id,
        sequence=state.sequence,
        status=str(state.status),
        step_status=str(found.status) if found else "",
    )


HANDLERS: dict[str, Callable[[Transaction, Request], Answer]] = {
    "start_run": start_run,
    "decide": decide,
    "open_link": links.open_link,
    "withdraw_vote": withdraw_vote,
    "submit_form": submit_form,
    "return_form": return_form,
    "pause_run": _operator(c.PauseRun),
    "resume_run": _operator(c.ResumeRun),
    "cancel_run": _operator(c.CancelRun, "compensate"),
    "terminate_run": _operator(c.TerminateRun),
    "retry_step": _operator(c.RetryStep, "step", "new_effect"),
    "replay_dead_letter": _operator(c.ReplayDeadLetter, "step"),
    "skip_step": _operator(c.SkipStep, "step", "output"),
    "confirm_effect": _operator(partial(c.ResolveOutcome, happened=True), "step", "output"),
    "deny_effect": _operator(partial(c.ResolveOutcome, happened=False), "step"),
    "complete_step": _operator(c.CompleteByHand, "step", "output"),
    "reassign_step": _operator(c.ReassignStep, "step", "add", "remove"),
    "edit_input": _operator(c.EditInput, "input"),
}
