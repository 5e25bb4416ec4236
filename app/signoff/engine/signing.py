"""How somebody was signed in when they decided: looked up in the transaction that records the decision."""

from __future__ import annotations

from signoff.core.states import SignIn
from signoff.engine.request import Request
from signoff.engine.transaction import Transaction
from signoff.store import access
from signoff.store.times import from_micros, to_micros


def sign_in_of(tx: Transaction, r: Request) -> SignIn | None:
    """From the session or token that the face names and this store knows; None where there is none."""
    if r.token:
        return SignIn("token", session=f"token {r.token}")
    if not r.session:
        return SignIn("folder") if r.actor.channel == "cli" else None
    for s in access.list_sessions(tx.journal, r.tenant, r.actor.id.casefold(), to_micros(tx.now)):
        if s.id == r.session:
            confirmed = from_micros(s.confirmed_at) if s.confirmed_at != s.created_at else None
            return SignIn(s.method, from_micros(s.created_at), confirmed, s.id, s.address, s.agent[:200])
    return None
