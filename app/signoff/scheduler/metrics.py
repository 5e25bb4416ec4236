"""Counters and durations kept while a scheduler works; ``snapshot`` is how they are read."""

from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from signoff.scheduler.records import NO_WORK, Work


@dataclass(frozen=True, slots=True)
class DurationStats:
    """Durations of one sort, in seconds; ``mean_s`` is 0 when there were none."""

    count: int = 0
    total_s: float = 0.0
    longest_s: float = 0.0

    @property
    def mean_s(self) -> float:
        """Arithmetic mean in seconds."""
        return self.total_s / self.count if self.count else 0.0


class Durations:
    """A running count, sum and maximum."""

    __slots__ = ("count", "longest_s", "total_s")

    def __init__(self) -> None:
        self.count = 0
        self.total_s = 0.0
        self.longest_s = 0.0

    def add(self, count: int, total_s: float, longest_s: float) -> None:
        """Add ``count`` durations at once (seconds)."""
        self.count += count
        self.total_s += total_s
        if longest_s > self.longest_s:
            self.longest_s = longest_s

    def frozen(self) -> DurationStats:
        """The figures as an immutable value."""
        return DurationStats(self.count, self.total_s, self.longest_s)


class Meter:
    """Counts while the scheduler works; every method is called under its lock."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.graph_errors: Counter[str] = Counter()
        self.propagation_s = 0.0
        self.ready_wait = Durations()
        self.run_time = Durations()
        self.group_wait: dict[tuple[str, str], Durations] = {}
        self.group_run: dict[tuple[str, str], Durations] = {}

    def claimed(self, slots: Sequence[int], since: "array[float]", work: Mapping[int, Work], now: float) -> None:
        """Account for the ready-wait of these claims."""
        self._measure(self.ready_wait, self.group_wait, slots, since, work, now)

    def ended(self, slots: Sequence[int], since: "array[float]", work: Mapping[int, Work], now: float) -> None:
        """Account for the run time of these tasks."""
        self._measure(self.run_time, self.group_run, slots, since, work, now)

    @staticmethod
    def _measure(
        overall: Durations,
        groups: dict[tuple[str, str], Durations],
        slots: Sequence[int],
        since: "array[float]",
        work: Mapping[int, Work],
        now: float,
    ) -> None:
        if len(slots) == 1 and not work:
            overall.add(1, now - since[slots[0]], now - since[slots[0]])
            return
        starts = [since[slot] for slot in slots]
        overall.add(len(starts), now * len(starts) - sum(starts), now - min(starts, default=now))
        if work:
            for slot, start in zip(slots, starts, strict=True):
                of = work.get(slot, NO_WORK)
                group = groups.setdefault((of.kind, of.tenant), Durations())
                group.add(1, now - start, now - start)
