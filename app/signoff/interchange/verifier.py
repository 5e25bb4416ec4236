#!/usr/bin/env python3
"""Check an audit bundle of Signoff without Signoff: Python 3.9 or newer, this file, nothing else.

    python verify.py BUNDLE [--key KEY] [--checkpoints FILE]

BUNDLE is what `signoff audit export` wrote. KEY is the public key that you were given on another way (`signoff audit
key`); without one the bundle can only be checked against itself. FILE is your own copy of the checkpoints.
Status 0: nothing is wrong. 2: the bundle cannot be read. Otherwise the smallest code of all findings, see `CODES`.
"""

import base64
import hashlib
import hmac
import json
import sys
from datetime import datetime, timedelta

CODES = {
    "bad_signature": 10, "key_unknown": 11, "checkpoint_fork": 12, "chain_missing": 13, "truncated": 14,
    "gap": 15, "reordered": 16, "altered": 17, "not_covered": 18,
    "false_tombstone": 19,
}  # fmt: skip
ZERO = "0" * 64


class Unreadable(Exception):
    """The bundle has not the form of one."""


def dumped(*values):
    """JSON without spaces, as everything that is hashed is written."""
    return json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode()


def sha(*parts):
    """SHA-256 of bytes."""
    return hashlib.sha256(b"".join(parts)).digest()


# Ed25519 (RFC 8032), verification only. Slow, and nothing here is secret.

