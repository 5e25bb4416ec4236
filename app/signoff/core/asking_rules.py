"""What an approval or a form may say about those it asks: reminders, escalation, quotas. Part of a definition."""

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


@dataclass(frozen=True, slots=True)
class QuotaRule:
    """So many approvals of these people, beside those of the other quotas of an approval.

    Attributes:
        groups: groups whose members count.
        people: further persons, by login.
        required: how many of them must approve; 0 means all of them.
        when: an expression; where it is false when the approval opens, this quota is not asked.
    """

    groups: tuple[str, ...] = ()
    people: tuple[str, ...] = ()
    required: int = 1
    when: str = ""
