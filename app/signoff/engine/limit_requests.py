"""Requests about the limits of a tenant, and the refusal of a start that would go beyond them."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import Any

from signoff.core.limits import odd_names, read_limits, write_limits
from signoff.core.rejection import Rejection
from signoff.engine.auditing import audit, audit_alone
from signoff.engine.request import Request, ok
from signoff.engine.transaction import Transaction, required
from signoff.errors import InvalidInput
from signoff.store.limits import save_limits

Answer = dict[str, Any]


def set_limits(tx: Transaction, r: Request) -> Answer:
    """Replace the limits of the tenant; what is not named goes back to its default.

    Raises:
        InvalidInput: no reason, or a limit that cannot be read; every problem is listed.
    """
    document, reason = required(r.args, "limits", dict), str(r.args.get("reason") or "").strip()
    limits, problems = read_limits(document)
    problems = problems or odd_names(limits)
    if problems:
        listed = tuple({"field": "limits", "message": p, "remedy": "Correct it."} for p in problems)
        raise InvalidInput(" ".join(problems), code="invalid_limits", remedy="Correct them.", problems=listed)
    if not reason:
        raise InvalidInput("Expected a reason to set the limits.", code="no_reason", remedy="Say why.")
    before, after = write_limits(tx.usage.limits(r.tenant)), write_limits(limits)

    def write(journal: Any) -> None:
        save_limits(journal, r.tenant, limits)
        audit(tx, r, "limits", f"{reason} Before: {before}. After: {after}.")

    tx.direct(write)
    tx.usage.limits_changed(r.tenant)
    tx.out.lease_again = True  # what was held back may begin
    return ok(limits=after)


def over_quota(tx: Transaction, r: Request, definition: str) -> Rejection | None:
    """Why the tenant may start no further run now; the refusal is audited, and says how long to wait where known."""
    why, wait = tx.usage.no_start(r.tenant, tx.now)
    if not why:
        return None
    message = f"Expected to start a run of '{definition}', but {why}."
    remedy = f"Try again in {ceil(wait)} seconds." if wait else "Try again when some have ended, or raise the limit."
    audit_alone(tx, r, definition, message, outcome="refused")
    return Rejection("over_quota", message, remedy, details={"retry_after_s": ceil(wait) if wait else 60})


HANDLERS: dict[str, Callable[[Transaction, Request], Answer]] = {"set_limits": set_limits}
