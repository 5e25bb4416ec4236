"""Wishes for new keys that are not fulfilled yet: one of each kind at most, kept so that a killed engine goes on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson

from signoff.store.files import Rows, Writes

KINDS = ("tenant", "signing")


@dataclass(frozen=True, slots=True)
class Wish:
    """A new key is wanted. `old` is the id of the tenant's key, or the number of signing keys, when it was asked for.

    `asked_at` is in microseconds.
    """

    tenant: str
    what: str
    old: str
    asked_by: str
    asked_at: int


def save_wish(store: Writes, wish: Wish) -> None:
    """Write it down."""
    told = {"old": wish.old, "asked_by": wish.asked_by, "asked_at": wish.asked_at}
    store.write(
        "INSERT INTO setting(tenant, name, value) VALUES (?,?,?)",
        (wish.tenant, _name(wish.what), orjson.dumps(told).decode()),
    )


def find_wish(store: Rows, tenant: str, what: str) -> Wish | None:
    """The one of a tenant."""
    return next((w for w in list_wishes(store) if (w.tenant, w.what) == (tenant, what)), None)


def list_wishes(store: Rows) -> list[Wish]:
    """All, the tenants' keys before the signing key."""
    names = tuple(_name(what) for what in KINDS)
    found: list[tuple[Any, ...]] = store.rows("SELECT tenant, name, value FROM setting WHERE name IN (?,?)", names)
    wishes = [Wish(tenant, KINDS[names.index(name)], **orjson.loads(value)) for tenant, name, value in found]
    return sorted(wishes, key=lambda w: (KINDS.index(w.what), w.tenant))


def drop_wish(store: Writes, tenant: str, what: str) -> None:
    """It was fulfilled."""
    store.write("DELETE FROM setting WHERE tenant=? AND name=?", (tenant, _name(what)))


def count_wrapped(store: Rows, tenant: str) -> dict[str, int]:
    """How many secrets are wrapped by each key of a tenant."""
    runs = (
        "SELECT k.key_id, count(*) FROM run_key k JOIN run r ON r.id = k.run"
        " WHERE r.tenant=? AND k.secret IS NOT NULL GROUP BY k.key_id"
    )
    found = {str(row[0]): int(row[1]) for row in store.rows(runs, (tenant,))}
    for (key_id,) in store.rows("SELECT key_id FROM tenant_key WHERE tenant=?", (tenant,)):
        found[key_id] = found.get(key_id, 0) + 1
    return found


def _name(what: str) -> str:
    return f"rotation of the {what} key"
