"""Everything from outside the core that a decision needs, gathered before deciding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from signoff.core.limits import UNLIMITED, Limits


@dataclass(frozen=True, slots=True)
class Absence:
    """From `begins` to `ends` (aware UTC) `delegate` decides for `person`; recorded by `set_by`, not revoked."""

    number: int
    person: str
    delegate: str
    begins: datetime
    ends: datetime
    reason: str = ""
    set_by: str = ""


@dataclass(frozen=True, slots=True)
class Directory:
    """People and groups of a tenant at one moment.

    Attributes:
        version: grows with every change; frozen into approvals as the policy version.
        groups: group name to logins of active members.
        people: login to display name of active accounts.
        absences: who decides for whom, when; those that are over or revoked may be left out.
    """

    version: int = 0
    groups: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    people: Mapping[str, str] = field(default_factory=dict)
    absences: tuple[Absence, ...] = ()


@dataclass(frozen=True, slots=True)
class Facts:
    """Outside facts of one decision.

    Attributes:
        now: aware UTC.
        jitter: a number in [0, 1), drawn by the caller.
        directory: people who exist now.
        limits: of the tenant.
    """

    now: datetime
    jitter: float = 0.0
    directory: Directory = Directory()
    limits: Limits = UNLIMITED
