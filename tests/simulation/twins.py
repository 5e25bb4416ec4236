"""One world on two stores: everything that the engine on SQLite is given goes to one on a PostgreSQL server too."""

from __future__ import annotations

import copy
import dataclasses
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

from signoff.engine import ids, transaction
from signoff.engine.handle import Engine
from signoff.engine.request import Outbound, Request
from signoff.store.database import Database, open_database
from signoff.store.journal import Journal
from signoff.store.tables import metadata
from tests.simulation.actors import Cast
from tests.simulation.documents import CONNECTOR, LOOK, UNDO
from tests.simulation.faults import Violation
from tests.simulation.simulate import _step
from tests.simulation.world import World, determined

RANDOM = {"commitment", "hash", "actor", "secret"}
"""Columns of the chain, whose secrets are drawn from the system; and ids that a server gives without asking us."""


def drawing() -> tuple[Random, Random]:
    """Whatever the engine draws from."""
    secret: Any = ids.secrets
    dice: Any = transaction.random
    return secret.randbits.__self__, dice


def _said(out: Outbound) -> tuple[Any, ...]:
    return [(s.worker, t) for s, t in out.tasks], out.news, out.next_timer, out.lease_again


class Twin:
    """The engine of the world, with one on a server that is given everything again and must say the same."""

    def __init__(self, real: Engine, world: TwinWorld) -> None:
        self._real, self._world = real, world
        self.compared = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def process(self, requests: Sequence[Request]) -> Outbound:
        again = [dataclasses.replace(r, args=copy.deepcopy(r.args)) for r in requests]
        dice = drawing()
        before = [d.getstate() for d in dice]
        out = self._real.process(requests)
        after = [d.getstate() for d in dice]
        for d, state in zip(dice, before, strict=True):
            d.setstate(state)
        other = self._world.ask_the_other(again, before)
        assert [d.getstate() for d in dice] == after, "one engine has drawn more often than the other"
        for request, (_, one), (_, two) in zip(requests, out.answers, other.answers, strict=True):
            assert one == two, f"{request.do} is answered {one} and {two}"
        here, there = _said(out), _said(other)
        assert here == there, f"what leaves differs: {here} and {there}"
        self._world.compared += 1
        return out


class TwinWorld(World):
    """A world without faults, on two stores at once; a restart is one of both."""

    def __init__(self, seed: int, folder: Path, url: str) -> None:
        self.twin = open_database(url)
        self._journal: Journal | None = None
        self.compared = 0
        super().__init__(seed, folder)
        self.faults.stop()

    def ask_the_other(self, requests: Sequence[Request], drawn: Sequence[Any]) -> Outbound:
        """The same to the engine on the server; `drawn` is where the dice stood."""
        return self.other.process(requests)

    def boot(self) -> None:
        super().boot()
        self.faults.stop()
        if self._journal is not None:
            self._journal.close()
        self._journal = Journal(self.twin)
        self.other = Engine(self._journal, self.clock.now, {CONNECTOR, LOOK, UNDO})
        self.other.dispatcher.epoch = self.engine.dispatcher.epoch
        self.engine: Any = Twin(self.engine, self)

    def close(self) -> None:
        super().close()
        if self._journal is not None:
            self._journal.close()
        self.twin.dispose()


def rows(database: Database) -> dict[str, list[str]]:
    """Everything that is the same on both, table by table; what is encrypted is only counted."""
    found = {}
    with database.connect() as connection:
        for name, table in metadata.tables.items():
            if name in ("setting", "run_key") or name.startswith(("ledger_", "task_")):
                continue
            kept = [c.name for c in table.columns if c.name not in RANDOM]
            if name == "signal_message":
                kept.remove("digest")  # keyed with the secret of the tenant, which each store draws for itself
            if name not in ("run", "payload", "approval"):
                kept = [c for c in kept if c != "id"]
            read = connection.exec_driver_sql(f"SELECT {', '.join(f'"{c}"' for c in kept)} FROM {name}")
            found[name] = sorted(repr([_plain(v) for v in row]) for row in read)
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, bytes) and value[:1] == b"\x01":
        return "sealed"
    if isinstance(value, str) and value == "{}":
        return b"{}"
    return int(value) if isinstance(value, bool) else value


def run_twins(
    seed: int, url: str, requests: int, make: Callable[[int, Path, str], TwinWorld] | None = None
) -> tuple[int, Counter[str]]:
    """Compare so many commits on both stores, with three restarts among them; (how many, what happened how often).

    Raises:
        Violation: an answer or a row differs.
    """
    folder = Path(tempfile.mkdtemp(prefix="signoff-twins-"))
    try:
        with determined(seed):
            world = (make or TwinWorld)(seed, folder, url)
            try:
                cast = Cast(world)
                restarts = 0
                while world.compared < requests:
                    _step(world, cast)
                    if world.compared > (restarts + 1) * requests // 4:
                        world.die()
                        restarts += 1
                here, there = rows(world.reader), rows(world.twin)
                other = {t: [r for r in here[t] + there[t] if (r in here[t]) != (r in there[t])] for t in here}
                assert here == there, f"the stores differ in the end: { {t: r[:4] for t, r in other.items() if r} }"
                return world.compared, world.counts
            except AssertionError as error:
                raise Violation(f"seed {seed}, after {world.compared} commits: {error}") from error
            finally:
                world.close()
    finally:
        shutil.rmtree(folder)
