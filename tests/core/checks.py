"""What must hold after every event of every run (reliability §1.3). The ledger is the test's own memory."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from signoff.core import events as e
from signoff.core.codec import DATA_EVENTS, decode_event, decode_snapshot, encode_event, encode_snapshot
from signoff.core.definition import Join
from signoff.core.evolve import evolve
from signoff.core.explain import explain
from signoff.core.implied import implies_open_approval
from signoff.core.invariants import state_findings
from signoff.core.plan import Plan
from signoff.core.quorum import person_key
from signoff.core.react import react
from signoff.core.showing import shown_digest, shown_of
from signoff.core.states import RunState, RunStatus, StepStatus
from tests.core.rows import Rows

COMPLETIONS = (
    e.ActivitySucceeded,
    e.EffectConfirmed,
    e.StepFailed,
    e.WaitElapsed,
    e.ApprovalSettled,
    e.ApprovalExpired,
    e.StepSkipped,
    e.StepCompletedByHand,
    e.FormSubmitted,
    e.StepExpired,
    e.SignalReceived,
    e.SubflowEnded,
)
SENTENCE_ENDS = (".", "!", "?", "…")


def through_json(value: Any) -> Any:
    return json.loads(json.dumps(value, allow_nan=False))


def again(event: e.Event) -> e.Event:
    """The event as it comes back from the journal."""
    data = through_json(encode_event(event))
    return decode_event(event.wire, event.version, event.at, getattr(event, "step", ""), data)


class Ledger:
    """Follows a run event by event and keeps its own account of grants, endings and edges."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.plans = {plan.digest: plan}
        self.mirror = RunState()
        self.rows = Rows()
        self.fences: dict[str, list[int]] = {}
        self.endings: set[tuple[str, int]] = set()
        self.edges: set[tuple[str, int]] = set()
        self.votes: set[tuple[str, int, str]] = set()
        self.data_events: list[e.Event] = []

    def follow(self, before: RunState, after: RunState, events: Sequence[e.Event], active: Sequence[str]) -> None:
        """Check one decision."""
        earlier = self.plan
        for event in events:
            self._one(event)
        assert self.mirror == after, "replay does not give the state"
        assert after.sequence == before.sequence + len(events)
        snapshot = through_json(encode_snapshot(after))
        assert decode_snapshot(snapshot, self.data_events) == after
        self.rows.apply(react(self.plan, before, after, events, earlier))
        self.rows.check(self.plan, after)
        check_way_forward(self.plan, after, active)
        check_joins(self.plan, after)
        check_what_is_shown(self.plan, after, self.plans)
        check_explanation(self.plan, after)

    def _one(self, event: e.Event) -> None:
        copy = again(event)
        assert copy == event, "the codec changed an event"
        was = self.mirror
        assert not was.is_terminal or isinstance(event, e.EvidenceRecorded)
        if event.wire in DATA_EVENTS:
            self.data_events.append(copy)
        if isinstance(event, e.ActivityStarted):
            grants = self.fences.setdefault(event.step, [0])
            assert event.fence > grants[-1], "a fence was granted twice"
            grants.append(event.fence)
        if isinstance(event, e.ActivitySucceeded):
            assert event.fence == self.fences[event.step][-1], "a result of an older claim was accepted"
        if isinstance(event, COMPLETIONS):
            ending = (event.step, was.steps[event.step].generation)
            past = isinstance(event, e.StepSkipped | e.StepCompletedByHand)
            skipped_after = past and was.steps[event.step].outcome in ("failed", "expired")
            assert ending not in self.endings or skipped_after, "a step ended twice in one generation"
            self.endings.add(ending)
        if isinstance(event, e.DecisionRecorded):
            self._vote(was, event)
        if isinstance(event, e.VoteWithdrawn):
            given = was.steps[event.step].approval
            assert given is not None
            (vote,) = [v for v in given.votes if person_key(v.human) == person_key(event.actor.id)]
            for one in {person_key(vote.human), person_key(vote.person)}:
                self.votes.remove((event.step, event.generation, one))
        self._edges(was, event)
        self.mirror = evolve(self.plan, was, copy)
        self.plan = self.plans.get(self.mirror.digest, self.plan)

    def _vote(self, was: RunState, event: e.DecisionRecorded) -> None:
        voter = event.on_behalf_of or event.actor.id
        for one in {person_key(event.actor.id), person_key(voter)}:
            key = (event.step, event.generation, one)
            assert key not in self.votes, "one person decided twice"
            self.votes.add(key)
        if event.on_behalf_of:
            right = event.delegation
            assert right is not None, "for somebody else without any right"
            assert right.begins <= event.at < right.ends, "for somebody who is there"
            assert person_key(right.person) == person_key(event.on_behalf_of)
        step = was.steps[event.step]
        assert step.approval is not None
        assert step.status is StepStatus.WAITING
        assert person_key(voter) in {person_key(p) for p in step.approval.roster}
        assert step.approval.requester_may_decide or person_key(voter) != person_key(was.started_by)
        assert step.approval.requester_may_decide or person_key(event.actor.id) != person_key(was.started_by)
        until = step.approval.expires if step.timer == "ladder" else step.due
        assert until is None or event.at < until
        assert event.generation == step.generation
        assert event.shown_digest == step.approval.shown_digest

    def _edges(self, was: RunState, event: e.Event) -> None:
        resolved: e.Edges = getattr(event, "edges", ())
        if isinstance(event, e.StepRetried):
            assert all(was.edges[key] == "error" for key, _ in resolved)
            return
        step = getattr(event, "step", "")
        for key, state in resolved:
            edge = self.plan.edges[key]
            assert edge.source == step
            once = (key, was.steps[step].generation)
            past = isinstance(event, e.StepSkipped | e.StepCompletedByHand)
            mended = past and was.steps[step].outcome in ("failed", "expired")
            assert once not in self.edges or mended, f"edge {key} resolved twice"
            if state != "error":
                self.edges.add(once)


