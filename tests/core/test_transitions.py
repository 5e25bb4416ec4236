"""Every cell of the transition tables, on a real state, against `decide`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from signoff.core import commands as c
from signoff.core.definition import StepKind
from signoff.core.document import write_document
from signoff.core.evolve import evolve
from signoff.core.rejection import Rejection
from signoff.core.states import RunState, RunStatus, StepStatus, TimerKind
from signoff.core.transitions import (
    HELD_TABLE,
    RUN_COMMANDS,
    RUN_MOVES,
    RUN_TABLE,
    STEP_COMMANDS,
    STEP_MOVES,
    STEP_TABLE,
    UNDO_TABLE,
)
from tests.core.kit import (
    CLOCK,
    DIRECTORY,
    JSON,
    OPERATOR,
    WORKER,
    World,
    activity,
    approval,
    document,
    edge,
    form,
    once,
    person,
    signal,
    subflow,
    undoable,
    wait,
)
from tests.core.undo import not_undone_for_want_of_input, undo

MAYBE = [{"name": "go", "type": "boolean", "required": False}, {"name": "n", "type": "integer", "required": False}]
QUEUED = {"timeouts": {"queue_s": 30.0}}
SKIPPABLE = {"skip": {"allowed": True}}
GONE = type(DIRECTORY)(8, {"team": ()}, DIRECTORY.people)


def subject(kind: StepKind, id: str = "x", **more: object) -> JSON:
    match kind:
        case StepKind.ACTIVITY:
            return activity(id, **{**QUEUED, "retry": {"max_attempts": 2, "initial_s": 1.0}, **more})
        case StepKind.APPROVAL:
            return approval(id, **{"expires": "PT2H", **SKIPPABLE, **more})
        case StepKind.SUBFLOW:
            return subflow(id, **{"expires": "PT2H", **more})
        case StepKind.SIGNAL:
            return signal(id, **{"expires": "PT2H", **more})
        case StepKind.FORM:
            return form(id, **{"expires": "PT2H", "returns_to": ["a"] if more.pop("behind", None) else [], **more})
        case _:
            return wait(id, **more)


def after_a(kind: StepKind, link: JSON, **more: object) -> World:
    """`a` before the subject, and a `b` beside it that keeps the run going."""
    return World(document(activity("a"), activity("b"), subject(kind, **more), edges=[link], input=MAYBE), {})


def alone(kind: StepKind, **more: object) -> World:
    if kind is StepKind.FORM:
        return behind(kind)
    return World(document(activity("b"), subject(kind, **more), input=MAYBE), {})


def behind(kind: StepKind) -> World:
    """A form after `a`, to which it can send the work back."""
    world = World(document(activity("a"), activity("b"), subject(kind, behind=True), edges="a>x", input=MAYBE), {})
    world.done("a")
    return world


def pending(kind: StepKind) -> World:
    return after_a(kind, edge("a>x"))


def blocked(kind: StepKind) -> World:
    world = pending(kind)
    world.breaks("a")
    return world


def not_taken(kind: StepKind) -> World:
    world = after_a(kind, edge("a>x", when="steps.a.outcome == 'no'"))
    world.done("a")
    return world


def cancelled(kind: StepKind) -> World:
    world = World(document(activity("a"), subject(kind), activity("b", join="cancel_rest"), edges="a>b x>b"))
    world.done("a")
    return world


def skipped(kind: StepKind) -> World:
    world = alone(kind)
    world.ok(world.skip("x"))
    return world


def failed(kind: StepKind) -> World:
    match kind:
        case StepKind.ACTIVITY:
            world = alone(kind)
            world.breaks("x")
        case StepKind.APPROVAL | StepKind.FORM:
            world = alone(kind)
            world.directory = type(DIRECTORY)(8, {}, {})
            world.ok(c.CheckApprovers(actor=CLOCK, step="x"))
            world.directory = DIRECTORY
        case StepKind.SIGNAL:
            world = alone(kind, key="=[1]")
        case StepKind.SUBFLOW:
            world = alone(kind)
            world.ok(world.child_ended("x", "failed"))
        case _:
            world = alone(kind, until="='nonsense'")
    return world


def succeeded(kind: StepKind) -> World:
    world = alone(kind)
    match kind:
        case StepKind.ACTIVITY:
            world.done("x")
        case StepKind.APPROVAL:
            world.approve("x", "ann")
        case StepKind.FORM:
            world.ok(world.submission("x", "ann"))
        case StepKind.SIGNAL:
            world.ok(world.message("x"))
        case StepKind.SUBFLOW:
            world.ok(world.child_ended("x"))
        case _:
            world.fire("x")
    return world


def running(kind: StepKind) -> World:
    world = alone(kind)
    world.claim("x")
    return world


def retrying(kind: StepKind) -> World:
    world = running(kind)
    world.ok(world.failure("x"))
    return world


def outcome_unknown(kind: StepKind) -> World:
    world = alone(kind, effect="at_most_once")
    world.claim("x")
    world.ok(world.lost("x"))
    return world


def rejected(kind: StepKind) -> World:
    if kind is StepKind.SUBFLOW:
        world = alone(kind)
        world.ok(world.child_ended("x", "rejected"))
        return world
    world = alone(kind, required=0)
    world.reject("x", "ann")
    return world


def expired(kind: StepKind) -> World:
    world = alone(kind)
    world.fire("x")
    return world


BUILD: dict[StepStatus, Callable[[StepKind], World]] = {
    StepStatus.PENDING: pending,
    StepStatus.SCHEDULED: alone,
    StepStatus.WAITING: alone,
    StepStatus.RUNNING: running,
    StepStatus.RETRYING: retrying,
    StepStatus.OUTCOME_UNKNOWN: outcome_unknown,
    StepStatus.SUCCEEDED: succeeded,
    StepStatus.FAILED: failed,
    StepStatus.REJECTED: rejected,
    StepStatus.EXPIRED: expired,
    StepStatus.SKIPPED: skipped,
    StepStatus.NOT_TAKEN: not_taken,
    StepStatus.BLOCKED: blocked,
    StepStatus.CANCELLED: cancelled,
}


def polling() -> World:
    world = alone(StepKind.ACTIVITY, poll={"until": "answer.ready", "every": "PT1M", "for": "PT1H"})
    world.done("x", output={"ready": False})
    return world


def built(kind: StepKind, status: StepStatus) -> World:
    """A world whose `x` is of that kind and status."""
    if (kind, status) == (StepKind.ACTIVITY, StepStatus.WAITING):
        return polling()
    if (kind, status) == (StepKind.APPROVAL, StepStatus.WAITING):
        world = alone(kind, required=2)
        world.approve("x", "ann")
        return world
    return BUILD[status](kind)


def command(world: World, kind: type[c.Command], step: str = "x") -> c.Command:
    """A well-formed command of that kind on the step or the run."""
    s = world.state.steps.get(step) or next(iter(world.state.steps.values()))
    made: dict[type[c.Command], Callable[[], c.Command]] = {
        c.StartRun: lambda: world.start,
        c.ClaimActivity: lambda: c.ClaimActivity(actor=WORKER, step=step, generation=s.generation, attempt=s.attempt),
        c.CompleteActivity: lambda: world.completion(step),
        c.FailActivity: lambda: world.failure(step, retryable=s.status is not StepStatus.FAILED),
        c.ExpireLease: lambda: world.lost(step),
        c.FireTimer: lambda: world.timer(step, s.timer or TimerKind.WAIT),
        c.Decide: lambda: world.vote(step, "cem"),
        c.EndSubflow: lambda: world.child_ended(step),
        c.ReceiveSignal: lambda: world.message(step),
        c.SubmitForm: lambda: world.submission(step, "cem"),
        c.ReturnForm: lambda: world.returning(step, "cem"),
        c.CheckApprovers: lambda: c.CheckApprovers(actor=CLOCK, step=step),
        c.RetryStep: lambda: world.retry(step),
        c.ReplayDeadLetter: lambda: world.replay(step),
        c.SkipStep: lambda: world.skip(step),
        c.ResolveOutcome: lambda: world.outcome(step, True),
        c.CompleteByHand: lambda: world.by_hand(step),
        c.ReassignStep: lambda: world.reassignment(step, "eve"),
        c.WithdrawVote: lambda: world.withdrawal(step, "ann"),
        c.PauseRun: lambda: c.PauseRun(actor=OPERATOR, reason="Audit."),
        c.ResumeRun: lambda: c.ResumeRun(actor=OPERATOR, reason="Audit."),
        c.CancelRun: lambda: c.CancelRun(actor=OPERATOR, reason="Audit."),
        c.TerminateRun: lambda: c.TerminateRun(actor=OPERATOR, reason="Audit."),
        c.EditInput: lambda: world.edit({}),
        c.MigrateRun: lambda: world.migration(write_document(replace(world.plan.definition, description="New."))),
    }
    if kind is c.FireTimer and s.due:
        world.now = max(world.now, s.due)
    return made[kind]()


def answer_of(world: World, kind: type[c.Command], step: str = "x") -> str:
    answer = world.send(command(world, kind, step))
    return answer.code if isinstance(answer, Rejection) else "accepted"


STEP_CELLS = [(place, x) for place in STEP_TABLE for x in STEP_COMMANDS]


def name_of(value: object) -> str:
    return value.__name__ if isinstance(value, type) else "-".join(map(str, value))  # type: ignore[call-overload]


@pytest.mark.parametrize(("place", "kind"), STEP_CELLS, ids=name_of)
def test_a_command_on_a_step(place: tuple[StepKind, StepStatus], kind: type[c.Command]) -> None:
    world = built(*place)
    assert world.step("x").status is place[1]
    assert world.run == "running"
    assert answer_of(world, kind) == STEP_TABLE[place][kind]


def run_in(status: RunStatus) -> World:
    """A run in that status, with `x` an activity at work (or failed) and `p` an open approval where it can be."""
    policy = {"failure": "fail"} if status is RunStatus.FAILED else {}
    if status is RunStatus.STALLED:
        world = World(document(activity("x")))
        world.breaks("x")
        return world
    world = World(document(activity("x"), approval("p", **SKIPPABLE), policies=policy))
    match status:
        case RunStatus.PAUSED:
            world.claim("x")
            world.pause()
        case RunStatus.CANCELLING:
            world.claim("x")
            world.cancel()
        case RunStatus.COMPENSATING:
            world = World(document(undoable("x"), approval("p")))
            world.done("x", output={"booking": 1})
            world.ok(c.CancelRun(actor=OPERATOR, reason="No longer needed.", compensate=True))
            world.claim("x")
        case RunStatus.SUCCEEDED:
            world.done("x")
            world.approve("p", "ann")
        case RunStatus.REJECTED:
            world.done("x")
            world.reject("p", "ann")
        case RunStatus.FAILED:
            world.breaks("x")
        case RunStatus.CANCELLED:
            world.cancel()
        case RunStatus.TERMINATED:
            world.ok(c.TerminateRun(actor=person("olga"), reason="Wrong customer."))
        case _:
            pass
    return world


@pytest.mark.parametrize("status", list(RunStatus))
@pytest.mark.parametrize("kind", RUN_COMMANDS)
def test_a_command_on_a_run(status: RunStatus, kind: type[c.Command]) -> None:
    world = run_in(status)
    assert world.run == status
    if (status, kind) == (RunStatus.PAUSED, c.MigrateRun):
        world.ok(world.completion("x"))
    assert answer_of(world, kind) == RUN_TABLE[status][kind]


def held(status: RunStatus, kind: type[c.Command]) -> tuple[World, str]:
    """A run held back in that status with a step that would accept the command if it were running."""
    step = {
        c.ClaimActivity: "idle",
        c.Decide: "p",
        c.SubmitForm: "f",
        c.ReturnForm: "f",
        c.ReceiveSignal: "s",
        c.EndSubflow: "sub",
        c.RetryStep: "broken",
        c.ReplayDeadLetter: "broken",
        c.SkipStep: "broken",
        c.ResolveOutcome: "lost",
        c.CompleteByHand: "broken",
        c.ReassignStep: "p",
        c.WithdrawVote: "p",
    }.get(kind, "busy")
    steps = [activity("busy"), activity("idle"), activity("broken"), activity("lost", effect="at_most_once")]
    world = World(document(*steps, approval("p"), form("f"), signal("s"), subflow("sub")))
    world.claim("lost")
    world.ok(world.lost("lost"))
    world.claim("busy")
    world.breaks("broken")
    match status:
        case RunStatus.PAUSED:
            world.pause()
        case RunStatus.CANCELLING:
            world.cancel()
        case _:
            world.ok(c.TerminateRun(actor=OPERATOR, reason="Wrong customer."))
    return world, step


HELD_CELLS = [(status, x) for status, row in HELD_TABLE.items() for x in row]


@pytest.mark.parametrize(("status", "kind"), HELD_CELLS)
def test_a_command_on_a_step_that_the_run_holds_back(status: RunStatus, kind: type[c.Command]) -> None:
    world, step = held(status, kind)
    assert world.run == status
    assert answer_of(world, kind, step) == HELD_TABLE[status][kind]


UNDO_CELLS = [(status, x) for status, row in UNDO_TABLE.items() for x in row]


@pytest.mark.parametrize(("status", "kind"), UNDO_CELLS)
def test_a_command_on_a_step_that_is_undone(status: StepStatus, kind: type[c.Command]) -> None:
    world = undo(status)
    step = "y" if status is StepStatus.COMPENSATED else "x"
    assert world.step(step).status is status
    assert answer_of(world, kind, step) == UNDO_TABLE[status][kind]


def test_the_tables_leave_nothing_out() -> None:
    assert set(RUN_TABLE) == set(RunStatus)
    assert {status for _, status in STEP_TABLE} | set(UNDO_TABLE) == set(StepStatus)
    assert set(STEP_COMMANDS) | set(RUN_COMMANDS) == set(c.ALL_COMMANDS)
    for row in STEP_TABLE.values():
        assert set(row) == set(STEP_COMMANDS)


def moves_of(world: World) -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
    steps, runs = set(), set()
    state, plans = RunState(), world.ledger.plans
    for event in world.events:
        new = evolve(plans.get(state.digest, world.plan), state, event)
        for i, s in state.steps.items():
            if s.status is not new.steps[i].status:
                steps.add((s.status, new.steps[i].status))
        if state.sequence and state.status is not new.status:
            runs.add((state.status, new.status))
        state = new
    return steps, runs


def reopened() -> World:
    """A blocked step and one that was not taken, open again behind a retried one; and a stall that is paused."""
    links = [edge("a>b"), edge("a:any>d", when="steps.a.outcome == 'succeeded'")]
    world = World(document(activity("a"), activity("b"), activity("d"), edges=links))
    world.breaks("a")
    world.pause()
    world.resume()
    world.ok(world.retry("a"))
    world.done("a")
    assert world.statuses == {"a": "succeeded", "b": "scheduled", "d": "scheduled"}
    return world


def lists() -> list[World]:
    """Steps that work on items: an empty list, and one whose items come one after the other."""
    worlds = []
    for rows in ("[]", "[1, 2]"):
        world = World(document(activity("x", for_each={"items": rows, "parallel": 1}), wait("w")))
        worlds.append(world)
    worlds[1].item_done("x", 0)
    worlds[1].item_done("x", 1)
    return worlds


def sent_back() -> World:
    """Every state but `running` goes back to pending when an approval returns the work."""
    steps = [activity("a"), approval("p", returns_to=["a"]), *map(activity, "sgk"), approval("rej", required=0)]
    steps += [activity("retrying"), once("failed"), approval("exp", expires="PT1H"), wait("w"), activity("over")]
    steps += [activity("first"), activity("loser"), activity("go", join="cancel_rest"), activity("never")]
    direct = "a>p a>s a>g a>k a>rej a>retrying a>failed a>exp a>w a>first a>loser first>go loser>go failed>over"
    links = [*(edge(x) for x in direct.split()), edge("g>never", when="false")]
    world = World(document(*steps, edges=links))
    world.done("a", "g", "first")
    world.ok(world.skip("k"))
    world.reject("rej", "ann")
    world.claim("retrying")
    world.ok(world.failure("retrying"))
    world.breaks("failed")
    world.fire("exp")
    assert world.statuses == {
        "a": "succeeded", "p": "waiting", "s": "scheduled", "g": "succeeded", "k": "skipped", "rej": "rejected",
        "retrying": "retrying", "failed": "failed", "exp": "expired", "w": "waiting", "over": "blocked",
        "first": "succeeded", "loser": "cancelled", "go": "scheduled", "never": "not_taken",
    }  # fmt: skip
    world.ok(world.vote("p", "ann", "returned"))
    assert set(world.statuses.values()) == {"scheduled", "pending"}
    return world


def test_the_moves_of_the_diagrams_are_those_that_happen() -> None:
    steps: set[tuple[str, str]] = set()
    runs: set[tuple[str, str]] = set()
    denied = outcome_unknown(StepKind.ACTIVITY)
    denied.ok(denied.outcome("x", False))
    worlds = [*lists(), reopened(), sent_back(), denied, not_undone_for_want_of_input()]
    for place, row in STEP_TABLE.items():
        for kind in row:
            world = built(*place)
            world.send(command(world, kind))
            worlds.append(world)
        for kind in (c.CancelRun, c.TerminateRun):
            world = built(*place)
            world.send(command(world, kind))
            worlds.append(world)
    for undo_status, row in UNDO_TABLE.items():
        for kind in (*row, c.TerminateRun):
            world = undo(undo_status)
            step = "y" if undo_status is StepStatus.COMPENSATED else "x"
            world.send(command(world, kind, step))
            worlds.append(world)
    for status in RunStatus:
        for kind in (*RUN_COMMANDS, c.CompleteActivity):
            world = run_in(status)
            world.send(command(world, kind))
            worlds.append(world)
    for world in worlds:
        more_steps, more_runs = moves_of(world)
        steps |= more_steps
        runs |= more_runs
    assert steps == STEP_MOVES
    assert runs == RUN_MOVES
