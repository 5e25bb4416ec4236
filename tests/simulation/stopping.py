"""The auditor's own account of a run's end: its deadline, and what is undone in which order."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from signoff.core import events as e
from signoff.core.calendar import add_duration, parse_duration
from signoff.core.definition import ActivityConfig
from signoff.core.plan import Plan
from signoff.core.states import RunState, RunStatus, idempotency_key

COMPLETED = (e.ActivitySucceeded, e.ItemsSucceeded, e.EffectConfirmed, e.StepCompletedByHand)


class StoppingLedger:
    """What was completed and not undone yet, in order; when the run must end by its own reckoning of pauses."""

    def __init__(self) -> None:
        self.completed: list[str] = []
        self.undone: set[str] = set()
        self.tries: dict[str, int] = {}
        self.own: datetime | None = None
        self.cap: datetime | None = None
        self.paused_at: datetime | None = None
        self.wants_undo = False

    @property
    def deadline(self) -> datetime | None:
        """The definition's deadline, or the tenant's limit where that comes first."""
        return min((d for d in (self.cap, self.own) if d), default=None)

    def add(self, plan: Plan, was: RunState, event: e.Event) -> None:
        """Check one event and remember it."""
        self._clock(plan, event)
        step = getattr(event, "step", "")
        if isinstance(event, COMPLETED):
            self._forget(step)
            if self._compensation(plan, step):
                self.completed.append(step)
        match event:
            case e.StepRetried() | e.StepSkipped() | e.EffectDenied():
                self._forget(step)
            case e.WorkReturned():
                for again, _, _ in event.rounds:
                    self._forget(again)
            case e.RunStopping():
                self.wants_undo = event.compensate
            case e.RunCompensating():
                assert self.wants_undo, "undone, although nobody asked for that"
                assert event.steps[::-1] == tuple(self.completed), (
                    f"{event.steps} shall be undone, not {self.completed}"
                )
            case e.ActivityScheduled(undo=number) if number:
                self._scheduled(plan, was, event)
            case e.StepCompensated():
                assert self.completed, f"{step} was undone twice or was never done"
                assert self.completed[-1] == step, f"{step} was undone before {self.completed[-1]}"
                self.completed.pop()
                self.undone.add(step)
            case e.CompensationRetried():
                self.tries.pop(step, None)
            case e.RunEnded() if self.wants_undo and event.outcome != "terminated":
                assert not self.completed, f"the run ended, but {self.completed} were not undone"
            case _:
                pass

    def _scheduled(self, plan: Plan, was: RunState, event: e.ActivityScheduled) -> None:
        assert was.status is RunStatus.COMPENSATING, f"undone while {was.status}"
        assert self.completed[-1] == event.step, f"{event.step} is undone before {self.completed[-1]}"
        assert event.key == f"{idempotency_key(was.run_id, event.step, was.steps[event.step])}/undo"
        compensation = self._compensation(plan, event.step)
        count = self.tries[event.step] = self.tries.get(event.step, 0) + 1
        assert event.undo == count, "attempts to undo are counted one by one"
        assert count <= compensation.retry.max_attempts, "more tries to undo than the policy allows"

    def _clock(self, plan: Plan, event: e.Event) -> None:
        policies = plan.definition.policies
        match event:
            case e.RunStarted():
                zone = plan.worktime.zone
                if policies.deadline:
                    self.own = add_duration(event.at, parse_duration(policies.deadline), zone)
                if event.capped:
                    self.cap = add_duration(event.at, parse_duration(event.capped), zone)
            case e.RunPaused():
                self.paused_at = event.at
            case e.RunResumed() | e.RunStopping() if self.paused_at:
                stood = event.at - self.paused_at
                self.own, self.cap = self.own and self.own + stood, self.cap and self.cap + stood
                self.paused_at = None
            case e.DeadlinePassed():
                assert self.deadline is not None, "no deadline, or it had passed before"
                assert event.due == self.deadline, f"the deadline is {self.deadline}, not {event.due}"
                assert event.at >= self.deadline, "noticed before it passed"
                assert self.paused_at is None, "a clock ran during a pause"
                assert bool(event.capped) == (event.due == self.cap), "which deadline it was"
                assert event.then == (self.own if event.capped else None), "the definition's own deadline was lost"
                self.own, self.cap = (self.own if event.capped else None), None
            case _:
                pass

    def _forget(self, step: str) -> None:
        self.completed = [s for s in self.completed if s != step]

    @staticmethod
    def _compensation(plan: Plan, step: str) -> Any:
        config = plan.steps[step].config
        return config.compensation if isinstance(config, ActivityConfig) else None
