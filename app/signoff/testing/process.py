"""Given, when, then over a definition in memory."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from signoff.connectors.call import ActivityError, Call
from signoff.core import commands as c
from signoff.core.definition import ActivityConfig, Definition
from signoff.core.document import read_document
from signoff.core.facts import Directory
from signoff.core.rejection import Rejection
from signoff.core.script import MONDAY, Answer, Choice, Message, Script, made_up_people
from signoff.core.simulate import Trial, TrialResult, run_trial
from signoff.core.states import Actor, StepState, StepStatus
from signoff.core.validate import is_publishable, validate
from signoff.errors import InvalidInput, Refused
from signoff.testing.outcome import Outcome

Connector = Callable[[Call], Any]
OPERATOR = Actor("person", "operator", "Operator", "test")


def given(
    definition: str | Path | Mapping[str, Any],
    *,
    groups: Mapping[str, Iterable[str]] | None = None,
    connectors: Mapping[str, Connector] | None = None,
    script: Script | None = None,
    now: datetime = MONDAY,
) -> Process:
    """A process to be tried.

    Args:
        definition: a JSON file, or the document itself.
        groups: group name to logins; groups that are not named get made-up members.
        connectors: connector name to a function of a `Call`, called where an activity is due; others answer by the
            script, or with a made-up output.
        script: how activities answer, what people do and which messages come when the run is `played`.
        now: when the fake clock stands at first, aware.

    Raises:
        InvalidInput: the definition could not be published; the message says everything that is wrong.
    """
    document = definition if isinstance(definition, Mapping) else json.loads(Path(definition).read_text("utf-8"))
    document = dict(document.get("document", document))
    read, problems = read_document(document)
    problems = (*problems, *(validate(read) if read is not None else ()))
    if read is None or not is_publishable(problems):
        wrong = " ".join(p.sentence for p in problems if p.severity == "error")
        raise InvalidInput(f"The definition cannot be published. {wrong}", code="not_valid", problems=problems)
    known, people = made_up_people(read)
    told = {g: tuple(m) for g, m in (groups or {}).items()}
    people |= {p: p.capitalize() for m in told.values() for p in m}
    return Process(read, Directory(1, {**known, **told}, people), dict(connectors or {}), script or Script(), now)


class Process:
    """A definition with the people, connectors and script around it."""

    def __init__(
        self,
        definition: Definition,
        directory: Directory,
        connectors: dict[str, Connector],
        script: Script,
        now: datetime,
    ) -> None:
        self.definition = definition
        self.directory = directory
        self.connectors = connectors
        self.script = script
        self.now = now

    def when_started(self, by: str = "starter", input: Mapping[str, Any] | None = None, **values: Any) -> Run:
        """Start a run with these values (made up where there are none).

        Raises:
            Refused: the input does not fit the form.
        """
        trial = self._trial(by, dict(input) if input is not None else values or None)
        if trial.refused:
            raise Refused(trial.refused.message, code=trial.refused.code, remedy=trial.refused.remedy)
        run = Run(trial, self.connectors)
        run.work()
        return run

    def when_played(self, by: str = "starter", input: Mapping[str, Any] | None = None) -> TrialResult:
        """Play the script from start to end."""
        return run_trial(self._trial(by, input))

    def _trial(self, by: str, values: Mapping[str, Any] | None) -> Trial:
        people = {**self.directory.people, by: self.directory.people.get(by, by.capitalize())}
        return Trial(
            self.definition,
            values,
            by=by,
            script=self.script,
            directory=replace(self.directory, people=people),
            start=self.now.astimezone(UTC),
        )


class Run(Outcome):
    """One run. Every method that does something returns the run; what the rules refuse raises `Refused`."""

    def __init__(self, trial: Trial, connectors: Mapping[str, Connector]) -> None:
        super().__init__(trial)
        self.connectors = connectors
        self.calls: list[Call] = []

    def work(self) -> Run:
        """Let installed connectors answer every activity that is due now."""
        while todo := [i for i, s in self.trial.state.steps.items() if self._is_due(i, s)]:
            for step in todo:
                self._call(step)
        return self

    def _is_due(self, step: str, s: StepState) -> bool:
        config = self.trial.plan.steps[step].config
        claimable = s.status is StepStatus.SCHEDULED and str(self.trial.state.status) in ("running", "stalled")
        return claimable and isinstance(config, ActivityConfig) and config.connector in self.connectors

    def _call(self, step: str) -> None:
        config = self.trial.plan.steps[step].config
        assert isinstance(config, ActivityConfig)
        scheduled = next(x for x in reversed(self.trial.events) if x.wire == "activity.scheduled" and _step(x) == step)
        attempt, key, value = (getattr(scheduled, n) for n in ("attempt", "key", "input"))
        call = Call(self.trial.state.run_id, step, attempt, key, value, config.timeouts.run_s)
        self.calls.append(call)
        try:
            output = self.connectors[config.connector](call)
        except ActivityError as error:
            answer = Answer(None, error.code, error.message, error.retryable)
        else:
            answer = Answer({} if output is None else output)
        self._end(step, answer)

    def _end(self, step: str, answer: Answer) -> None:
        s = self._step(step)
        self._send(c.ClaimActivity(actor=_WORKER, step=step, generation=s.generation, attempt=s.attempt))
        self.trial.script = replace(self.trial.script, answers={**self.trial.script.answers, step: (answer,)})
        (action,) = self.trial._answer(step, self._step(step), 0)
        self._send(action.command)

    def answers(self, step: str, output: Any = None) -> Run:
        """The activity that is due succeeds with this output (made up where it is None)."""
        self._end(step, Answer(output))
        return self.work()

    def fails(self, step: str, code: str = "failed", message: str = "It failed.", *, retryable: bool = True) -> Run:
        """One attempt of the activity that is due fails."""
        self._end(step, Answer(None, code, message, retryable))
        return self.work()

    def approves(self, step: str, *who: str, comment: str = "Approved in a test.") -> Run:
        """These people approve, one after the other (the first who may where none is named)."""
        return self._decides(step, "approved", who, comment)

    def rejects(self, step: str, *who: str, comment: str = "Rejected in a test.") -> Run:
        """These people reject."""
        return self._decides(step, "rejected", who, comment)

    def returns(self, step: str, who: str = "", *, to: str = "", comment: str = "Sent back in a test.") -> Run:
        """Somebody sends the work back."""
        return self._decides(step, "returned", (who,), comment, to)

    def submits(self, step: str, who: str = "", **values: Any) -> Run:
        """Somebody fills in a form (with made-up values where none are given)."""
        return self._person(step, Choice("submitted", who, values=values or None))

    def receives(self, step: str, **payload: Any) -> Run:
        """The message comes that a signal step waits for."""
        script = self.trial.script
        self.trial.script = replace(script, messages={**script.messages, step: (Message(payload or None),)})
        (action,) = self.trial._outside(step, self._step(step), 0)
        return self._send(action.command).work()

    def passes(self, **length: float) -> Run:
        """Time goes by: `hours=1`, `days=2`. Timers that come due fire, each at its time."""
        until = self.trial.now + timedelta(**length)
        while True:
            steps = self.trial.state.steps.items()
            due = sorted((s.due, i) for i, s in steps if s.timer and s.due and s.due <= until)
            if not due or str(self.trial.state.status) == "paused":
                break
            at, step = due[0]
            s = self.trial.state.steps[step]
            assert s.timer is not None
            self.trial.now = max(self.trial.now, at)
            fire = c.FireTimer(actor=_CLOCK, step=step, timer=s.timer, generation=s.generation, attempt=s.attempt)
            self._send(fire).work()
        self.trial.now = until
        return self

    def retries(self, step: str, reason: str = "Tried again in a test.") -> Run:
        """An operator begins a failed or expired step again."""
        return self._send(c.RetryStep(actor=OPERATOR, reason=reason, step=step)).work()

    def skips(self, step: str, output: Any = None, reason: str = "Skipped in a test.") -> Run:
        """An operator goes past a step."""
        return self._send(c.SkipStep(actor=OPERATOR, reason=reason, step=step, output=output)).work()

    def sends(self, command: c.Command) -> Run:
        """Any command of the core."""
        return self._send(command).work()

    def _decides(self, step: str, outcome: str, who: tuple[str, ...], comment: str, to: str = "") -> Run:
        for one in who or ("",):
            self._person(step, Choice(outcome, one, comment, to))
        return self

    def _person(self, step: str, choice: Choice) -> Run:
        s = self._step(step)
        who = choice.who or (self.trial._who(step) if s.approval else "")
        return self._send(self.trial.choice(step, choice, who)).work()

    def _step(self, step: str) -> StepState:
        found = self.trial.state.steps.get(step)
        if found is None:
            known = ", ".join(self.trial.state.steps)
            raise InvalidInput(f"The process has no step '{step}'.", remedy=f"Its steps are: {known}.")
        return found

    def _send(self, command: c.Command) -> Run:
        answer = self.trial.send(command)
        if isinstance(answer, Rejection) and not answer.known:
            raise Refused(answer.message, code=answer.code, remedy=answer.remedy)
        return self


_WORKER = Actor("worker", "test", "", "worker")
_CLOCK = Actor("system", "clock", "", "timer")


def _step(event: Any) -> str:
    return str(getattr(event, "step", ""))
