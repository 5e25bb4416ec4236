"""Random lies in audit bundles: ``python -m tests.audit.tampering --count 10000 [--seed N]``.

Each case takes an honest bundle, all of whose events a checkpoint covers, changes one thing (a byte, a row, an order, a
tail, a whole chain, a checkpoint, a key, with or without putting right what the change would show), and checks it with
the auditor's key and, every second time, copy of the checkpoints. Every case must be found out; the number of lines
that a bundle says it has is always put right.
"""

from __future__ import annotations

import argparse
import base64
import copy
import functools
import hashlib
import hmac
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from signoff.interchange import verifier
from signoff.store.checkpoints import key_number, public_key
from signoff.wiring import Settings, open_signer
from tests.engine.office import TENANT, Clock, ask, call, chain, open_office, person
from tests.store.test_checkpoints import sealer

Lines = list[dict[str, Any]]
Lie = Callable[[Lines, Random], None]
LIES: dict[str, Lie] = {}
SIGNED: set[str] = set()
"""Lies of somebody who has the installation's own key; a copy of the checkpoints shows them all, so they go without."""
NEED_A_COPY = {"checkpoints_of_the_end_are_gone"}
"""Lies that nothing in the bundle itself can show."""


@dataclass(frozen=True)
class Honest:
    """Bundles of the same database: all of it, one run, what is left of a removed run; and what the auditor has."""

    everything: Lines
    one: Lines
    left: Lines
    key: str
    notes: tuple[str, ...]
    sign: Callable[[str], str]
    """With the installation's own key, which the auditor trusts."""


def make(folder: Path) -> Honest:
    """Record real runs and export them."""
    clock = Clock()
    with open_office(folder, now=clock, slots=0) as office:
        office.running.save_person("root", roles=["administrator"])
        office.publish(chain("asks", ask("p", required=2, expires="P1D"), call("a"), input=[{"name": "n"}]))
        first, second = office.start("asks", n="one"), office.start("asks", n="two")
        sealer(office).seal()
        office.decide(first, "p", "grace")
        sealer(office).seal()
        for who in ("grace", "alan"):
            office.decide(second, "p", who)
        office.start("asks", n="three")
        sealer(office).seal()
        removed = [office.start("asks", n="four"), office.start("asks", n="five")]
        for run in removed:
            office.signoff.do("cancel_run", person("katherine"), TENANT, run_id=run, reason="x", seen_sequence=None)
        sealer(office).seal()
        clock.move(days=40)
        office.signoff.do("set_retention", person("root", "cli"), TENANT, retention={"days": 30}, reason="x")
        assert sealer(office).prune() == len(removed)
        evidence = office.signoff.queries.evidence
        whole, one, left = (
            [json.loads(x) for x in evidence.bundle(TENANT, which)] for which in ("", second, removed[0])
        )
    signer = open_signer(Settings(folder))
    notes = tuple(x["note"] for x in whole if x["kind"] == "checkpoint")
    return Honest(whole, one, left, signer.public_keys()[0], notes, signer.sign)


def check(module: ModuleType, honest: Honest, lines: Lines, *, has_copy: bool = True) -> set[str]:
    """What a verifier finds, with or without the auditor's copy of the checkpoints."""
    notes = honest.notes if has_copy else ()
    told = [{**x, "lines": len(lines)} if x["kind"] == "end" else x for x in lines]
    try:
        return {c for c, _ in module.Bundle(honest.key, notes).read(json.dumps(x) for x in told)}
    except module.Unreadable:
        return {"unreadable"}


def tamper(honest: Honest, seed: int) -> tuple[str, Lines]:
    """(kind of lie, the bundle with it) of a seed; the bundle always differs from the honest one."""
    dice = Random(seed)
    while True:
        name = dice.choice(sorted(LIES))
        share = dice.random()
        before = honest.one if share < 0.2 else honest.left if share < 0.3 else honest.everything
        lines = copy.deepcopy(before)
        try:
            LIES[name](lines, dice)
            if name in SIGNED:
                sign_anew(lines, honest.sign)
        except IndexError:  # this bundle has nothing to lie about in that way
            continue
        if lines != before:
            return name, lines


def is_believed(module: ModuleType, honest: Honest, seed: int) -> str:
    """The kind of lie of a seed where a verifier believes it, else ""; every second time it has no copy."""
    name, lines = tamper(honest, seed)
    has_copy = (seed % 2 == 0 or name in NEED_A_COPY) and name not in SIGNED
    return "" if check(module, honest, lines, has_copy=has_copy) else name


def lie(function: Lie) -> Lie:
    LIES[function.__name__] = function
    return function


