"""Collects the events of one decision while the state follows along."""

from __future__ import annotations

from datetime import datetime

from signoff.core.events import Event
from signoff.core.evolve import evolve
from signoff.core.facts import Facts
from signoff.core.plan import Plan
from signoff.core.states import RunState


class Build:
    """The growing result of one decision. Local to one call of `decide`; never kept."""

    __slots__ = ("events", "facts", "plan", "state")

    def __init__(self, plan: Plan, state: RunState, facts: Facts) -> None:
        self.plan = plan
        self.state = state
        self.facts = facts
        self.events: list[Event] = []

    @property
    def now(self) -> datetime:
        """Aware UTC."""
        return self.facts.now

    def emit(self, event: Event) -> None:
        """Append an event and evolve the state by it."""
        self.events.append(event)
        self.state = evolve(self.plan, self.state, event)
