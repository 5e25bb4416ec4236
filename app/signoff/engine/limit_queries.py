"""Reads about limits: what is allowed, what is used, and why work is held back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from signoff.core.definition import ActivityConfig
from signoff.core.limits import Limits, Share, write_limits
from signoff.core.plan import Plan
from signoff.core.states import RunState, StepStatus
from signoff.engine.views import CallsView, LimitsView
from signoff.store.limits import limits_of
from signoff.store.reads import limits as stored
from signoff.store.reads.reader import Reader
from signoff.store.times import from_micros


class LimitQueries:
    """Limits of tenants, for readers."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def of(self, tenant: str) -> Limits:
        """What a tenant may have and use."""
        return limits_of(stored.find_limits(self._reader, tenant))

    def view(self, tenant: str) -> LimitsView:
        """What is allowed and what is used now. Timers are counted where they are limited."""
        limits = self.of(tenant)
        found: dict[tuple[str, str], dict[str, tuple[int, int]]] = {}
        for pool, connector, status, count, first in stored.list_calls(self._reader, tenant):
            found.setdefault((pool, connector), {})[status] = (count, first)
        return LimitsView(
            limits=limits,
            document=write_limits(limits),
            open_runs=stored.count_open_runs(self._reader, tenant),
            armed_timers=None if limits.armed_timers is None else stored.count_timers(self._reader, tenant),
            calls=tuple(
                CallsView(
                    pool=pool,
                    connector=connector,
                    under_way=by.get("leased", (0, 0))[0],
                    waiting=by.get("ready", (0, 0))[0],
                    waiting_since=from_micros(by["ready"][1]) if "ready" in by else None,
                )
                for (pool, connector), by in found.items()
            ),
        )

    def held_back(self, tenant: str, plan: Plan, state: RunState) -> dict[str, str]:
        """By step that waits for a worker, which limit of the tenant is reached, in words."""
        waiting = [i for i, s in state.steps.items() if s.status is StepStatus.SCHEDULED and i in plan.steps]
        limits = self.of(tenant) if waiting else None
        if limits is None or not _limits_calls(limits):
            return {}
        busy: dict[tuple[str, str], int] = {}
        for pool, connector, status, count, _ in stored.list_calls(self._reader, tenant):
            if status == "leased":
                for name in (("", ""), ("pool", pool), ("connector", connector)):
                    busy[name] = busy.get(name, 0) + count
        said = {}
        for i in waiting:
            config = plan.steps[i].config
            if isinstance(config, ActivityConfig) and (why := _reached(limits, config, busy)):
                said[i] = why
        return said


def _limits_calls(limits: Limits) -> bool:
    shares = (limits.activities, *limits.pools.values(), *limits.connectors.values())
    return any(s.at_once is not None for s in shares)


def _reached(limits: Limits, config: ActivityConfig, busy: Mapping[tuple[str, str], int]) -> str:
    shares: list[tuple[tuple[str, str], Share, str]] = [
        (("", ""), limits.activities, "in all"),
        (("pool", config.pool), limits.pools.get(config.pool, Share()), f"in the pool '{config.pool}'"),
        (("connector", config.connector), limits.connectors.get(config.connector, Share()),
         f"of the connector '{config.connector}'"),
    ]  # fmt: skip
    for name, share, where in shares:
        if share.at_once is not None and busy.get(name, 0) >= share.at_once:
            calls = "call" if share.at_once == 1 else "calls"
            return f"The limit of {share.at_once} {calls} at once {where} is reached."
    return ""


def limits_document(view: LimitsView) -> dict[str, Any]:
    """The view as JSON for programs: "limits" as they can be set again, "used" beside it."""
    return {
        "limits": view.document,
        "used": {
            "open_runs": view.open_runs,
            "armed_timers": view.armed_timers,
            "calls": [
                {
                    "pool": c.pool,
                    "connector": c.connector,
                    "under_way": c.under_way,
                    "waiting": c.waiting,
                    "waiting_since": c.waiting_since.isoformat() if c.waiting_since else None,
                }
                for c in view.calls
            ],
        },
    }