def check_way_forward(plan: Plan, state: RunState, active: Sequence[str]) -> None:
    """Work, a timer or a person moves the run on; or it says why not. The verifier of databases asks the same."""
    assert state_findings(plan, state) == []


def check_joins(plan: Plan, state: RunState) -> None:
    """No pending step has everything it needs, and nothing began that was not allowed to."""
    stopped = state.is_terminal or state.status is RunStatus.CANCELLING
    for i, s in state.steps.items():
        found = [state.edges.get(e.key) for e in plan.incoming[i]]
        if s.status is StepStatus.PENDING and not stopped:
            assert None in found, f"{i} waits for nothing"
            assert plan.steps[i].join is Join.ALL or "live" not in found
        if s.status is StepStatus.NOT_TAKEN:
            assert set(found) == {"dead"}
        if s.status is StepStatus.BLOCKED and not stopped:
            assert "blocked" in found
            assert s.cause in plan.steps


def check_what_is_shown(plan: Plan, state: RunState, digests: Collection[str] = ()) -> None:
    """An open approval shows the input as it is (where no optional source can have ended since).

    `digests` are those of the versions that the run has been on: people may have been asked under an earlier one.
    """
    for i, s in state.steps.items():
        if implies_open_approval(state, i) and s.approval and not any(e.on == "any" for e in plan.incoming[i]):
            shown = shown_of(plan, state, i)
            known = {shown_digest(replace(state, digest=d), i, shown) for d in digests or (state.digest,)}
            assert s.approval.shown_digest in known


def check_explanation(plan: Plan, state: RunState) -> None:
    """Whole sentences everywhere, and somebody named wherever somebody is needed."""
    told = explain(plan, state)
    for text in [told.sentence, *(s.sentence for s in told.steps)]:
        assert text, "nothing is said"
        assert text[0] in "'TABCDEFGHIJKLMNOPQRSTUVWXYZ", text
        assert text.endswith(SENTENCE_ENDS), text
        assert "None" not in text, text
        assert "  " not in text, text
    for text in [told.next, *(s.next for s in told.steps)]:
        assert not text or text.endswith(SENTENCE_ENDS), text
    if state.is_terminal:
        assert told.actions == ()
        assert not any(s.actions or s.waits_for for s in told.steps)
    else:
        assert told.actions
        assert told.next or state.status is RunStatus.RUNNING
    if state.status is RunStatus.STALLED:
        assert any({"retry_step", "skip_step", "confirm_effect"} & set(s.actions) for s in told.steps), (
            "stalled, and nothing can be done"
        )
