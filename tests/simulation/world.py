"""The world of one seed: a virtual clock, one engine on one file, its clients and workers, all in one thread."""

from __future__ import annotations

import hashlib
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

from sqlalchemy import event as sql_event

from signoff.core.states import StepStatus
from signoff.engine import ids, transaction
from signoff.engine.handle import Engine
from signoff.engine.request import Request
from signoff.runtime import worker as worker_module
from signoff.store.dialects.sqlite import open_engine
from signoff.store.migrate import upgrade
from tests.simulation.ask import SETUP, TENANT, Ask, nothing
from tests.simulation.auditor import Auditor
from tests.simulation.documents import CONNECTOR, GROUPS, LOOK, UNDO
from tests.simulation.expect import must_refuse, must_show
from tests.simulation.faults import Crash, Faults, FaultyJournal, Violation
from tests.simulation.workers import SimWorker

START = datetime(2027, 1, 4, 9, 0, tzinfo=UTC)
PEOPLE: dict[str, tuple[str, ...]] = {
    "ann": ("approver", "starter"),
    "bob": ("approver",),
    "cem": ("approver", "starter"),
    "eve": ("approver",),
    "dan": ("starter",),
    "olga": ("operator",),
    "pia": ("designer", "publisher"),
    "root": ("administrator",),
}


class Clock:
    """Time that passes only when told to; the wall may jump, what has elapsed may not."""

    def __init__(self) -> None:
        self.elapsed = 0.0
        self.offset = 0.0

    def monotonic(self) -> float:
        return self.elapsed

    def now(self) -> datetime:
        return START + timedelta(seconds=round(self.elapsed + self.offset, 3))


class Dice:
    """Stands in for `secrets` where the engine makes ids."""

    def __init__(self, seed: int) -> None:
        self.randbits = Random(seed).getrandbits


@contextmanager
def determined(seed: int) -> Iterator[None]:
    """The engine's own dice come from the seed."""
    with mock.patch.object(ids, "secrets", Dice(seed + 1)), mock.patch.object(transaction, "random", Random(seed + 2)):
        yield


_TEMPLATE: dict[str, Path] = {}


def fresh_database(folder: Path) -> Path:
    """An empty database of today's schema; it is migrated once and then copied."""
    path = folder / "signoff.db"
    template = _TEMPLATE.get("path")
    if template is None or not template.exists():
        template = folder.parent / f"template-{folder.name}.db"
        database = open_engine(template)
        with database.begin() as connection:
            upgrade(connection)
        database.dispose()
        _TEMPLATE["path"] = template
    shutil.copyfile(template, path)
    return path


