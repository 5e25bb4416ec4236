"""Letters: planned when a notice leaves the outbox, written and sent one by one, tried again, given up, sent anew."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from signoff.core.answering import why_not
from signoff.core.asking_words import due_of
from signoff.core.definition import ApprovalConfig, FormConfig
from signoff.core.facts import Absence
from signoff.core.plan import Plan
from signoff.core.quorum import find_person, same_person
from signoff.core.sensitive import is_sensitive
from signoff.core.standing_in import absent_for
from signoff.core.states import RunState
from signoff.engine.auditing import audit
from signoff.engine.links import DECIDED, FILLED_IN
from signoff.engine.request import Request, ok
from signoff.engine.transaction import Transaction, required
from signoff.errors import InvalidInput, NotFound, SignoffError
from signoff.store.journal import Journal
from signoff.store.leases import remove_outbox
from signoff.store.links import Link, add_link
from signoff.store.notices import Delivery, add_delivery, find_delivery, move_delivery
from signoff.store.people import hash_secret
from signoff.store.times import to_micros

Answer = dict[str, Any]
MAX_TRIES = 12
FIRST_PAUSE_S = 30.0
LONGEST_PAUSE_S = 7_200.0


def delivered(tx: Transaction, r: Request) -> Answer:
    """The relay handed notices over; letters to people and chat tools are planned in the same commit."""
    ids = [int(i) for i in required(r.args, "ids", list)]
    for planned in r.args.get("letters") or ():
        for sink, people in planned["to"].items():
            _plan(tx, planned, sink, people)
    tx.direct(lambda journal: remove_outbox(journal, ids))
    return ok()


def _plan(tx: Transaction, notice: dict[str, Any], sink: str, people: list[str] | None) -> None:
    """Letters of one notice to one sink: to the chat tool itself (None), or to each active person with an address."""
    try:
        key, tenant, state = tx.run(None, notice["run_id"])
    except SignoffError:
        return  # erased meanwhile
    accounts = tx.directory(tenant)[1]
    whom = [""] if people is None else [state.started_by if p == REQUESTER else p for p in people]
    at = to_micros(tx.now)
    for login in dict.fromkeys(p.casefold() for p in _with_delegates(tx, tenant, whom)):
        account = accounts.get(login)
        if login and (account is None or not account.active or not account.email):
            continue
        sign = hashlib.sha256(f"{tenant} {state.run_id} {notice['id']} {sink} {login}".encode()).hexdigest()[:32]
        letter = Delivery(
            0, tenant, notice["id"], state.run_id, notice["step"], notice["generation"], notice["topic"], sink, login,
            sign, "pending", 0, at, "", at, at,
        )  # fmt: skip
        tx.direct(partial(_add, key.pk, letter))


def _with_delegates(tx: Transaction, tenant: str, whom: list[str]) -> list[str]:
    """Who is told, and who decides for those of them who are absent now."""
    away = [a for a in tx.directory(tenant)[0].absences if a.begins <= tx.now < a.ends]
    return [x for p in whom for x in (p, *(a.delegate for a in away if p and same_person(a.person, p)))]


def _add(run: int, letter: Delivery, journal: Journal) -> None:
    add_delivery(journal, run, letter)


REQUESTER = "@requester"
"""Stands for whoever started the run, where a notice is planned."""


def write_letter(tx: Transaction, r: Request) -> Answer:
    """What a letter says, as of now; with a link where it asks for an answer. One that nobody needs any more is moot.

    `token` is the link's token: only its hash is kept.
    """
    letter = find_delivery(tx.journal, required(r.args, "id", int))
    if letter is None or letter.status != "pending":
        return ok(moot=True)
    key, tenant, state = tx.run(None, letter.run_id)
    plan = tx.plan(key)
    asks = letter.step in state.steps and letter.topic not in ("work.returned",)
    if letter.step and asks and letter.login:
        reason = _moot(tx, plan, state, letter)
        if reason:
            return _close(tx, letter, "moot", reason)
    accounts = tx.directory(tenant)[1]
    person, starter = accounts.get(letter.login), accounts.get(state.started_by)
    if letter.login and (person is None or not person.active or not person.email):
        return _close(tx, letter, "dead", "The account is closed or has no e-mail address.")
    said: Answer = {
        "tenant": tenant,
        "run_id": state.run_id,
        "step": letter.step,
        "topic": letter.topic,
        "message_id": letter.message_id,
        "name": person.name if person else "",
        "email": person.email if person else "",
        "title": plan.definition.title,
        "zone": plan.definition.policies.zone,
        "requester": starter.name if starter else state.started_by,
        "status": str(state.status),
        "reason": state.reason if not is_sensitive(plan.definition) else "",
    }
    if letter.step and asks:
        said |= _asked(plan, state, letter)
        if r.args.get("values") and not is_sensitive(plan.definition):
            said["shown"] = _shown(tx, letter)
        right = _by_what_right(tx, plan, state, letter)
        if right is not None:
            said |= _link(tx, plan, state, letter, right, str(r.args.get("token") or ""), r.args.get("link_s") or 0)
    return ok(**said)


OWN = Absence(0, "", "", datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC))
"""Stands for nobody's absence: who is asked answers for themselves."""


def _by_what_right(tx: Transaction, plan: Plan, state: RunState, letter: Delivery) -> Absence | None:
    """For themselves (`OWN`) who is asked; in which absence who decides for others; None: no link."""
    asked = state.steps[letter.step].approval
    if not letter.login or asked is None:
        return None
    if find_person(letter.login, asked.roster):
        return OWN
    directory = tx.directory(state.tenant)[0]
    for a in absent_for(directory, letter.login, tx.now):
        if find_person(a.person, asked.roster):
            people, by = directory.people, letter.login
            refused = why_not(plan, state, letter.step, a.person, active=people, now=tx.now, by=by)
            if refused is None or refused.code == "paused":
                return a
    return None


