"""Step-up: an approval may ask that whoever signs has given their credential a short while ago (semantics §7)."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from signoff.core.calendar import add_duration, parse_duration
from signoff.core.commands import Decide
from signoff.core.decide.build import Build
from signoff.core.definition import ApprovalConfig
from signoff.core.rejection import Rejection
from signoff.core.states import SignIn
from signoff.core.wording import span

_UTC = ZoneInfo("UTC")


def unconfirmed(build: Build, command: Decide) -> Rejection | None:
    """The credential was given too long ago, or nobody knows when; None where it need not be given, or was."""
    config = build.plan.steps[command.step].config
    if not isinstance(config, ApprovalConfig) or not config.reauthenticate:
        return None
    given = given_at(command.signed_in)
    if given is not None and build.now <= _until(given, config.reauthenticate):
        return None
    start = datetime(2027, 1, 1, tzinfo=UTC)
    within = span((_until(start, config.reauthenticate) - start).total_seconds())
    there = command.signed_in is not None and command.signed_in.method == "oidc"
    how, also = "give your password again", "; a fresh sign-in does as well"
    if there:
        how, also = "sign in again where you signed in", ""
    message = f"'{build.plan.label(command.step)}' wants to be sure that it is you: {how} to sign."
    return Rejection("confirm_identity", message, f"It is good for {within}{also}.")


def given_at(signed_in: SignIn | None) -> datetime | None:
    """When somebody last gave their credential, as far as the server knows.

    Where they signed in at a provider only the provider knows: coming back from there is no proof.
    """
    if signed_in is not None and signed_in.method == "oidc":
        return signed_in.confirmed_at
    known = [t for t in (signed_in.at, signed_in.confirmed_at) if t is not None] if signed_in else []
    return max(known, default=None)


def _until(at: datetime, text: str) -> datetime:
    return add_duration(at, parse_duration(text), _UTC)
