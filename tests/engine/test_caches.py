"""What is kept in memory is bounded, and may be shared by threads where it says so."""

from __future__ import annotations

import sys
import threading

from signoff.core.states import RunState, RunStatus
from signoff.engine.caches import PlanCache, RunCache
from signoff.store.rows import RunKey
from tests.engine.office import call, chain


def test_plans_are_shared_by_threads_and_bounded() -> None:
    loaded: list[int] = []

    def load(version_id: int) -> tuple[dict[str, object], str, int]:
        loaded.append(version_id)
        return chain("p", call("a")), f"sha256:{version_id}", version_id

    cache = PlanCache(load, limit=4)
    faults: list[BaseException] = []

    def use(seed: int) -> None:
        try:
            for n in range(300):
                assert cache.get((n * seed) % 7).version == (n * seed) % 7
        except BaseException as error:
            faults.append(error)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=use, args=(s,)) for s in (1, 2, 3, 5)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    finally:
        sys.setswitchinterval(before)
    assert faults == []
    assert len(cache._plans) <= 4
    assert len(loaded) >= 7


def test_warm_runs_are_bounded_and_ended_ones_are_not_kept() -> None:
    cache = RunCache(limit=3)
    for n in range(5):
        cache.put(f"r-{n}", RunKey(n, 1), "default", RunState(run_id=f"r-{n}"))
    assert [cache.get(f"r-{n}") is not None for n in range(5)] == [False, False, True, True, True]
    cache.put("r-4", RunKey(4, 1), "default", RunState(run_id="r-4", status=RunStatus.SUCCEEDED))
    assert cache.get("r-4") is None
