"""The same requests into an engine on SQLite and one on PostgreSQL: equal answers each time, equal rows in the end."""

from __future__ import annotations

import copy
import dataclasses
import logging
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from signoff.engine import ids, transaction
from signoff.engine.handle import Engine
from signoff.engine.request import Outbound, Request
from signoff.store.database import Database, open_database
from signoff.store.journal import Journal
from signoff.store.tables import metadata
from tests import stores
from tests.postgres import Server
from tests.simulation.actors import Cast
from tests.simulation.documents import CONNECTOR, LOOK, UNDO
from tests.simulation.simulate import _step
from tests.simulation.world import World, determined

REQUESTS = 400
RANDOM = {"commitment", "hash", "actor", "secret"}
"""Columns of the chain, whose secrets are drawn from the system; and ids that a server gives without asking us."""


@pytest.fixture
def quiet_log() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


class Twin:
    """The engine of the world, with one on a server that is given everything again and must say the same."""

    def __init__(self, real: Engine, world: TwinWorld) -> None:
        self._real, self._world = real, world
        self.compared = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def process(self, requests: Sequence[Request]) -> Outbound:
        again = [dataclasses.replace(r, args=copy.deepcopy(r.args)) for r in requests]
        dice = (ids.secrets.randbits.__self__, transaction.random)
        before = [d.getstate() for d in dice]
        out = self._real.process(requests)
        after = [d.getstate() for d in dice]
        for d, state in zip(dice, before, strict=True):
            d.setstate(state)
        other = self._world.other.process(again)
        assert [d.getstate() for d in dice] == after, "one engine has drawn more often than the other"
        assert [a for _, a in other.answers] == [a for _, a in out.answers], [r.do for r in requests]
        assert [(s.worker, t) for s, t in other.tasks] == [(s.worker, t) for s, t in out.tasks]
        assert other.news == out.news
        assert (other.next_timer, other.lease_again) == (out.next_timer, out.lease_again)
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

    def boot(self) -> None:
        super().boot()
        self.faults.stop()
        if self._journal is not None:
            self._journal.close()
        self._journal = Journal(self.twin)
        self.other = Engine(self._journal, self.clock.now, {CONNECTOR, LOOK, UNDO})
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


@pytest.mark.parametrize("seed", [3, 11, 12, 1304])
@pytest.mark.usefixtures("quiet_log")
def test_both_stores_say_and_keep_the_same(postgres_server: Server, tmp_path: Path, seed: int) -> None:
    places = stores.Stores("postgresql", postgres_server)
    folder = tmp_path / "world"
    folder.mkdir()
    with determined(seed):
        world = TwinWorld(seed, folder, str(places.place(folder)))
        try:
            cast = Cast(world)
            restarts = 0
            while world.compared < REQUESTS:
                _step(world, cast)
                if world.compared > (restarts + 1) * REQUESTS // 4:
                    world.die()
                    restarts += 1
            assert restarts == 3
            assert rows(world.twin) == rows(world.reader)
            assert len(rows(world.twin)["run"]) > 5
        finally:
            world.close()
            places.drop()
            shutil.rmtree(folder)