def _moot(tx: Transaction, plan: Plan, state: RunState, letter: Delivery) -> str:
    step = state.steps[letter.step]
    if step.approval is None or letter.generation not in (0, step.generation):
        return "It was asked anew, or not at all, before this letter was sent."
    directory = tx.directory(state.tenant)[0]
    absent = [
        a.person for a in absent_for(directory, letter.login, tx.now) if find_person(a.person, step.approval.roster)
    ]
    pairs = [(letter.login, ""), *((p, letter.login) for p in absent)]
    found = [why_not(plan, state, letter.step, who, active=directory.people, now=tx.now, by=by) for who, by in pairs]
    refused = [r for r in found if r is not None and r.code != "paused"]
    return "" if len(refused) < len(found) else refused[-1].message


def _asked(plan: Plan, state: RunState, letter: Delivery) -> Answer:
    step, config = state.steps[letter.step], plan.steps[letter.step].config
    return {
        "label": plan.label(letter.step),
        "kind": "approval" if isinstance(config, ApprovalConfig) else "form",
        "due": due.isoformat() if (due := due_of(step)) else "",
        "business_key": state.business_key,
    }


def _shown(tx: Transaction, letter: Delivery) -> Any:
    key = tx.run(None, letter.run_id)[0]
    for event in reversed(tx.journal.events(key.pk)):
        if getattr(event, "step", "") == letter.step and event.wire in ("approval.opened", "form.opened"):
            return getattr(event, "shown", None)
    return None


def _link(
    tx: Transaction, plan: Plan, state: RunState, letter: Delivery, right: Absence, token: str, link_s: float
) -> Answer:
    """A new link; one of somebody who stands in ends with the absence."""
    if len(token) < 32:
        raise InvalidInput("A link needs a token of at least 128 random bits.", remedy="This is a fault of Signoff.")
    step, config = state.steps[letter.step], plan.steps[letter.step].config
    assert step.approval is not None
    assert isinstance(config, ApprovalConfig | FormConfig)
    until = tx.now + timedelta(seconds=link_s)
    expires = min(until, right.ends, *([step.due] if step.due else []))
    actions = DECIDED if isinstance(config, ApprovalConfig) else FILLED_IN
    link = Link(
        0, state.tenant, state.run_id, letter.step, step.generation, step.round, letter.login,
        tuple(a for a in actions if a != "returned" or config.returns_to),
        step.approval.shown_digest, hash_secret(token), to_micros(tx.now), to_micros(expires),
        on_behalf_of=right.person, absence=right.number,
    ).bind(token)  # fmt: skip
    pk = tx.run(None, letter.run_id)[0].pk
    tx.direct(lambda journal: add_link(journal, pk, letter.id, link))
    said: Answer = {"expires": expires.isoformat(), "round": step.round}
    if right.person:
        said["for"] = tx.directory(state.tenant)[0].people.get(right.person, right.person)
        said["absent_until"] = right.ends.isoformat()
    return said


def letter_sent(tx: Transaction, r: Request) -> Answer:
    """The receiver's side took it."""
    letter = _pending(tx, r)
    return ok() if letter is None else _close(tx, letter, "sent", "")


def letter_failed(tx: Transaction, r: Request) -> Answer:
    """It could not be sent: tried again later, or given up after `MAX_TRIES` or where that is `final`."""
    letter = _pending(tx, r)
    if letter is None:
        return ok()
    tries, error = letter.tries + 1, str(r.args.get("error") or "")
    final = bool(r.args.get("final")) or tries >= MAX_TRIES
    due = to_micros(tx.now + timedelta(seconds=min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2 ** (tries - 1))))
    at, status = to_micros(tx.now), "dead" if final else "pending"
    tx.direct(lambda j: move_delivery(j, letter.id, status, at, tries=tries, due=due, error=error))
    return ok(status=status)


def retry_delivery(tx: Transaction, r: Request) -> Answer:
    """An operator has a letter sent again that was given up."""
    reason = str(r.args.get("reason") or "").strip()
    if not reason:
        raise InvalidInput("Expected a reason to send a letter again.", code="no_reason", remedy="Say why.")
    letter = find_delivery(tx.journal, required(r.args, "id", int), r.tenant)
    if letter is None:
        raise NotFound("There is no such letter.", remedy="Look into the list of letters.")
    if letter.status != "dead":
        raise InvalidInput(
            f"Expected to send letter {letter.id} again, but it is {letter.status}.",
            code="not_dead",
            remedy="Only letters that were given up are sent again.",
        )
    at = to_micros(tx.now)

    def write(journal: Any) -> None:
        move_delivery(journal, letter.id, "pending", at, tries=0, due=at)
        audit(tx, r, f"letter {letter.id}", reason)

    tx.direct(write)
    return ok(id=letter.id)


def _pending(tx: Transaction, r: Request) -> Delivery | None:
    letter = find_delivery(tx.journal, required(r.args, "id", int))
    return letter if letter is not None and letter.status == "pending" else None


def _close(tx: Transaction, letter: Delivery, status: str, why: str) -> Answer:
    at = to_micros(tx.now)
    tries = letter.tries + (status == "sent")
    tx.direct(lambda j: move_delivery(j, letter.id, status, at, tries=tries, due=at, error=why))
    return ok(moot=status != "sent")


HANDLERS: dict[str, Callable[[Transaction, Request], Answer]] = {
    "delivered": delivered,
    "write_letter": write_letter,
    "letter_sent": letter_sent,
    "letter_failed": letter_failed,
    "retry_delivery": retry_delivery,
}
