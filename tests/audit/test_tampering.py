"""Lies in bundles are found out, and a verifier that is broken anywhere believes one: these lies are enough."""

from __future__ import annotations

import copy
import functools
import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from signoff.interchange import verifier
from tests.audit.tampering import LIES, Honest, Lines, check, is_believed, make, tamper

SOURCE = Path(verifier.__file__)
CASES = 600

MUTANTS = [
    ('if digest != line["hash"]:', "if False:"),
    ('names = ("type", "version", "step", "at", "actor", "commitment")', 'names = ("type",)'),
    ("text = dumped(self.tenant, run, seq,", "text = dumped(self.tenant, run, 0,"),
    ("for n in names), self.previous)", "for n in names), ZERO)"),
    ("if seq != self.expected:", "if False:"),
    ("if line[\"hash\"] is None:", "if False:"),
    ('if self.run["erased"] is None:', "if False:"),
    ('elif line["key"] is None or not hmac.compare_digest(', "elif False and hmac.compare_digest("),
    ('if self.expected - 1 != run["events"]:', "if False:"),
    ('if run["erased"] is not None and not run.get("proved"):', "if False:"),
    ("good = good and signed_by(note, key) and (not trusted", "good = good and (not trusted"),
    ("if self.pinned and self.pinned not in trusted:", "if False:"),
    ("and k == number and signed(public, body.encode(), s)", "and k == number"),
    ("if number != tree.size:", "if False:"),
    ("if tree.root() != root:", "if False:"),
    ("if root != newest[2]:", "if False:"),
    ("if run not in self.runs:", "if False:"),
    ("elif seq > self.runs[run]:", "elif False:"),
    ("elif self.hashes.get((run, seq)) not in (None, head):", "elif False:"),
    ("if self.documents.get(digest) != digest:", "if False:"),
    ('for note in self.known:', "for note in ():"),
    ('return sha(b"\\x00", dumped(*leaf))', 'return sha(b"\\x00", dumped(*leaf[:3]))'),
    ("if self.leaves and newest is None:", "if False:"),
    ("if again:", "if False:"),
    ("elif run in self.runs:", "elif False:"),
    ("elif sealed != (seq, head):", "elif False:"),
    ('self.wrong("false_tombstone", f"Run {run} went on after its tombstone.")', "pass"),
    ('return "the run had not ended as long ago as its policy says" if early else ""', 'return ""'),
    ('if not all(words) or told["days"] < 1:', "if False:"),
    ("if self.signed and tree.size > max(s[1] for s in self.signed):", "if False:"),
]  # fmt: skip


def load(source: str, folder: Path) -> ModuleType:
    path = folder / "mutant.py"
    path.write_text(source, "utf-8")
    spec = importlib.util.spec_from_file_location("mutant", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.signed = functools.cache(module.signed)
    return module


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Honest:
    return make(tmp_path_factory.mktemp("honest") / "data")


def believed(module: ModuleType, honest: Honest, cases: range) -> list[str]:
    """Lies that a verifier believes; "the truth" where it does not believe that."""
    for lines in (honest.everything, honest.one, honest.left):
        if check(module, honest, lines):
            return ["the truth"]
    found = []
    for seed in cases:
        if name := is_believed(module, honest, seed):
            found.append(f"{seed}: {name}")
    return found


def without(lines: Lines, *gone: dict[str, Any]) -> Lines:
    return [x for x in copy.deepcopy(lines) if x not in gone]


def kinds_that_differ(module: ModuleType, honest: Honest) -> list[str]:
    """What a verifier calls by another name than the documents do."""
    lines = honest.everything
    run = next(x for x in lines if x["kind"] == "run")
    events = [x for x in lines if x["kind"] == "event" and x["run"] == run["run"]]
    short = {**run, "events": len(events) - 1}
    swapped = copy.deepcopy(lines)
    a, b = swapped.index(events[1]), swapped.index(events[2])
    swapped[a], swapped[b] = swapped[b], swapped[a]
    cases = {
        "gap": without(lines, events[1]),
        "reordered": swapped,
        "truncated": [short if x == run else x for x in without(lines, events[-1])],
        "truncated ": without(lines, events[-1]),
        "chain_missing": [{**x, "hash": None} if x == events[-1] else x for x in lines],
        "chain_missing ": without(lines, run, *events),
        "altered": [{**x, "at": x["at"] + 1} if x == events[-1] else x for x in lines],
    }
    found = [f"{k}: {got}" for k, x in cases.items() if k.strip() not in (got := check(module, honest, x))]
    message = f"Run {run['run']}: {len(events)} events were said"
    told = module.Bundle(honest.key)
    told.read(json.dumps(x) for x in cases["truncated "])
    return found if any(message in text for _, text in told.findings) else [*found, "what was said"]


def test_findings_have_the_names_of_the_documents(honest: Honest) -> None:
    assert kinds_that_differ(verifier, honest) == []


def test_no_lie_is_believed(honest: Honest, tmp_path: Path) -> None:
    assert believed(load(SOURCE.read_text("utf-8"), tmp_path), honest, range(CASES)) == []
    assert {tamper(honest, seed)[0] for seed in range(CASES)} == set(LIES), "every kind was tried"


@pytest.mark.parametrize(("text", "instead"), MUTANTS, ids=range(len(MUTANTS)))
def test_a_broken_verifier_believes_a_lie(honest: Honest, tmp_path: Path, text: str, instead: str) -> None:
    source = SOURCE.read_text("utf-8")
    assert source.count(text) == 1, "the mutant fits nowhere any more"
    mutant = load(source.replace(text, instead), tmp_path)
    try:
        if kinds_that_differ(mutant, honest):
            return
    except Exception:  # the verifier broke, and the test above would too
        return
    for begin in range(0, 4000, 200):
        try:
            if believed(mutant, honest, range(begin, begin + 200)):
                return
        except Exception:  # a verifier that breaks has not believed anything, and is not silent
            continue
    pytest.fail("the mutant believes no lie")
