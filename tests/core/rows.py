"""A model of the rows that the effects of `react` write, compared with what the state implies."""

from __future__ import annotations

from signoff.core.effects import (
    ApprovalMoved,
    ApprovalPut,
    AttemptMoved,
    AttemptPut,
    AttemptStatus,
    ChildEnded,
    ChildMoved,
    ChildStart,
    DeadLetterGone,
    DeadLetterPut,
    Effect,
    Notice,
    SignalWaitGone,
    SignalWaitPut,
    TimerCleared,
    TimerSet,
)
from signoff.core.implied import (
    AttemptKey,
    implied_attempts,
    implied_dead_letters,
    implied_signal,
    implied_timers,
    implies_open_approval,
)
from signoff.core.plan import Plan
from signoff.core.states import RunState

OPEN_ATTEMPTS = {AttemptStatus.READY, AttemptStatus.HELD, AttemptStatus.LEASED}


class Rows:
    """Tables as dictionaries. Each effect must fit the row it finds, as a conditional update would."""

    def __init__(self) -> None:
        self.attempts: dict[AttemptKey, AttemptMoved | AttemptPut] = {}
        self.timers: dict[tuple[str, str, int, int], TimerSet] = {}
        self.approvals: dict[tuple[str, int], str] = {}
        self.dead: dict[str, DeadLetterPut] = {}
        self.children: set[str] = set()
        self.waits: dict[str, SignalWaitPut] = {}
        self.people: dict[tuple[str, int], dict[str, bool]] = {}

    def apply(self, effects: list[Effect]) -> None:
        for effect in effects:
            match effect:
                case AttemptPut():
                    key = (effect.step, effect.generation, effect.item, effect.attempt)
                    assert key not in self.attempts, f"attempt {key} was put twice"
                    self.attempts[key] = effect
                case AttemptMoved():
                    key = (effect.step, effect.generation, effect.item, effect.attempt)
                    assert self.attempts[key].status in OPEN_ATTEMPTS, f"attempt {key} was over"
                    self.attempts[key] = effect
                case TimerSet():
                    name = (effect.step, str(effect.kind), effect.generation, effect.attempt)
                    assert name not in self.timers, f"timer {name} was armed twice"
                    self.timers[name] = effect
                case TimerCleared():
                    name = (effect.step, str(effect.kind), effect.generation, effect.attempt)
                    assert self.timers.pop(name).due == effect.due
                case ApprovalPut():
                    assert (effect.step, effect.generation) not in self.approvals
                    self.approvals[effect.step, effect.generation] = "open"
                    self.people[effect.step, effect.generation] = dict.fromkeys(effect.roster, False)
                case ApprovalMoved():
                    assert self.approvals[effect.step, effect.generation] == "open"
                    self.approvals[effect.step, effect.generation] = effect.status
                    people = self.people[effect.step, effect.generation]
                    for login in (*effect.removed, *effect.released):
                        people.pop(login, None)  # who only looks on is no part of this model
                    people |= dict.fromkeys(effect.asked, False) | dict.fromkeys(effect.voted, True)
                case DeadLetterPut():
                    assert effect.step not in self.dead, f"dead letter of {effect.step} was put twice"
                    self.dead[effect.step] = effect
                case DeadLetterGone():
                    assert self.dead.pop(effect.step).generation == effect.generation
                case SignalWaitPut():
                    assert effect.step not in self.waits
                    self.waits[effect.step] = effect
                case SignalWaitGone():
                    gone = self.waits.pop(effect.step)
                    assert (gone.generation, gone.name, gone.key) == (effect.generation, effect.name, effect.key)
                case ChildStart():
                    assert effect.child not in self.children, "a child was started twice"
                    self.children.add(effect.child)
                case ChildMoved():
                    assert effect.child in self.children
                case Notice() | ChildEnded():
                    pass

    def check(self, plan: Plan, state: RunState) -> None:
        """Open rows are exactly those that the state implies."""
        attempts, approvals = {}, set()
        timers = {(t.step, str(t.kind), t.generation, t.attempt): t for t in implied_timers(state)}
        for i, s in state.steps.items():
            attempts.update(implied_attempts(state, i))
            if implies_open_approval(state, i):
                approvals.add((i, s.generation))
        assert self.timers == timers
        assert self.dead == implied_dead_letters(plan, state)
        assert self.waits == {i: w for i in state.steps if (w := implied_signal(plan, state, i))}
        assert {k: a.status for k, a in self.attempts.items() if a.status in OPEN_ATTEMPTS} == attempts
        assert {k for k, status in self.approvals.items() if status == "open"} == approvals
        for i, generation in approvals:
            approval = state.steps[i].approval
            assert approval is not None
            voted = {v.person for v in approval.votes}
            seen = {p: p in voted for p in approval.roster} | {v.human: True for v in approval.votes}
            assert self.people[i, generation] == seen
