"""What the sealer and the exporter read: how far the ledger has come, leaves, checkpoints, events with their proofs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from signoff.store.checkpoints import CheckpointFiles, body_of
from signoff.store.reads.reader import Reader
from signoff.store.retention import note_problem
from signoff.store.tree import SEALED_EVENT, UNCHAINED, Tree, leaf_hash

_PAGE = 1000


def unsealed_events(reader: Reader) -> int:
    """How many events no checkpoint covers yet."""
    newest = reader.rows("SELECT coalesce(max(id), 0) FROM event")[0][0]
    return int(newest - _setting(reader, SEALED_EVENT))


def list_unchained(reader: Reader, limit: int) -> list[str] | None:
    """Ids of runs of an older release that have no chain yet; None where there never can be one again."""
    until = _setting(reader, UNCHAINED)
    if not until:
        return None
    found = reader.rows(
        "SELECT r.public_id FROM run r LEFT JOIN run_key k ON k.run = r.id WHERE r.id <= ? AND k.run IS NULL"
        " ORDER BY r.id LIMIT ?",
        (until, limit),
    )
    return [r[0] for r in found]


def list_tenants(reader: Reader) -> list[str]:
    """Tenants that have checkpoints."""
    return [r[0] for r in reader.rows("SELECT DISTINCT tenant FROM ledger_checkpoint ORDER BY tenant")]


def list_checkpoints(reader: Reader, tenant: str, after: int = 0) -> list[tuple[int, str]]:
    """(number, body) of a tenant's checkpoints after a number."""
    found = reader.rows(
        "SELECT number, body FROM ledger_checkpoint WHERE tenant=? AND number > ? ORDER BY number", (tenant, after)
    )
    return [(r[0], r[1]) for r in found]


def iter_leaves(reader: Reader, tenant: str) -> Iterator[tuple[Any, ...]]:
    """(number, kind, run id, sequence, head, note) of a tenant's leaves in order."""
    after = -1
    while page := reader.rows(
        "SELECT number, kind, run_id, seq, head, note FROM ledger_leaf WHERE tenant=? AND number > ?"
        " ORDER BY number LIMIT ?",
        (tenant, after, _PAGE),
    ):
        yield from page
        after = page[-1][0]


def iter_run_ids(reader: Reader, tenant: str) -> Iterator[tuple[int, str]]:
    """(key, id) of a tenant's runs, oldest first."""
    after = 0
    while page := reader.rows(
        "SELECT id, public_id FROM run WHERE tenant=? AND id > ? ORDER BY id LIMIT ?", (tenant, after, _PAGE)
    ):
        yield from ((r[0], r[1]) for r in page)
        after = page[-1][0]


def ledger_problems(
    reader: Reader, files: CheckpointFiles | None, is_signed: Callable[[str], bool] | None
) -> Iterator[tuple[str, str]]:
    """(code, message) of what is wrong with leaves, checkpoints, and the files that they were exported to.

    The files are read first: an engine that goes on sealing writes to the database before it writes to them.
    """
    for tenant in {*list_tenants(reader), *(files.tenants() if files else ())}:
        notes = files.notes(tenant) if files else []
        stored = reader.rows(
            "SELECT number, size, root, body FROM ledger_checkpoint WHERE tenant=? ORDER BY number", (tenant,)
        )
        yield from _tree_problems(reader, tenant, [(r[0], r[1], bytes(r[2])) for r in stored])
        bodies = [r[3] for r in stored]
        for number, note in enumerate(notes, 1):
            if number > len(bodies):
                yield "ledger_truncated", f"Checkpoint {number} of '{tenant}' was signed, but is not in the database."
            elif body_of(note) != bodies[number - 1]:
                yield "checkpoint_fork", f"Checkpoint {number} of '{tenant}' is not the one that was signed."
            if is_signed is not None and not is_signed(note):
                yield "bad_signature", f"Checkpoint {number} of '{tenant}' has no right signature."
        yield from _missing_runs(reader, tenant)
        yield from _false_tombstones(reader, tenant)


def _tree_problems(reader: Reader, tenant: str, stored: list[tuple[int, int, bytes]]) -> Iterator[tuple[str, str]]:
    tree, left = Tree(), list(stored)
    for number, kind, run_id, seq, head, note in iter_leaves(reader, tenant):
        if number != tree.size:
            yield "ledger_gap", f"Leaf {tree.size} of '{tenant}' is missing."
            return
        tree.add(leaf_hash(kind, tenant, run_id, seq, bytes(head).hex(), note))
        while left and left[0][1] == tree.size:
            checkpoint, _, root = left.pop(0)
            if tree.root() != root:
                yield "checkpoint_fork", f"The leaves of '{tenant}' are not those of checkpoint {checkpoint}."
    for checkpoint, size, _ in left:
        yield "ledger_truncated", f"Checkpoint {checkpoint} of '{tenant}' has {size} leaves, {tree.size} are there."


def _missing_runs(reader: Reader, tenant: str) -> Iterator[tuple[str, str]]:
    found = reader.rows(
        "SELECT l.run_id, max(l.seq) FROM ledger_leaf l LEFT JOIN run r ON r.public_id = l.run_id WHERE l.tenant=?"
        " AND r.id IS NULL AND NOT EXISTS (SELECT 1 FROM ledger_leaf p WHERE p.tenant = l.tenant"
        " AND p.run_id = l.run_id AND p.kind = 'pruned') GROUP BY l.run_id",
        (tenant,),
    )
    for run_id, seq in found:
        yield "run_missing", f"The run {run_id}, of which {seq} events were sealed, is gone."


def _false_tombstones(reader: Reader, tenant: str) -> Iterator[tuple[str, str]]:
    found = reader.rows(
        "SELECT p.run_id, p.note, r.id, (SELECT count(*) FROM ledger_leaf h WHERE h.tenant = p.tenant"
        " AND h.run_id = p.run_id AND h.kind = 'head' AND h.number < p.number AND h.seq = p.seq AND h.head = p.head),"
        " (SELECT count(*) FROM ledger_leaf h WHERE h.tenant = p.tenant AND h.run_id = p.run_id"
        " AND h.number <> p.number AND (h.number > p.number OR h.seq > p.seq))"
        " FROM ledger_leaf p LEFT JOIN run r ON r.public_id = p.run_id WHERE p.tenant=? AND p.kind='pruned'"
        " ORDER BY p.number",
        (tenant,),
    )
    for run_id, note, run, sealed, more in found:
        if run is not None:
            why = "the run is there"
        elif not sealed or more:
            why = "it is not about the events that were sealed before"
        else:
            why = note_problem(note)
        if why:
            yield "false_tombstone", f"The tombstone of run {run_id} is false: {why}."


def _setting(reader: Reader, name: str) -> int:
    found = reader.one("SELECT value FROM setting WHERE tenant='' AND name=?", (name,))
    return int(found[0]) if found else 0
