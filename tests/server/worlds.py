"""Twins (one world on SQLite and on PostgreSQL) whose way to the server is cut: both must stay equal nevertheless.

What is equal in the end was applied once: a commit that was lost would be missing on the server, one that was applied
twice would be there twice, under ids that the other store does not have.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

import psycopg

from signoff.engine.request import Outbound, Request
from signoff.store.dialects import postgresql_writing
from tests.postgres import Server
from tests.server.proxy import Fate, Proxy, proxy_to
from tests.simulation.twins import TwinWorld, drawing, run_twins

FATES: tuple[Fate, ...] = ("answer dropped", "answer dropped", "cut before", "cut at once", "cut in the middle")


SEQUENCES = (
    "SELECT table_name, pg_get_serial_sequence(table_name, 'id') FROM information_schema.columns"
    " WHERE table_schema = 'public' AND column_name = 'id' AND column_default LIKE 'nextval%'"
)
AGAIN = {"store_gone", "unavailable"}
"""Nothing of it was kept: the client sends it again."""


COUNTERS = ("run_ids", "_payload_ids", "_approval_ids")


@dataclass
class Counting:
    """Counts up from a value, and can be set back."""

    value: int

    def next(self) -> int:
        """The next number."""
        self.value += 1
        return self.value - 1


class CutWorld(TwinWorld):
    """The engine on the server is reached through the proxy; the other has no faults."""

    proxy: Proxy
    server: Server
    database_name: str
    chance: float
    restarts: float
    dice: Any

    def __init__(self, seed: int, folder: Path, url: str) -> None:
        self.hazard = Random(seed)
        self.busy = self.skipped = False
        self.calm_from = 0.0
        self.turns: Any = None
        self.crash: threading.Thread | None = None
        super().__init__(seed, folder, url)
        self.proxy.choose = self._choose

    def boot(self) -> None:
        """Each attempt of the engine draws the same."""
        super().boot()
        once = self.other._one_commit

        def one_commit(requests: Sequence[Request]) -> Outbound:
            for dice, state in zip(drawing(), self.drawn, strict=True):
                dice.setstate(state)
            self._same_turns()
            self._same_ids()
            return once(requests)

        self.other._one_commit = one_commit  # type: ignore[method-assign]
        journal: Any = self.other.journal
        self.counters = {name: Counting(getattr(journal, name)()) for name in COUNTERS}
        vars(journal).update({name: counter.next for name, counter in self.counters.items()})
        journal._count_on = lambda: None
        self.other.journal.before_commit = self._before_commit

    def ask_the_other(self, requests: Sequence[Request], drawn: Sequence[Any]) -> Outbound:
        """Until the server answers: what was not done is sent again, as every client does."""
        self.drawn, self.busy, self.alone, self.hits = drawn, True, len(requests) == 1, 0
        self.turns = None
        self.counted = {name: counter.value for name, counter in self.counters.items()}
        pause = threading.Event()
        try:
            for _ in range(400):
                out = self.other.process(requests)
                codes = {answer.get("code") for _, answer in out.answers}
                if not codes & AGAIN:
                    return out
                assert self.alone, f"{len(requests)} requests, one fault, and the answers {codes}"
                assert self.hits or self._is_shaken(), f"no fault, and the answer is {codes}"
                self.counts[f"told {codes.pop()}"] += 1
                pause.wait(0.05)
        finally:
            self.busy = False
        raise AssertionError("the server did not come back")

    def _same_turns(self) -> None:
        """Whose turn it is goes on with each attempt, which is fair enough, but not the same on both stores."""
        here, there = self.engine._real.dispatcher, self.other.dispatcher
        if self.turns is None:
            self.turns = dict(there._turn), dict(there._virtual), there._virtual_now, list(there._workers)
        turn, virtual, now, order = self.turns
        there._turn.clear()
        there._turn.update(turn)
        there._virtual, there._virtual_now = dict(virtual), now
        there._workers = {w: there._workers[w] for w in sorted(there._workers, key=[*order, *here._workers].index)}

    def _same_ids(self) -> None:
        """Numbers are skipped after a rollback or a crash, by the engine and by the server: fair enough as well."""
        for name, value in self.counted.items():
            self.counters[name].value = value
        if not self.hits and not self.skipped:
            return
        self.skipped = True
        try:
            for table, name in self.server.query(SEQUENCES, self.database_name):
                newest = f"SELECT setval('{name}', coalesce(max(id), 1), count(*) > 0) FROM {table}"
                self.server.query(newest, self.database_name)
            self.skipped = False
        except psycopg.OperationalError:
            pass  # it is down

    def _choose(self, is_commit: bool) -> Fate:
        fate = self._fate(is_commit) if self._may_hit() else ""
        self.hits += bool(fate)
        return fate

    def _may_hit(self) -> bool:
        """Several requests that fail twice are done one by one, and draw otherwise than on the other store."""
        return self.busy and (self.alone or not self.hits)

    def _fate(self, is_commit: bool) -> Fate:
        if not is_commit:
            return "cut in the middle" if self.hazard.random() < self.chance / 20 else ""
        if self.alone and self.hazard.random() < self.restarts:
            return self._crash()
        return self.hazard.choice(FATES[:4]) if self.hazard.random() < self.chance else ""

    def _crash(self) -> Fate:
        """The server crashes at this commit, before it or right after it was sent, and is started again."""
        if self.crash is not None and self.crash.is_alive():
            return ""
        self.counts["server crashed"] += 1

        def again() -> None:
            self.server.stop("immediate")
            self.server.start()
            self.calm_from = time.monotonic() + 2 * postgresql_writing.AGAIN_S

        self.crash = threading.Thread(target=again, daemon=True)
        self.crash.start()
        if self.hazard.random() < 0.5:
            self.crash.join()
        return self.hazard.choice(("", "cut at once"))

    def close(self) -> None:
        """Not before the server is up again."""
        if self.crash is not None:
            self.crash.join(60)
        super().close()

    def _is_shaken(self) -> bool:
        """The server crashed, and the engine may not know yet that it is back."""
        return bool(self.crash and self.crash.is_alive()) or time.monotonic() < self.calm_from

    def _before_commit(self) -> None:
        """Everything is written, nothing is committed: an administrator ends the session."""
        if self._may_hit() and self.hazard.random() < self.chance / 4:
            self.hits += 1
            self.counts["session ended"] += 1
            self.server.query(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE application_name = 'signoff' AND datname = " + f"'{self.database_name}'"
            )


def run_cut(
    server: Server, database: str, seed: int, requests: int, *, chance: float = 0.15, restarts: float = 0.0
) -> tuple[int, Counter[str]]:
    """One seed; (commits compared, what happened how often).

    Raises:
        Violation: the stores differ.
    """
    with proxy_to(server.port) as proxy, mock.patch.object(postgresql_writing, "POLL_S", 0.02):
        url = server.url(database).replace(f":{server.port}/", f":{proxy.port}/")
        url += "?sslmode=disable&gssencmode=disable"

        def make(seed: int, folder: Path, url: str) -> CutWorld:
            kind = type("CutHere", (CutWorld,), {
                "proxy": proxy, "server": server, "chance": chance, "restarts": restarts, "database_name": database,
            })  # fmt: skip
            made: CutWorld = kind(seed, folder, url)
            return made

        compared, counts = run_twins(seed, url, requests, make)
        return compared, counts + proxy.counts
