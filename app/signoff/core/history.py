"""A run's whole history under the plan of each stretch: the plan may change in the middle (semantics §9)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from signoff.core import events as e
from signoff.core.evolve import evolve
from signoff.core.plan import Plan
from signoff.core.states import RunState

PlanOf = Callable[[str], Plan]
"""The plan of a published version by its digest; raises KeyError where there is none."""


class History:
    """Folds the events of one run, each under the version that the run was pinned to when it happened."""

    __slots__ = ("_plan_of", "plan", "state")

    def __init__(self, plan_of: PlanOf) -> None:
        self._plan_of = plan_of
        self.plan: Plan | None = None
        self.state = RunState()

    def add(self, event: e.Event) -> RunState:
        """The state after one more event.

        Raises:
            KeyError: no version has the digest that the event names, or the history does not begin with its start.
        """
        if isinstance(event, e.RunStarted):
            self.plan = self._plan_of(event.digest)
        if self.plan is None:
            raise KeyError("The history does not begin with the start of the run.")
        self.state = evolve(self.plan, self.state, event)
        if self.state.digest != self.plan.digest:
            self.plan = self._plan_of(self.state.digest)
        return self.state


def replay_history(plan_of: PlanOf, events: Iterable[e.Event]) -> History:
    """The history after all its events."""
    history = History(plan_of)
    for event in events:
        history.add(event)
    return history
