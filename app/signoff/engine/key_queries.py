"""Reads about keys: which there are, since when, what they are used for. Never a key itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from signoff.store.keyring import Keyring
from signoff.store.reads.reader import Reader
from signoff.store.rotation import count_wrapped, list_wishes


@dataclass(frozen=True, slots=True)
class KeyView:
    """A key. `state` is current, replaced (still there until all that it wraps is wrapped anew) or retired.

    `used_by` counts the secrets that a tenant's key wraps; `id` of a signing key is its public key.
    """

    what: str
    id: str
    state: str
    made_at: datetime | None
    retired_at: datetime | None
    age_days: int | None
    used_by: int | None


class KeyQueries:
    """Keys of a tenant and of the installation, for readers."""

    def __init__(self, reader: Reader, now: Callable[[], datetime]) -> None:
        self._reader, self._now = reader, now

    def listed(self, tenant: str) -> list[KeyView]:
        """The tenant's keys and the signing keys, the newest of each first; none where there is no key file."""
        ring = self._reader.vault.ring
        return [] if ring is None else [*self._of_tenant(ring, tenant), *self._signing(ring)]

    def under_way(self, tenant: str) -> list[str]:
        """Kinds of keys that are being replaced now."""
        return [w.what for w in list_wishes(self._reader) if w.tenant == tenant]

    def _of_tenant(self, ring: Keyring, tenant: str) -> list[KeyView]:
        used = count_wrapped(self._reader, tenant)
        return [
            self._view("tenant", k["id"], k["state"], k["made"], k["retired"], used.get(k["id"], 0))
            for k in reversed(ring.listed(tenant))
        ]

    def _signing(self, ring: Keyring) -> list[KeyView]:
        found = ring.signing()
        return [
            self._view(
                "signing", k["public"], "current" if k is found[-1] else "retired" if not k["private"] else "replaced",
                k["at"], k.get("retired", ""), None,
            )
            for k in reversed(found)
        ]  # fmt: skip

    def _view(self, what: str, id: str, state: str, made: str, retired: str, used_by: int | None) -> KeyView:
        since = datetime.fromisoformat(made) if made else None
        age = None if since is None else max(0, (self._now() - since).days)
        return KeyView(what, id, state, since, datetime.fromisoformat(retired) if retired else None, age, used_by)


def keys_document(queries: KeyQueries, tenant: str) -> dict[str, Any]:
    """All keys as JSON for programs."""
    items = [
        {
            "what": k.what,
            "id": k.id,
            "state": k.state,
            "made_at": k.made_at.isoformat() if k.made_at else None,
            "retired_at": k.retired_at.isoformat() if k.retired_at else None,
            "age_days": k.age_days,
            "used_by": k.used_by,
        }
        for k in queries.listed(tenant)
    ]
    return {"keys": items, "under_way": queries.under_way(tenant)}
