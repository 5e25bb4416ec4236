"""What tenants may use and what they use, counted by the writer; counted again at a start and after a rollback.

Rates are kept by the generic cell rate algorithm (ITU-T I.371): one instant per name, no list of what was begun.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from datetime import datetime
from typing import Any

from signoff.core.implied import implied_timers
from signoff.core.limits import Limits, Share
from signoff.core.states import RunState
from signoff.store.journal import Journal
from signoff.store.limits import count_open_runs, count_timers, list_leased, load_limits

Call = tuple[int, str, int, int, int]
"""Run key, step, generation, item, attempt."""

BURST_S = 5.0
"""How much of a minute's share may be used at once, in seconds."""


class Rate:
    """Evenly spread beginnings, per name."""

    def __init__(self) -> None:
        self._free_at: dict[tuple[str, ...], float] = {}

    def wait_s(self, name: tuple[str, ...], per_minute: int, now: datetime) -> float:
        """Seconds until the next one may begin; 0 for now."""
        slack = max(0.0, BURST_S - 60.0 / per_minute)
        return max(0.0, self._free_at.get(name, 0.0) - slack - now.timestamp())

    def begin(self, name: tuple[str, ...], per_minute: int, now: datetime) -> None:
        """Count one."""
        self._free_at[name] = max(self._free_at.get(name, 0.0), now.timestamp()) + 60.0 / per_minute


class Usage:
    """Calls under way, rates, open runs and armed timers. Belongs to the writer thread."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._limits: dict[str, Limits] = {}
        self._changed: set[str] = set()
        self._calls: dict[Call, tuple[str, str, str]] = {}
        self._busy: Counter[tuple[str, str, str]] = Counter()
        self._open_runs: dict[str, int] = {}
        self._timers: dict[str, int] = {}
        self._rate = Rate()
        self._ready = False

    def prepare(self) -> None:
        """Count the calls that are under way, once; to be called at the beginning of a transaction."""
        if self._ready:
            return
        for tenant, pool, connector, *call in list_leased(self._journal):
            self._take((call[0], call[1], call[2], call[3], call[4]), (tenant, pool, connector))
        self._ready = True

    def limits(self, tenant: str) -> Limits:
        """What a tenant may have and use. What is limited is counted from the first time on."""
        found = self._limits.get(tenant)
        if found is None:
            found = self._limits[tenant] = load_limits(self._journal, tenant)
            if found.open_runs is not None:
                self._open_runs[tenant] = count_open_runs(self._journal, tenant)
            if found.armed_timers is not None:
                self._timers[tenant] = count_timers(self._journal, tenant)
        return found

    def limits_changed(self, tenant: str) -> None:
        """Read them again, now and when what this transaction changed is written and can be counted."""
        self._limits.pop(tenant, None)
        self._changed.add(tenant)

    def committed(self) -> None:
        """A transaction was committed."""
        for tenant in self._changed:
            self._limits.pop(tenant, None)
            self._open_runs.pop(tenant, None)
            self._timers.pop(tenant, None)
        self._changed.clear()

    def forget(self) -> None:
        """A transaction was rolled back: limits, runs and timers are read again."""
        self._changed.clear()
        self._limits.clear()
        self._open_runs.clear()
        self._timers.clear()

    # Calls

    def blocked_s(self, tenant: str, pool: str, connector: str, now: datetime) -> float | None:
        """None where one more call may begin; else seconds until it is worth asking again, infinite: when one ends."""
        wait = 0.0
        for kind, name, share in _shares(self.limits(tenant), pool, connector):
            if share.at_once is not None and self._busy[(tenant, kind, name)] >= share.at_once:
                return float("inf")
            if share.per_minute is not None:
                wait = max(wait, self._rate.wait_s((tenant, kind, name), share.per_minute, now))
        return wait or None

    def begin(self, call: Call, tenant: str, pool: str, connector: str, now: datetime) -> None:
        """A call was leased."""
        self._take(call, (tenant, pool, connector))
        for kind, name, share in _shares(self.limits(tenant), pool, connector):
            if share.per_minute is not None:
                self._rate.begin((tenant, kind, name), share.per_minute, now)

    def end(self, call: Call) -> tuple[str, str, str] | None:
        """A call is under way no more; what it was, for `resume`, or None where it was not under way."""
        of = self._calls.pop(call, None)
        if of is not None:
            self._busy.subtract(_names(*of))
        return of

    def resume(self, call: Call, of: tuple[str, str, str]) -> None:
        """It had not ended after all: that was rolled back."""
        self._take(call, of)

    def _take(self, call: Call, of: tuple[str, str, str]) -> None:
        if call not in self._calls:
            self._calls[call] = of
            self._busy.update(_names(*of))

    # Starts

    def no_start(self, tenant: str, now: datetime) -> tuple[str, float | None]:
        """Why no further run of the tenant may start, "" where one may; and seconds to wait, where that is known."""
        limits = self.limits(tenant)
        if limits.open_runs is not None and self._open_runs[tenant] >= limits.open_runs:
            return f"{self._open_runs[tenant]} runs are open, and {limits.open_runs} may be", None
        if limits.armed_timers is not None and self._timers[tenant] >= limits.armed_timers:
            return f"{self._timers[tenant]} timers are armed, and {limits.armed_timers} may be", None
        if limits.starts_per_minute is not None:
            if not limits.starts_per_minute:
                return "no runs may start at present", None
            wait = self._rate.wait_s((tenant, "start"), limits.starts_per_minute, now)
            if wait:
                return f"at most {limits.starts_per_minute} runs may start in a minute", wait
        return "", None

    def started(self, tenant: str, now: datetime) -> None:
        """A run was started by somebody."""
        most = self.limits(tenant).starts_per_minute
        if most:
            self._rate.begin((tenant, "start"), most, now)

    def moved(self, tenant: str, before: RunState, after: RunState) -> None:
        """A run changed."""
        if tenant in self._open_runs:
            opened, ended = not before.sequence, after.is_terminal and not before.is_terminal
            self._open_runs[tenant] += opened - ended
        if tenant in self._timers:
            self._timers[tenant] += len(implied_timers(after)) - len(implied_timers(before))


def _shares(limits: Limits, pool: str, connector: str) -> Iterable[tuple[str, str, Share]]:
    yield "", "", limits.activities
    if pool in limits.pools:
        yield "pool", pool, limits.pools[pool]
    if connector in limits.connectors:
        yield "connector", connector, limits.connectors[connector]


def _names(tenant: str, pool: str, connector: str) -> list[Any]:
    return [(tenant, "", ""), (tenant, "pool", pool), (tenant, "connector", connector)]
