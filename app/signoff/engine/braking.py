"""Brakes against guessing: failed tries are counted in the store, so that all web processes and engines share them.

Only a failure writes; whoever gives the right secret is looked up and nothing more. They look the same for what exists
and what does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from signoff.engine.request import Request, ok
from signoff.errors import Unavailable
from signoff.store.failures import add_failures, count_failures
from signoff.store.times import to_micros

if TYPE_CHECKING:
    from signoff.engine.transaction import Transaction

WINDOW = timedelta(minutes=5)
MAX_FAILURES = 8
MAX_FAILURES_PER_LOGIN = 40
MAX_FAILURES_PER_ADDRESS = 100
MAX_BEARERS = 600
MAX_LINKS = 20


def guessed_names(login: str, address: str) -> dict[str, int]:
    """What failed sign-ins are counted under, and how many of each are too many.

    The first is the strict one, so that a stranger can lock out neither a person nor everybody behind one address.
    """
    return {
        f"both:{login} {address}": MAX_FAILURES,
        f"login:{login}": MAX_FAILURES_PER_LOGIN,
        f"address:{address}": MAX_FAILURES_PER_ADDRESS,
    }


def link_names(tenant: str, login: str) -> dict[str, int]:
    """What links that do not exist are counted under."""
    return {f"link:{tenant} {login}": MAX_LINKS}


def check_failures(tx: Transaction, names: dict[str, int], what: str = "failed sign-ins") -> None:
    """Refuse where there were too many.

    Raises:
        Unavailable: with the time to wait.
    """
    found = count_failures(tx.journal, names, to_micros(tx.now - WINDOW))
    for name, most in names.items():
        count, first = found.get(name, (0, 0))
        if count >= most:
            wait = (first - to_micros(tx.now - WINDOW)) // 1_000_000 + 1
            raise Unavailable(f"There were too many {what}.", code="too_many", remedy=f"Try again in {wait} seconds.")


def note_failure(tx: Transaction, names: Iterable[str]) -> None:
    """Remember one."""
    at, before = to_micros(tx.now), to_micros(tx.now - WINDOW)
    tx.direct(lambda journal: add_failures(journal, names, at, before))


def bad_bearer(tx: Transaction, r: Request) -> dict[str, Any]:
    """A web process was shown a bearer that is none, from an address."""
    names = {f"bearer:{str(r.args.get('address') or '')[:100]}": MAX_BEARERS}
    check_failures(tx, names, "requests without a valid bearer token")
    note_failure(tx, names)
    return ok()


HANDLERS: dict[str, Callable[[Transaction, Request], dict[str, Any]]] = {"bad_bearer": bad_bearer}
