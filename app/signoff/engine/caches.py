"""What the writer keeps in memory: compiled plans, warm runs, the directory. All can be thrown away."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable

from signoff.core.document import read_document
from signoff.core.plan import Plan, compile_plan
from signoff.core.states import RunState
from signoff.errors import StoreFault
from signoff.store.rows import RunKey

WARM_RUNS = 20_000


def plan_of(document: dict[str, object], digest: str, version: int) -> Plan:
    """Compile a stored, published document.

    Raises:
        StoreFault: the stored content cannot be read any more.
    """
    definition, problems = read_document(document)
    if definition is None or problems:
        raise StoreFault(
            f"The published definition {digest} cannot be read: {problems[0].sentence if problems else 'it is empty'}",
            code="unreadable_definition",
            remedy="Run the release that published it, or a newer one.",
        )
    return compile_plan(definition, digest, version)


class PlanCache:
    """Plans by version key; `load` reads (document, digest, version). Thread-safe, since readers share one."""

    def __init__(self, load: Callable[[int], tuple[dict[str, object], str, int]], limit: int = 512) -> None:
        self._load = load
        self._limit = limit
        self._plans: OrderedDict[int, Plan] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, version_id: int) -> Plan:
        """The compiled plan of a version."""
        with self._lock:
            plan = self._plans.get(version_id)
            if plan is not None:
                self._plans.move_to_end(version_id)
                return plan
        plan = plan_of(*self._load(version_id))
        with self._lock:
            self._plans[version_id] = plan
            if len(self._plans) > self._limit:
                self._plans.popitem(last=False)
        return plan


class RunCache:
    """Warm runs by public id, least recently used first out; ended runs are not kept."""

    def __init__(self, limit: int = WARM_RUNS) -> None:
        self._limit = limit
        self._runs: OrderedDict[str, tuple[RunKey, str, RunState]] = OrderedDict()

    def get(self, run_id: str) -> tuple[RunKey, str, RunState] | None:
        """Key, tenant and state of a warm run."""
        found = self._runs.get(run_id)
        if found is not None:
            self._runs.move_to_end(run_id)
        return found

    def put(self, run_id: str, key: RunKey, tenant: str, state: RunState) -> None:
        """Keep a run as it was committed."""
        if state.is_terminal:
            self._runs.pop(run_id, None)
            return
        self._runs[run_id] = (key, tenant, state)
        self._runs.move_to_end(run_id)
        while len(self._runs) > self._limit:
            self._runs.popitem(last=False)

    def forget(self, run_id: str) -> None:
        """Drop one run, for example after a rolled-back write."""
        self._runs.pop(run_id, None)

    def clear(self) -> None:
        """Drop everything."""
        self._runs.clear()
