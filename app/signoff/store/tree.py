"""The tree of each tenant (RFC 6962): heads of changed runs become its leaves, its roots become checkpoints.

Written by the one writer; `body` of a checkpoint is what the sealer signs afterwards:

    origin "/" tenant ⏎ size ⏎ root (base64) ⏎ "number" n ⏎ "time" t ⏎ "runs" r ⏎ "previous" SHA-256 of the body before
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import orjson

from signoff.store.ledger import ZERO
from signoff.store.times import from_micros

if TYPE_CHECKING:
    from signoff.store.journal import Journal

SEALED_EVENT = "sealed_event"
UNCHAINED = "unchained_until"
_HEADS = (
    "SELECT r.tenant, r.public_id, e.seq, e.hash FROM event e JOIN run r ON r.id = e.run"
    " WHERE e.id > ? AND e.id <= ? AND e.hash IS NOT NULL AND NOT EXISTS"
    " (SELECT 1 FROM event f WHERE f.run = e.run AND f.seq > e.seq AND f.id <= ?) ORDER BY e.id"
)
_ADOPTED = (
    "SELECT r.tenant, r.public_id, e.seq, e.hash FROM run r JOIN event e ON e.run = r.id AND e.seq = r.sequence"
    " WHERE r.public_id=?"
)
_NEWEST = "SELECT number, size, frontier, body FROM ledger_checkpoint WHERE tenant=? ORDER BY number DESC LIMIT 1"


def leaf_hash(kind: str, tenant: str, run_id: str, seq: int, head: str, note: str) -> bytes:
    """The hash of a leaf."""
    return hashlib.sha256(b"\x00" + orjson.dumps((kind, tenant, run_id, seq, head, note))).digest()


@dataclass(slots=True)
class Tree:
    """A growing tree: how many leaves, and the roots of its whole subtrees, the largest first."""

    size: int = 0
    parts: list[bytes] = field(default_factory=list)

    def add(self, leaf: bytes) -> None:
        """Append the hash of a leaf."""
        self.parts.append(leaf)
        self.size += 1
        for _ in range((self.size & -self.size).bit_length() - 1):
            right = self.parts.pop()
            self.parts.append(_node(self.parts.pop(), right))

    def root(self) -> bytes:
        """The root of all leaves."""
        if not self.parts:
            return hashlib.sha256().digest()
        root = self.parts[-1]
        for part in reversed(self.parts[:-1]):
            root = _node(part, root)
        return root


def _node(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\x01" + left + right).digest()


def path_of(leaves: list[bytes], index: int) -> list[bytes]:
    """The inclusion path of a leaf, from the leaf upwards (RFC 6962, 2.1.1)."""
    if len(leaves) == 1:
        return []
    split = 1 << ((len(leaves) - 1).bit_length() - 1)
    if index < split:
        return [*path_of(leaves[:split], index), _root(leaves[split:])]
    return [*path_of(leaves[split:], index - split), _root(leaves[:split])]


def _root(leaves: list[bytes]) -> bytes:
    tree = Tree()
    for leaf in leaves:
        tree.add(leaf)
    return tree.root()


def seal(journal: Journal, origin: str, at: int, limit: int, adopted: list[str]) -> bool:
    """Append the heads of what changed since the last time, and a checkpoint per tenant; False if nothing changed.

    Args:
        journal: inside its transaction.
        origin: the installation's name.
        at: now, in microseconds.
        limit: how many events are looked at in one go.
        adopted: ids of runs that were chained just now, though their events are old.
    """
    found = journal.rows("SELECT value FROM setting WHERE tenant='' AND name=?", (SEALED_EVENT,))
    last = int(found[0][0]) if found else 0
    newest = journal.rows("SELECT coalesce(max(id), 0) FROM event")[0][0]
    upto = min(newest, last + limit)
    heads = journal.rows(_HEADS, (last, upto, upto))
    for run_id in adopted:
        heads += [h for h in journal.rows(_ADOPTED, (run_id,)) if h not in heads]
    tenants: dict[str, list[tuple[Any, ...]]] = {}
    for tenant, run_id, seq, head in heads:
        tenants.setdefault(tenant, []).append(("head", run_id, seq, bytes(head), ""))
    for tenant, leaves in tenants.items():
        append_leaves(journal, origin, tenant, leaves, at)
    if upto > last:
        remember(journal, SEALED_EVENT, upto)
    return bool(heads)


def append_leaves(journal: Journal, origin: str, tenant: str, leaves: list[tuple[Any, ...]], at: int) -> None:
    """Append (kind, run id, sequence, head, note) to a tenant's tree and write its next checkpoint."""
    before = journal.rows(_NEWEST, (tenant,))
    number, size, frontier, body = before[0] if before else (0, 0, b"", "")
    tree = Tree(size, [bytes(frontier[i : i + 32]) for i in range(0, len(frontier), 32)])
    for kind, run_id, seq, head, note in leaves:
        journal.write(
            "INSERT INTO ledger_leaf(tenant, number, kind, run_id, seq, head, note) VALUES (?,?,?,?,?,?,?)",
            (tenant, tree.size, kind, run_id, seq, head, note),
        )
        tree.add(leaf_hash(kind, tenant, run_id, seq, head.hex(), note))
    previous = hashlib.sha256(body.encode()).hexdigest() if body else ZERO
    root = tree.root()
    text = (
        f"{origin}/{tenant}\n{tree.size}\n{base64.b64encode(root).decode()}\nnumber {number + 1}\n"
        f"time {from_micros(at).isoformat()}\nruns {len(leaves)}\nprevious {previous}\n"
    )
    journal.write(
        "INSERT INTO ledger_checkpoint(tenant, number, size, root, frontier, at, body) VALUES (?,?,?,?,?,?,?)",
        (tenant, number + 1, tree.size, root, b"".join(tree.parts), at, text),
    )


def remember(journal: Journal, name: str, value: int) -> None:
    """A number that belongs to the whole database."""
    journal.write(
        "INSERT INTO setting(tenant, name, value) VALUES ('', ?, ?)"
        " ON CONFLICT(tenant, name) DO UPDATE SET value = excluded.value",
        (name, str(value)),
    )
