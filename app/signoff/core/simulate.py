"""A trial run of a definition in milliseconds: the engine's own rules under a virtual clock. Pure.

Nothing is called, nobody is asked, nothing is stored: a `Script` says how activities answer and what people decide.
`Trial` can also be led by hand, one action after another; `signoff.testing` is built on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from signoff.core import commands as c
from signoff.core.answering import who_may_answer
from signoff.core.decide import decide
from signoff.core.definition import ActivityConfig, ApprovalConfig, Definition, FormConfig, SignalConfig, SubflowConfig
from signoff.core.digest import definition_digest
from signoff.core.events import ActivityScheduled, Event, PeopleEscalated
from signoff.core.explain import RunExplanation, explain
from signoff.core.facts import Directory, Facts
from signoff.core.plan import Plan, compile_plan
from signoff.core.rejection import Rejection
from signoff.core.script import MONDAY, Answer, Choice, Message, Script, made_up, made_up_people, usual_answer
from signoff.core.states import Actor, ErrorInfo, RunState, RunStatus, SignIn, StepState, StepStatus

WORKER = Actor("worker", "trial", "Trial", "worker")
CLOCK = Actor("system", "clock", "Clock", "timer")
OUTSIDE = Actor("service", "outside", "Outside", "api")
RUN_ID = "r-trial"
MAX_ACTIONS = 2_000
"""A trial that has not ended after so many actions is stopped; send-backs without end are the only way there."""


@dataclass(frozen=True, slots=True)
class _Action:
    at: datetime
    order: int
    command: c.Command
    uses: tuple[str, str] | None = None


class Trial:
    """One run of one definition in memory.

    Args:
        definition: a valid one (validate it first).
        input: of the run; made up where it is None.
        by: login of the person who starts it.
        script: how everybody else behaves.
        directory: people and groups; made up where it is None.
        start: when it begins, aware UTC.
        version: number of the version, 0 for a draft.
    """

    def __init__(
        self,
        definition: Definition,
        input: Mapping[str, Any] | None = None,
        *,
        by: str = "starter",
        script: Script | None = None,
        directory: Directory | None = None,
        start: datetime = MONDAY,
        version: int = 0,
    ) -> None:
        if directory is None:
            groups, people = made_up_people(definition)
            directory = Directory(1, groups, {**people, by: people.get(by, by.capitalize())})
        self.plan: Plan = compile_plan(definition, definition_digest(definition), version)
        self.directory = directory
        self.script = script or Script()
        self.now = start
        self.state = RunState()
        self.events: list[Event] = []
        self.stopped = ""
        self._used: dict[tuple[str, str], int] = {}
        self._began: dict[tuple[str, int, int, str], datetime] = {}
        given = made_up(definition.input) if input is None else dict(input)
        refused = self.send(c.StartRun(actor=self.person(by), run_id=RUN_ID, tenant="trial", input=given))
        self.refused: Rejection | None = refused if isinstance(refused, Rejection) else None

    def person(self, login: str) -> Actor:
        """Somebody, with the name from the directory."""
        return Actor("person", login, self.directory.people.get(login, ""), "trial")

    def send(self, command: c.Command) -> tuple[Event, ...] | Rejection:
        """Decide a command now; answers its events, or why not."""
        decided = decide(self.plan, self.state, command, Facts(self.now, 0.0, self.directory))
        if isinstance(decided, Rejection):
            return decided
        self.state, events = decided
        self.events.extend(events)
        return events

    def explain(self) -> RunExplanation:
        """What the run waits for now, in sentences."""
        return explain(self.plan, self.state, names=self.directory.people)

    def play(self, until: datetime | None = None) -> None:
        """Let everything happen as the script says, in the order of time.

        Stops when the run is over or needs an operator, when nothing would happen any more, or at `until`;
        `stopped` says why where it is not over.
        """
        self.stopped = ""
        for _ in range(MAX_ACTIONS):
            if self.state.is_terminal or not self.state.sequence:
                return
            found = [a for i in self.plan.steps for a in self._next(i)]
            if not found:
                self.stopped = self._why_stopped()
                return
            action = min(found, key=lambda a: (a.at, a.order))
            if until is not None and action.at > until:
                break
            self.now = max(self.now, action.at)
            if action.uses:
                self._used[action.uses] = self._used.get(action.uses, 0) + 1
            answer = self.send(action.command)
            if isinstance(answer, Rejection):
                self.stopped = answer.sentence
                return
        else:
            self.stopped = "It went on and on; the trial was stopped."
        if until is not None:
            self.now = max(self.now, until)

    def _next(self, step: str) -> list[_Action]:
        """What can happen to a step, each with its time. At one instant: calls, timers, then people and messages."""
        s, found = self.state.steps[step], []
        if self.state.status is RunStatus.PAUSED:
            return []
        order = list(self.plan.steps).index(step)
        if s.items is not None:
            found += self._items(step, s, order)
        elif s.status is StepStatus.SCHEDULED and self.state.status is not RunStatus.CANCELLING:
            command = c.ClaimActivity(actor=WORKER, step=step, generation=s.generation, attempt=s.attempt)
            found.append(_Action(self.now, order, command))
        elif s.status is StepStatus.RUNNING:
            found += self._answer(step, s, order)
        if s.status is StepStatus.WAITING:  # at the very instant of an expiry it is too late
            found += self._outside(step, s, 200 + order)
        if s.timer is not None and s.due is not None:
            fire = c.FireTimer(actor=CLOCK, step=step, timer=s.timer, generation=s.generation, attempt=s.attempt)
            found.append(_Action(max(self.now, s.due), 100 + order, fire))
        return found

    def _entry[T](self, entries: Mapping[str, Any], kind: str, step: str, default: T) -> tuple[T, tuple[str, str]]:
        listed = entries.get(step) or (default,)
        used = self._used.get((kind, step), 0)
        return listed[min(used, len(listed) - 1)], (kind, step)

    def _since(self, step: str, s: StepState, kind: str) -> datetime:
        """When this attempt, this opening or this next decision began to be awaited."""
        votes = len(s.approval.votes) if s.approval else 0
        return self._began.setdefault((step, s.generation, s.attempt * 100 + votes, kind), self.now)

    def _answer(self, step: str, s: StepState, order: int) -> list[_Action]:
        at = self._since(step, s, "answer")
        claim: dict[str, Any] = {"step": step, "generation": s.generation, "attempt": s.attempt, "fence": s.fence}
        return [self._answered(step, at, order, claim)]

    def _answered(self, step: str, began: datetime, order: int, claim: dict[str, Any]) -> _Action:
        config = self.plan.steps[step].config
        assert isinstance(config, ActivityConfig)
        usual = usual_answer(config, self._given(step, claim.get("item", -1)))
        answer, uses = self._entry(self.script.answers, "answer", step, usual)
        at = began + answer.after
        if answer.error:
            error = ErrorInfo(answer.error, answer.message, answer.retryable)
            return _Action(at, order, c.FailActivity(actor=WORKER, error=error, **claim), uses)
        output = answer.output if answer.output is not None else usual.output
        return _Action(at, order, c.CompleteActivity(actor=WORKER, output=output, **claim), uses)

    def _given(self, step: str, item: int) -> Any:
        """What the call under way was given."""
        scheduled = (x for x in reversed(self.events) if isinstance(x, ActivityScheduled))
        return next((x.input for x in scheduled if (x.step, x.item) == (step, item)), None)

    def _items(self, step: str, s: StepState, order: int) -> list[_Action]:
        """Calls for items of a list: those that may begin, and those that will be answered."""
        found = []
        for one in s.items.open if s.items else ():
            call: dict[str, Any] = {
                "step": step,
                "generation": s.generation,
                "attempt": one.attempt,
                "item": one.item,
            }
            if one.status is StepStatus.SCHEDULED and self.state.status is not RunStatus.CANCELLING:
                found.append(_Action(self.now, order, c.ClaimActivity(actor=WORKER, **call)))
            elif one.status is StepStatus.RUNNING:
                found.append(self._answered(step, one.since or self.now, order, {**call, "fence": one.fence}))
        return found

    def _outside(self, step: str, s: StepState, order: int) -> list[_Action]:
        config = self.plan.steps[step].config
        if isinstance(config, SignalConfig):
            message, uses = self._entry(self.script.messages, "message", step, Message())
            payload = made_up(config.payload) if message.payload is None else dict(message.payload)
            at = self._since(step, s, "message") + message.after
            number = self._used.get(uses, 0) + 1
            command = c.ReceiveSignal(
                actor=OUTSIDE,
                step=step,
                generation=s.generation,
                name=config.signal,
                key=s.key,
                message=f"{step}-{number}",
                payload=payload,
                sent_at=at,
            )
            return [_Action(at, order, command, uses)] if message.comes else []
        if isinstance(config, SubflowConfig):
            answer, uses = self._entry(self.script.answers, "answer", step, Answer())
            ended = c.EndSubflow(
                actor=CLOCK,
                step=step,
                generation=s.generation,
                child=s.child,
                outcome="failed" if answer.error else "succeeded",
                reason=answer.message if answer.error else "",
                output=answer.output if answer.output is not None else {},
            )
            return [_Action(self._since(step, s, "answer") + answer.after, order, ended, uses)]
        if not isinstance(config, ApprovalConfig | FormConfig) or s.approval is None:
            return []
        choice, uses = self._entry(self.script.choices, "choice", step, Choice())
        if choice.outcome == "nobody":
            return []
        who = choice.who or self._who(step)
        at = self._since(step, s, "choice") + choice.after
        return [_Action(at, order, self.choice(step, choice, who), uses)] if who else []

    def _who(self, step: str) -> str:
        """The first who may."""
        return next(iter(who_may_answer(self.plan, self.state, step)), "")

    def choice(self, step: str, choice: Choice, who: str) -> c.Command:
        """The command of a person who acts on an approval or a form as it is now."""
        s, config, actor = self.state.steps[step], self.plan.steps[step].config, self.person(who)
        if isinstance(config, ApprovalConfig):
            approves = (choice.outcome or "approved") == "approved"
            given = made_up(config.fields) if choice.values is None and approves else dict(choice.values or {})
            return c.Decide(
                actor=actor,
                step=step,
                generation=s.generation,
                outcome=choice.outcome or "approved",
                comment=choice.comment,
                to=choice.to,
                values=given,
                signed_in=SignIn("password", self.now) if config.reauthenticate else None,
            )
        assert isinstance(config, FormConfig)
        if choice.outcome == "returned":
            return c.ReturnForm(actor=actor, step=step, generation=s.generation, comment=choice.comment, to=choice.to)
        values = made_up(config.fields) if choice.values is None else dict(choice.values)
        return c.SubmitForm(actor=actor, step=step, generation=s.generation, values=values)

    def _why_stopped(self) -> str:
        told = self.explain()
        return f"{told.sentence} {told.next}".strip()


@dataclass(frozen=True, slots=True)
class Asked:
    """People who were asked in a trial."""

    step: str
    label: str
    at: datetime
    people: tuple[str, ...]
    due: datetime | None


@dataclass(frozen=True, slots=True)
class TrialResult:
    """What a trial run came to.

    Attributes:
        status: of the run at its end.
        stopped: why it did not end by itself, "" where it did.
        took: virtual time from start to end.
        path: steps in the order in which they ended, as (id, outcome or status, at).
        asked: who was asked, when, and until when.
        outputs: step id to output.
        not_done: ids of steps that did not begin.
        events: everything that happened.
    """

    status: str
    stopped: str
    started_at: datetime
    took: timedelta
    path: tuple[tuple[str, str, datetime], ...]
    asked: tuple[Asked, ...]
    outputs: Mapping[str, Any]
    not_done: tuple[str, ...]
    events: tuple[Event, ...]


def run_trial(trial: Trial) -> TrialResult:
    """Play a trial to its end and sum it up."""
    began = trial.now
    trial.play()
    plan, state, people = trial.plan, trial.state, trial.directory.people
    ended = [
        (s.changed, i, s.outcome or str(s.status), s.since or trial.now)
        for i, s in state.steps.items()
        if s.changed > 1
    ]
    over = {StepStatus.PENDING, StepStatus.NOT_TAKEN, StepStatus.BLOCKED, StepStatus.CANCELLED}
    path = [(i, how, at) for _, i, how, at in sorted(ended) if state.steps[i].status not in over]
    asked = []
    for event in trial.events:
        escalated = isinstance(event, PeopleEscalated)
        roster: tuple[str, ...] = getattr(event, "added" if escalated else "roster", ())
        step = getattr(event, "step", "")
        if roster and step:
            names = tuple(people.get(p, p) for p in roster)
            asked.append(Asked(step, plan.label(step), event.at, names, getattr(event, "due", None)))
    return TrialResult(
        status=str(state.status) if state.sequence else "refused",
        stopped=trial.refused.sentence if trial.refused else trial.stopped,
        started_at=began,
        took=trial.now - began,
        path=tuple(path),
        asked=tuple(asked),
        outputs=dict(state.outputs),
        not_done=tuple(i for i, s in state.steps.items() if s.status in over),
        events=tuple(trial.events),
    )
