"""What must hold of every run: of its events one after another, and of the state they lead to. Pure.

`RunCheck` follows a history and says what is wrong with each event; `state_findings` looks at where it ended. The
verifier of real databases, the tests of the core and the simulation use the same sentences.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from signoff.core import events as e
from signoff.core.answering import missing_answers, who_may_answer
from signoff.core.definition import StepKind
from signoff.core.history import History, PlanOf
from signoff.core.implied import implied_attempts, implied_timer, implies_open_approval
from signoff.core.plan import Plan
from signoff.core.quorum import find_person, given, person_key, same_person, stage_of
from signoff.core.standing_in import Delegation
from signoff.core.states import FINAL_STEPS, RunState, RunStatus, StepState, StepStatus


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is not as it must be.

    Attributes:
        code: stable machine word.
        message: a whole sentence.
        run_id: public id of the run, "" where no single run is meant.
        sequence: number of the event concerned, 0 where none is.
    """

    code: str
    message: str
    run_id: str = ""
    sequence: int = 0


class RunCheck:
    """Follows one run event by event. `state` and `plan` are where it is; both stay when an event cannot be applied."""

    def __init__(self, run_id: str, plan_of: PlanOf) -> None:
        self._run_id = run_id
        self._history = History(plan_of)
        self._fences: dict[str, int] = {}
        self._votes: set[tuple[str, int, str]] = set()
        self.links: set[str] = set()

    @property
    def state(self) -> RunState:
        """The state so far."""
        return self._history.state

    @property
    def plan(self) -> Plan | None:
        """The plan of the present stretch."""
        return self._history.plan

    def add(self, event: e.Event) -> list[Finding]:
        """Apply one event and say what is wrong with it.

        Raises:
            KeyError: a version that it needs is not there.
        """
        was = self.state
        number = was.sequence + 1
        found = list(self._before(was, event)) if was.sequence else list(self._first(event))
        self._history.add(event)
        found += self._after(was, event)
        if link := getattr(event, "link", ""):
            if link in self.links:
                found.append(("link_used_twice", f"The link {link} was used for a second answer."))
            self.links.add(link)
        return [Finding(code, message, self._run_id, number) for code, message in found]

    def _first(self, event: e.Event) -> Iterator[tuple[str, str]]:
        if isinstance(event, e.RunStarted) and event.run_id != self._run_id:
            yield "foreign_event", f"It was started as run '{event.run_id}'."

    def _before(self, was: RunState, event: e.Event) -> Iterator[tuple[str, str]]:
        if was.is_terminal and not isinstance(event, e.EvidenceRecorded):
            yield "after_the_end", f"'{event.wire}' came after the run had ended as {was.status}."
        if isinstance(event, e.RunStarted):
            yield "started_twice", "The run was started a second time."
        step = was.steps.get(getattr(event, "step", ""))
        if step is None:
            return
        match event:
            case e.ActivityStarted():
                newest = max(step.fence, self._fences.get(event.step, 0))
                if event.fence <= newest:
                    message = f"Fencing token {event.fence} of '{event.step}' was granted after {newest}."
                    yield "fence_not_growing", message
                self._fences[event.step] = max(event.fence, newest)
            case e.ActivityFailed(item=item) | e.ItemSucceeded(item=item) if item >= 0:
                one = step.items.find(item) if step.items else None
                if one is None or one.fence != event.fence:
                    yield "stale_result", f"A result of item {item} of '{event.step}' was not of its newest claim."
            case e.ActivitySucceeded() | e.ActivityFailed() | e.ProbeFoundNothing() | e.PollAnswered() if (
                event.fence != step.fence
            ):
                message = f"A result with fencing token {event.fence} of '{event.step}' was accepted"
                yield "stale_result", f"{message}, but {step.fence} was the newest claim."
            case e.DecisionRecorded():
                yield from self._vote(was, step, event)
            case e.VoteWithdrawn():
                key = (event.step, event.generation, person_key(event.actor.id))
                if key not in self._votes or step.status is not StepStatus.WAITING:
                    yield "vote_not_given", f"{event.actor.shown} withdrew a vote on '{event.step}' that was not there."
                given_by = [v for v in (step.approval.votes if step.approval else ()) if same_person(v.human, key[2])]
                for whose in (key[2], *(person_key(v.person) for v in given_by)):
                    self._votes.discard((event.step, event.generation, whose))
            case e.PeopleReassigned() if step.approval:
                lost = [v.name for v in step.approval.votes if find_person(v.person, event.roster) is None]
                if lost:
                    yield "vote_removed", f"Reassigning '{event.step}' took the vote of {', '.join(lost)} away."
            case e.PeopleEscalated() if step.approval:
                if lost := [v.name for v in step.approval.votes if find_person(v.person, event.roster) is None]:
                    yield "vote_removed", f"Escalating '{event.step}' took the vote of {', '.join(lost)} away."
                yield from self._rung(step, event, "escalation")
            case e.ReminderSent() if step.approval:
                yield from self._rung(step, event, "reminder")
            case e.ApprovalSettled(outcome="approved") if step.approval:
                count = given(step.approval)
                if count < step.approval.required:
                    message = f"'{event.step}' was approved by {count}, but it takes {step.approval.required}."
                    yield "quorum_not_met", message
            case _:
                pass

    def _rung(self, step: StepState, event: e.ReminderSent | e.PeopleEscalated, kind: str) -> Iterator[tuple[str, str]]:
        assert step.approval is not None
        known = any((r.kind, r.number, r.due) == (kind, event.number, event.due) for r in step.approval.ladder)
        if not known or event.generation != step.generation or step.status is not StepStatus.WAITING:
            yield "rung_not_armed", f"The {kind} {event.number} of '{event.step}' happened, but was not to come."
        elif event.at < event.due:
            yield "rung_too_early", f"The {kind} {event.number} of '{event.step}' happened before it was due."

    def _vote(self, was: RunState, step: StepState, event: e.DecisionRecorded) -> Iterator[tuple[str, str]]:
        who, what = event.actor.shown, f"decided '{event.step}'"
        if step.approval is None or step.status is not StepStatus.WAITING or event.generation != step.generation:
            yield "vote_not_asked", f"{who} {what} while nobody was asked."
            return
        voter = event.on_behalf_of or event.actor.id
        for one in dict.fromkeys((person_key(event.actor.id), person_key(voter))):
            if (event.step, event.generation, one) in self._votes:
                yield "vote_repeated", f"{who} {what} twice."
            self._votes.add((event.step, event.generation, one))
        if event.on_behalf_of and (event.delegation is None or not _is_within(event.delegation, event)):
            yield "vote_without_right", f"{who} {what} for '{event.on_behalf_of}' without being asked to by them."
        if event.on_behalf_of and find_person(event.actor.id, step.approval.roster):
            yield "vote_for_another", f"{who} {what} for '{event.on_behalf_of}', but is asked themselves."
        if find_person(voter, step.approval.roster) is None:
            yield "vote_not_on_roster", f"{who} {what} without being on its roster."
        if not step.approval.requester_may_decide and same_person(event.actor.id, was.started_by):
            yield "vote_by_requester", f"{who} {what}, but started the run."
        if step.expires is not None and event.at >= step.expires:
            yield "vote_too_late", f"{who} {what} after it had expired."
        if event.shown_digest != step.approval.shown_digest:
            yield "vote_on_something_else", f"{who} {what} looking at something else than what was shown."

    def _after(self, was: RunState, event: e.Event) -> Iterator[tuple[str, str]]:
        """A step that was over stays as it was until a new generation begins.

        But an operator may go past a bad end, and what was done is undone where the run is stopped so.
        """
        step = getattr(event, "step", "")
        old, new = was.steps.get(step), self.state.steps.get(step)
        if old is None or new is None or old is new or old.generation != new.generation:
            return
        gone_past = new.status is StepStatus.SKIPPED or bool(new.by_hand)
        past = gone_past and old.status in (StepStatus.FAILED, StepStatus.EXPIRED)
        undone = bool(was.undo and (new.undo or old.undo)) and old.status is not StepStatus.COMPENSATED
        if old.status in FINAL_STEPS and not past and not undone and not was.is_terminal:
            message = f"'{step}' was {old.status}, and '{event.wire}' changed it in the same generation."
            yield "ended_twice", message