class World:
    """Everything in one seed."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.seed = seed
        self.dice = Random(seed)
        self.faults = Faults.draw(self.dice)
        self.clock = Clock()
        self.path = self.find_database(folder)
        self.database = open_engine(self.path, busy_s=0.0)
        self.reader = open_engine(self.path, read_only=True)
        sql_event.listen(self.database, "commit", lambda connection: self.journal.raise_on_commit())
        self.auditor = Auditor(self.path)
        self.counts: Counter[str] = Counter()
        self.lease_wanted = False
        self.roles = {login: set(roles) for login, roles in PEOPLE.items()}
        self.actors: Callable[[], list[Ask]] = list
        self._on_its_way = False
        self._patch = mock.patch.object(worker_module, "monotonic", self.clock.monotonic)
        self._patch.start()
        self.workers = [
            SimWorker("w1", ("default",), self.dice.choice((1, 2, 4)), self),
            SimWorker("w2", ("default", "gpu"), self.dice.choice((1, 2, 4)), self),
            SimWorker("w3", ("gpu",), 1, self),
        ][: self.dice.choice((2, 2, 3))]
        self._number = 0
        self.boot()
        self._settle_people()

    def find_database(self, folder: Path) -> Path:
        """The file that everything happens on."""
        return fresh_database(folder)

    def number(self) -> int:
        """Counts up from 1."""
        self._number += 1
        return self._number

    # The engine's process

    def boot(self) -> None:
        """A new process on the same file: everything in memory is new."""
        self.journal = FaultyJournal(self.database, self.dice, self.faults, self.auditor.committed)
        self.engine = Engine(self.journal, self.clock.now, {CONNECTOR, LOOK, UNDO})
        self.lease_wanted = False
        for worker in self.workers:
            worker.reconnect()

    def meanwhile(self) -> tuple[list[Ask], list[Ask]]:
        """A worker has made a request. What happens before it arrives, and what comes with it in one batch.

        Others go on while it is on its way; returns what is before it and what is behind it.
        """
        if self._on_its_way or self.dice.random() >= self.faults.crossing:
            return [], []
        self._on_its_way = True
        try:
            for _ in range(self.dice.choice((0, 1, 3))):
                self.clock.elapsed += self.dice.random()
                if asks := list(dict.fromkeys(self.actors())):
                    self.send(asks)
            many = self.faults.batch and self.dice.random() < 0.5
            return (self.actors(), self.actors()) if many else ([], [])
        finally:
            self._on_its_way = False

    def die(self) -> None:
        """The process is gone; what was not committed is gone with it."""
        self.journal.close()
        self.boot()
        try:
            self.auditor.look(everything=True)
        except AssertionError as error:
            raise Violation(f"after a restart: {error}") from error

    def send(self, asks: list[Ask]) -> None:
        """Let the engine process some requests in one batch, and let out what it lets out."""
        now = self.clock.now()
        for ask in asks:
            self.counts[ask.do] += 1
            ask.fault = ""
            for claim, lease in ask.renews:
                self.auditor.may_renew(claim, now + lease)
        if len(asks) == 1 and not asks[0].maybe_done:
            asks[0].fault = must_refuse(self.auditor, asks[0], now, self.roles)
        requests = [Request(a.do, TENANT, a.actor, a.args, nothing, a.key, a.origin, context=a.context) for a in asks]
        try:
            out = self.engine.process(requests)
        except Crash as crash:
            self.counts[f"crash {crash}"] += 1
            self.die()
            for ask in asks:
                ask.maybe_done = True
                ask.lost()
            return
        for slot, task in out.tasks:
            slot.send(task)
        assert len(out.answers) == len(asks), "a request was not answered"
        for ask, (_, answer) in zip(asks, out.answers, strict=True):
            self._answered(ask, answer, now, len(asks) == 1)
        self.lease_wanted = self.lease_wanted or out.lease_again or out.lease_later

    def _renewed_the_right_ones(self, ask: Ask, lost: list[int]) -> None:
        for i, (claim, _) in enumerate(ask.renews):
            run_id, step, generation, attempt, fence = claim
            s = self.auditor.state(run_id).steps[step]
            current = s.status is StepStatus.RUNNING
            open_now = s.items.open if s.items else (s,)
            held = [(s.generation, x.attempt, x.fence) for x in open_now if x.status is StepStatus.RUNNING]
            current = current and (generation, attempt, fence) in held
            assert current == (i not in lost), f"a heartbeat of claim {claim} was answered wrongly"

    def _answered(self, ask: Ask, answer: dict[str, Any], now: datetime, alone: bool) -> None:
        self.counts[f"{ask.do} {answer.get('code', 'ok')}"] += 1
        must_show(self.auditor, ask, answer)
        if "ok" in answer:
            if alone and ask.renews:
                self._renewed_the_right_ones(ask, answer["ok"]["lost"])
            for i, (claim, lease) in enumerate(ask.renews):
                if i not in answer["ok"]["lost"]:
                    self.auditor.renewed(claim, now + lease)
        ask.fault = ""
        if self.dice.random() < self.faults.answer_lost and ask.origin != "engine":
            self.counts["answer lost"] += 1
            ask.lost()
        else:
            ask.heard(answer)

    def _settle_people(self) -> None:
        """The first accounts, before anything goes wrong."""
        quiet = Faults.draw(Random(0))
        quiet.stop()
        saved, self.journal._faults = self.faults, quiet
        self.faults = quiet
        self.send([Ask("save_person", SETUP, self.account(login, True), origin="engine") for login in PEOPLE])
        self.faults = self.journal._faults = saved

    def account(self, login: str, active: bool) -> dict[str, Any]:
        """What a people administrator sends."""
        groups = [g for g, members in GROUPS.items() if login in members]
        return {"login": login, "name": login.title(), "roles": list(PEOPLE[login]), "groups": groups, "active": active}

    # The end

    def dump(self) -> str:
        """A digest of all events and runs, byte for byte."""
        digest = hashlib.sha256()
        for statement in (
            "SELECT id, public_id, status, sequence, snapshot, business_key FROM run ORDER BY id",
            "SELECT e.run, e.seq, e.type, e.version, e.step, e.at, coalesce(e.data, p.data) FROM event e"
            " LEFT JOIN payload p ON p.id = e.payload_id ORDER BY e.run, e.seq",
            "SELECT key, digest, answer FROM request ORDER BY key",
        ):
            for row in self.auditor.rows(statement):
                digest.update(repr(row).encode())
        return digest.hexdigest()

    def close(self) -> None:
        self._patch.stop()
        self.auditor.close()
        self.journal.close()
        self.database.dispose()
        self.reader.dispose()