_P = 2**255 - 19
_Q = 2**252 + 27742317777372353535851937790883648493
_D = -121665 * pow(121666, _P - 2, _P) % _P
_I = pow(2, (_P - 1) // 4, _P)


def _add(a, b):
    x, y, z, t = (a[1] - a[0]) * (b[1] - b[0]), (a[1] + a[0]) * (b[1] + b[0]), 2 * a[2] * b[2], 2 * a[3] * b[3] * _D
    e, f, g, h = y - x, z - t, z + t, y + x
    return e * f % _P, g * h % _P, f * g % _P, e * h % _P


def _multiply(scalar, point):
    total = (0, 1, 1, 0)
    while scalar:
        if scalar & 1:
            total = _add(total, point)
        point, scalar = _add(point, point), scalar >> 1
    return total


def _x_of(y, sign):
    if y >= _P:
        return None
    square = (y * y - 1) * pow(_D * y * y + 1, _P - 2, _P) % _P
    x = pow(square, (_P + 3) // 8, _P)
    if (x * x - square) % _P:
        x = x * _I % _P
    if (x * x - square) % _P or (x == 0 and sign):
        return None
    return _P - x if x & 1 != sign else x


def _point(data):
    number = int.from_bytes(data, "little")
    y = number & ((1 << 255) - 1)
    x = _x_of(y, number >> 255)
    return None if x is None else (x, y, 1, x * y % _P)


_BASE_Y = 4 * pow(5, _P - 2, _P) % _P
_BASE = (_x_of(_BASE_Y, 0), _BASE_Y, 1, _x_of(_BASE_Y, 0) * _BASE_Y % _P)


def signed(public, message, signature):
    """Whether an Ed25519 signature is right."""
    if len(public) != 32 or len(signature) != 64:
        return False
    a, r, s = _point(public), _point(signature[:32]), int.from_bytes(signature[32:], "little")
    if a is None or r is None or s >= _Q:
        return False
    h = int.from_bytes(hashlib.sha512(signature[:32] + public + message).digest(), "little") % _Q
    left, right = _multiply(s, _BASE), _add(r, _multiply(h, a))
    return (left[0] * right[2] - right[0] * left[2]) % _P == 0 and (left[1] * right[2] - right[1] * left[2]) % _P == 0


# Signed notes


def read_key(text):
    """(name, public key) of `NAME+ID+BASE64`, where ID is the key's hash."""
    name, number, data = text.strip().split("+", 2)
    raw = base64.b64decode(data, validate=True)
    if raw[:1] != b"\x01" or sha(name.encode(), b"\n", raw)[:4].hex() != number:
        raise ValueError("no key")
    return name, raw[1:]


def read_note(text):
    """(body, [(key name, key hash, signature)]) of a signed note."""
    body, separator, signatures = text.rpartition("\n\n")
    if not separator:
        raise Unreadable("A note has no signature.")
    found = []
    for line in signatures.strip("\n").split("\n"):
        if not line.startswith("\u2014 "):
            raise Unreadable("A signature of a note cannot be read.")
        name, data = line[2:].rsplit(" ", 1)
        raw = base64.b64decode(data, validate=True)
        if base64.b64encode(raw).decode() != data:
            raise Unreadable("A signature of a note is not written as it must be.")
        found.append((name, raw[:4], raw[4:]))
    return body + "\n", found


def signed_by(note, key):
    """Whether a note carries a right signature of a key (`NAME+ID+BASE64`)."""
    name, public = read_key(key)
    body, signatures = read_note(note)
    number = sha(name.encode(), b"\n\x01", public)[:4]
    return any(n == name and k == number and signed(public, body.encode(), s) for n, k, s in signatures)


# The tree (RFC 6962)


def leaf_hash(leaf):
    """Hash of a leaf: [kind, tenant, run, sequence, head, note]."""
    return sha(b"\x00", dumped(*leaf))


class Tree:
    """A tree that grows leaf by leaf and keeps only the roots of its whole subtrees."""

    def __init__(self):
        """Begin empty."""
        self.size, self.parts = 0, []

    def add(self, leaf):
        """Append the hash of a leaf."""
        self.parts.append(leaf)
        self.size += 1
        for _ in range((self.size & -self.size).bit_length() - 1):
            right = self.parts.pop()
            self.parts.append(sha(b"\x01", self.parts.pop(), right))

    def root(self):
        """The root of what is there."""
        if not self.parts:
            return sha()
        root = self.parts[-1]
        for part in reversed(self.parts[:-1]):
            root = sha(b"\x01", part, root)
        return root


def root_of_path(leaf, index, size, path):
    """The root that an inclusion path leads to; None where it cannot be one (RFC 9162, 2.1.3.2)."""
    first, last, root = index, size - 1, leaf
    if not 0 <= index < size:
        return None
    for part in path:
        if last == 0:
            return None
        if first & 1 or first == last:
            root = sha(b"\x01", part, root)
            while not first & 1 and first:
                first, last = first >> 1, last >> 1
        else:
            root = sha(b"\x01", root, part)
        first, last = first >> 1, last >> 1
    return root if last == 0 else None


# The bundle


class Bundle:
    """Reads a bundle line by line and collects what is wrong (`findings`) and what should be known (`remarks`)."""

    def __init__(self, key="", known=()):
        """Take the pinned key, and the notes of checkpoints that the auditor kept."""
        self.findings, self.remarks = [], []
        self.pinned, self.known = key, list(known)
        self.keys, self.checkpoints, self.leaves = [], [], []
        self.head = self.run = None
        self.runs, self.hashes, self.documents, self.digests = {}, {}, {}, []
        self.events = self.lines = 0
        self.ended = False

    def wrong(self, code, text):
        """Remember a finding."""
        self.findings.append((code, text))

    def read(self, lines):
        """Read all lines and check everything; returns the findings."""
        for text in lines:
            if not text.strip():
                continue
            try:
                line = json.loads(text)
                kind = line["kind"]
                handler = getattr(self, "_" + kind)
                self.lines += 1
                handler(line)
            except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
                raise Unreadable(f"Line {self.lines} cannot be read: {error!r}") from None
        if self.head is None:
            raise Unreadable("It does not begin as a bundle does.")
        self._close_run()
        if not self.ended:
            self.wrong("truncated", "The bundle does not end as bundles do: lines are missing.")
        self._check_notes()
        self._check_leaves()
        return self.findings

    def _bundle(self, line):
        if self.head is not None or line["format"] != 1 or line["scope"] not in ("all", "run"):
            raise ValueError("a bundle of another kind")
        self.head = line
        self.tenant = line["tenant"]

    def _file(self, line):
        """A file of a run: its content has the digest that the events name."""
        if line["content"] is None:
            return self.wrong("file_missing", f"The content of the file {line['name']!r} is not in the bundle.")
        content = base64.b64decode(line["content"], validate=True)
        digest = "sha256:" + hashlib.sha256(content).hexdigest()
        if digest != line["file"] or len(content) != line["size"]:
            self.wrong("file_altered", f"The file {line['name']!r} of {line['run']} is not the one that was given.")

    def _key(self, line):
        self.keys.append(line["note"])

    def _checkpoint(self, line):
        self.checkpoints.append(line["note"])

    def _definition(self, line):
        self.documents[line["digest"]] = "sha256:" + hashlib.sha256(line["content"].encode()).hexdigest()

    def _leaf(self, line):
        self.leaves.append((line["number"], line["leaf"], line.get("path")))

    def _end(self, line):
        self.ended = line["lines"] == self.lines

    def _run(self, line):
        self._close_run()
        self.run, self.expected, self.previous = line, 1, ZERO
        if line["run"] in self.runs:
            self.wrong("reordered", f"The run {line['run']} is there twice.")
        self.runs[line["run"]] = 0
        if line["adopted"]:
            self.remarks.append(f"run {line['run']}: its first {line['adopted']} events were chained later")

    def _event(self, line):
        run, seq = line["run"], line["seq"]
        self.events += 1
        if self.run is None or self.run["run"] != run:
            return self.wrong("reordered", f"An event of run {run} stands elsewhere.")
        if seq != self.expected:
            code = "gap" if seq > self.expected else "reordered"
            self.wrong(code, f"Run {run}: event {self.expected} was expected, but {seq} follows.")
        self.expected = seq + 1
        self.runs[run] = max(self.runs[run], seq)
        if line["hash"] is None:
            return self.wrong("chain_missing", f"Run {run}: event {seq} is not chained.")
        names = ("type", "version", "step", "at", "actor", "commitment")
        text = dumped(self.tenant, run, seq, *(line[n] for n in names), self.previous)
        digest = sha(b"\x00", text).hex()
        if digest != line["hash"]:
            self.wrong("altered", f"Run {run}: event {seq} ({line['type']}) or what came before it was altered.")
        if line["body"] is None:
            if self.run["erased"] is None:
                self.wrong("altered", f"Run {run}: the content of event {seq} is gone, but nobody erased it.")
        elif line["key"] is None or not hmac.compare_digest(
            hmac.new(bytes.fromhex(line["key"]), line["body"].encode(), hashlib.sha256).hexdigest(), line["commitment"]
        ):
            self.wrong("altered", f"Run {run}: the content of event {seq} ({line['type']}) was altered.")
        else:
            self._read_body(line)
        self.previous = digest
        self.hashes[run, seq] = digest
        return None

    def _read_body(self, line):
        body = json.loads(line["body"] or "{}")
        if line["type"] in ("run.started", "run.migrated") and "digest" in body:
            self.digests.append((line["run"], body["digest"]))
        if line["type"] == "evidence.recorded" and body.get("kind") == "content_erased" and self.run["erased"]:
            who = body.get("actor", {}).get("id", "?")
            self.remarks.append(
                f"erased-ok: run {line['run']}: content erased by {who} at {self.run['erased'].get('at')}:"
                f" {body.get('message', '')}"
            )
            self.run["proved"] = True

    def _close_run(self):
        run = self.run
        if run is None:
            return
        if self.expected - 1 != run["events"]:
            self.wrong("truncated", f"Run {run['run']}: {run['events']} events were said, {self.expected - 1} follow.")
        if run["erased"] is not None and not run.get("proved"):
            self.wrong("altered", f"Run {run['run']} is said to be erased, but its chain does not say by whom.")
        self.run = None

    def _check_keys(self):
        """The keys that may sign: the first signs itself, each later one is signed by the one before too."""
        trusted = []
        for number, note in enumerate(self.keys):
            try:
                body, _ = read_note(note)
                fields = body.split("\n")
                key, good = fields[2], fields[0] == "signoff key" and fields[1] == str(number)
                good = good and signed_by(note, key) and (not trusted or signed_by(note, trusted[-1]))
            except (ValueError, IndexError, Unreadable):
                good = False
            if not good:
                self.wrong("bad_signature", f"The note of key {number} is not signed as it must be.")
                break
            trusted.append(key)
        if self.pinned and self.pinned not in trusted:
            self.wrong("key_unknown", "The key that you gave is not one of the bundle's keys.")
            return []
        if not self.pinned and trusted:
            self.remarks.append(f"no key was given: compare this one with the one you know: {trusted[0]}")
        return trusted

    def _check_notes(self):
        trusted = self._check_keys()
        self.signed = []
        for note in self.checkpoints:
            try:
                body, signatures = read_note(note)
                lines = body.split("\n")
                origin, size, root = lines[0], int(lines[1]), base64.b64decode(lines[2], validate=True)
                number = int(lines[3].split(" ")[1])
                previous = lines[6].split(" ")[1]
            except (ValueError, IndexError, Unreadable):
                self.wrong("bad_signature", "A checkpoint cannot be read.")
                continue
            if not any(name == read_key(k)[0] and signed_by(note, k) for name, _, _ in signatures for k in trusted):
                known = {read_key(k)[0] for k in trusted}
                code = "bad_signature" if known & {s[0] for s in signatures} else "key_unknown"
                self.wrong(code, f"Checkpoint {number} is not signed by a known key.")
            if origin.partition("/")[2] != self.tenant:
                self.wrong("checkpoint_fork", f"Checkpoint {number} belongs to '{origin}'.")
            self.signed.append((number, size, root, previous, sha(body.encode()).hex()))
        if self.head["scope"] == "all":
            before = (0, 0, b"", ZERO, ZERO)
            for found in self.signed:
                if found[0] != before[0] + 1 or found[3] != before[4] or found[1] < before[1]:
                    self.wrong("checkpoint_fork", f"Checkpoint {found[0]} does not follow checkpoint {before[0]}.")
                before = found
        self._check_known()

    def _check_known(self):
        """What the auditor kept must be in the bundle."""
        for note in self.known:
            if note in self.checkpoints:
                continue
            body, _ = read_note(note)
            number, size = int(body.split("\n")[3].split(" ")[1]), int(body.split("\n")[1])
            if any(n == number for n, *_ in self.signed):
                self.wrong("checkpoint_fork", f"Checkpoint {number} is another one than the one that you kept.")
            elif self.head["scope"] == "all":
                self.wrong(
                    "truncated", f"Checkpoint {number} with {size} leaves, which you kept, is not in the bundle."
                )

    def _check_leaves(self):
        newest = max(self.signed, default=None)
        if self.leaves and newest is None:
            self.wrong("not_covered", "There are leaves, but no checkpoint that covers them.")
        if self.head["scope"] == "all":
            self._check_tree()
        elif newest is not None:
            for number, leaf, path in self.leaves:
                root = root_of_path(leaf_hash(leaf), number, newest[1], [bytes.fromhex(p) for p in path])
                if root != newest[2]:
                    self.wrong("checkpoint_fork", f"Leaf {number} is not in checkpoint {newest[0]}.")
        covered, sealed = {}, {}
        for number, leaf, _ in self.leaves:
            kind, tenant, run, seq, head = leaf[:5]
            if tenant != self.tenant:
                self.wrong("altered", f"Leaf {number} belongs to '{tenant}'.")
            if kind == "pruned":
                self._check_tombstone(leaf, sealed.get(run), covered.get(run) == -1)
                covered[run] = -1
                continue
            sealed[run] = (seq, head)
            if covered.get(run) == -1:
                self.wrong("false_tombstone", f"Run {run} went on after its tombstone.")
            else:
                covered[run] = max(seq, covered.get(run, 0))
        for _, leaf, _ in self.leaves:
            run, seq, head = leaf[2:5]
            if covered.get(run) == -1:
                continue
            if run not in self.runs:
                self.wrong("chain_missing", f"Run {run}, of which {seq} events were sealed, is not there.")
            elif seq > self.runs[run]:
                self.wrong("truncated", f"Run {run}: {seq} events were sealed, but {self.runs[run]} are there.")
            elif self.hashes.get((run, seq)) not in (None, head):
                self.wrong("altered", f"Run {run}: event {seq} is not the one that was sealed.")
        for run, seen in self.runs.items():
            if covered.get(run, 0) < seen:
                self.remarks.append(f"run {run}: events after {max(covered.get(run, 0), 0)} are in no checkpoint yet")
        for run, digest in self.digests:
            if self.documents.get(digest) != digest:
                self.wrong("altered", f"Run {run}: the definition {digest} is missing or was altered.")

    def _check_tombstone(self, leaf, sealed, again):
        """A run that was removed: all of it was sealed before, it had ended long enough ago, and it is gone."""
        _, _, run, seq, head, note = leaf
        why = ""
        if again:
            why = "it has two"
        elif run in self.runs:
            why = "the run is there"
        elif sealed != (seq, head):
            why = "it is not about the events that were sealed before"
        else:
            why = note_problem(note)
        if why:
            return self.wrong("false_tombstone", f"The tombstone of run {run} is false: {why}.")
        told = json.loads(note)
        return self.remarks.append(
            f"pruned-ok: run {run} ({told['definition']}, version {told['version']}) ended as {told['status']}"
            f" {told['ended_at']} with {seq} events and was removed {told['at']}: {told['policy']}"
        )

    def _check_tree(self):
        tree, sizes = Tree(), {}
        for number, size, root, *_ in self.signed:
            sizes.setdefault(size, []).append((number, root))
        for number, leaf, _ in self.leaves:
            if number != tree.size:
                code = "gap" if number > tree.size else "reordered"
                self.wrong(code, f"Leaf {tree.size} was expected, but {number} follows.")
                return
            tree.add(leaf_hash(leaf))
            for checkpoint, root in sizes.pop(tree.size, ()):
                if tree.root() != root:
                    self.wrong("checkpoint_fork", f"The leaves have another root than checkpoint {checkpoint} says.")
        if self.signed and tree.size > max(s[1] for s in self.signed):
            self.wrong("not_covered", "There are leaves that no checkpoint covers.")
        for size, found in sizes.items():
            self.wrong("truncated", f"Checkpoint {found[0][0]} has {size} leaves, but {tree.size} are there.")


def note_problem(note):
    """What is wrong with the text of a tombstone; "" where nothing is."""
    try:
        told = json.loads(note)
        ended, at = datetime.fromisoformat(told["ended_at"]), datetime.fromisoformat(told["at"])
        words = [told[n] for n in ("definition", "version", "digest", "status", "policy")]
        early = at < ended + timedelta(days=told["days"])
    except (ValueError, KeyError, TypeError, OverflowError):
        return "it cannot be read"
    if not all(words) or told["days"] < 1:
        return "it does not say what was removed and why"
    return "the run had not ended as long ago as its policy says" if early else ""


def split_notes(text):
    """The notes of a file of checkpoints."""
    parts = text.split("\n\n")
    return [f"{a}\n\n{b}\n" for a, b in zip(parts[0::2], parts[1::2])]  # noqa: B905 - Python 3.9


def main(arguments):
    """Check one bundle and say what was found; returns the status."""
    options, rest = {}, list(arguments)
    for name in ("--key", "--checkpoints"):
        if name in rest:
            at = rest.index(name)
            options[name] = rest[at + 1]
            del rest[at : at + 2]
    if len(rest) != 1:
        sys.stderr.write(__doc__ + "\n")
        return 2
    try:
        known = []
        if "--checkpoints" in options:
            with open(options["--checkpoints"], encoding="utf-8", newline="") as file:
                known = split_notes(file.read())
        bundle = Bundle(options.get("--key", ""), known)
        with open(rest[0], encoding="utf-8") as file:
            bundle.read(file)
    except OSError as error:
        why = "there is no such file" if isinstance(error, FileNotFoundError) else "it cannot be opened"
        sys.stdout.write(f"unreadable: '{error.filename}': {why}\n")
        return 2
    except UnicodeDecodeError:
        sys.stdout.write("unreadable: a file is no UTF-8 text\n")
        return 2
    except Unreadable as error:
        sys.stdout.write(f"unreadable: {error}\n")
        return 2
    for remark in bundle.remarks:
        sys.stdout.write(f"note: {remark}\n")
    for code, text in bundle.findings:
        sys.stdout.write(f"{code}: {text}\n")
    what = f"{len(bundle.runs)} runs, {bundle.events} events, {len(bundle.leaves)} leaves,"
    what += f" {len(bundle.checkpoints)} checkpoints"
    sys.stdout.write(f"{what}: {'nothing is wrong' if not bundle.findings else f'{len(bundle.findings)} findings'}\n")
    return min((CODES[code] for code, _ in bundle.findings), default=0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
