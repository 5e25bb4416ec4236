"""The bundle that an auditor checks without us: JSON lines, read in bounded memory, in the form `verifier.py` knows."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from typing import Any

import orjson

from signoff.core.digest import canonical_json
from signoff.engine.retention_queries import no_such_run
from signoff.errors import SignoffError, Unavailable
from signoff.store.bodies import load
from signoff.store.checkpoints import CheckpointFiles
from signoff.store.files import FileStore, list_attachments, open_secret
from signoff.store.reads import ledger
from signoff.store.reads.reader import Reader
from signoff.store.reads.retention import find_tombstone
from signoff.store.times import from_micros
from signoff.store.tree import leaf_hash, path_of

FORMAT = 1
_RUN = (
    "SELECT r.id, r.public_id, r.sequence, k.adopted, k.erased_at, k.erased_by, k.reason, k.kept_seq, k.kept_key"
    " FROM run r LEFT JOIN run_key k ON k.run = r.id WHERE r.id=?"
)
_EVENTS = (
    "SELECT e.seq, e.type, e.version, e.step, e.at, e.actor, e.commitment, e.hash, coalesce(e.data, p.data)"
    " FROM event e LEFT JOIN payload p ON p.id = e.payload_id WHERE e.run=? AND e.seq > ? ORDER BY e.seq LIMIT 200"
)
_VERSIONS = (
    "SELECT v.digest, d.name, v.version, v.document FROM definition_version v JOIN definition d"
    " ON d.id = v.definition_id WHERE v.tenant=? ORDER BY v.id"
)

_PRUNED_SINCE = "SELECT 1 FROM ledger_leaf WHERE tenant=? AND kind='pruned' AND number >= ? LIMIT 1"


class Evidence:
    """Bundles of one installation."""

    def __init__(self, reader: Reader, files: CheckpointFiles, attached: FileStore) -> None:
        self._reader = reader
        self._files = files
        self._attached = attached

    def bundle(self, tenant: str, run_id: str = "", *, by: str = "", at: str = "") -> Iterator[str]:
        """The lines of a bundle: of one run, or of everything that a tenant has.

        Raises:
            NotFound: there is no such run.
        """
        count = 0
        for line in self._lines(tenant, run_id, by, at):
            count += 1
            yield orjson.dumps(line).decode() + "\n"
        yield orjson.dumps({"kind": "end", "lines": count + 1}).decode() + "\n"

    def _lines(self, tenant: str, run_id: str, by: str, at: str) -> Iterator[dict[str, Any]]:
        notes = self._files.notes(tenant)  # first, so that every run which they cover is among the keys
        keys = self._keys(tenant, run_id)
        scope = "run" if run_id else "all"
        yield {"kind": "bundle", "format": FORMAT, "scope": scope, "tenant": tenant, "run": run_id, "by": by, "at": at}
        yield from ({"kind": "key", "note": note} for note in self._files.key_notes())
        yield from ({"kind": "checkpoint", "note": note} for note in (notes[-1:] if run_id else notes))
        versions = (self._versions_of(keys[0]) if keys else set()) if run_id else None
        for digest, name, version, document in self._reader.rows(_VERSIONS, (tenant,)):
            if versions is None or digest in versions:
                content = canonical_json(load(document)).decode()
                yield {"kind": "definition", "digest": digest, "name": name, "version": version, "content": content}
        for pk in keys:
            yield from self._run(pk)
            yield from self._attachments(tenant, pk)
        size = int(notes[-1].split("\n")[1]) if notes else 0
        yield from self._leaves(tenant, run_id, size)
        if not run_id and self._reader.one(_PRUNED_SINCE, (tenant, size)):
            raise _gone("A run")

    def _keys(self, tenant: str, run_id: str) -> list[int]:
        if not run_id:
            return [pk for pk, _ in ledger.iter_run_ids(self._reader, tenant)]
        found = self._reader.rows("SELECT id FROM run WHERE tenant=? AND public_id=?", (tenant, run_id))
        if found:
            return [found[0][0]]
        if find_tombstone(self._reader, tenant, run_id) is None:
            raise no_such_run(run_id)
        return []  # it was removed: the tombstone and what was sealed before are what there is

    def _versions_of(self, pk: int) -> set[str]:
        """Digests of the versions that a run had; of an erased run the one that its row refers to."""
        found = self._reader.rows(
            "SELECT v.digest FROM run r JOIN definition_version v ON v.id = r.version_id WHERE r.id=?", (pk,)
        )
        digests = {str(r[0]) for r in found}
        for line in self._run(pk):
            if line.get("type") in ("run.started", "run.migrated") and line["body"]:
                digests.add(str(orjson.loads(line["body"]).get("digest", "")))
        return digests

    def _run(self, pk: int) -> Iterator[dict[str, Any]]:
        found = self._reader.rows(_RUN, (pk,))
        if not found:
            raise _gone("A run")
        _, run_id, count, adopted, erased_at, by, reason, kept_seq, kept_key = found[0]
        erased = None
        if erased_at is not None:
            erased = {"at": from_micros(erased_at).isoformat(), "by": by, "reason": reason}
        yield {"kind": "run", "run": run_id, "events": count, "adopted": adopted or 0, "erased": erased}
        after = 0
        while page := self._reader.rows(_EVENTS, (pk, after)):
            for seq, kind, version, step, at, actor, commitment, digest, data in page:
                if seq > count:
                    return  # written after the row of the run was read
                key, body = None, None
                if erased is None and digest is not None:
                    key = self._reader.bodies.event_key(pk, seq)
                    body = self._reader.bodies.plain(pk, f"event {seq}", data).decode()
                elif seq == kept_seq:
                    key, body = bytes(kept_key), bytes(data).decode()
                yield {
                    "kind": "event", "run": run_id, "seq": seq, "type": kind, "version": version, "step": step,
                    "at": at, "actor": actor, "commitment": _hex(commitment), "hash": _hex(digest),
                    "key": _hex(key), "body": body,
                }  # fmt: skip
            after = page[-1][0]
        if after < count:
            raise _gone(f"The run '{run_id}'")

    def _attachments(self, tenant: str, pk: int) -> Iterator[dict[str, Any]]:
        """The files of a run with their contents, which its events name by digest."""
        for a in list_attachments(self._reader, pk):
            digest = a.digest
            try:
                secret = open_secret(self._reader.bodies, tenant, a)
                digest = secret.digest
                plain = b"".join(self._attached.read(tenant, digest, a.blob, secret.key))
                content: str | None = b64encode(plain).decode()
            except (SignoffError, OSError):
                content = None
            about = {"run": a.run_id, "file": digest, "name": a.name, "size": a.size, "type": a.media}
            yield {"kind": "file", **about, "content": content}

    def _leaves(self, tenant: str, run_id: str, size: int) -> Iterator[dict[str, Any]]:
        """All signed leaves; of one run with their inclusion paths in the newest checkpoint."""
        hashes = []
        own = []
        for number, kind, run, seq, head, note in ledger.iter_leaves(self._reader, tenant):
            if number >= size:
                break
            leaf = [kind, tenant, run, seq, bytes(head).hex(), note]
            if not run_id:
                yield {"kind": "leaf", "number": number, "leaf": leaf}
                continue
            hashes.append(leaf_hash(kind, tenant, run, seq, bytes(head).hex(), note))
            if run == run_id:
                own.append((number, leaf))
        for number, leaf in own:
            path = [part.hex() for part in path_of(hashes, number)]
            yield {"kind": "leaf", "number": number, "leaf": leaf, "path": path}


def _gone(what: str) -> Unavailable:
    return Unavailable(f"{what} was pruned while it was exported.", code="pruned", remedy="Export once more.")


def _hex(data: bytes | None) -> str | None:
    return None if data is None else bytes(data).hex()
