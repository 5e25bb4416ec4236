"""The JSON form and the digest: stable over machines, key order, and defaults written out or not."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from signoff.core.definition import ActivityConfig, ApprovalConfig, RetryPolicy, StepKind, Timeouts
from signoff.core.digest import canonical_json, definition_digest, digest_of
from signoff.core.document import read_document, write_document
from signoff.errors import InvalidInput
from tests.arch.sources import ROOT
from tests.core.kit import JSON, activity, approval, definition_of, document, edge, wait
from tests.core.strategies import documents

FULL = document(
    activity(
        "check",
        input={"amount": "=input.amount", "list": [1, 2.5, None, {"ü": "ß"}]},
        retry={"max_attempts": 5, "initial_s": 2, "not_retryable": ["http_400"]},
        timeouts={"queue_s": 600.0},
        output=[{"name": "ok", "type": "boolean"}],
        effect="at_most_once",
        skip={"needs_output": True},
    ),
    approval("ask", ("team", "pair"), people=["ann"], required=2, expires="P3D", shows={"Total": "=input.amount"}),
    wait("pause", until="2027-03-28T02:30"),
    edges=[edge("check>ask", when="steps.check.output.ok"), edge("check>pause", otherwise=True), edge("ask:any>pause")],
    input=[{"name": "amount", "label": "Amount", "type": "number", "minimum": 0.01}],
    policies={"failure": "fail", "zone": "Europe/Berlin"},
    description="Everything once.",
)

GOLDEN = {
    "smallest": (document(activity("a")), "sha256:a3298f74fe9d49d398cd8de0c1c73eb1e8bc89ec72ccceefa835d49528b066ab"),
    "everything": (FULL, "sha256:2800a8d70329496556c1be556b2a11c77b2358051792b21a843edcf7de136488"),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_digests(name: str) -> None:
    """These must never change: runs, approvals and exports carry them."""
    doc, digest = GOLDEN[name]
    assert definition_digest(definition_of(doc)) == digest


def test_the_smallest_definition_byte_for_byte() -> None:
    assert canonical_json(write_document(definition_of(GOLDEN["smallest"][0]))) == (
        b'{"edges":[],"format":"signoff/1","name":"sample","steps":[{"connector":"python:work","id":"a",'
        b'"kind":"activity","label":"A"}],"title":"Sample"}'
    )


def shuffled(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: shuffled(value[k]) for k in reversed(value)}
    return [shuffled(v) for v in value] if isinstance(value, list) else value


def digest(doc: JSON) -> str:
    return definition_digest(definition_of(doc))


def test_key_order_and_the_order_of_connections_do_not_matter() -> None:
    assert digest(shuffled(FULL)) == digest(FULL)
    assert digest({**FULL, "edges": FULL["edges"][::-1]}) == digest(FULL)


def test_defaults_written_out_do_not_matter() -> None:
    plain = document(activity("a"), approval("p"), edges="a>p")
    written = document(
        activity(
            "a", input={}, output=[], effect="idempotent", pool="default", priority=0, join="all",
            retry={f.name: _json(getattr(RetryPolicy(), f.name)) for f in fields(RetryPolicy)},
            timeouts={f.name: getattr(Timeouts(), f.name) for f in fields(Timeouts)},
            skip={"allowed": None, "needs_output": False, "condition": ""},
        ),
        approval("p", required=1, people=[], expires="", requester_may_decide=False, shows={}, instructions="",
                 comment_required_on=["rejected"]),
        edges=[edge("a>p", on="", when="", otherwise=False)],
        input=[], description="", policies={"failure": "stall", "zone": "UTC"}, format="signoff/1",
    )  # fmt: skip
    assert digest(written) == digest(plain)


def _json(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def test_whole_numbers_and_floats_of_one_value_are_one() -> None:
    assert digest(document(activity("a", retry={"initial_s": 2}))) == digest(
        document(activity("a", retry={"initial_s": 2.0}))
    )


@pytest.mark.parametrize(
    "change",
    [
        {"title": "Other"},
        {"description": "Other."},
        {"input": [{"name": "amount", "label": "Sum", "type": "number", "minimum": 0.01}]},
        {"policies": {"failure": "fail", "zone": "Europe/Vienna"}},
        {"edges": FULL["edges"][:2]},
        {"steps": [{**FULL["steps"][0], "label": "Other"}, *FULL["steps"][1:]]},
        {"steps": [FULL["steps"][0], {**FULL["steps"][1], "instructions": "Read."}, FULL["steps"][2]]},
        {"steps": [FULL["steps"][0], {**FULL["steps"][1], "shows": {"Total ": "=input.amount"}}, FULL["steps"][2]]},
    ],
)
def test_any_change_of_what_runs_or_is_shown_matters(change: JSON) -> None:
    assert digest({**FULL, **change}) != digest(FULL)


def test_the_layout_has_no_place_in_a_document() -> None:
    for file in (ROOT / "assets" / "templates").glob("*.json"):
        template = json.loads(file.read_text(encoding="utf-8"))
        before = digest(template["document"])
        template["layout"] = {}
        assert digest(template["document"]) == before
        assert "layout" not in write_document(definition_of(template["document"]))


@settings(deadline=None, max_examples=100, suppress_health_check=list(HealthCheck))
@given(documents())
def test_what_is_written_is_read_again(doc: JSON) -> None:
    definition = definition_of(doc)
    written = write_document(definition)
    assert read_document(json.loads(json.dumps(written))) == (definition, ())
    assert canonical_json(write_document(definition_of(written))) == canonical_json(written)


def test_a_definition_read_with_problems_keeps_what_could_be_read() -> None:
    definition, problems = read_document(document(activity("a"), {"id": "b", "kind": "robot"}, activity("c", pool=5)))
    assert definition is not None
    assert [s.id for s in definition.steps] == ["a", "c"]
    assert [p.step for p in problems] == ["b", "c"]


def test_kinds_follow_from_the_configuration() -> None:
    steps = definition_of(FULL).steps
    assert [s.kind for s in steps] == [StepKind.ACTIVITY, StepKind.APPROVAL, StepKind.WAIT]
    assert isinstance(steps[0].config, ActivityConfig)
    assert isinstance(steps[1].config, ApprovalConfig)
    assert [s.is_skippable for s in steps] == [True, False, True]
    assert [s.good_outcome for s in steps] == ["succeeded", "approved", "elapsed"]


@pytest.mark.parametrize("value", [2**53, float("nan"), float("inf"), {"a": b"x"}, {1: 2}])
def test_what_readers_would_not_agree_on_has_no_digest(value: Any) -> None:
    with pytest.raises(InvalidInput, match="Expected JSON that every machine reads alike"):
        digest_of(value)


def test_the_canonical_form_is_that_of_rfc_8785() -> None:
    assert canonical_json({"b": 1.0, "a": [1e21, "é\n", None], "€": 0.1}) == (
        '{"a":[1e+21,"é\\n",null],"b":1,"€":0.1}'.encode()
    )
    assert digest_of({}) == "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