def some(lines: Lines, kind: str, dice: Random) -> dict[str, Any]:
    return dice.choice([x for x in lines if x["kind"] == kind])


def other_text(text: str, dice: Random) -> str:
    at = dice.randrange(len(text))
    return text[:at] + dice.choice([c for c in "0123456789abcdefXYZ~" if c != text[at]]) + text[at + 1 :]


@lie
def a_byte_of_a_body(lines: Lines, dice: Random) -> None:
    event = dice.choice([x for x in lines if x["kind"] == "event" and x["body"]])
    event["body"] = other_text(event["body"], dice)


@lie
def a_byte_of_an_event(lines: Lines, dice: Random) -> None:
    event = some(lines, "event", dice)
    name = dice.choice(["run", "type", "step", "actor", "commitment", "hash", "key"])
    event[name] = other_text(event[name], dice) if event[name] else "x"


@lie
def a_number_of_an_event(lines: Lines, dice: Random) -> None:
    some(lines, "event", dice)[dice.choice(["seq", "version", "at"])] += dice.choice([-1, 1, 1000])


@lie
def a_byte_of_a_leaf(lines: Lines, dice: Random) -> None:
    leaf = some(lines, "leaf", dice)["leaf"]
    at = dice.choice([0, 1, 2, 4, 5])
    leaf[at] = other_text(leaf[at], dice) if leaf[at] else "x"


@lie
def a_number_of_a_leaf(lines: Lines, dice: Random) -> None:
    line = some(lines, "leaf", dice)
    if dice.random() < 0.5:
        line["number"] += 1
    else:
        line["leaf"][3] += dice.choice([-1, 1])


@lie
def a_byte_of_a_note(lines: Lines, dice: Random) -> None:
    note = some(lines, dice.choice(["checkpoint", "key"]), dice)
    note["note"] = other_text(note["note"], dice)


@lie
def a_byte_of_a_definition(lines: Lines, dice: Random) -> None:
    line = some(lines, "definition", dice)
    line["content"] = other_text(line["content"], dice)


@lie
def a_row_is_gone(lines: Lines, dice: Random) -> None:
    kind = dice.choice(["event", "leaf", "checkpoint", "definition", "run", "key"])
    if kind == "leaf" and lines[0]["scope"] == "run":
        raise IndexError  # of one run a bundle need not have every leaf
    lines.remove(some(lines, kind, dice))


@lie
def a_row_is_there_twice(lines: Lines, dice: Random) -> None:
    kind = dice.choice(["event", "leaf", "run"])
    if kind == "leaf" and lines[0]["scope"] == "run":
        raise IndexError
    row = some(lines, kind, dice)
    lines.insert(lines.index(row), copy.deepcopy(row))


@lie
def another_order(lines: Lines, dice: Random) -> None:
    kind = dice.choice(["event", "leaf", "checkpoint"])
    if kind != "event" and lines[0]["scope"] == "run":
        raise IndexError
    places = [i for i, x in enumerate(lines) if x["kind"] == kind]
    a, b = dice.choice(places), dice.choice(places)
    lines[a], lines[b] = lines[b], lines[a]


@lie
def the_tail_of_a_run_is_gone(lines: Lines, dice: Random) -> None:
    run = some(lines, "run", dice)
    keep = dice.randrange(run["events"])
    lines[:] = [x for x in lines if x["kind"] != "event" or x["run"] != run["run"] or x["seq"] <= keep]
    run["events"] = keep


@lie
def a_whole_run_is_gone(lines: Lines, dice: Random) -> None:
    name = some(lines, "run", dice)["run"]
    lines[:] = [x for x in lines if x["kind"] not in ("run", "event") or x["run"] != name]


@lie
def a_run_and_its_leaves_are_gone(lines: Lines, dice: Random) -> None:
    if lines[0]["scope"] == "run":
        raise IndexError
    name = some(lines, "run", dice)["run"]
    lines[:] = [x for x in lines if x.get("run") != name and (x["kind"] != "leaf" or x["leaf"][2] != name)]
    for number, line in enumerate(x for x in lines if x["kind"] == "leaf"):
        line["number"] = number


@lie
def a_chain_is_written_anew(lines: Lines, dice: Random) -> None:
    """By somebody who has all secrets of the run."""
    _write_anew(lines, some(lines, "event", dice), dice)


