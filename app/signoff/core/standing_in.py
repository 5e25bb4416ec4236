"""Somebody decides for somebody who is absent (semantics §7): dated, never passed on, one decision for each human.

Who is absent names who decides for them. That person may answer what the absent one is asked, in their name, while the
absence lasts; it cannot be passed on, so a chain has exactly one link. Whoever is asked themselves answers for
themselves only.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from signoff.core.facts import Absence, Directory
from signoff.core.quorum import same_person
from signoff.core.rejection import Rejection


@dataclass(frozen=True, slots=True)
class Delegation:
    """On which absence an answer for somebody else rests, as it was then.

    Attributes:
        number: of the absence.
        person: login of who is absent.
        name: their name.
        begins, ends: how long; aware UTC.
        reason: as it was given.
        set_by: login of who recorded it.
    """

    number: int
    person: str
    name: str
    begins: datetime
    ends: datetime
    reason: str = ""
    set_by: str = ""


def absent_for(directory: Directory, delegate: str, now: datetime) -> tuple[Absence, ...]:
    """The absences in which this person decides for somebody now, the earliest first."""
    return tuple(a for a in directory.absences if same_person(a.delegate, delegate) and a.begins <= now < a.ends)


def delegation_of(directory: Directory, delegate: str, person: str, now: datetime) -> Delegation | None:
    """What allows this person to decide for that one now, or None."""
    for a in absent_for(directory, delegate, now):
        if same_person(a.person, person):
            name = directory.people.get(a.person, a.person)
            return Delegation(a.number, a.person, name, a.begins, a.ends, a.reason, a.set_by)
    return None


def not_standing_in(name: str, label: str) -> Rejection:
    """Somebody wants to answer for somebody who did not ask them to."""
    message = f"You do not decide for {name} now, so you may not answer '{label}' for them."
    return Rejection("not_standing_in", message, "Ask them, or who is asked.")
