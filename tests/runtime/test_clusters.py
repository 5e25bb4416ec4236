"""Pools on clusters: a real Dask scheduler with two workers, a pool of processes; what is killed is noticed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from signoff.cli.commands.serve import _on_cluster
from signoff.core.states import StepStatus
from signoff.errors import ConfigurationFault
from signoff.runtime.clusters import open_cluster
from tests.runtime.plant import ROOT, TENANT, Plant, person, plant
from tests.runtime.test_processes import chain, step

pytestmark = pytest.mark.process
QUICK = {"heartbeat_s": 1.0, "run_s": 300.0}


class Dask:
    """A scheduler and its workers, as processes."""

    def __init__(self, site: Plant) -> None:
        self._environment = {
            **os.environ, "PYTHONPATH": str(ROOT), "PLANT_LEDGER": str(site.ledger), "PLANT_GATE": str(site.gate),
            "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "3",
        }  # fmt: skip
        self.processes: list[subprocess.Popen[str]] = []
        options = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard")
        scheduler = self._start("scheduler", *options)
        self.address = self._said(scheduler, r"Scheduler at: +(tcp://[\d.:]+)")
        self.workers = [self._worker() for _ in range(4)]

    def _start(self, *words: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "distributed.cli.dask_" + words[0], *words[1:]],
            env=self._environment, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        self.processes.append(process)
        return process

    def _worker(self) -> subprocess.Popen[str]:
        options = ("--no-nanny", "--nthreads", "1", "--host", "127.0.0.1", "--no-dashboard")
        worker = self._start("worker", self.address, *options)
        self._said(worker, r"(Registered to)")
        return worker

    def _said(self, process: subprocess.Popen[str], pattern: str) -> str:
        assert process.stderr is not None
        for line in process.stderr:
            if found := re.search(pattern, line):
                return found[1]
        raise AssertionError(f"the process ended before it said {pattern}")

    def close(self) -> None:
        for process in reversed(self.processes):
            process.kill()
            process.wait(10)
            assert process.stderr is not None
            process.stderr.close()


@pytest.fixture(scope="module", params=["dask", "processes"])
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plant]:
    """An installation with a pool `ml` on a cluster; `cluster` is the Dask one, or None."""
    with plant(tmp_path_factory.mktemp(request.param)) as made:
        cluster = Dask(made) if request.param == "dask" else None
        try:
            on = cluster.address.replace("tcp://", "dask://") if cluster else "processes:2"
            made.start("worker", "pool", "--name", "pool", "--pools", "ml", "--slots", "16", "--on", on)
            made.cluster = cluster  # type: ignore[attr-defined]
            yield made
        finally:
            if cluster:
                cluster.close()


@pytest.fixture
def cluster(site: Plant) -> Dask:
    """The Dask cluster of the site."""
    site.gate.unlink(missing_ok=True)
    found: Dask | None = site.cluster  # type: ignore[attr-defined]
    if found is None:
        pytest.skip("what needs the scheduler of a cluster is tested on Dask")
    return found


def heavy(name: str, kind: str = "quick", **more: Any) -> dict[str, Any]:
    return step(name, kind, pool="ml", **more)


def test_calls_of_a_pool_run_on_its_cluster(site: Plant) -> None:
    site.publish(chain("story", heavy("where", "where"), step("here", "where")))
    view = site.until(site.begin("story"), lambda v: v.row.status == "succeeded")
    there, here = view.state.outputs["where"]["pid"], view.state.outputs["here"]["pid"]
    assert here == site.processes["worker0"].pid
    assert there not in {p.pid for p in site.processes.values()}
    if site.cluster:  # type: ignore[attr-defined]
        assert there in {w.pid for w in site.cluster.workers}  # type: ignore[attr-defined]


def test_a_machine_of_the_cluster_is_killed_in_the_middle(site: Plant, cluster: Dask) -> None:
    """The call counts as lost, the lease runs out, and the second attempt has the same idempotency key."""
    site.publish(chain("killed", heavy("slow", "gated", timeouts=QUICK), heavy("pid", "where")))
    run_id = site.begin("killed")
    site.wait_for(lambda: site.calls("slow"), bool)
    busy = next(w for w in cluster.workers if _works(cluster, w))
    busy.send_signal(signal.SIGKILL)
    busy.wait(10)
    site.wait_for(lambda: site.calls("slow"), lambda calls: len(calls) == 2, 30)
    site.gate.touch()
    site.until(run_id, lambda v: v.row.status == "succeeded")
    attempts = [(a.step, a.attempt, a.status) for a in site.signoff.queries.list_attempts(TENANT, run_id)]
    assert attempts[:2] == [("slow", 1, "failed"), ("slow", 2, "succeeded")]
    assert len(site.calls("slow")) == 2
    assert len(set(site.calls("slow"))) == 1


def _works(cluster: Dask, worker: subprocess.Popen[str]) -> bool:
    from distributed import Client

    with Client(cluster.address, set_as_default=False) as client:
        found = client.run_on_scheduler(_processing)
        pids: dict[str, int] = client.run(os.getpid)
    return any(pids[address] == worker.pid for address in found)


def _processing(dask_scheduler: Any) -> list[str]:
    return [a for a, w in dask_scheduler.workers.items() if w.processing]


def test_what_may_not_be_repeated_stalls_when_the_cluster_lost_it(site: Plant) -> None:
    site.publish(chain("once", heavy("deadly", "deadly", effect="at_most_once", timeouts=QUICK)))
    run_id = site.begin("once")
    view = site.until(run_id, lambda v: v.row.status == "stalled")
    assert view.state.steps["deadly"].status is StepStatus.OUTCOME_UNKNOWN
    assert len(site.calls("deadly")) == 1
    site.publish(chain("after", heavy("after", "where")))
    site.until(site.begin("after"), lambda v: v.row.status == "succeeded")


def test_a_call_on_the_cluster_is_told_to_stop(site: Plant, cluster: Dask) -> None:
    site.publish(chain("stopped", heavy("stopped", "gated", timeouts=QUICK)))
    run_id = site.begin("stopped")
    site.wait_for(lambda: site.calls("stopped"), bool)
    site.signoff.operate("cancel_run", person("katherine"), TENANT, run_id, reason="enough")
    site.until(run_id, lambda v: v.row.status == "cancelled")


def test_what_a_call_on_the_cluster_reports_is_seen_and_given_to_the_next_attempt(site: Plant, cluster: Dask) -> None:
    site.publish(chain("told", heavy("told", "told", timeouts=QUICK)))
    run_id = site.begin("told")
    site.until(run_id, lambda v: "half way" in v.explanation.of("told").sentence)
    site.gate.touch()
    view = site.until(run_id, lambda v: v.row.status == "succeeded")
    assert view.state.outputs["told"] == {"from": 7}


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("ray", "no address of a cluster"),
        ("processes:many", "number of processes"),
        ("executor:nowhere:pool", "no function"),
        ("dask://127.0.0.1:9", "No Dask scheduler answers"),
    ],
)
def test_an_address_that_means_nothing_is_said(address: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if address.startswith("dask"):
        monkeypatch.setattr("signoff.runtime.dask_cluster.CONNECT_S", 0.2)
    with pytest.raises(ConfigurationFault, match=said):
        open_cluster(address)


@pytest.mark.parametrize("text", ["ml", "=dask://x:1", "ml="])
def test_a_pool_without_a_name_or_an_address_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationFault, match="no pool on a cluster"):
        _on_cluster(Path("x"), text)


def test_a_pool_on_a_cluster_is_a_worker_process_of_its_own() -> None:
    child = _on_cluster(Path("x"), "ml=processes:2")
    assert child.name == "pool ml"
    assert child.command[-6:] == ["--slots", "64", "--on", "processes:2", "--data", "x"]
