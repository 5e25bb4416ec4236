"""The auditor's own account of one run, kept from its events alone; every event and every commit is checked."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from signoff.core import events as e
from signoff.core.codec import decode_snapshot, encode_snapshot
from signoff.core.definition import ActivityConfig, ApprovalConfig, EffectContract
from signoff.core.limits import BY_LIMITS
from signoff.core.plan import Plan
from signoff.core.quorum import find_person, person_key
from signoff.core.states import RunState, RunStatus, StepState, StepStatus, idempotency_key
from tests.core.checks import (
    Ledger,
    check_explanation,
    check_joins,
    check_way_forward,
    check_what_is_shown,
    through_json,
)
from tests.core.policies import fills
from tests.simulation.stopping import StoppingLedger

TOPICS = {
    e.ApprovalOpened: "approval.opened",
    e.WorkReturned: "work.returned",
    e.ApprovalVoided: "approval.voided",
    e.FormOpened: "form.opened",
    e.FormVoided: "form.voided",
    e.RunStalled: "run.stalled",
    e.DeadlinePassed: "run.overdue",
    e.RunEnded: "run.ended",
    e.NextAsked: "approval.next_asked",
    e.ReminderSent: "reminder",
    e.PeopleEscalated: "escalated",
    e.PeopleReassigned: e.PeopleReassigned.wire,
}
REPORTED = ("boom", "fatal")
"""Codes with which the simulated workers say themselves that the effect did not happen."""


def until(step: StepState) -> datetime | None:
    """When an open approval or form expires."""
    return step.approval.expires if step.approval and step.timer == "ladder" else step.due


class RunLedger(Ledger):
    """Grants, endings, votes, effects and notices of one run."""

    def __init__(self, plan: Plan) -> None:
        super().__init__(plan)
        self.leases: dict[tuple[str, int], set[datetime]] = {}
        self.said: dict[tuple[type[e.Event], str], e.Event] = {}
        self.completions: dict[tuple[str, int], e.Event] = {}
        self.notices: list[tuple[str, str]] = []
        self.keys: dict[tuple[str, int], str] = {}
        self.unknown: dict[tuple[str, int], bool] = {}
        self.attempts: dict[tuple[str, int], int] = {}
        self.done_items: set[tuple[str, int, int]] = set()
        self.tries: dict[tuple[str, int], int] = {}
        self.approved: dict[tuple[str, int], set[str]] = {}
        self.version = 0
        self.rights: list[tuple[int, str, str, datetime]] = []
        self.rungs: set[tuple[type[e.Event], str, int, int]] = set()
        self.ending = StoppingLedger()
        self.filled: dict[tuple[str, int], e.FormSubmitted] = {}

    def add(self, event: e.Event) -> None:
        """Check one committed event."""
        was = self.mirror
        self._before(was, event)
        self.ending.add(self.plan, was, event)
        self._one(event)
        self._after(event)
        if was.paused_at and not self.mirror.paused_at and not self.mirror.is_terminal:
            self._clocks(was, event.at)

    def _before(self, was: RunState, event: e.Event) -> None:
        match event:
            case e.ActivityStarted():
                step = was.steps[event.step]
                allowed = (RunStatus.COMPENSATING,) if step.undo else (RunStatus.RUNNING, RunStatus.STALLED)
                assert was.status in allowed, f"claimed while {was.status}"
                one = step.items.find(event.item) if step.items else step
                assert one is not None, "an item that is not open was claimed"
                assert one.status is StepStatus.SCHEDULED, f"claimed while {one.status}"
                if step.items:
                    config = self.plan.steps[event.step].config
                    assert len(step.items.open) <= config.for_each.parallel, "too many at once"  # type: ignore[union-attr]
                config = self.plan.steps[event.step].config
                assert isinstance(config, ActivityConfig)
                generation = (event.step, event.generation)
                careful = config.effect in (EffectContract.AT_MOST_ONCE, EffectContract.CHECK_FIRST)
                if careful and not step.probe and not step.undo:
                    assert not self.unknown.get(generation), "an effect of unknown outcome was tried again by itself"
                if not step.probe and not step.undo:
                    self.unknown[generation] = True
            case e.ProbeFoundNothing():
                assert was.steps[event.step].probe, "an answer of no probe"
                self.unknown[event.step, event.generation] = False
            case e.ActivityFailed():
                items = was.steps[event.step].items
                open_item = items.find(event.item) if items else was.steps[event.step]
                assert open_item is not None
                assert open_item.fence == event.fence
                if event.error.code in REPORTED and not was.steps[event.step].probe:
                    self.unknown[event.step, event.generation] = False
            case e.ActivityScheduled(item=item) if item >= 0:
                assert event.key == f"{idempotency_key(was.run_id, event.step, was.steps[event.step])}/{item}"
                config = self.plan.steps[event.step].config
                assert isinstance(config, ActivityConfig)
                assert event.attempt <= config.retry.max_attempts, "more tries than the policy allows"
            case e.ItemSucceeded():
                once = (event.step, event.generation, event.item)
                assert once not in self.done_items, "an item succeeded twice"
                self.done_items.add(once)
            case e.ItemsSucceeded():
                assert len(event.output) == len(was.partial[event.step].items)
            case e.ActivityScheduled(undo=undo) if undo:
                pass  # the other ledger's
            case e.ActivityScheduled():
                assert event.key == self._key(was, event.step, event.probe)
                config = self.plan.steps[event.step].config
                assert isinstance(config, ActivityConfig)
                once = config.effect is EffectContract.AT_MOST_ONCE
                assert not once or event.attempt == 1, "at most once was tried again by itself"
                count = self.attempts.get((event.step, event.generation), 0) + 1
                assert event.attempt == count, "attempts are counted one by one"
                self.attempts[event.step, event.generation] = count
                tries = self.tries.get((event.step, event.generation), 0) + (not event.probe)
                tries = 1 if was.steps[event.step].status is StepStatus.WAITING else tries
                assert max(tries, event.probe) <= config.retry.max_attempts, "more tries than the policy allows"
                self.tries[event.step, event.generation] = tries
            case e.WaitElapsed() | e.ApprovalExpired():
                assert event.due == until(was.steps[event.step]), "another timer fired"
                assert event.at >= event.due, "fired before it was due"
                assert was.status is not RunStatus.PAUSED, "a clock ran during a pause"
            case e.ReminderSent() | e.PeopleEscalated():
                self._rung(was, event)
            case e.DecisionRecorded():
                assert was.status is not RunStatus.PAUSED, "decided while paused"
                for other in self._must_differ(event.step):
                    voted = was.steps[other].approval
                    people = {person_key(p) for v in voted.votes for p in (v.person, v.human)} if voted else set()
                    mine = {person_key(event.actor.id), person_key(event.on_behalf_of or event.actor.id)}
                    assert not mine & people, "one person decided two steps that must differ"
                if event.on_behalf_of:
                    open_now = was.steps[event.step].approval
                    assert open_now is not None
                    assert open_now.requester_may_decide or person_key(event.actor.id) != person_key(was.started_by)
                    assert not find_person(event.actor.id, open_now.roster), "for another, but asked themselves"
                    right = event.delegation
                    assert right is not None
                    self.rights.append((right.number, event.on_behalf_of, event.actor.id, event.at))
            case e.ApprovalSettled(outcome="approved"):
                approval = was.steps[event.step].approval
                assert approval is not None
                given = self.approved.get((event.step, event.generation), set())
                assert len(given) >= approval.required, "approved by too few"
                if approval.quotas and not approval.in_sequence:
                    assert fills(approval.quotas, frozenset(given)), "approved, but not by so many of each"
                if approval.in_sequence:
                    counts = [0] * len(approval.quotas)
                    for vote in approval.votes:
                        if vote.outcome == "approved":
                            now = next(i for i, q in enumerate(approval.quotas) if counts[i] < q.required)
                            assert find_person(vote.person, approval.quotas[now].people), "out of turn"
                            counts[now] += 1
            case e.NextAsked():
                asked_now = was.steps[event.step].approval
                assert asked_now is not None
                kept = {person_key(p) for p in event.roster}
                assert {person_key(v.person) for v in asked_now.votes} <= kept, "a vote was passed over"
            case e.FormSubmitted():
                step = was.steps[event.step]
                asked = step.approval
                assert was.status is not RunStatus.PAUSED, "filled in while paused"
                assert asked is not None
                assert not asked.votes, "filled in twice"
                assert find_person(event.on_behalf_of or event.actor.id, asked.roster), "filled in by who was not asked"
                too_late = until(step)
                assert too_late is None or event.at < too_late, "filled in too late"
                assert event.shown_digest == asked.shown_digest, "filled in on something else"
                self.filled[event.step, event.generation] = event
            case e.SignalReceived():
                assert was.steps[event.step].key == event.key, "a message of another key"
                assert was.status is not RunStatus.PAUSED, "a message while paused"
            case e.WorkReturned():
                working = [i for i, _, _ in event.rounds if was.steps[i].status is StepStatus.RUNNING]
                assert not working, f"returned while {working} was being done"
                rounds = self.plan.steps[event.step].config.max_rounds  # type: ignore[union-attr]
                assert was.steps[event.step].round < rounds, "returned more often than allowed"
            case _:
                pass

    def _rung(self, was: RunState, event: e.ReminderSent | e.PeopleEscalated) -> None:
        """Each reminder and escalation at most once, in time, and nobody comes in who may not decide."""
        step, once = was.steps[event.step], (type(event), event.step, event.generation, event.number)
        assert once not in self.rungs, "a rung happened twice"
        self.rungs.add(once)
        assert (step.status, step.generation) == (StepStatus.WAITING, event.generation), "nobody was asked"
        assert event.at >= event.due, "a rung before its time"
        expires = until(step)
        assert expires is None or event.at < expires, "a rung after the expiry"
        assert was.status is not RunStatus.PAUSED, "a clock ran during a pause"
        asked = step.approval
        assert asked is not None
        if isinstance(event, e.PeopleEscalated):
            assert {v.person for v in asked.votes} <= set(event.roster), "an escalation took a vote away"
            assert set(event.roster) == {*asked.roster, *event.added} - set(event.removed)
            assert asked.requester_may_decide or was.started_by not in event.added, "who started it was asked"

    def _key(self, state: RunState, step: str, probe: int) -> str:
        """The idempotency key that the next call, or the one under way, must have."""
        s, config = state.steps[step], self.plan.steps[step].config
        key = idempotency_key(state.run_id, step, s)
        if isinstance(config, ActivityConfig) and config.poll:
            return f"{key}/poll/{s.polls + 1}"
        return f"{key}/probe" if probe else key

    def _must_differ(self, step: str) -> list[str]:
        pairs = [
            {i, other}
            for i, x in self.plan.steps.items()
            if isinstance(x.config, ApprovalConfig)
            for other in x.config.deciders_differ_from
        ]
        return sorted(i for pair in pairs if step in pair for i in pair - {step})

    def _after(self, event: e.Event) -> None:
        if isinstance(event, e.RunPaused) and event.actor == BY_LIMITS:
            self.notices.append(("run.paused", ""))
        if isinstance(event, e.VoteWithdrawn):
            self.approved.get((event.step, event.generation), set()).discard(person_key(event.actor.id))
        if type(event) in TOPICS and not getattr(event, "capped", ""):
            self.notices.append((TOPICS[type(event)], getattr(event, "step", "")))
        if isinstance(event, e.DecisionRecorded) and event.outcome == "approved":
            voter = person_key(event.on_behalf_of or event.actor.id)
            self.approved.setdefault((event.step, event.generation), set()).add(voter)
        answers = (
            e.ActivitySucceeded
            | e.ActivityFailed
            | e.ProbeFoundNothing
            | e.PollAnswered
            | e.ItemSucceeded
            | e.StepCompensated
        )
        if isinstance(event, answers):
            self.completions.setdefault((event.step, event.fence), event)
        if not isinstance(event, e.EvidenceRecorded):
            words = getattr(event, "comment", "") or getattr(event, "reason", "")
            if words:
                self.said.setdefault((type(event), words), event)
        if isinstance(event, e.ActivityStarted):
            config: Any = self.plan.steps[event.step].config
            until = event.at + timedelta(seconds=config.timeouts.heartbeat_s)
            self.leases[event.step, event.fence] = {until}
            now = self.mirror.steps[event.step]
            undo = f"{idempotency_key(self.mirror.run_id, event.step, now)}/undo"
            key = undo if now.undo else self._key(self.mirror, event.step, now.probe)
            self.keys[event.step, event.fence] = key if event.item < 0 else f"{key}/{event.item}"

    def _clocks(self, was: RunState, at: datetime) -> None:
        """After a pause every timer has as much time left as before."""
        assert was.paused_at is not None
        for i, s in self.mirror.steps.items():
            before = was.steps[i]
            if s.timer == "ladder" and before.approval and s.approval:
                stood = max(was.paused_at, before.since or was.paused_at)
                left = [r.due - stood for r in before.approval.ladder]
                assert [r.due - at for r in s.approval.ladder] == left, f"the ladder of {i} went on during a pause"
                assert (s.approval.expires and s.approval.expires - at) == (
                    before.approval.expires and before.approval.expires - stood
                ), f"the expiry of {i} came nearer during a pause"
            pairs: list[tuple[Any, Any]] = [(before, s)]
            if before.items and s.items:  # each item has a clock of its own; that of the step is the earliest of them
                pairs = [(x, y) for y in s.items.open if (x := before.items.find(y.item)) and x.status is y.status]
            for old, new in pairs:
                if new.due and old.due and getattr(new, "timer", None) is getattr(old, "timer", None):
                    stood = max(was.paused_at, old.since or was.paused_at)
                    assert new.due - at == old.due - stood, f"the clock of {i} ran during a pause"

    def compare(self, snapshot: Any, sequence: int, status: str, *, thorough: bool) -> None:
        """The stored run is what its events say, and it has a way forward."""
        state = self.mirror
        assert state.sequence == sequence, f"{sequence} stored, but {state.sequence} events"
        assert str(state.status) == status
        assert decode_snapshot(snapshot, self.data_events) == state, "the snapshot is not what the events say"
        assert snapshot == through_json(encode_snapshot(state)), "the snapshot reads otherwise"
        check_way_forward(self.plan, state, ())
        check_joins(self.plan, state)
        check_what_is_shown(self.plan, state)
        if thorough:
            check_explanation(self.plan, state)
