"""What an approval or a form may say about those it asks: reminders and escalation. Part of a definition."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reminders:
    """Those who have not answered hear of it again.

    Attributes:
        every: duration between two of them, also before the first; on working time where it says so.
        at_most: how many there are.
    """

    every: str = ""
    at_most: int = 3


@dataclass(frozen=True, slots=True)
class Escalation:
    """One rung of the ladder: who is asked when nothing was decided in time.

    Attributes:
        after: duration since the step opened.
        groups: groups whose members are asked then.
        people: further persons, by login.
        hand_over: those asked before who have not answered are asked no more.
    """

    after: str = ""
    groups: tuple[str, ...] = ()
    people: tuple[str, ...] = ()
    hand_over: bool = False