def _write_anew(lines: Lines, event: dict[str, Any], dice: Random) -> None:
    body = json.loads(event["body"] or "{}")
    event["body"] = json.dumps({**body, "zz": dice.random()})
    key = bytes.fromhex(event["key"])
    event["commitment"] = hmac.new(key, event["body"].encode(), hashlib.sha256).hexdigest()
    previous = "0" * 64
    for x in lines:
        if x["kind"] == "event" and x["run"] == event["run"]:
            fields = [x[n] for n in ("type", "version", "step", "at", "actor", "commitment")]
            text = verifier.dumped(TENANT, x["run"], x["seq"], *fields, previous)
            previous = x["hash"] = hashlib.sha256(b"\x00" + text).hexdigest()


@lie
def a_chain_and_its_leaves_are_written_anew(lines: Lines, dice: Random) -> None:
    event = some(lines, "event", dice)
    _write_anew(lines, event, dice)
    heads = {(x["run"], x["seq"]): x["hash"] for x in lines if x["kind"] == "event"}
    for x in lines:
        if x["kind"] == "leaf":
            x["leaf"][4] = heads.get((x["leaf"][2], x["leaf"][3]), x["leaf"][4])


@lie
def everything_is_signed_anew(lines: Lines, dice: Random) -> None:
    """By somebody who has everything but the auditor's key: leaves, checkpoints and key of their own."""
    if lines[0]["scope"] == "run":
        raise IndexError
    a_chain_and_its_leaves_are_written_anew(lines, dice)
    private = Ed25519PrivateKey.from_private_bytes(dice.randbytes(32))
    public = private.public_key().public_bytes_raw()
    name = next(x["note"] for x in lines if x["kind"] == "key").split("\n")[2].split("+")[0]

    def sign(body: str) -> str:
        signature = base64.b64encode(key_number(name, public) + private.sign(body.encode())).decode()
        return f"{body}\n— {name} {signature}\n"

    for x in lines:
        if x["kind"] == "key":
            x["note"] = sign(f"signoff key\n0\n{public_key(name, public)}\ntime 2026\n")
    sign_anew(lines, sign)


def sign_anew(lines: Lines, sign: Callable[[str], str]) -> None:
    """Checkpoints that fit the leaves as they are now."""
    tree, roots = verifier.Tree(), {}
    for x in lines:
        if x["kind"] == "leaf":
            tree.add(verifier.leaf_hash(x["leaf"]))
            roots[tree.size] = base64.b64encode(tree.root()).decode()
    previous = "0" * 64
    for x in lines:
        if x["kind"] == "checkpoint":
            rows = verifier.read_note(x["note"])[0].split("\n")
            rows[2], rows[6] = roots[int(rows[1])], f"previous {previous}"
            body = "\n".join(rows)
            previous = hashlib.sha256(body.encode()).hexdigest()
            x["note"] = sign(body)


def _stones(lines: Lines) -> Lines:
    """Of a whole bundle; what one run has left cannot be signed anew without all leaves."""
    if lines[0]["scope"] == "run":
        raise IndexError
    return [x for x in lines if x["kind"] == "leaf" and x["leaf"][0] == "pruned"]


def signed_lie(function: Lie) -> Lie:
    SIGNED.add(function.__name__)
    return lie(function)


@signed_lie
def a_run_that_is_there_has_a_tombstone(lines: Lines, dice: Random) -> None:
    stone, run = dice.choice(_stones(lines)), some(lines, "run", dice)
    last = [x for x in lines if x["kind"] == "leaf" and x["leaf"][2] == run["run"]][-1]["leaf"]
    stone["leaf"][2:5] = last[2:5]
    gone = {x["leaf"][2] for x in _stones(lines)}
    for x in lines:  # the other one keeps its head leaf, so that nothing but the tombstone is wrong
        if x["kind"] == "leaf" and x["leaf"][2] not in gone | {y["run"] for y in lines if y["kind"] == "run"}:
            x["leaf"][2:5] = last[2:5]


@signed_lie
def a_tombstone_is_about_other_events(lines: Lines, dice: Random) -> None:
    stone = dice.choice(_stones(lines))["leaf"]
    if dice.random() < 0.5:
        stone[3] += dice.choice([-1, 1])
    else:
        stone[4] = other_text(stone[4], dice)


@signed_lie
def a_run_was_removed_too_early(lines: Lines, dice: Random) -> None:
    stone = dice.choice(_stones(lines))["leaf"]
    told = json.loads(stone[5])
    stone[5] = json.dumps({**told, "days": told["days"] + dice.randrange(11, 900)})


@signed_lie
def a_tombstone_says_nothing(lines: Lines, dice: Random) -> None:
    stone = dice.choice(_stones(lines))["leaf"]
    told = json.loads(stone[5])
    name = dice.choice(["definition", "version", "digest", "status", "policy", "days", "at", "ended_at"])
    empty = {**told, name: 0 if name == "days" else ""}
    del told[name]
    stone[5] = dice.choice([json.dumps(told), json.dumps(empty), "", "gone"])


