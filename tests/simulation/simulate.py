"""One seed from beginning to end: faults, then quiet, then everything is brought to its end."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from signoff.core.answering import missing_answers, who_may_answer
from signoff.core.implied import implied_signal
from signoff.core.states import CLAIMABLE_RUNS, Actor, RunState, RunStatus, StepStatus
from signoff.store.leases import list_due, next_due
from signoff.store.times import to_micros
from signoff.wiring import Settings, open_verifier
from tests.simulation.actors import Cast
from tests.simulation.ask import Ask
from tests.simulation.faults import Violation
from tests.simulation.world import PEOPLE, World, determined

STEPS = 250
LEASE_S = 30.0
WRITER = Actor("system", "writer", channel="engine")


@dataclass(frozen=True)
class Result:
    """What a seed did."""

    seed: int
    digest: str
    counts: Counter[str]
    commits: int
    runs: int


def replay_command(seed: int) -> str:
    """What to type to see exactly this again."""
    return f"python -m tests.simulation --seed {seed}"


def run_seed(seed: int, steps: int = STEPS) -> Result:
    """Simulate one seed.

    Raises:
        Violation: an invariant does not hold; the message names the seed and the command that replays it.
    """
    base = Path("/dev/shm") if Path("/dev/shm").is_dir() else Path(tempfile.gettempdir())
    folder = Path(tempfile.mkdtemp(prefix="signoff-sim-", dir=base))
    world = None
    at = "start"
    try:
        with determined(seed):
            world = World(seed, folder)
            cast = Cast(world)
            at = "faults"
            for _ in range(steps):
                _step(world, cast)
            _verify(folder)
            at = "quiet"
            _quiet(world, cast)
            at = "end"
            _end(world, cast)
            world.auditor.look(everything=True)
            world.auditor.notices()
            _verify(folder)
            return Result(seed, world.dump(), world.counts, world.auditor.commits, len(world.auditor.runs))
    except (AssertionError, Violation) as error:
        raise Violation(f"seed {seed} ({at}): {error}\n  replay: {replay_command(seed)}") from error
    finally:
        if world is not None:
            world.close()
        shutil.rmtree(folder, ignore_errors=True)


def _verify(folder: Path) -> None:
    """The product's own verifier finds nothing either (it reads what the auditor reads, and trusts the events)."""
    with open_verifier(Settings(folder)) as verifier:
        found = next(verifier.findings(), None)
    assert found is None, found


def _step(world: World, cast: Cast) -> None:
    dice, faults = world.dice, world.faults
    _pass_time(world, dice)
    if dice.random() < faults.restart:
        world.counts["restart"] += 1
        world.die()
    many = dice.choice((2, 3, 8)) if dice.random() < faults.batch else 1
    asks: list[Ask] = []
    world.actors = lambda: _somebody(world, cast)
    for _ in range(many):
        asks += _somebody(world, cast)
    # One administrator at a time, so that the auditor knows who is surely out.
    _send(world, asks, one_by_one=many == 1)


def _somebody(world: World, cast: Cast) -> list[Ask]:
    """What whoever is next wants."""
    dice = world.dice
    if world.lease_wanted and dice.random() < 0.7:
        world.lease_wanted = False
        return [lease()]
    if dice.random() < 0.5:
        return dice.choice(world.workers).acts()
    actors = cast.weighted()
    return dice.choices([a for _, a in actors], [w for w, _ in actors])[0]()


def lease() -> Ask:
    """What the writer sends itself after `lease_again`."""
    return Ask("lease", WRITER, {}, origin="engine")


def _send(world: World, asks: list[Ask], *, one_by_one: bool) -> None:
    unique = list(dict.fromkeys(asks))
    if not unique:
        return
    if one_by_one:
        for ask in unique:
            world.send([ask])
    else:
        world.send(unique)


def _pass_time(world: World, dice: Random) -> None:
    clock = world.clock
    clock.elapsed += dice.choice((0.0, 0.01, 0.5, 0.5, 2.0, 5.0, 12.0)) * dice.random()
    if dice.random() < 0.02:
        clock.elapsed += dice.choice((40.0, 120.0, 3700.0))
    if dice.random() < world.faults.clock_jump:
        world.counts["clock jump"] += 1
        clock.offset += dice.uniform(-7200, 7200)


# After the faults


def _tick(world: World, cast: Cast, seconds: float) -> None:
    """The honest services and workers do their work once."""
    world.clock.elapsed += seconds
    for _ in range(8):
        asks = []
        for worker in world.workers:
            asks += worker.duties()
        asks += cast.rescue() + cast.fire() + cast.relay() + cast.unanswered[:]
        if world.lease_wanted:
            world.lease_wanted = False
            asks.append(lease())
        if not asks:
            return
        _send(world, asks, one_by_one=True)


