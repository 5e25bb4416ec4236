"""Limits of tenants (W15) and fair shares of the workers (W12), on the real engine and store."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest.mock import Mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signoff import errors
from signoff.core.limits import Limits
from signoff.engine.usage import Rate
from signoff.store.limits import count_open_runs, count_timers
from tests.engine.counter import ADA, Counter, request, step
from tests.engine.office import TENANT, Office, chain, person
from tests.engine.office import call as activity


@pytest.fixture
def counter(tmp_path: Path) -> Iterator[Counter]:
    made = Counter(tmp_path)
    yield made
    made.close()


# Shares of the workers


def test_a_tenant_with_much_to_do_does_not_keep_another_waiting(counter: Counter) -> None:
    for tenant in ("hot", "cool"):
        counter.tenant(tenant)
        counter.publish(tenant, "work", step())
    counter.start("hot", times=60)
    counter.start("cool", times=3)
    counter.offer(1)
    served = counter.drain()
    assert len(served) == 63
    assert [i for i, tenant in enumerate(served) if tenant == "cool"] in ([0, 2, 4], [1, 3, 5])


def test_next_steps_of_running_work_do_not_overtake_what_has_waited(counter: Counter) -> None:
    counter.tenant("a")
    counter.publish("a", "long", *(step(f"s{i}") for i in range(6)))
    counter.publish("a", "work", step())
    counter.offer(1)
    counter.start("a", "long")
    waiting = counter.start("a")[0]
    order = []
    while counter.tasks:
        task = counter.tasks.pop(0)
        order.append(task["run_id"])
        counter.finish(task)
    assert order.index(waiting) == 1


@pytest.mark.parametrize("weight", [1, 3, 10])
def test_shares_follow_the_weights(counter: Counter, weight: int) -> None:
    counter.tenant("heavy", weight=weight)
    counter.tenant("light")
    for tenant in ("heavy", "light"):
        counter.publish(tenant, "work", step())
        counter.start(tenant, times=60)
    counter.offer(1)
    served = counter.drain()[: 4 * (weight + 1)]
    assert abs(served.count("heavy") - 4 * weight) <= 1


def test_who_was_idle_does_not_save_up_turns(counter: Counter) -> None:
    for tenant in ("a", "b"):
        counter.tenant(tenant)
        counter.publish(tenant, "work", step())
    counter.start("a", times=40)
    counter.offer(1)
    for _ in range(20):
        counter.finish(counter.tasks.pop(0))
    counter.start("b", times=10)
    served = counter.drain()
    assert served[1:9].count("b") == 4


def test_priority_counts_and_nothing_waits_for_ever(counter: Counter) -> None:
    counter.tenant("a")
    counter.publish("a", "low", step())
    counter.publish("a", "high", step(priority=2))
    low = counter.start("a", "low")[0]
    counter.move(seconds=119)
    soon = counter.start("a", "high")[0]
    counter.move(seconds=2)
    late = counter.start("a", "high")[0]
    counter.offer(1)
    order = []
    while counter.tasks:
        task = counter.tasks.pop(0)
        order.append(task["run_id"])
        counter.finish(task)
    assert order == [soon, low, late]


def test_pools_do_not_share_their_queues(counter: Counter) -> None:
    counter.tenant("a")
    counter.publish("a", "work", step())
    counter.publish("a", "heavy", step(pool="gpu"))
    counter.start("a", "heavy", times=5)
    counter.start("a")
    counter.offer(1, "default")
    assert counter.drain() == ["a"]
    counter.offer(2, "gpu", worker="w2")
    assert len(counter.tasks) == 2


@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_whatever_comes_a_waiting_tenant_is_served_within_its_share(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Between two turns of a tenant that always waits, no other tenant gets more than its weight allows, and one."""
    counter = Counter(tmp_path_factory.mktemp("share"))
    weights = data.draw(st.lists(st.integers(1, 5), min_size=2, max_size=4))
    names = [f"t{i}" for i in range(len(weights))]
    for name, weight in zip(names, weights, strict=True):
        counter.tenant(name, weight=weight)
        counter.publish(name, "work", step())
        counter.start(name, times=30)
    counter.offer(data.draw(st.integers(1, 4)))
    served = []
    for _ in range(30):
        done = [counter.tasks.pop(0) for _ in range(min(len(counter.tasks), data.draw(st.integers(1, 3))))]
        served += [str(t["tenant"]) for t in done]
        counter.finish(*done)
    counter.close()
    for one, own in zip(names, weights, strict=True):
        turns = [i for i, t in enumerate(served) if t == one]
        for first, last in itertools.pairwise(turns):
            for other, theirs in zip(names, weights, strict=True):
                if other != one:
                    assert served[first:last].count(other) <= theirs / own + 1 + 4


