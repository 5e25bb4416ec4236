"""Crashes at the commit, restarts, lost connections to the database: nothing acknowledged is lost or doubled."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from signoff import errors
from signoff.engine.writer import Writer
from signoff.runtime.local import LocalLink
from signoff.runtime.worker import Worker
from tests.engine.office import TENANT, Clock, Connectors, Office, ask, call, chain, open_office, person


class Crash(RuntimeError):
    """The process dies here."""


def break_commits(writer: Writer, times: int) -> None:
    """Let the next `times` commits fail after everything was written."""
    assert writer.engine is not None
    left = [times]

    def fail() -> None:
        if left[0]:
            left[0] -= 1
            raise Crash

    writer.engine.journal.before_commit = fail


def test_a_failed_commit_keeps_nothing_and_the_same_request_works_again(office: Office) -> None:
    office.publish(chain("buy", ask("manager"), call("order")))
    break_commits(office.running.writer, 1)
    with pytest.raises(errors.Unavailable):
        office.start("buy", key="k")
    assert office.signoff.queries.list_runs(TENANT).items == ()
    run_id = office.start("buy", key="k")
    office.until_step(run_id, "manager", "waiting")
    break_commits(office.running.writer, 1)
    with pytest.raises(errors.Unavailable):
        office.decide(run_id, "manager", "grace")
    assert office.view(run_id).state.steps["manager"].status == "waiting"
    office.decide(run_id, "manager", "grace")
    office.until_status(run_id, "succeeded")
    assert office.connectors.count("order") == 1


def test_one_bad_request_in_a_batch_does_not_take_the_others_along(office: Office) -> None:
    """A commit that fails is done again one by one; every good request gets its own answer."""
    office.publish(chain("buy", ask("manager")))
    break_commits(office.running.writer, 2)
    results: list[object] = []

    def start() -> None:
        try:
            results.append(office.start("buy"))
        except errors.Unavailable as error:
            results.append(error)

    threads = [threading.Thread(target=start) for _ in range(30)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    good = [r for r in results if isinstance(r, str)]
    assert len(results) == 30
    assert 28 <= len(good) <= 30
    assert {r.run_id for r in office.signoff.queries.list_runs(TENANT, limit=100).items} == set(good)


def test_an_outcome_whose_commit_failed_is_reported_again(office: Office) -> None:
    """The worker keeps the answer until the engine has it: the call is not repeated."""
    office.publish(chain("one", call("a", "slow")))
    run_id = office.start("one")
    assert office.connectors.begun.acquire(timeout=10)
    break_commits(office.running.writer, 1)
    office.connectors.let_go.set()
    office.until_status(run_id, "succeeded")
    assert office.connectors.count("a") == 1


def test_a_restart_goes_on_where_it_stood(tmp_path: Path) -> None:
    """C15: the inbox lists exactly the waiting runs; earlier activities are not repeated."""
    connectors = Connectors()
    with open_office(tmp_path, connectors=connectors) as office:
        office.publish(chain("buy", call("check"), ask("manager"), call("order")))
        runs = [office.start("buy") for _ in range(3)]
        for run_id in runs:
            office.until_step(run_id, "manager", "waiting")
    with open_office(tmp_path, connectors=connectors) as office:
        inbox = office.signoff.queries.list_inbox(TENANT, "grace").items
        assert sorted(i.run_id for i in inbox) == sorted(runs)
        for run_id in runs:
            office.decide(run_id, "manager", "grace")
            office.until_status(run_id, "succeeded")
        assert (connectors.count("check"), connectors.count("order")) == (3, 3)
        office.check_replay()


def test_timers_that_came_due_while_nothing_ran_fire_once_each(tmp_path: Path) -> None:
    """C16, with a moved clock."""
    clock = Clock()
    with open_office(tmp_path, now=clock, services=False) as office:
        office.publish(chain("nap", {"id": "rest", "kind": "wait", "duration": "PT5S"}))
        runs = [office.start("nap") for _ in range(50)]
    clock.move(seconds=20)
    with open_office(tmp_path, now=clock) as office:
        for run_id in runs:
            office.until_status(run_id, "succeeded")
            events = office.signoff.queries.list_events(TENANT, run_id)
            fired = [e for e in events if e.type == "wait.elapsed"]
            assert len(fired) == 1
            assert (fired[0].at - events[0].at).total_seconds() == 20
            assert "08:00" in fired[0].sentence
            assert fired[0].data["due"].endswith("08:00:05+00:00")


def test_a_deadline_that_passed_while_nothing_ran_is_met_once(tmp_path: Path) -> None:
    clock = Clock()
    process = chain("nap", {"id": "rest", "kind": "wait", "duration": "P9D"})
    process["policies"] = {"deadline": "PT1H"}
    stopping = {**process, "name": "strict", "policies": {"deadline": "PT1H", "on_deadline": "fail"}}
    with open_office(tmp_path, now=clock, services=False) as office:
        office.publish(process)
        office.publish(stopping)
        late, stopped = office.start("nap"), office.start("strict")
    clock.move(hours=2)
    with open_office(tmp_path, now=clock) as office:
        office.until_status(stopped, "failed")
        office.until(late, lambda run: "overdue" in run.explanation.sentence)
        events = office.signoff.queries.list_events(TENANT, late)
        assert [e.type for e in events].count("run.deadline_passed") == 1
        office.check_replay()


def test_a_lost_worker_counts_as_an_attempt_and_its_late_answer_is_evidence(tmp_path: Path) -> None:
    """C25, with a moved clock: the lease ends, a second attempt begins, the first answer comes too late."""
    clock = Clock()
    with open_office(tmp_path, now=clock) as office:
        step = call("a", "slow", timeouts={"heartbeat_s": 5.0, "run_s": 600.0}, retry={"initial_s": 0.0, "jitter": 0.0})
        office.publish(chain("one", step))
        run_id = office.start("one")
        assert office.connectors.begun.acquire(timeout=10)
        office.running.workers[0]._pulse.close()  # the worker hangs: no heartbeat any more
        other = Worker("other", LocalLink(office.running.writer), office.connectors, slots=2)
        other.start()
        office.running.workers.append(other)
        clock.move(seconds=6)
        view = office.until(run_id, lambda v: v.state.steps["a"].fence == 2)
        assert view.state.steps["a"].worker == "other", "a worker that let a lease run out gets nothing more"
        assert office.connectors.begun.acquire(timeout=10)
        office.connectors.let_go.set()
        view = office.until_status(run_id, "succeeded")
        office.until(
            run_id, lambda v: "stale_result" in office.evidence(run_id) or "run_over" in office.evidence(run_id)
        )
        attempts = office.signoff.queries.list_attempts(TENANT, run_id)
        assert [(a.attempt, a.status) for a in attempts] == [(1, "failed"), (2, "succeeded")]
        assert view.state.steps["a"].attempt == 2
        assert "was lost" in " ".join(e.sentence for e in office.signoff.queries.list_events(TENANT, run_id))


def test_at_most_once_stalls_as_outcome_unknown(tmp_path: Path) -> None:
    clock = Clock()
    with open_office(tmp_path, now=clock) as office:
        step = call("pay", "slow", effect="at_most_once", timeouts={"heartbeat_s": 5.0, "run_s": 600.0})
        office.publish(chain("one", step))
        run_id = office.start("one")
        assert office.connectors.begun.acquire(timeout=10)
        office.running.workers[0]._pulse.close()
        clock.move(seconds=6)
        view = office.until_status(run_id, "stalled")
        assert "not known whether" in view.explanation.sentence
        assert office.connectors.count("pay") == 1
        office.connectors.let_go.set()


def test_the_deadline_of_an_approval_expires_it_and_names_nobody(tmp_path: Path) -> None:
    """C12."""
    clock = Clock()
    with open_office(tmp_path, now=clock) as office:
        office.publish(chain("buy", ask("manager", expires="PT1H"), call("order")))
        run_id = office.start("buy")
        office.until_step(run_id, "manager", "waiting")
        clock.move(minutes=61)
        view = office.until_status(run_id, "stalled")
        assert view.state.steps["manager"].status == "expired"
        assert "Nobody decided" in view.explanation.sentence
        assert office.connectors.count("order") == 0
        with pytest.raises(errors.Refused, match="time to decide"):
            office.decide(run_id, "manager", "grace", generation=1)
        office.signoff.operate("retry_step", person("katherine"), TENANT, run_id, step="manager", reason="ask again")
        office.until_step(run_id, "manager", "waiting")
        office.decide(run_id, "manager", "grace")
        office.until_status(run_id, "succeeded")


def test_a_clock_that_jumps_back_loses_nothing(tmp_path: Path) -> None:
    clock = Clock()
    with open_office(tmp_path, now=clock) as office:
        office.publish(chain("nap", call("a"), {"id": "rest", "kind": "wait", "duration": "PT10S"}, call("b")))
        run_id = office.start("nap")
        office.until_step(run_id, "rest", "waiting")
        clock.move(hours=-2)
        other = office.start("nap")
        office.until_step(other, "rest", "waiting")
        clock.move(hours=2, seconds=11)
        office.until_status(run_id, "succeeded")
        office.until_status(other, "succeeded")
        assert office.connectors.count("b") == 2


def test_a_commit_that_sqlite_refuses_leaves_no_transaction_open(office: Office) -> None:
    """A deferred constraint fails at COMMIT itself, as a full disk or a busy database does."""
    engine = office.running.writer.engine
    assert engine is not None
    office.publish(chain("buy", ask("manager")))
    journal = engine.journal

    def poison() -> None:
        journal.before_commit = lambda: None
        journal.write("PRAGMA defer_foreign_keys=ON")
        journal.write(
            "INSERT INTO draft(definition_id, revision, document, layout, saved_by, saved_at) VALUES (-1,1,'','','',0)"
        )

    journal.before_commit = poison
    with pytest.raises(errors.Unavailable):
        office.start("buy", key="k")
    run_id = office.start("buy", key="k")
    office.until_step(run_id, "manager", "waiting")
    assert len(office.signoff.queries.list_runs(TENANT).items) == 1
