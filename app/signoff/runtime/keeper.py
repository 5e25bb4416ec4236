"""Fulfils wishes for new keys, in steps that may each be the last: whoever comes next goes on where it ended."""

from __future__ import annotations

from collections.abc import Callable

from signoff.core.states import Actor
from signoff.engine.writer import Writer
from signoff.runtime.submit import submit_all
from signoff.store.checkpoints import Signer
from signoff.store.reads.reader import Reader
from signoff.store.rotation import Wish, list_wishes

_ACTOR = Actor("system", "keys", "Keeper of the keys", "engine")


class Keeper:
    """Used by the sealer, on whose thread the signing key changes between two signatures."""

    def __init__(self, reader: Reader, writer: Writer, signer: Signer) -> None:
        self._reader, self._writer, self._signer = reader, writer, signer

    def work(self, stopped: Callable[[], bool]) -> int:
        """Fulfil all wishes; returns how many were."""
        return sum(self._fulfil(wish, stopped) for wish in list_wishes(self._reader))

    def _fulfil(self, wish: Wish, stopped: Callable[[], bool]) -> bool:
        told = self._tenant(wish, stopped) if wish.what == "tenant" else self._signing(wish)
        return bool(told) and self._ask("rotation_done", wish.tenant, what=wish.what, told=told) is not None

    def _tenant(self, wish: Wish, stopped: Callable[[], bool]) -> str:
        """A new key, everything wrapped with it, the old ones destroyed; "" where that has to go on later."""
        ring = self._signer.ring
        made = ring.current(wish.tenant)[0]
        if made == wish.old:
            made = ring.rotate(wish.tenant)
        while not stopped():
            answer = self._ask("rewrap_keys", wish.tenant, key_id=made)
            if answer is None:
                return ""
            if not answer["left"]:
                return f"{made} is the key now; {ring.drop_old(wish.tenant)} old keys were destroyed."
        return ""

    def _signing(self, wish: Wish) -> str:
        """A new key, whose note the old one signs before it is destroyed."""
        keys = self._signer.public_keys()
        made = self._signer.rotate() if len(keys) <= int(wish.old) else keys[-1]
        return f"{made} signs now; {self._signer.retire()} old keys were destroyed."

    def _ask(self, do: str, tenant: str, **args: object) -> dict[str, object] | None:
        (answer,) = submit_all(self._writer, _ACTOR, [(do, tenant, dict(args))])
        found: dict[str, object] | None = answer.get("ok")
        return found
