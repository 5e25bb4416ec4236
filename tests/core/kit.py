"""Short ways to write a definition, run it through the pure core, and be people, workers and clocks.

Every accepted command of every test goes through the ledger of `checks`: replay, codec, rows, joins, sentences.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from signoff.core import commands as c
from signoff.core.decide import decide
from signoff.core.definition import Definition
from signoff.core.digest import definition_digest
from signoff.core.document import read_document
from signoff.core.events import Event, EvidenceRecorded
from signoff.core.explain import RunExplanation, explain
from signoff.core.facts import Directory, Facts
from signoff.core.limits import UNLIMITED, Limits
from signoff.core.migration import MigrationPlan
from signoff.core.plan import Plan, compile_plan
from signoff.core.rejection import Rejection
from signoff.core.states import Actor, ErrorInfo, ItemState, RunState, StepState, TimerKind
from signoff.core.validate import is_publishable, validate
from tests.core.checks import Ledger

START = datetime(2027, 1, 4, 9, 0, tzinfo=UTC)
OPERATOR = Actor("person", "olga", "Olga Ops", "web")
WORKER = Actor("worker", "w1", "", "worker")
CLOCK = Actor("system", "clock", "", "timer")
PEOPLE = {"ann": "Ann", "bob": "Bob", "cem": "Cem", "dan": "Dan", "eve": "Eve", "olga": "Olga Ops"}
GROUPS = {"team": ("ann", "bob", "cem"), "pair": ("ann", "bob"), "solo": ("eve",), "nobody": ()}
DIRECTORY = Directory(7, GROUPS, PEOPLE)

JSON = dict[str, Any]


def person(login: str) -> Actor:
    return Actor("person", login, PEOPLE.get(login, ""), "web")


def activity(id: str, **more: Any) -> JSON:
    return {"id": id, "kind": "activity", "label": id.upper(), "connector": "python:work", **more}


def once(id: str, **more: Any) -> JSON:
    """An activity that is tried once."""
    return activity(id, **{"retry": {"max_attempts": 1}, **more})


PROBED: JSON = {
    "effect": "check_first",
    "probe": {
        "connector": "python:look",
        "input": {"key": "=call.key"},
        "happened": "answer.found",
        "output": "answer.result",
    },
}


def checked(id: str, **more: Any) -> JSON:
    """An activity whose lost calls are looked up by a probe."""
    return activity(id, **{**PROBED, **more})


def undoable(id: str, **more: Any) -> JSON:
    """An activity with a compensation that reads what the activity gave."""
    undo = {"connector": "python:undo", "input": {"cancel": f"=steps.{id}.output.booking"}}
    return activity(id, **{"effect": "compensatable", "compensation": undo, **more})


def approval(id: str, groups: tuple[str, ...] = ("team",), **more: Any) -> JSON:
    return {"id": id, "kind": "approval", "label": id.upper(), "groups": list(groups), **more}


def wait(id: str, duration: str = "PT1H", **more: Any) -> JSON:
    timing = {} if "until" in more else {"duration": duration}
    return {"id": id, "kind": "wait", "label": id.upper(), **timing, **more}


def form(id: str, groups: tuple[str, ...] = ("team",), **more: Any) -> JSON:
    made = {"fields": [{"name": "n", "type": "integer"}], **more}
    return {"id": id, "kind": "form", "label": id.upper(), "groups": list(groups), **made}


def signal(id: str, name: str = "paid", **more: Any) -> JSON:
    return {"id": id, "kind": "signal", "label": id.upper(), "signal": name, **more}


def subflow(id: str, definition: str = "other", **more: Any) -> JSON:
    made = {"version": 3, "digest": "sha256:" + "0" * 64, **more}
    return {"id": id, "kind": "subflow", "label": id.upper(), "definition": definition, **made}


def edge(text: str, **more: Any) -> JSON:
    """`a>b`, or `a:failed>b` with the outcome followed."""
    left, target = text.split(">")
    source, _, on = left.partition(":")
    return {"from": source, "to": target, **({"on": on} if on else {}), **more}


def document(*steps: JSON, edges: str | list[JSON] = "", **more: Any) -> JSON:
    listed = [edge(x) for x in edges.split()] if isinstance(edges, str) else edges
    return {"name": "sample", "title": "Sample", "steps": list(steps), "edges": listed, **more}


def definition_of(doc: JSON) -> Definition:
    definition, problems = read_document(doc)
    assert definition is not None, problems
    wrong = [*problems, *validate(definition)]
    assert is_publishable(wrong), [p.sentence for p in wrong]
    return definition


def plan_of(doc: JSON, version: int = 1) -> Plan:
    definition = definition_of(doc)
    return compile_plan(definition, definition_digest(definition), version)


class World:
    """One run under a hand-moved clock. Refusals come back as values; `ok` insists on acceptance."""

    def __init__(
        self,
        doc: JSON,
        input: JSON | None = None,
        *,
        by: str = "dan",
        directory: Directory = DIRECTORY,
        limits: Limits = UNLIMITED,
    ) -> None:
        self.plan = plan_of(doc)
        self.state = RunState()
        self.events: list[Event] = []
        self.now = START
        self.jitter = 0.0
        self.directory = directory
        self.limits = limits
        self.ledger = Ledger(self.plan)
        self.start = c.StartRun(actor=person(by), run_id="r1", tenant="t", input=input or {})
        self.ok(self.start)

    def send(self, command: c.Command) -> tuple[Event, ...] | Rejection:
        if isinstance(command, c.MigrateRun):
            self.ledger.plans[command.target.digest] = command.target
        answer = decide(self.plan, self.state, command, Facts(self.now, self.jitter, self.directory, self.limits))
        if isinstance(answer, Rejection):
            return answer
        assert answer[1], "accepted, but nothing happened"
        self.keep(*answer)
        return answer[1]

    def keep(self, state: RunState, new: tuple[Event, ...]) -> None:
        """Go on to the next state, after the ledger has checked every invariant."""
        assert not self.state.is_terminal or all(isinstance(x, EvidenceRecorded) for x in new), "a terminal run changed"
        self.ledger.follow(self.state, state, new, list(self.directory.people))
        self.state = state
        self.plan = self.ledger.plan
        self.events.extend(new)

    def ok(self, command: c.Command) -> tuple[Event, ...]:
        answer = self.send(command)
        assert not isinstance(answer, Rejection), f"{answer.code}: {answer.sentence}"
        return answer

    def no(self, command: c.Command) -> Rejection:
        before = self.state
        answer = self.send(command)
        assert isinstance(answer, Rejection), answer
        assert self.state is before
        assert answer.code
        assert answer.message.endswith((".", "!", "?")), answer.message
        return answer

    def later(self, **parts: float) -> None:
        self.now += timedelta(**parts)

    def step(self, id: str) -> StepState:
        return self.state.steps[id]

    def claim(self, id: str, worker: Actor = WORKER) -> StepState:
        step = self.step(id)
        self.ok(c.ClaimActivity(actor=worker, step=id, generation=step.generation, attempt=step.attempt))
        return self.step(id)

    def claim_item(self, id: str, item: int, worker: Actor = WORKER) -> ItemState:
        """Claim one item of a list."""
        items = self.step(id).items
        assert items is not None
        one = items.find(item)
        assert one is not None, f"item {item} is not open"
        generation = self.step(id).generation
        self.ok(c.ClaimActivity(actor=worker, step=id, generation=generation, attempt=one.attempt, item=item))
        return self.item(id, item)

    def item(self, id: str, item: int) -> ItemState:
        items = self.step(id).items
        assert items is not None
        one = items.find(item)
        assert one is not None, f"item {item} is not open"
        return one

    def item_done(self, id: str, item: int, output: Any = None) -> None:
        one = self.item(id, item)
        if one.status == "scheduled":
            one = self.claim_item(id, item)
        self.ok(self.completion(id, output, attempt=one.attempt, fence=one.fence, item=item))

    def item_failure(self, id: str, item: int, *, retryable: bool = True) -> c.FailActivity:
        one = self.item(id, item)
        if one.status == "scheduled":
            one = self.claim_item(id, item)
        return self.failure(id, retryable=retryable, attempt=one.attempt, fence=one.fence, item=item)

    def completion(self, id: str, output: Any = None, **more: Any) -> c.CompleteActivity:
        """The result of the current claim; `more` overrides any part of it."""
        s = self.step(id)
        made = c.CompleteActivity(
            actor=WORKER, step=id, generation=s.generation, attempt=s.attempt, fence=s.fence, output=output
        )
        return replace(made, **more)

    def failure(self, id: str, code: str = "boom", *, retryable: bool = True, **more: Any) -> c.FailActivity:
        s = self.step(id)
        error = ErrorInfo(code, "It broke.", retryable)
        made = c.FailActivity(
            actor=WORKER, step=id, generation=s.generation, attempt=s.attempt, fence=s.fence, error=error
        )
        return replace(made, **more)

    def lost(self, id: str) -> c.ExpireLease:
        s = self.step(id)
        return c.ExpireLease(actor=CLOCK, step=id, generation=s.generation, attempt=s.attempt, fence=s.fence)

    def done(self, *ids: str, output: Any = None) -> None:
        for id in ids:
            self.claim(id)
            self.ok(self.completion(id, output))

    def breaks(self, *ids: str, code: str = "boom") -> None:
        """Fail for good."""
        for id in ids:
            self.claim(id)
            self.ok(self.failure(id, code, retryable=False))

    def timer(self, id: str, kind: TimerKind | None = None) -> c.FireTimer:
        s = self.step(id)
        fitting = kind or s.timer
        assert fitting is not None
        return c.FireTimer(actor=CLOCK, step=id, timer=fitting, generation=s.generation, attempt=s.attempt)

    def fire(self, id: str) -> None:
        """Move the clock to the step's due time and fire its timer."""
        due = self.step(id).due
        assert due is not None
        self.now = max(self.now, due)
        self.ok(self.timer(id))

    def vote(self, id: str, who: str, outcome: str = "approved", **more: Any) -> c.Decide:
        s = self.step(id)
        made = c.Decide(actor=person(who), step=id, generation=s.generation, outcome=outcome, comment="Because.")
        return replace(made, **more)

    def submission(self, id: str, who: str, **values: Any) -> c.SubmitForm:
        s = self.step(id)
        return c.SubmitForm(actor=person(who), step=id, generation=s.generation, values=values or {"n": 1})

    def returning(self, id: str, who: str, **more: Any) -> c.ReturnForm:
        s = self.step(id)
        made = c.ReturnForm(actor=person(who), step=id, generation=s.generation, comment="Not enough.")
        return replace(made, **more)

    def message(self, id: str, **more: Any) -> c.ReceiveSignal:
        s, config = self.step(id), self.plan.steps[id].config
        made = c.ReceiveSignal(
            actor=person("eve"), step=id, generation=s.generation, name=getattr(config, "signal", "paid"), key=s.key,
            message="m1", payload={"n": 1}, sent_at=self.now,
        )  # fmt: skip
        return replace(made, **more)

    def child_ended(self, id: str, outcome: str = "succeeded", **more: Any) -> c.EndSubflow:
        s = self.step(id)
        output = {"end": {"n": 3}} if outcome == "succeeded" else None
        made = c.EndSubflow(
            actor=CLOCK, step=id, generation=s.generation, child=s.child, outcome=outcome, reason="So.", output=output
        )
        return replace(made, **more)

    def approve(self, id: str, *who: str) -> None:
        for login in who:
            self.ok(self.vote(id, login))

    def reject(self, id: str, *who: str) -> None:
        for login in who:
            self.ok(self.vote(id, login, "rejected"))

    def retry(self, id: str, **more: Any) -> c.RetryStep:
        return c.RetryStep(actor=OPERATOR, reason="Mended.", step=id, **more)

    def replay(self, id: str, **more: Any) -> c.ReplayDeadLetter:
        return c.ReplayDeadLetter(actor=OPERATOR, reason="Mended.", step=id, **more)

    def skip(self, id: str, **more: Any) -> c.SkipStep:
        return c.SkipStep(actor=OPERATOR, reason="Done by hand.", step=id, **more)

    def outcome(self, id: str, happened: bool, output: Any = None, **more: Any) -> c.ResolveOutcome:
        return c.ResolveOutcome(
            actor=OPERATOR, reason="Asked the bank.", step=id, happened=happened, output=output, **more
        )

    def by_hand(self, id: str, output: Any = None, **more: Any) -> c.CompleteByHand:
        return c.CompleteByHand(actor=OPERATOR, reason="Did it myself.", step=id, output=output, **more)

    def reassignment(self, id: str, *add: str, remove: tuple[str, ...] = (), **more: Any) -> c.ReassignStep:
        return c.ReassignStep(actor=OPERATOR, reason="On leave.", step=id, add=add, remove=remove, **more)

    def withdrawal(self, id: str, who: str, **more: Any) -> c.WithdrawVote:
        s = self.step(id)
        made = c.WithdrawVote(actor=person(who), step=id, generation=s.generation, comment="A mistake.")
        return replace(made, **more)

    def pause(self) -> None:
        self.ok(c.PauseRun(actor=OPERATOR, reason="Audit."))

    def resume(self) -> None:
        self.ok(c.ResumeRun(actor=OPERATOR, reason="Audit over."))

    def cancel(self) -> None:
        self.ok(c.CancelRun(actor=OPERATOR, reason="No longer needed."))

    def migration(
        self, doc: JSON, steps: Mapping[str, str] | None = None, input: JSON | None = None, **more: Any
    ) -> c.MigrateRun:
        """Move the run to another content of its definition."""
        target = plan_of(doc, self.plan.version + 1)
        plan = MigrationPlan(self.plan.digest, target.digest, steps or {}, input)
        made = c.MigrateRun(actor=OPERATOR, reason="Mended.", migration=plan, target=target)
        return replace(made, **more)

    def edit(self, input: JSON, **more: Any) -> c.EditInput:
        return c.EditInput(actor=OPERATOR, reason="Typing error.", input=input, **more)

    @property
    def statuses(self) -> Mapping[str, str]:
        return {i: str(s.status) for i, s in self.state.steps.items()}

    @property
    def run(self) -> str:
        return str(self.state.status)

    def explain(self, **more: Any) -> RunExplanation:
        return explain(self.plan, self.state, **more)

    def kinds(self) -> list[str]:
        return [event.wire for event in self.events]
