"""A database with very many waiting runs, made quickly: a few real ones, copied row by row.

Three kinds, a third each: an approval that one person is asked for, a wait with a timer, and a call that waits for a
worker. The copies have ids, keys and positions of their own; only their chains are those of the original.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sqlalchemy import text

from signoff.core.states import Actor
from signoff.store.dialects.sqlite import open_engine
from signoff.store.vault import Vault
from signoff.wiring import Settings, open_vault, start_engine

TENANT, POOL = "default", "away"
ADA = Actor("person", "ada", channel="api")
ROLES = ("designer", "publisher", "starter", "approver", "operator")
STEPS: dict[str, dict[str, Any]] = {
    "asked": {"kind": "approval", "people": ["max"], "expires": "P300D"},
    "timed": {"kind": "wait", "duration": "P300D"},
    "queued": {"kind": "activity", "connector": "python:bench.trivial", "pool": POOL},
}
STRIDE = 10
BATCH = 20_000

TABLES = ("event", "timer", "approval", "attempt")
"""What belongs to a run by its column `run`."""
NEW = {
    "run": ("id", "public_id", "business_key", "snapshot", "changed_at"),
    "event": ("id", "run", "data"),
    "timer": ("id", "run", "due"),
    "approval": ("id", "run"),
    "approval_person": ("approval_id",),
    "attempt": ("id", "run", "key", "rank"),
}


@dataclass(slots=True)
class Crowd:
    """The originals by kind, and how many runs there are."""

    settings: Settings
    originals: dict[str, tuple[int, str, int]]
    count: int = 0

    def grow(self, count: int) -> None:
        """Copy until there are so many runs."""
        engine, vault = open_engine(self.settings.database), open_vault(self.settings)
        while self.count < count:
            more = min(BATCH, count - self.count)
            with engine.begin() as connection:
                for kind, (name, original) in enumerate(self.originals.items()):
                    first, last = self.count // 3, (self.count + more) // 3
                    for table in ("run", *TABLES, "approval_person"):
                        self._copy(connection, table, original, kind, first, last, name)
                    self._lock_up(connection, vault, original, kind, first, last, name)
            self.count += more
        with engine.begin() as connection:
            connection.execute(text("ANALYZE"))
        raw = engine.raw_connection()
        raw.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")
        raw.close()
        engine.dispose()

    @staticmethod
    def _copy(
        connection: Any, table: str, original: tuple[int, str, int], kind: int, first: int, last: int, name: str
    ) -> None:
        pk, public, approval = original
        run, id_ = f"{pk} + (k + 1) * {STRIDE} + {kind}", f"'r-{name}' || printf('%012d', k)"
        swapped = f"CAST(replace(CAST({{}} AS TEXT), '{public}', {id_}) AS BLOB)"
        values = {
            "id": {"run": run, "approval": f"{approval} + (k + 1) * {STRIDE}"}.get(table, "NULL"),
            "run": run,
            "approval_id": f"{approval} + (k + 1) * {STRIDE}",
            "public_id": id_,
            "business_key": "'order-' || k",
            "snapshot": swapped.format("snapshot"),
            "data": swapped.format("data"),
            "changed_at": "changed_at + k",
            "due": "due + k",
            "rank": "rank - 1000000000 + k",  # before the original, which must stay as it is
            "key": f"replace(key, '{public}', {id_})",
        }
        columns = [row[1] for row in connection.execute(text(f"PRAGMA table_info({table})"))]
        chosen = ", ".join(values[c] if c in NEW[table] else f"t.{c}" for c in columns)
        column = {"run": "id", "approval_person": "approval_id"}.get(table, "run")
        key = approval if table == "approval_person" else pk
        connection.execute(
            text(
                f"WITH RECURSIVE n(k) AS (SELECT {first} UNION ALL SELECT k + 1 FROM n WHERE k + 1 < {last}) "
                f"INSERT INTO {table} ({', '.join(columns)}) SELECT {chosen} FROM n, {table} t WHERE t.{column} = {key}"
            )
        )

    @staticmethod
    def _lock_up(
        connection: Any, vault: Vault, original: tuple[int, str, int], kind: int, first: int, last: int, name: str
    ) -> None:
        """Each copy's secret, wrapped for it: that of the original is refused elsewhere."""
        pk, public, _ = original
        find = text("SELECT secret, key_id FROM run_key WHERE run = :pk")
        wrapped, key_id = connection.execute(find, {"pk": pk}).one()
        secret = vault.unwrap(TENANT, public, wrapped, key_id)
        rows = []
        for k in range(first, last):
            again, used = vault.wrap(TENANT, f"r-{name}{k:012d}", secret)
            rows.append({"run": pk + (k + 1) * STRIDE + kind, "secret": again, "key": used})
        connection.execute(
            text("INSERT INTO run_key(run, secret, key_id, sealed) VALUES (:run, :secret, :key, 0)"), rows
        )


def gather(settings: Settings) -> Crowd:
    """A data folder with one real run of each kind, and no copies yet."""
    running = start_engine(settings, services=False)
    try:
        running.save_person("ada", roles=ROLES)
        running.save_person("max", roles=("approver",))
        signoff = running.signoff
        for name, step in STEPS.items():
            document = {"name": name, "title": name.title(), "steps": [{"id": "only", "label": name.title(), **step}]}
            signoff.create_draft(ADA, TENANT, document)
            signoff.publish(ADA, TENANT, name, 1)
        public = {name: str(signoff.start_run(ADA, TENANT, name, {}, business_key=name)["run_id"]) for name in STEPS}
    finally:
        running.close()
    engine = open_engine(settings.database)
    with engine.connect() as connection:
        found = {}
        for name, run_id in public.items():
            pk = connection.execute(text("SELECT id FROM run WHERE public_id = :r"), {"r": run_id}).scalar_one()
            asked = connection.execute(text("SELECT id FROM approval WHERE run = :r"), {"r": pk}).scalar()
            found[name] = (int(pk), run_id, int(asked or 0))
    engine.dispose()
    return Crowd(settings, found)
