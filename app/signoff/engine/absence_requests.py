"""Absences: who decides for whom, from when to when. Set by oneself, or by an administrator with a reason; revocable.

A delegate cannot pass it on: whoever is absent at that time themselves cannot be named. So a chain has one link and
there is no circle.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from signoff.engine.auditing import audit, is_administrator
from signoff.engine.request import Request, ok
from signoff.engine.transaction import Transaction, required
from signoff.errors import Conflict, Forbidden, InvalidInput, NotFound
from signoff.store.absences import AbsenceRow, add_absence, find_absence, list_absences, revoke_absence
from signoff.store.links import revoke_links_of_absence
from signoff.store.people import directory_changed
from signoff.store.times import from_micros, to_micros

Answer = dict[str, Any]
LONGEST = timedelta(days=400)
MAX_UPCOMING = 20
MAX_REASON_CHARS = 1_000


def set_absence(tx: Transaction, r: Request) -> Answer:
    """Somebody is absent, and another decides for them meanwhile; answers {"id"}."""
    person = _whose(tx, r, str(r.args.get("person") or r.actor.id).casefold().strip())
    delegate = str(required(r.args, "delegate")).casefold().strip()
    reason = str(r.args.get("reason") or "").strip()
    begins, ends = _instant(r.args, "begins", tx.now), _instant(r.args, "ends", None)
    account = tx.directory(r.tenant)[1].get(delegate)
    if account is None or not account.active or account.kind != "person":
        raise InvalidInput(f"'{delegate[:60]}' has no active account of a person.", remedy="Correct the login.")
    if delegate == person:
        raise InvalidInput("Nobody decides for themselves in their own absence.", remedy="Name somebody else.")
    if ends <= begins or ends <= tx.now or ends - begins > LONGEST:
        message = "An absence ends after it begins, in the future, and lasts 400 days at most."
        raise InvalidInput(message, remedy="Correct the dates.")
    if person != r.actor.id.casefold() and not reason:
        raise InvalidInput("An absence of somebody else needs a reason.", code="no_reason", remedy="Say why.")
    if len(reason) > MAX_REASON_CHARS:
        raise InvalidInput(f"The reason is longer than {MAX_REASON_CHARS} characters.", remedy="Shorten it.")
    _refuse_overlaps(tx, r, person, delegate, begins, ends)
    at = to_micros(tx.now)
    row = AbsenceRow(0, person, delegate, to_micros(begins), to_micros(ends), reason, r.actor.id.casefold(), at)

    def write(journal: Any) -> int:
        number = add_absence(journal, r.tenant, row)
        directory_changed(journal, r.tenant)
        until = f"{begins:%Y-%m-%d %H:%M} to {ends:%Y-%m-%d %H:%M} UTC"
        audit(tx, r, person, f"{delegate} decides from {until}. {reason}".strip())
        return number

    number = tx.direct(write)
    tx.people_changed(r.tenant)
    return ok(id=number, person=person, delegate=delegate, begins=begins.isoformat(), ends=ends.isoformat())


def revoke(tx: Transaction, r: Request) -> Answer:
    """End an absence before its time; what was decided meanwhile stands."""
    found = find_absence(tx.journal, r.tenant, required(r.args, "id", int))
    mine = found is not None and found.person == r.actor.id.casefold()
    if found is None or not (mine or is_administrator(tx, r)):
        raise NotFound("There is no such absence.", remedy="Look into the list of absences.")
    reason = str(r.args.get("reason") or "").strip()[:MAX_REASON_CHARS]
    if not mine and not reason:
        raise InvalidInput("Revoking an absence of somebody else needs a reason.", code="no_reason", remedy="Say why.")
    if found.revoked_at is not None or from_micros(found.ends) <= tx.now:
        return ok(id=found.id, revoked=False)

    def write(journal: Any) -> bool:
        done = revoke_absence(journal, r.tenant, found.id, to_micros(tx.now), r.actor.id.casefold(), reason)
        directory_changed(journal, r.tenant)
        links = revoke_links_of_absence(journal, r.tenant, found.id, to_micros(tx.now))
        ended = f"; {links} links ended" if links else ""
        audit(tx, r, found.person, f"absence {found.id} revoked{ended}. {reason}".strip())
        return done

    revoked = tx.direct(write)
    tx.people_changed(r.tenant)
    return ok(id=found.id, revoked=revoked)


def _refuse_overlaps(tx: Transaction, r: Request, person: str, delegate: str, begins: datetime, ends: datetime) -> None:
    standing = list_absences(tx.journal, r.tenant, after=to_micros(tx.now))
    meanwhile = [a for a in standing if a.begins < to_micros(ends) and to_micros(begins) < a.ends]
    if any(a.person == person for a in meanwhile):
        message = f"'{person}' is absent in that time already, and somebody decides for them."
        raise Conflict(
            message, code="absence_overlaps", remedy="Revoke the other absence first, or choose other dates."
        )
    if any(a.person == delegate for a in meanwhile):
        message = f"'{delegate}' is absent in that time too, and what they were given cannot be passed on."
        raise Conflict(message, code="delegate_absent", remedy="Name somebody who is there.")
    if sum(a.person == person for a in standing) >= MAX_UPCOMING:
        raise InvalidInput(f"'{person}' has {MAX_UPCOMING} absences already.", remedy="Revoke some.")


def _whose(tx: Transaction, r: Request, person: str) -> str:
    account = tx.directory(r.tenant)[1].get(person)
    if person != r.actor.id.casefold() and not is_administrator(tx, r):
        raise Forbidden("Only an administrator records an absence of somebody else.", remedy="Ask one.")
    if account is None or not account.active or account.kind != "person":
        raise NotFound(f"There is no active account '{person[:60]}' of a person.", remedy="Correct the login.")
    return person


def _instant(args: dict[str, Any], name: str, otherwise: datetime | None) -> datetime:
    text = args.get(name)
    if not text and otherwise is not None:
        return otherwise
    try:
        at = datetime.fromisoformat(str(text))
    except ValueError:
        raise InvalidInput(f"'{name}' is no instant such as 2027-01-04T09:00:00Z.", remedy="Correct it.") from None
    if at.tzinfo is None or not 1970 <= at.year <= 2199:
        raise InvalidInput(f"'{name}' must say its offset from UTC, between 1970 and 2199.", remedy="Correct it.")
    return at.astimezone(UTC)


HANDLERS: dict[str, Callable[[Transaction, Request], Answer]] = {"set_absence": set_absence, "revoke_absence": revoke}