# Calls at once, and rates


def test_calls_at_once_are_bounded_and_the_rest_waits(counter: Counter) -> None:
    counter.tenant("a", activities={"at_once": 2})
    counter.publish("a", "work", step())
    counter.offer(10)
    counter.start("a", times=5)
    assert len(counter.tasks) == 2
    counter.finish(counter.tasks.pop(0))
    assert len(counter.tasks) == 2
    assert len(counter.drain()) == 4


@pytest.mark.parametrize(
    "limits", [{"pools": {"gpu": {"at_once": 1}}}, {"connectors": {"other": {"at_once": 1}}}], ids=["pool", "connector"]
)
def test_a_bounded_pool_or_connector_leaves_the_others_alone(counter: Counter, limits: dict[str, object]) -> None:
    counter.tenant("a", **limits)
    counter.publish("a", "bounded", step(pool="gpu", connector="other"))
    counter.publish("a", "work", step())
    counter.start("a", "bounded", times=3)
    counter.start("a", times=3)
    counter.offer(10, "default", "gpu")
    assert sorted(t["connector"] for t in counter.tasks) == ["ok", "ok", "ok", "other"]
    assert len(counter.drain()) == 6


def test_nothing_begins_at_zero_and_everything_when_it_is_raised(counter: Counter) -> None:
    counter.tenant("a", activities={"at_once": 0})
    counter.publish("a", "work", step())
    counter.start("a", times=3)
    counter.offer(10)
    assert counter.tasks == []
    counter.do("set_limits", limits={}, reason="enough")
    assert len(counter.tasks) == 3


def test_what_is_under_way_is_counted_again_after_a_restart(counter: Counter) -> None:
    counter.tenant("a", activities={"at_once": 1})
    counter.publish("a", "work", step())
    counter.offer(4)
    counter.start("a", times=3)
    held = counter.tasks.pop()
    counter.boot()
    counter.offer(4)
    assert counter.tasks == []
    counter.finish(held)
    assert len(counter.tasks) == 1


@pytest.mark.parametrize("ending", ["terminate_run", "cancel_run", "expire"])
def test_a_call_that_ends_in_any_way_makes_room(counter: Counter, ending: str) -> None:
    counter.tenant("a", activities={"at_once": 1})
    counter.publish("a", "work", step())
    counter.offer(4)
    counter.start("a", times=2)
    task = counter.tasks.pop()
    if ending == "expire":
        counter.move(hours=1)
        names = ("run_id", "step", "generation", "attempt", "fence")
        counter.do("expire_lease", origin="engine", worker="w", **{n: task[n] for n in names})
        counter.offer(4, worker="w2")  # the first one is silent
    else:
        counter.do(ending, run_id=task["run_id"], reason="enough")
    if ending == "cancel_run":
        assert counter.tasks == []  # it is awaited, and holds its place until it answers
        counter.finish(task)
    assert len(counter.tasks) == 1


def test_what_was_rolled_back_is_not_counted(counter: Counter) -> None:
    counter.tenant("a", activities={"at_once": 1}, open_runs=3)
    counter.publish("a", "work", step())
    counter.offer(4)

    def broken() -> None:
        raise OSError("disk I/O error")

    counter.engine.journal.before_commit = broken
    made = request("start_run", "a", {"definition": "work", "input": {}}, ADA, "client")
    assert counter.send(made)[0]["code"] == "disk_error"
    counter.engine.journal.before_commit = lambda: None
    assert counter.tasks == []
    counter.start("a", times=3)
    assert len(counter.tasks) == 1
    assert counter.drain() == ["a"] * 3