def _is_within(right: Delegation, event: e.DecisionRecorded) -> bool:
    return same_person(right.person, event.on_behalf_of) and right.begins <= event.at < right.ends


def state_findings(plan: Plan, state: RunState) -> list[tuple[str, str]]:
    """(code, sentence) of everything that is wrong with where a run is."""
    found = []
    if state.is_terminal:
        open_steps = [i for i, s in state.steps.items() if s.status not in FINAL_STEPS or s.timer]
        if open_steps:
            found.append(("open_after_the_end", f"The run has ended, but {', '.join(open_steps)} is not over."))
        return found
    if state.status in (RunStatus.PAUSED, RunStatus.STALLED):
        if not state.reason:
            found.append(("no_reason", f"The run is {state.status} and does not say why."))
        return found
    if not any(_is_way_forward(plan, state, i) for i in state.steps):
        found.append(("no_way_forward", "Nothing can go on: no work, no timer, and nobody is asked."))
    for i, s in state.steps.items():
        if s.status in (StepStatus.RUNNING, StepStatus.RETRYING) and s.timer is None:
            found.append(("unwatched", f"'{i}' is {s.status}, but no timer watches it."))
        if implies_open_approval(state, i) and not who_may_answer(plan, state, i):
            found.append(("nobody_left", f"'{i}' is open, but everybody who may decide it has."))
        if implies_open_approval(state, i) and missing_answers(plan, state, i) > 0:
            found.append(("out_of_reach", f"'{i}' is open, but not enough are asked to settle it."))
        if implies_open_approval(state, i) and _out_of_turn(s):
            found.append(("out_of_turn", f"'{i}' asks others of a sequence than those whose turn it is."))
    return found


def _out_of_turn(step: StepState) -> bool:
    asked = step.approval
    if asked is None or not asked.in_sequence:
        return False
    voted = {person_key(v.person) for v in asked.votes}
    now = {person_key(p) for p in asked.quotas[stage_of(asked)].people}
    return {person_key(p) for p in asked.roster} - voted != now - voted


def _is_way_forward(plan: Plan, state: RunState, step: str) -> bool:
    if implied_attempts(state, step) or implied_timer(state, step):
        return True
    outside = plan.steps[step].kind not in (StepKind.ACTIVITY, StepKind.WAIT)
    return outside and state.steps[step].status is StepStatus.WAITING
