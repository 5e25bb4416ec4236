"""Messages from outside: each is used by exactly one step, at once or when one waits for it.

The step that has waited longest gets it; of several kept messages the oldest is used first. Nothing is ever
dropped silently: what nobody wants is kept until it expires, what does not fit is refused at the door or, where
it had been kept, fails the step visibly.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from signoff.core.calendar import add_duration, parse_duration
from signoff.core.commands import ReceiveSignal
from signoff.core.digest import digest_of
from signoff.core.effects import SignalWaitPut
from signoff.core.payload import plain_json
from signoff.core.rejection import Rejection
from signoff.core.states import Actor
from signoff.core.validate import NAME
from signoff.engine.auditing import audit
from signoff.engine.request import Request, ok
from signoff.errors import Conflict, InvalidInput, NotFound, Unavailable
from signoff.store import signals as s
from signoff.store.bodies import dump
from signoff.store.times import from_micros, to_micros

if TYPE_CHECKING:
    from signoff.engine.transaction import Transaction

Answer = dict[str, Any]
KEEP = "P30D"
MAX_KEY_CHARS = 200
MAX_KEPT = 1_000
MAX_PAYLOAD_BYTES = 262_144
_UTC = ZoneInfo("UTC")


def send_signal(tx: Transaction, r: Request) -> Answer:
    """Give a message to the step that has waited longest for it, or keep it.

    Raises:
        InvalidInput: the payload does not fit the step that waits for it; nothing is kept then.
        Conflict: a message of that id came before with another payload.
    """
    name, key = _text(r, "name"), _text(r, "key")
    payload = _payload(r)
    message_id = str(r.args.get("id") or "")[:MAX_KEY_CHARS] or f"m-{secrets.token_hex(12)}"
    digest, plain = s.message_digests(tx.journal, r.tenant, digest_of(payload))
    known = s.find_message(tx.journal, r.tenant, name, key, message_id)
    if known is not None:
        if known.digest not in (digest, plain):
            raise Conflict(
                f"The message '{message_id[:60]}' of signal '{name}' came before with another payload.",
                code="message_id_reused",
                remedy="Use a new id for a new message.",
            )
        return ok(id=message_id, status=known.status, run_id=known.run_id, step=known.step, created=False)
    now = to_micros(tx.now)
    if s.count_kept(tx.journal, r.tenant, name, key, now) >= MAX_KEPT:
        raise Unavailable(
            f"{MAX_KEPT} messages of signal '{name}' with this key wait already.",
            code="too_many_kept",
            remedy="Find out why no run takes them, or discard some.",
        )
    message = s.MessageRow(
        0, name, key, message_id, digest, payload, r.actor.id, r.actor.channel, "kept", now, _until(tx, r), "", "", ""
    )
    for run, step, generation in s.list_waits(tx.journal, r.tenant, name, key):
        run_id = _run_id(tx, run)
        result = tx.command(r.tenant, run_id, _receive(message, r.actor, step, generation, kept=False))
        if isinstance(result, Rejection):
            if result.code == "invalid_payload":
                problems: Any = result.details.get("problems", [])
                raise InvalidInput(result.message, code="invalid_payload", problems=tuple(problems))
            continue
        _keep(tx, r.tenant, message, "used", run, step)
        return ok(id=message_id, status="used", run_id=run_id, step=step, created=True)
    _keep(tx, r.tenant, message, "kept", None, "")
    return ok(id=message_id, status="kept", run_id="", step="", created=True)


def _run_id(tx: Transaction, pk: int) -> str:
    """The public id of a run, which may have been started in this very transaction."""
    planned = tx.rows.runs.get(pk)
    if planned is not None:
        return planned[1].run_id
    stored: str = tx.journal.rows("SELECT public_id FROM run WHERE id=?", (pk,))[0][0]
    return stored


def _keep(tx: Transaction, tenant: str, message: s.MessageRow, status: str, run: int | None, step: str) -> None:
    def write(journal: Any) -> None:
        added = s.add_message(journal, tenant, message)
        if status != "kept":
            s.settle_message(journal, added, status, to_micros(tx.now), run=run, step=step)

    tx.direct(write)


def _receive(message: s.MessageRow, sender: Actor, step: str, generation: int, *, kept: bool) -> ReceiveSignal:
    return ReceiveSignal(
        actor=sender,
        step=step,
        generation=generation,
        name=message.name,
        key=message.key,
        message=message.message_id,
        payload=message.payload,
        sent_at=from_micros(message.received_at),
        kept=kept,
    )


def deliver_kept(tx: Transaction, tenant: str, run_id: str, wait: SignalWaitPut) -> None:
    """A step began to wait: the oldest message that was kept for it is used in the same commit."""
    message = s.oldest_kept(tx.journal, tenant, wait.name, wait.key, to_micros(tx.now))
    if message is None:
        return
    person = tx.directory(tenant)[0].people.get(message.sender, "")
    sender = Actor("person", message.sender, person, message.channel)
    result = tx.command(tenant, run_id, _receive(message, sender, wait.step, wait.generation, kept=True))
    if isinstance(result, Rejection):
        return  # the step does not wait any more; the message stays kept
    step, run = result.steps[wait.step], tx.run(tenant, run_id)[0].pk
    used = step.outcome == "received"
    note = "" if used or step.error is None else step.error.message[:1_000]
    s.settle_message(
        tx.journal, message.id, "used" if used else "refused", to_micros(tx.now), run=run, step=wait.step, note=note
    )


def discard_signal(tx: Transaction, r: Request) -> Answer:
    """An operator takes a kept message away, with a reason; its row stays."""
    name, key, message_id = _text(r, "name"), _text(r, "key"), _text(r, "id")
    reason = str(r.args.get("reason") or "").strip()
    if not reason:
        raise InvalidInput(f"Expected a reason to discard a message of '{name}'.", code="no_reason", remedy="Say why.")
    message = s.find_message(tx.journal, r.tenant, name, key, message_id)
    if message is None:
        raise NotFound(
            f"There is no message '{message_id[:60]}' of signal '{name}' with this key.", remedy="List them."
        )
    if message.status != "kept":
        raise Conflict(
            f"Expected to discard message '{message_id}', but it is {message.status}.",
            code="not_kept",
            remedy="Nothing to do.",
        )
    at = to_micros(tx.now)

    def write(journal: Any) -> None:
        s.settle_message(journal, message.id, "discarded", at, note=reason[:1_000])
        subject = f"{name} {key} {message_id}"[:200]
        audit(tx, r, subject, reason)

    tx.direct(write)
    return ok(id=message_id, status="discarded")


def _text(r: Request, what: str) -> str:
    value = r.args.get(what)
    good = isinstance(value, str) and 0 < len(value) <= MAX_KEY_CHARS and value == value.strip()
    if not isinstance(value, str) or not good or (what == "name" and not NAME.fullmatch(value)):
        raise InvalidInput(f"The {what} of a signal is missing or not fit for one.", remedy=f"Give its {what}.")
    return value


def _payload(r: Request) -> dict[str, Any]:
    payload = r.args.get("payload")
    if payload is None:
        return {}
    try:
        plain = plain_json(payload) if isinstance(payload, dict) else None
    except ValueError as error:
        raise InvalidInput(f"The payload cannot be stored. {error}", remedy="Correct it.") from None
    if not isinstance(plain, dict):
        raise InvalidInput("The payload of a signal must be an object.", remedy="Send named values.")
    if len(dump(plain)) > MAX_PAYLOAD_BYTES:
        raise InvalidInput(
            f"The payload has more than {MAX_PAYLOAD_BYTES} bytes.",
            code="too_large",
            remedy="Store large things elsewhere and pass a reference.",
        )
    return plain


def _until(tx: Transaction, r: Request) -> int:
    text = str(r.args.get("keep") or KEEP)
    try:
        until: datetime = add_duration(tx.now, parse_duration(text), _UTC)
    except (ValueError, OverflowError) as error:
        raise InvalidInput(
            f"'{text[:40]}' is no time to keep a message. {error}", remedy="Write P30D or PT1H."
        ) from None
    return to_micros(until)


HANDLERS: dict[str, Callable[[Transaction, Request], Answer]] = {
    "send_signal": send_signal,
    "discard_signal": discard_signal,
}