def test_a_rate_spreads_calls_evenly(counter: Counter) -> None:
    counter.tenant("a", connectors={"ok": {"per_minute": 6}})
    counter.publish("a", "work", step())
    counter.offer(100)
    counter.start("a", times=10)
    assert len(counter.tasks) == 1
    assert counter.last.lease_later
    for already in range(1, 10):
        counter.move(seconds=9)
        counter.look()
        assert len(counter.tasks) == already
        counter.move(seconds=1)
        counter.look()
        assert len(counter.tasks) == already + 1


@given(st.integers(1, 10_000), st.lists(st.floats(0.001, 30), min_size=1, max_size=200))
def test_a_rate_is_never_exceeded_over_any_minute(per_minute: int, pauses: list[float]) -> None:
    rate, now, begun = Rate(), datetime(2026, 11, 30, tzinfo=UTC), []
    for pause in pauses:
        now += timedelta(seconds=pause)
        for _ in range(3):
            if not rate.wait_s(("x",), per_minute, now):
                rate.begin(("x",), per_minute, now)
                begun.append(now)
    for i, first in enumerate(begun):
        within = sum(first <= at < first + timedelta(seconds=60) for at in begun[i:])
        assert within <= per_minute + max(1, per_minute * 5 // 60 + 1)


# Starts


def test_no_run_starts_beyond_the_limit_until_one_ends(counter: Counter) -> None:
    counter.tenant("a", open_runs=2)
    counter.publish("a", "work", step())
    counter.start("a", times=2)
    with pytest.raises(errors.Refused, match="2 runs are open, and 2 may be") as refused:
        counter.start("a")
    assert refused.value.code == "over_quota"
    assert refused.value.details["retry_after_s"] == 60
    counter.offer(1)
    counter.finish(counter.tasks.pop())
    counter.start("a")
    audit = counter.engine.journal.rows("SELECT action, outcome, message FROM audit WHERE action='start_run'")
    assert len(audit) == 1
    assert audit[0][1] == "refused"


def test_limits_are_counted_within_one_commit(counter: Counter) -> None:
    counter.tenant("a", open_runs=3)
    counter.publish("a", "work", step())
    args = {"definition": "work", "input": {}}
    answers = counter.send(*(request("start_run", "a", args, ADA, "client") for _ in range(5)))
    assert ["ok" in a for a in answers] == [True, True, True, False, False]


def test_no_run_starts_while_too_many_timers_are_armed(counter: Counter) -> None:
    counter.tenant("a", armed_timers=2)
    counter.publish("a", "naps", {"id": "w", "kind": "wait", "label": "W", "duration": "P3D"})
    runs = counter.start("a", "naps", times=2)
    with pytest.raises(errors.Refused, match="2 timers are armed"):
        counter.start("a", "naps")
    counter.do("terminate_run", run_id=runs[0], reason="enough")
    counter.start("a", "naps")


def test_starts_are_spread_and_say_how_long_to_wait(counter: Counter) -> None:
    counter.tenant("a", starts_per_minute=6)
    counter.publish("a", "work", step())
    counter.start("a")
    with pytest.raises(errors.Refused, match="at most 6 runs may start in a minute") as refused:
        counter.start("a")
    assert refused.value.details["retry_after_s"] == 10
    counter.move(seconds=10)
    counter.start("a")


def test_the_same_key_gives_the_same_run_even_beyond_the_limit(counter: Counter) -> None:
    counter.tenant("a", open_runs=1)
    counter.publish("a", "work", step())

    def start() -> dict[str, object]:
        made = request("start_run", "a", {"definition": "work", "input": {}}, ADA, "client")
        made.key = "K"
        return counter.send(made)[0]

    first, again = start(), start()
    assert first["ok"]["run_id"] == again["ok"]["run_id"]  # type: ignore[index]


@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_what_is_counted_is_what_is_stored(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Open runs, timers and calls under way, after anything; counted by the engine and by the database."""
    counter = Counter(tmp_path_factory.mktemp("count"))
    counter.tenant("a", open_runs=1000, armed_timers=1000)
    wait = {"id": "w", "kind": "wait", "label": "W", "duration": "P3D"}
    counter.publish("a", "work", step(timeouts={"queue_s": 600}), wait)
    counter.offer(2)
    runs: list[str] = []
    for _ in range(data.draw(st.integers(5, 25))):
        match data.draw(st.sampled_from(["start", "finish", "pause_run", "resume_run", "cancel_run", "crash"])):
            case "start":
                runs += counter.start("a", times=data.draw(st.integers(1, 3)))
            case "finish" if counter.tasks:
                counter.finish(counter.tasks.pop())
            case "crash":
                counter.engine.journal.before_commit = lambda: 1 / 0
                counter.send(request("start_run", "a", {"definition": "work", "input": {}}, ADA, "client"))
                counter.engine.journal.before_commit = lambda: None
            case what if runs and what not in ("finish", "start"):
                made = {"run_id": data.draw(st.sampled_from(runs)), "reason": "because"}
                counter.send(request(what, "a", made, ADA, "client"))
            case _:
                pass
        usage, journal = counter.engine._usage, counter.engine.journal
        usage.limits("a")
        assert usage._open_runs["a"] == count_open_runs(journal, "a")
        assert usage._timers["a"] == count_timers(journal, "a")
        assert len(usage._calls) == journal.rows("SELECT count(*) FROM attempt WHERE status='leased'")[0][0]
    counter.close()


# Setting them, and seeing them


def test_only_administrators_set_limits_with_a_reason_and_the_change_is_audited(office: Office) -> None:
    limits = {"open_runs": 0}
    with pytest.raises(errors.Forbidden, match="set the limits"):
        office.signoff.do("set_limits", person("katherine"), TENANT, limits=limits, reason="x")
    office.running.save_person("root", roles=("administrator",))
    with pytest.raises(errors.InvalidInput, match="reason"):
        office.signoff.do("set_limits", person("root"), TENANT, limits=limits)
    with pytest.raises(errors.InvalidInput, match="no limit 'runs'"):
        office.signoff.do("set_limits", person("root"), TENANT, limits={"runs": 1}, reason="x")
    assert office.signoff.queries.limits.of(TENANT) == Limits()
    office.signoff.do("set_limits", person("root"), TENANT, limits=limits, reason="month end")
    assert office.signoff.queries.limits.of(TENANT) == Limits(open_runs=0)
    office.publish(chain("buy", activity("order")))
    with pytest.raises(errors.Refused, match="0 may be"):
        office.start("buy")


def test_a_step_that_is_held_back_says_by_which_limit(office: Office) -> None:
    office.running.save_person("root", roles=("administrator",))
    office.signoff.do("set_limits", person("root"), TENANT, limits={"activities": {"at_once": 1}}, reason="x")
    office.publish(chain("buy", activity("order", "slow")))
    first = office.start("buy")
    office.until_step(first, "order", "running")
    second = office.start("buy")
    told = office.view(second).explanation.of("order").sentence
    assert "waited for a free worker" in told
    assert "The limit of 1 call at once in all is reached." in told
    view = office.signoff.queries.limits.view(TENANT)
    assert [(c.connector, c.under_way, c.waiting) for c in view.calls] == [("slow", 1, 1)]
    office.connectors.let_go.set()
    office.until_status(second, "succeeded")


def test_a_definition_beyond_the_limits_is_not_published(office: Office) -> None:
    office.running.save_person("root", roles=("administrator",))
    office.signoff.do("set_limits", person("root"), TENANT, limits={"steps": 1, "depth": 1}, reason="x")
    with pytest.raises(errors.InvalidInput, match="at most 1 are allowed"):
        office.publish(chain("buy", activity("a"), activity("b")))


def test_a_commit_that_failed_costs_nobody_a_turn(counter: Counter, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was leased in it was not: the tenant is served again as if it had not been tried."""
    for tenant in ("a", "b"):
        counter.tenant(tenant)
        counter.publish(tenant, "work", step())
        counter.start(tenant, times=4)
    dispatcher = counter.engine.dispatcher
    before = dispatcher.turn_of("a"), dispatcher.turn_of("b")
    with monkeypatch.context() as patched:
        patched.setattr(counter.engine.journal, "commit", Mock(side_effect=OSError("disk full")))
        counter.offer(2)
        assert (dispatcher.turn_of("a"), dispatcher.turn_of("b")) == before
        assert counter.tasks == []
    counter.offer(1)
    served = counter.drain()
    assert served == ["a", "b"] * 4, "they are served by turns from the beginning"
