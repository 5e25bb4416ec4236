"""How somebody was signed in when they decided or destroyed: looked up in the transaction that records it.

A password that is given with a decision is checked like one at sign-in: wrong ones are counted, recorded and refused.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from signoff.core.decide.confirming import given_at
from signoff.core.rejection import Rejection
from signoff.core.states import SignIn
from signoff.engine.braking import check_failures, guessed_names, note_failure
from signoff.engine.links import Proofs
from signoff.engine.request import Request
from signoff.engine.transaction import Transaction
from signoff.errors import Forbidden
from signoff.store import access
from signoff.store.times import from_micros, to_micros

CONFIRMED_WITHIN = timedelta(minutes=10)
"""How long a given password or a sign-in is good for what cannot be undone."""


def sign_in_of(tx: Transaction, r: Request) -> SignIn | None:
    """From the session or token that the face names and this store knows; None where there is none.

    Raises:
        Forbidden: a password was given, and it is wrong.
        Unavailable: too many wrong ones were given.
    """
    known = _known(tx, r)
    given = r.context.password if isinstance(r.context, Proofs) else None
    if given is None:
        return known
    login = r.actor.id.casefold()
    names = guessed_names(login, known.address if known else "")
    check_failures(tx, names)
    account = tx.directory(r.tenant)[1].get(login)
    if account is None or not given or given != account.password_hash:
        note_failure(tx, names)
        raise Forbidden("The password is wrong; nothing was done.", code="wrong_password", remedy="Try again.")
    if r.session:
        at = to_micros(tx.now)
        tx.direct(lambda journal: access.confirm_session(journal, r.tenant, login, r.session, at))
    return replace(known or SignIn("password"), confirmed_at=tx.now)


def unconfirmed(tx: Transaction, r: Request, wanted: str) -> Rejection | None:
    """Why something that cannot be undone is not done: whoever asks has not just proved who they are.

    Whoever acts from within the data folder has the keys and the database anyway and is not asked.

    Args:
        tx: the transaction that would do it.
        r: the request, with or without a password.
        wanted: as a verb, for the sentence: "erase a run".

    Raises:
        Forbidden: a password was given, and it is wrong.
        Unavailable: too many wrong ones were given.
    """
    signed_in = sign_in_of(tx, r)
    given = given_at(signed_in)
    is_owner = signed_in is not None and signed_in.method == "folder"
    if r.origin != "client" or is_owner or (given is not None and tx.now - given <= CONFIRMED_WITHIN):
        return None
    message = f"Expected to {wanted}, but it must be sure that it is you: give your password again."
    return Rejection("confirm_identity", message, "It is good for 10 minutes; a fresh sign-in does as well.")


def _known(tx: Transaction, r: Request) -> SignIn | None:
    if r.token:
        return SignIn("token", session=f"token {r.token}")
    if not r.session:
        return SignIn("folder") if r.actor.channel == "cli" else None
    for s in access.list_sessions(tx.journal, r.tenant, r.actor.id.casefold(), to_micros(tx.now)):
        if s.id == r.session:
            told = s.method == "oidc" or s.confirmed_at != s.created_at
            confirmed = from_micros(s.confirmed_at) if told and s.confirmed_at else None
            return SignIn(s.method, from_micros(s.created_at), confirmed, s.id, s.address, s.agent[:200])
    return None
