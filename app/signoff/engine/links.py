"""Answering through a link: the token is checked against everything it is bound to, then spent with the answer.

The token comes as the request's `context` and is never stored or logged. The answer itself takes the one path that
all answers take, so that a link can never allow what its person may not do by signing in.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from signoff.core.answering import why_not
from signoff.core.commands import Decide, ReturnForm, SubmitForm
from signoff.core.quorum import same_person
from signoff.core.rejection import Rejection
from signoff.core.standing_in import delegation_of
from signoff.core.states import RunState
from signoff.core.wording import clock
from signoff.engine.auditing import audit_alone
from signoff.engine.braking import check_failures, link_names, note_failure
from signoff.engine.request import Request, ok, refused
from signoff.engine.transaction import Transaction, required
from signoff.errors import NotFound
from signoff.store.links import Link, find_link, spend_link
from signoff.store.times import from_micros, to_micros

Answering = Decide | SubmitForm | ReturnForm
DECIDED = ("approved", "rejected", "returned")
FILLED_IN = ("submitted", "returned")
_INBOX = "Sign in and look into your inbox."


@dataclass(frozen=True, slots=True)
class Proofs:
    """What a person gave besides the request: a link's token, and the hash that their password was found to fit.

    `password` is None where none was given, "" where it fits nothing.
    """

    link: str = ""
    password: str | None = None


def outcome_of(command: Answering) -> str:
    """The action that a link must allow."""
    match command:
        case Decide():
            return command.outcome
        case SubmitForm():
            return "submitted"
        case ReturnForm():
            return "returned"


def answer(tx: Transaction, r: Request, command: Answering) -> RunState | Rejection:
    """Send an answer, through the link that was given where one was."""
    run_id = required(r.args, "run_id")
    token = r.context.link if isinstance(r.context, Proofs) else ""
    if not token:
        return tx.command(r.tenant, run_id, command)
    link = _known(tx, r, token)
    command = replace(command, link=link.name)
    wrong = _unfit(tx, r, token, link, command) or _used_up(tx, r, link, command) or _absence_over(tx, r, link)
    if wrong:
        tx.keep_evidence(link.run_id, command, wrong)
        return wrong
    result = tx.command(r.tenant, run_id, command)
    if isinstance(result, Rejection):
        return result
    at = to_micros(tx.now)
    assert tx.direct(lambda journal: spend_link(journal, link, at, outcome_of(command))), "checked above"
    return result


def open_link(tx: Transaction, r: Request) -> dict[str, Any]:
    """Somebody who signed in follows a link: what it is for. Following one that is not good (any more) is evidence."""
    token = r.context.link if isinstance(r.context, Proofs) else ""
    link = _known(tx, r, token)
    look = Decide(
        actor=r.actor, step=link.step, generation=link.generation, outcome="", link=link.name,
        on_behalf_of=link.on_behalf_of,
    )  # fmt: skip
    wrong = _not_theirs(r, token, link) or _used_up(tx, r, link, look) or _absence_over(tx, r, link)
    if wrong:
        tx.keep_evidence(link.run_id, look, wrong)
        return refused(wrong)
    return ok(run_id=link.run_id, step=link.step, generation=link.generation)


def _known(tx: Transaction, r: Request, token: str) -> Link:
    """The link of a token.

    Raises:
        NotFound: there is none in this tenant; the attempt is recorded.
        Unavailable: this person tried too many that do not exist.
    """
    names = link_names(r.tenant, r.actor.id.casefold())
    check_failures(tx, names, "links that do not exist")
    link = find_link(tx.journal, r.tenant, token) if 0 < len(token) <= 200 else None
    if link is None:
        message = "There is no such link."
        note_failure(tx, names)
        audit_alone(tx, r, "", message, action="open_link", outcome="refused")
        raise NotFound(message, code="unknown_link", remedy=_INBOX)
    return link


def _not_theirs(r: Request, token: str, link: Link) -> Rejection | None:
    if not link.is_bound(token):
        return Rejection("link_altered", "This link is not what it was when it was sent.", _INBOX)
    if link.login != r.actor.id.casefold():
        return Rejection("link_of_another", "This link was sent to somebody else.", _INBOX)
    return None


def _unfit(tx: Transaction, r: Request, token: str, link: Link, command: Answering) -> Rejection | None:
    """It belongs to another person, run, step, round, action or display than the answer."""
    wrong = _not_theirs(r, token, link)
    if wrong:
        return wrong
    of_step = (r.args.get("run_id"), command.step, command.generation)
    if of_step != (link.run_id, link.step, link.generation):
        return Rejection("link_does_not_fit", "This link was sent for another step or round.", _INBOX)
    if not same_person(command.on_behalf_of, link.on_behalf_of):
        return Rejection("link_does_not_fit", "This link was sent to answer for somebody else.", _INBOX)
    if outcome_of(command) not in link.actions:
        return Rejection("link_does_not_fit", f"This link is not good for '{outcome_of(command)[:40]}'.", _INBOX)
    if command.shown_digest != link.shown_digest:
        return Rejection("changed_meanwhile", "What this link was sent for has changed.", "Read it again.")
    return None


def _used_up(tx: Transaction, r: Request, link: Link, command: Answering) -> Rejection | None:
    """Used, revoked or too old. What the run itself says about it comes first: who handled it, and when."""
    key, _, state = tx.run(r.tenant, link.run_id)
    plan = tx.plan(key)
    label = plan.label(link.step) if link.step in plan.steps else link.step
    if link.used_at is not None:
        when = clock(from_micros(link.used_at))
        whom = tx.directory(r.tenant)[0].people.get(link.on_behalf_of, link.on_behalf_of)
        who = f"{r.actor.shown} for {whom}" if whom else r.actor.shown
        message = f"'{label}' was already handled by {who} on {when}: {link.outcome}."
        same = outcome_of(command) in ("", link.outcome)
        return Rejection("already_handled", message, "Nothing to do.", known=same)
    if link.revoked_at is not None:
        step = state.steps.get(link.step)
        current = step is not None and step.generation == link.generation and link.step in plan.steps
        by = link.login if link.on_behalf_of else ""
        said = why_not(plan, state, link.step, link.voter, now=tx.now, by=by) if current else None
        return (
            said
            or _absence_over(tx, r, link)
            or Rejection("link_revoked", f"'{label}' is not asked of you in this way any more.", _INBOX)
        )
    if from_micros(link.expires_at) <= tx.now:
        message = f"This link was good until {clock(from_micros(link.expires_at))}."
        return Rejection("link_expired", message, _INBOX)
    return None


def _absence_over(tx: Transaction, r: Request, link: Link) -> Rejection | None:
    """Whom it answers for decides for themselves again, or has named somebody else."""
    if not link.on_behalf_of:
        return None
    directory = tx.directory(r.tenant)[0]
    found = delegation_of(directory, link.login, link.on_behalf_of, tx.now)
    if found is not None and found.number == link.absence:
        return None
    name = directory.people.get(link.on_behalf_of, link.on_behalf_of)
    return Rejection("absence_over", f"You do not decide for {name} any more: the absence is over.", "Ask them.")