def _quiet(world: World, cast: Cast) -> None:
    """No more faults: within ten lease times nothing that could go on by itself stands still."""
    world.faults.stop()
    for worker in world.workers:
        worker.asleep_until = -1.0
    cast.stale_timers.clear()
    world.send([cast.deputies.limits({})])
    now = world.clock.now()
    latest = max((t for x in world.auditor.runs.values() for ts in x.leases.values() for t in ts), default=now)
    if latest > now:  # leases that were granted before the clock was set back
        world.clock.offset += (latest - now).total_seconds()
    for _ in range(20):
        _tick(world, cast, LEASE_S / 2)
    assert not cast.unanswered, f"never answered: {cast.unanswered[0].do} {cast.unanswered[0].args}"
    held = {claim for w in world.workers for claim in w.active}
    for run_id, ledger in world.auditor.runs.items():
        state = ledger.mirror
        if state.is_terminal or state.status is RunStatus.PAUSED:
            continue
        for i, s in state.steps.items():
            where = f"step {i} of run {run_id} ({state.status})"
            claim = (run_id, i, s.generation, s.attempt, s.fence)
            assert s.status is not StepStatus.SCHEDULED or _unserved(world, ledger, i), f"{where} waits for a worker"
            assert s.status is not StepStatus.RUNNING or claim in held, f"{where} is held by nobody"
            if s.approval and s.status is StepStatus.WAITING:
                usable = who_may_answer(ledger.plan, state, i)
                there = [p for p in usable if p not in world.auditor.inactive]
                given = sum(v.outcome == "approved" for v in s.approval.votes)
                enough = len(there) + given >= s.approval.required
                if s.approval.quotas:
                    everybody = {p for q in s.approval.quotas for p in q.people} - set(world.auditor.inactive)
                    enough = missing_answers(ledger.plan, state, i, sorted(everybody | set(there))) <= 0
                assert enough, f"{where} waits for people who are not there"
    for worker in world.workers:
        slot = world.engine.dispatcher.find(worker.actor.id)
        free = slot.free if slot else 0
        assert free == worker.slots - len(worker.active), (
            f"{worker.actor.id} seems to have {free} free of {worker.slots} slots, with {len(worker.active)} active"
        )
    overdue = list_due(world.reader, to_micros(world.clock.now()), 8)
    assert not overdue, f"overdue timers: {overdue}"


def _unserved(world: World, ledger: object, step: str) -> bool:
    pool = ledger.plan.steps[step].config.pool  # type: ignore[attr-defined]
    return not any(pool in w.pools for w in world.workers)


def _help_to_undo(world: World, cast: Cast, run_id: str, state: RunState, *, by_hand: bool) -> None:
    """What could not be undone is tried again with a mended input, in the end done by hand."""
    world.send([cast.operation("edit_input", run_id, "", state.sequence)])
    for i, s in state.steps.items():
        if s.undo and s.status is StepStatus.FAILED:
            seen = world.auditor.state(run_id).sequence
            world.send([cast.operation("skip_step" if by_hand else "retry_step", run_id, i, seen)])


def _served_soon(world: World, waited: Counter[Any]) -> None:
    """No call stays without a worker while everybody does their duty, even where the run could be cancelled."""
    for run_id, ledger in world.auditor.runs.items():
        for i, s in ledger.mirror.steps.items():
            on = ledger.mirror.status in CLAIMABLE_RUNS and s.status is StepStatus.SCHEDULED
            if on and not _unserved(world, ledger, i):
                call = run_id, i, s.generation, s.attempt, s.undo, s.fence
                waited[call] += 1
                assert waited[call] < 6, f"step {i} of run {run_id} gets no worker"


def _end(world: World, cast: Cast) -> None:
    """Everybody does their duty: every run comes to an end."""
    for login in PEOPLE:
        world.send([cast.account(login, True)])
    waited: Counter[Any] = Counter()
    for number in range(60):
        _served_soon(world, waited)
        open_runs = {r: x for r, x in world.auditor.runs.items() if not x.mirror.is_terminal}
        if not open_runs:
            return
        for run_id, ledger in open_runs.items():
            state = ledger.mirror
            if state.status is RunStatus.PAUSED:
                world.send([cast.operation("resume_run", run_id, "", state.sequence)])
            elif state.stopping and state.status is RunStatus.STALLED:
                _help_to_undo(world, cast, run_id, state, by_hand=number > 5)
            elif state.status is RunStatus.STALLED or number > 40:
                world.send([cast.operation("cancel_run", run_id, "", state.sequence)])
            for i, s in list(state.steps.items()):
                if implied_signal(ledger.plan, ledger.mirror, i):
                    world.send([cast.signal(s.key, {"n": 1}, f"end{world.number()}")])
                if s.approval and s.status is StepStatus.WAITING:
                    for who in s.approval.roster:
                        now = ledger.mirror
                        if now.steps[i].status is StepStatus.WAITING and now.steps[i].approval:
                            world.send([cast.decision(run_id, i, now, who, "approved")])
        upcoming = next_due(world.reader)
        wait = (upcoming - to_micros(world.clock.now())) / 1e6 if upcoming else 0.0
        _tick(world, cast, max(1.0, wait + 0.001))
    left = {r: str(x.mirror.status) for r, x in world.auditor.runs.items() if not x.mirror.is_terminal}
    assert not left, f"these runs never end: {left}"