@signed_lie
def a_run_has_two_tombstones(lines: Lines, dice: Random) -> None:
    first, second = _stones(lines)
    second["leaf"] = copy.deepcopy(first["leaf"])
    heads = [x for x in lines if x["kind"] == "leaf" and x["leaf"][0] == "head"]
    last = [x for x in heads if x["leaf"][2] == first["leaf"][2]][-1]
    for x in heads:  # of the other run nothing is left that could be missed
        if x["leaf"][2] not in {y["run"] for y in lines if y["kind"] == "run"}:
            x["leaf"] = copy.deepcopy(last["leaf"])


@signed_lie
def a_run_goes_on_after_its_tombstone(lines: Lines, dice: Random) -> None:
    first, second = _stones(lines)
    heads = [x for x in lines if x["kind"] == "leaf" and x["leaf"][0] == "head"]
    last = [x for x in heads if x["leaf"][2] == first["leaf"][2]][-1]
    for x in heads:
        if x["leaf"][2] == second["leaf"][2]:
            x["leaf"] = copy.deepcopy(last["leaf"])
    second["leaf"] = copy.deepcopy(last["leaf"])


@signed_lie
def a_run_is_cut_out_without_a_tombstone(lines: Lines, dice: Random) -> None:
    for stone in _stones(lines):
        head = next(x for x in lines if x["kind"] == "leaf" and x["leaf"][2] == stone["leaf"][2])
        stone["leaf"] = copy.deepcopy(head["leaf"])


@lie
def checkpoints_of_the_end_are_gone(lines: Lines, dice: Random) -> None:
    """With the leaves that they cover and the runs that are in no other: a shorter history that fits in itself."""
    if lines[0]["scope"] == "run":
        raise IndexError
    notes = [x for x in lines if x["kind"] == "checkpoint"]
    kept = dice.randrange(len(notes))
    size = int(notes[kept - 1]["note"].split("\n")[1]) if kept else 0
    known = {x["leaf"][2]: x["leaf"][3] for x in lines if x["kind"] == "leaf" and x["number"] < size}
    gone = list(notes[kept:])
    lines[:] = [
        x for x in lines
        if x not in gone and not (x["kind"] == "leaf" and x["number"] >= size)
        and not (x["kind"] == "run" and x["run"] not in known)
        and not (x["kind"] == "event" and x["seq"] > known.get(x["run"], 0))
    ]  # fmt: skip
    for x in lines:
        if x["kind"] == "run":
            x["events"] = known[x["run"]]


@lie
def content_is_said_to_be_erased(lines: Lines, dice: Random) -> None:
    run = some(lines, "run", dice)
    run["erased"] = {"at": "2026", "by": "root", "reason": "x"}
    for x in lines:
        if x["kind"] == "event" and x["run"] == run["run"]:
            x["body"] = x["key"] = None


@lie
def content_is_gone(lines: Lines, dice: Random) -> None:
    event = some(lines, "event", dice)
    event["body"] = event["key"] = None


@lie
def a_hash_is_gone(lines: Lines, dice: Random) -> None:
    some(lines, "event", dice)["hash"] = None


@lie
def another_tenant(lines: Lines, dice: Random) -> None:
    lines[0]["tenant"] = other_text(lines[0]["tenant"], dice)


@lie
def a_definition_is_another_one(lines: Lines, dice: Random) -> None:
    line = some(lines, "definition", dice)
    line["content"] = json.dumps({**json.loads(line["content"]), "title": "Other"})
    line["digest"] = "sha256:" + hashlib.sha256(line["content"].encode()).hexdigest()


def main(arguments: list[str]) -> int:
    """Check that many lies; status 1 and the seeds where one was believed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    verifier.signed = functools.cache(verifier.signed)
    with tempfile.TemporaryDirectory() as folder:
        honest = make(Path(folder) / "data")
    for lines in (honest.everything, honest.one, honest.left):
        assert check(verifier, honest, lines) == set(), "the honest bundle is not believed"
    began, kinds, believed = time.perf_counter(), Counter[str](), []
    for seed in range(options.seed, options.seed + options.count):
        kinds[tamper(honest, seed)[0]] += 1
        if name := is_believed(verifier, honest, seed):
            believed.append(f"seed {seed}: {name}")
    for name, count in sorted(kinds.items()):
        print(f"{count:7} {name}")
    print(
        f"{sum(kinds.values())} lies, {len(believed)} believed, {time.perf_counter() - began:.0f} s",
        *believed,
        sep="\n",
    )
    return 1 if believed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
