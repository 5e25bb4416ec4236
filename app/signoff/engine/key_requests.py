"""Making new keys: asked for by a person who has just proved who they are, done in the background, recorded twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from signoff.engine.auditing import audit
from signoff.engine.permissions import INSTALLATION, is_of_installation
from signoff.engine.request import Request, ok, refused
from signoff.engine.signing import unconfirmed
from signoff.errors import Forbidden, InvalidInput
from signoff.store import rotation as s
from signoff.store.times import to_micros

if TYPE_CHECKING:
    from signoff.engine.transaction import Transaction

Answer = dict[str, Any]


def rotate_keys(tx: Transaction, r: Request) -> Answer:
    """An administrator wants a new tenant key (`what` is "tenant") or a new signing key ("signing").

    The wish is written down with the key that it is to replace, and fulfilled by the keeper of the keys: at once, or
    where it is interrupted, by the next engine.

    Raises:
        InvalidInput: there is no such kind of key, no reason, or no key file.
        Forbidden: the signing key belongs to the installation, and the person to another tenant.
    """
    what, reason = str(r.args.get("what") or ""), str(r.args.get("reason") or "").strip()[:1000]
    if what not in s.KINDS:
        raise InvalidInput(f"There is no kind of key '{what[:40]}'.", remedy=f"Name one of {', '.join(s.KINDS)}.")
    if not reason:
        raise InvalidInput("Expected a reason to make new keys.", code="no_reason", remedy="Say why.")
    if what == "signing" and not is_of_installation(r.tenant):
        raise Forbidden(
            "Expected to make a new signing key, but that one signs the records of all tenants.",
            remedy=f"Only administrators of the tenant '{INSTALLATION}' replace it; ask one.",
        )
    if wrong := unconfirmed(tx, r, "make new keys"):
        return refused(wrong)
    ring = tx.journal.vault.ring
    if ring is None:
        raise InvalidInput("There is no key file, so there are no keys to replace.", remedy="Name the data folder.")
    if s.find_wish(tx.journal, r.tenant, what) is not None:
        return ok(what=what, created=False)  # two clicks make one key
    old = ring.current(r.tenant)[0] if what == "tenant" else str(len(ring.signing()))
    wish = s.Wish(r.tenant, what, old, r.actor.id, to_micros(tx.now))

    def write(journal: Any) -> None:
        s.save_wish(journal, wish)
        audit(tx, r, what, reason)

    tx.direct(write)
    return ok(what=what, created=True)


def rewrap_keys(tx: Transaction, r: Request) -> Answer:
    """Wrap the secrets of some runs with the tenant's new key; answers how many are left."""
    left = tx.direct(lambda journal: journal.ledger.rewrap(r.tenant, str(r.args.get("key_id") or "")))
    return ok(left=left)


def rotation_done(tx: Transaction, r: Request) -> Answer:
    """The engine's own request: the new key is used everywhere, the old one is gone."""
    what, told = str(r.args["what"]), str(r.args["told"])

    def write(journal: Any) -> None:
        s.drop_wish(journal, r.tenant, what)
        audit(tx, r, what, told)

    if s.find_wish(tx.journal, r.tenant, what) is not None:
        tx.direct(write)
    return ok()


HANDLERS: dict[str, Callable[[Transaction, Request], Answer]] = {
    "rotate_keys": rotate_keys,
    "rewrap_keys": rewrap_keys,
    "rotation_done": rotation_done,
}
