"""What people did, or were refused, outside of runs: one line each in the audit, by whoever sent the request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from signoff.engine.permissions import permitted
from signoff.engine.request import Request
from signoff.store.people import add_audit
from signoff.store.times import to_micros

if TYPE_CHECKING:
    from signoff.engine.transaction import Transaction


def audit(
    tx: Transaction, r: Request, subject: str, message: str = "", *, action: str = "", outcome: str = "done"
) -> None:
    """Add a line, inside of a `Transaction.direct`; `action` is the request's name where none is given."""
    at, who = to_micros(tx.now), r.actor
    add_audit(tx.journal, r.tenant, at, who.id, who.channel, action or r.do, subject, outcome, message)


def audit_alone(
    tx: Transaction, r: Request, subject: str, message: str = "", *, action: str = "", outcome: str = "done"
) -> None:
    """Add a line where nothing else is written."""
    tx.direct(lambda _: audit(tx, r, subject, message, action=action, outcome=outcome))


def is_administrator(tx: Transaction, r: Request) -> bool:
    """Whether the sender may change accounts."""
    account = tx.directory(r.tenant)[1].get(r.actor.id.casefold())
    return account is not None and "save_person" in permitted(account.roles)
