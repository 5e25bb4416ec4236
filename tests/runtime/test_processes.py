"""Real processes killed with real signals: everything continues, nothing happens twice."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from signoff.errors import Refused
from tests.runtime.plant import TENANT, Plant, person, plant

pytestmark = pytest.mark.process


def step(name: str, kind: str = "quick", **more: Any) -> dict[str, Any]:
    made = {"id": name, "kind": "activity", "label": name.title(), "connector": f"python:plant.{kind}"}
    return {**made, "input": {"step": name}, "retry": {"initial_s": 0.05, "jitter": 0.0}, **more}


def approval(name: str) -> dict[str, Any]:
    return {"id": name, "kind": "approval", "label": name.title(), "groups": ["managers"]}


def chain(name: str, *steps: dict[str, Any]) -> dict[str, Any]:
    edges = [{"from": a["id"], "to": b["id"]} for a, b in pairwise(steps)]
    return {"name": name, "title": name, "steps": list(steps), "edges": edges}


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Plant]:
    with plant(tmp_path) as made:
        yield made


def test_the_engine_is_killed_in_an_activity_and_in_an_approval_wait(site: Plant) -> None:
    """C15 with SIGKILL: the activity's answer is taken after the restart, and nothing is repeated."""
    site.publish(chain("story", step("first"), step("slow", "gated"), approval("boss"), step("last")))
    run_id = site.begin("story")
    site.wait_for(lambda: site.calls("slow"), bool)
    site.kill("engine")
    site.gate.touch()  # the worker finishes while there is no engine
    site.start("engine")
    site.until(run_id, lambda v: v.state.steps["boss"].status == "waiting")
    site.kill("engine")
    site.start("engine")
    site.decide(run_id, "boss", "decision-1")
    view = site.until(run_id, lambda v: v.row.status == "succeeded")
    assert {s: len(site.calls(s)) for s in ("first", "slow", "last")} == {"first": 1, "slow": 1, "last": 1}
    assert view.state.steps["slow"].attempt == 1


def test_a_killed_worker_is_noticed_and_another_takes_over(tmp_path: Path) -> None:
    """C25: lease of 1 s, SIGKILL, second attempt elsewhere with the same idempotency key."""
    with plant(tmp_path) as site:
        site.publish(chain("one", step("slow", "gated", timeouts={"heartbeat_s": 1.0, "run_s": 300.0})))
        run_id = site.begin("one")
        site.wait_for(lambda: site.calls("slow"), bool)
        site.start("worker", "other", "--name", "other")
        site.kill("worker0")
        site.wait_for(lambda: site.calls("slow"), lambda calls: len(calls) == 2, 15)
        site.gate.touch()
        view = site.until(run_id, lambda v: v.row.status == "succeeded")
        attempts = site.signoff.queries.list_attempts(TENANT, run_id)
        assert [(a.attempt, a.status) for a in attempts] == [(1, "failed"), (2, "succeeded")]
        assert len(set(site.calls("slow"))) == 1
        assert view.state.steps["slow"].fence == 2


def test_a_worker_that_sleeps_past_its_lease_is_turned_away(tmp_path: Path) -> None:
    """SIGSTOP past the lease, then SIGCONT: the zombie's answer is evidence."""
    with plant(tmp_path) as site:
        site.publish(
            chain("one", step("slow", "gated", timeouts={"heartbeat_s": 1.0, "run_s": 300.0}), approval("boss"))
        )
        run_id = site.begin("one")
        site.wait_for(lambda: site.calls("slow"), bool)
        site.signal("worker0", signal.SIGSTOP)
        site.start("worker", "other", "--name", "other")
        site.wait_for(lambda: site.calls("slow"), lambda calls: len(calls) == 2, 15)
        site.gate.touch()
        site.until(run_id, lambda v: v.state.steps["boss"].status == "waiting")
        site.signal("worker0", signal.SIGCONT)
        events = site.wait_for(
            lambda: site.signoff.queries.list_events(TENANT, run_id),
            lambda found: any(e.type == "evidence.recorded" for e in found),
        )
        assert [e.data["kind"] for e in events if e.type == "evidence.recorded"] == ["stale_result"]
        assert site.view(run_id).state.steps["slow"].fence == 2


def test_poison_work_is_tried_a_bounded_number_of_times(tmp_path: Path) -> None:
    """Work that kills its worker ends in a visible state, not in an endless loop."""
    with plant(tmp_path) as site:
        poison = step("poison", "deadly", timeouts={"heartbeat_s": 1.0, "run_s": 60.0})
        poison["retry"] = {"initial_s": 0.05, "max_attempts": 2}
        site.publish(chain("one", poison))
        run_id = site.begin("one")
        site.wait_for(lambda: site.processes["worker0"].poll(), lambda code: code == 3)
        site.start("worker", "next", "--name", "next")
        view = site.until(run_id, lambda v: v.row.status == "stalled")
        assert len(site.calls("poison")) == 2
        assert "was lost" in view.explanation.sentence


def test_a_start_that_lost_its_answer_gives_the_same_run(site: Plant) -> None:
    """C29 over a restart."""
    site.publish(chain("one", approval("boss")))
    first = site.begin("one", key="K")
    site.kill("engine")
    site.start("engine")
    assert site.begin("one", key="K") == first
    assert len(site.signoff.queries.list_runs(TENANT).items) == 1


def test_killed_again_and_again_every_run_ends_once(site: Plant) -> None:
    lease = {"timeouts": {"heartbeat_s": 1.0, "run_s": 60.0}}
    site.publish(chain("story", step("a", **lease), approval("boss"), step("b", **lease)))
    runs = []
    for n in range(6):
        runs.append(site.begin("story", key=f"run-{n}"))
        site.kill("engine")
        site.start("engine")
    for n, run_id in enumerate(runs):
        site.until(run_id, lambda v: v.state.steps["boss"].status == "waiting")
        site.kill("worker0" if n % 2 else "engine")
        site.start(*(("worker", "worker0", "--name", "worker0") if n % 2 else ("engine",)))
        site.decide(run_id, "boss", f"decision-{n}")
    for run_id in runs:
        site.until(run_id, lambda v: v.row.status == "succeeded")
        types = [e.type for e in site.signoff.queries.list_events(TENANT, run_id)]
        assert types.count("approval.decision_recorded") == 1
        assert types.count("run.ended") == 1
    assert len(set(site.calls("a"))) == len(set(site.calls("b"))) == 6


def test_a_second_engine_on_the_same_folder_waits_or_refuses(site: Plant) -> None:
    command = [sys.executable, "-m", "signoff.cli.main", "person", "list", "--data", str(site.folder)]
    assert subprocess.run(command, capture_output=True, check=False, timeout=60).returncode == 0
    site.start("engine", "second")
    site.publish(chain("one", approval("boss")))
    run_id = site.begin("one")
    assert site.processes["second"].poll() is None, "it waits for the lock"
    site.kill("engine")
    site.decide(run_id, "boss", "k")
    site.until(run_id, lambda v: v.row.status == "succeeded")


def test_a_worker_may_not_decide(site: Plant) -> None:
    """Security list, 9: a worker's credential is worth nothing on other requests."""
    from signoff.errors import Forbidden
    from signoff.wiring import wire_client

    site.publish(chain("one", approval("boss")))
    run_id = site.begin("one")
    site.until(run_id, lambda v: v.state.steps["boss"].status == "waiting")
    client = wire_client(site.settings, "worker", "grace")
    assert client.start(10)
    try:
        for do in ("decide", "cancel_run", "skip_step", "publish", "save_person", "start_run"):
            request = {
                "do": do,
                "tenant": TENANT,
                "args": {"run_id": run_id, "step": "boss", "outcome": "approved", "generation": 1},
            }
            with pytest.raises(Forbidden):
                client.call({**request, "actor": {"kind": "person", "id": "grace"}})
    finally:
        client.close()
    assert site.view(run_id).state.steps["boss"].status == "waiting"


def test_without_the_token_nobody_gets_in(site: Plant) -> None:
    from signoff.runtime.client import WireClient

    for role, token in (("client", "wrong"), ("worker", ""), ("engine", "x"), ("", "")):
        client = WireClient(lambda: site.settings.address_file.read_text("utf-8"), role, token)
        assert not client.start(0.5)
        client.close()
    assert (site.folder / "tokens.json").stat().st_mode & 0o077 == 0


def test_an_operator_repairs_over_the_wire(site: Plant) -> None:
    site.publish(chain("one", {**step("a"), "input": {}}))
    run_id = site.begin("one")
    site.until(run_id, lambda v: v.row.status == "stalled")
    with pytest.raises(Refused, match="reason"):
        site.signoff.operate("skip_step", person("katherine"), TENANT, run_id, step="a", reason="")
    site.signoff.operate("skip_step", person("katherine"), TENANT, run_id, step="a", reason="not needed")
    site.until(run_id, lambda v: v.row.status == "succeeded")


def test_work_that_never_returns_costs_neither_its_slot_nor_the_end_of_the_worker(tmp_path: Path) -> None:
    with plant(tmp_path) as site:
        site.start("worker", "small", "--name", "small", "--slots", "2")
        site.kill("worker0")
        hung = step("hung", "hung", timeouts={"heartbeat_s": 1.0, "run_s": 1.0}, effect="at_most_once")
        site.publish(chain("hang", hung))
        site.publish(chain("quick", step("quick")))
        for _ in range(2):
            site.begin("hang")
        site.wait_for(lambda: site.calls("hung"), lambda calls: len(calls) == 2)
        run_id = site.begin("quick")
        site.until(run_id, lambda v: v.row.status == "succeeded")
        site.signal("small", signal.SIGTERM)
        assert site.processes["small"].wait(20) == 0
