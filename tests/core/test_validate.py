"""Every problem code has a document that shows it, with a sentence, a remedy and a place; all come at once."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from signoff.core.definition import MAX_STEPS
from signoff.core.document import read_document
from signoff.core.plan import compile_plan
from signoff.core.problem import Problem
from signoff.core.validate import Surroundings, is_publishable, validate
from tests.core.kit import JSON, activity, approval, document, edge, wait

AROUND = Surroundings(
    connectors=frozenset({"python:work", "http"}),
    groups=frozenset({"team", "void"}),
    group_sizes={"team": 3, "void": 0},
    people=frozenset({"ann"}),
)
A, B = activity("a"), activity("b")


def problems_of(doc: object, around: Surroundings = AROUND) -> tuple[Problem, ...]:
    definition, form = read_document(doc)
    return form if definition is None else (*form, *validate(definition, around))


def work(**more: Any) -> JSON:
    return document(activity("a", **more))


def field(**more: Any) -> JSON:
    return document(A, input=[{"name": "x", **more}])


def cond(when: str, **more: Any) -> JSON:
    form = [{"name": "n", "type": "number"}, {"name": "t"}, {"name": "o", "required": False}]
    return document(A, B, edges=[edge("a>b", when=when, **more), edge("a:failed>b")], input=form)


def listed(when: str) -> JSON:
    return {**cond(when), "input": [{"name": "rows", "type": "list"}]}


def typed(when: str, ask: bool = False) -> JSON:
    """A condition behind a step that says what it gives, or behind an approval."""
    made = [{"name": "n", "type": "integer"}, {"name": "t"}, {"name": "o", "required": False}]
    first = approval("p") if ask else activity("a", output=made)
    when = when.replace("steps.a", "steps.p") if ask else when
    link = f"{first['id']}>b"
    return document(first, B, edges=[edge(link, when=when), edge(link.replace(">b", ":failed>b"))][: 1 if ask else 2])


TABLE: list[tuple[str, object]] = [
    ("wrong_type", []),
    ("wrong_type", "text"),
    ("wrong_type", {**document(A), "steps": {}}),
    ("wrong_type", {**document(A), "name": 5}),
    ("wrong_type", document("a")),  # type: ignore[arg-type]
    ("wrong_type", work(priority=1.5)),
    ("wrong_type", work(priority=True)),
    ("wrong_type", work(priority=2**53)),
    ("wrong_type", work(retry={"initial_s": "5"})),
    ("wrong_type", work(retry=[])),
    ("wrong_type", work(effect="sometimes")),
    ("wrong_type", work(join=["any"])),
    ("wrong_type", work(label="\ud800")),
    ("wrong_type", document(approval("p", groups=("team",), people="ann"))),
    ("wrong_type", document(A, edges=["a>b"])),  # type: ignore[list-item]
    ("bad_value", work(input={"n": 2**60})),
    ("bad_value", work(input={"n": "\ud800"})),
    ("unknown_kind", document({"id": "a", "kind": "robot"})),
    ("unknown_kind", document({"id": "a"})),
    ("unknown_kind", document({"id": "a", "kind": ["activity"]})),
    ("unknown_key", work(colour="red")),
    ("unknown_key", {**document(A), "layout": {}}),
    ("unknown_format", {**document(A), "format": "signoff/9"}),
    ("missing_key", {"steps": []}),
    ("missing_key", document({"kind": "activity", "label": "A"})),
    ("missing_key", document(A, edges=[{"from": "a"}])),
    ("bad_name", document(A, name="My process")),
    ("bad_name", document(A, name="x" * 64)),
    ("bad_title", document(A, title=" ")),
    ("no_steps", document()),
    ("too_many_steps", document(*(activity(f"s{i}") for i in range(MAX_STEPS + 1)))),
    (
        "too_deep",
        document(*(activity(f"s{i}") for i in range(21)), edges=" ".join(f"s{i}>s{i + 1}" for i in range(20))),
    ),
    ("unknown_zone", document(A, policies={"zone": "Mars/Olympus"})),
    ("duplicate_step", document(A, A)),
    ("bad_step_id", document(activity("A-1"))),
    ("bad_label", work(label="")),
    ("bad_label", work(label="x" * 401)),
    ("bad_field", document(A, input=[{"name": "Full name"}])),
    ("duplicate_field", document(A, input=[{"name": "x"}, {"name": "x"}])),
    ("no_options", field(type="choice")),
    ("empty_range", field(type="number", minimum=5, maximum=4)),
    ("unknown_step", document(A, edges="a>nowhere")),
    ("unreachable", document(A, B, edges="nowhere>b")),
    ("unconnected", document(A, B)),
    ("duplicate_edge", document(A, B, edges="a>b a>b")),
    ("duplicate_edge", document(A, B, edges="a>b a:succeeded>b")),
    ("unknown_outcome", document(A, B, edges="a:rejected>b")),
    ("unknown_outcome", document(approval("p", comment_required_on=["failed"]))),
    ("otherwise_with_when", cond("input.n > 1.0", otherwise=True)),
    ("lonely_otherwise", document(A, B, edges=[edge("a>b", otherwise=True)])),
    ("lonely_otherwise", document(A, B, edges=[edge("a>b", otherwise=True), edge("a:failed>b", when="true")])),
    ("cycle", document(A, B, edges="a>b b>a")),
    ("cycle", document(A, edges="a>a")),
    ("may_end_here", cond("input.n > 1.0")),
    ("joins_without", document(A, B, activity("c"), activity("d"), edges="a>c b>c a:failed>d")),
    ("bad_expression", cond("input.n >")),
    ("bad_expression", work(input={"x": "=1 +"})),
    ("bad_expression", document(approval("p", shows={"X": "=nonsense"}))),
    ("bad_expression", document(wait("w", until="=1 +"))),
    ("unknown_input", cond("input.amount > 1.0")),
    ("unknown_name", cond("steps.c.output.x == 1")),
    ("unknown_name", cond("steps.a.result == 1")),
    ("not_yet_known", cond("steps.b.output.x == 1")),
    ("not_yet_known", work(input={"x": "=steps.a.output"})),
    (
        "unknown_output",
        document(activity("a", output=[{"name": "n"}]), activity("b", input={"x": "=steps.a.output.m"}), edges="a>b"),
    ),
    ("type_mismatch", cond("input.t > 5")),
    ("type_mismatch", cond("input.n")),
    ("type_mismatch", cond("input.n + input.t == 'x'")),
    ("type_mismatch", listed("input.rows + 1 == 2")),
    ("type_mismatch", typed("steps.a.output.t > 5")),
    ("type_mismatch", typed("steps.a.output.n")),
    ("type_mismatch", typed("steps.a.outcome > 5")),
    ("type_mismatch", typed("steps.p.output.comment > 1", ask=True)),
    ("type_mismatch", typed("steps.p.output.decided_by == 1 || steps.p.output.outcome", ask=True)),
    (
        "type_mismatch",
        document(
            activity("a", output=[{"name": "n", "type": "integer"}]),
            activity("b", for_each={"items": "steps.a.output.n"}),
            edges="a>b",
        ),
    ),
    ("unknown_output", typed("steps.p.output.verdict == 'x'", ask=True)),
    ("no_connector", work(connector="")),
    ("missing_connector", work(connector="fax")),
    ("bad_retry", work(retry={"max_attempts": 0})),
    ("bad_retry", work(retry={"max_attempts": 101})),
    ("bad_retry", work(retry={"initial_s": -1})),
    ("bad_retry", work(retry={"multiplier": 0.5})),
    ("bad_retry", work(retry={"jitter": 1.5})),
    ("bad_retry", work(retry={"cap_s": 1e12})),
    ("bad_timeout", work(timeouts={"run_s": 0})),
    ("bad_timeout", work(timeouts={"run_s": 1e15})),
    ("bad_timeout", work(timeouts={"heartbeat_s": 0.5})),
    ("bad_timeout", work(timeouts={"queue_s": 0})),
    ("timeout_too_short", work(retry={"total_s": 30}, timeouts={"run_s": 60})),
    ("plain_secret", work(input={"password": "hunter2"})),
    ("plain_secret", work(input={"headers": {"Authorization": "Bearer abcdefghijklmnop1234"}})),
    ("plain_secret", work(input={"x": ["-----BEGIN RSA PRIVATE KEY-----"]})),
    ("unused_skip_rule", work(skip={"allowed": False, "needs_output": True})),
    ("unused_skip_rule", document(approval("p", skip={"condition": "true"}))),
    ("no_approvers", document(approval("p", ()))),
    ("unknown_group", document(approval("p", ("ghosts",)))),
    ("empty_group", document(approval("p", ("void",)))),
    ("unknown_person", document(approval("p", (), people=["zoe"]))),
    ("bad_quorum", document(approval("p", required=-1))),
    ("quorum_unreachable", document(approval("p", (), people=["ann", "ANN"], required=2))),
    ("bad_return", document(approval("p", returns_to=["p"]))),
    ("bad_return", document(A, approval("p", returns_to=["a"]), edges="p>a")),
    ("bad_return", document(A, approval("p", returns_to=["nowhere"]), edges="a>p")),
    ("bad_separation", document(approval("p", deciders_differ_from=["p"]))),
    ("bad_separation", document(A, approval("p", deciders_differ_from=["a"]), edges="a>p")),
    ("bad_separation", document(approval("p", deciders_differ_from=["q"]), approval("q"), edges="p>q")),
    ("bad_rounds", document(approval("p", max_rounds=0))),
    ("bad_duration", document(approval("p", expires="3 days"))),
    ("bad_duration", document(wait("w", "PT0S"))),
    ("bad_wait", document(wait("w", ""))),
    ("bad_wait", document({**wait("w"), "until": "2027-01-01T00:00"})),
    ("bad_time", document(wait("w", until="next Tuesday"))),
]
WARNINGS = {"unconnected", "may_end_here", "joins_without"}


@pytest.mark.parametrize(("code", "doc"), TABLE, ids=lambda v: v if isinstance(v, str) else "")
def test_one_bad_document_per_code(code: str, doc: object) -> None:
    found = problems_of(doc)
    assert code in {p.code for p in found}, [p.sentence for p in found]
    for p in found:
        assert p.message.endswith("."), p
        assert p.remedy.endswith("."), p
        assert p.code in {c for c, _ in TABLE}, "a code without a document of its own"
        assert p.severity == ("warning" if p.code in WARNINGS else "error")
    assert is_publishable(found) == ({p.code for p in found} <= WARNINGS)


def test_the_sentences_name_steps_by_their_label() -> None:
    doc = document(activity("a", label="Check"), activity("b", label="Pay"), edges="a>b b>a")
    cycle = next(p for p in problems_of(doc) if p.code == "cycle")
    assert cycle.message == "The steps form a cycle: Check → Pay → Check."
    (bad,) = [p for p in problems_of(cond("input.n >")) if p.code == "bad_expression"]
    assert bad.edge == "a>b"
    assert bad.position == 9
    assert bad.message.startswith("In the condition from 'A' to 'B': ")
    over = problems_of(document(*(activity(f"s{i}") for i in range(22))))
    assert "Over the limit: 'S20', 'S21'." in next(p.message for p in over if p.code == "too_many_steps")


def test_all_problems_at_once() -> None:
    doc = document(
        activity("a", connector="fax", colour="red", input={"x": "=input.gone", "token": "abc"}),
        approval("p", ("ghosts",), expires="soon"),
        wait("w", until="=1 +"),
        edges="a>p p>a p:failed>nowhere",
        name="Bad Name",
        policies={"zone": "Nowhere"},
    )
    assert {p.code for p in problems_of(doc)} >= {
        "unknown_key", "bad_name", "unknown_zone", "unknown_step", "unknown_outcome", "cycle", "unknown_input",
        "plain_secret", "bad_expression", "missing_connector", "unknown_group", "bad_duration",
    }  # fmt: skip


def test_what_is_not_known_here_is_not_checked() -> None:
    doc = document(activity("a", connector="fax"), approval("p", ("ghosts",), people=["zoe"]), edges="a>p")
    assert problems_of(doc, Surroundings()) == ()


MAYBE_RIGHT = (
    "input.n > 1.0",
    "input.n > 1",
    "input.t == 'x'",
    "int(input.t) > 5",
    "input.o == 'x'",
    "size(input.t) > 2",
    "1.0 / input.n > 2.0",
    "has(input.o) && input.o > 5",
    "steps.a.output.anything > 1",
    "has(steps.a.output.ok) ? steps.a.output.ok : input.t",
)


@pytest.mark.parametrize("when", MAYBE_RIGHT)
def test_what_may_be_right_is_not_called_wrong(when: str) -> None:
    assert is_publishable(problems_of(cond(when)))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
KEYS = "id kind label connector input retry join skip groups expires duration until on when from to otherwise".split()
WORDS = st.sampled_from(["a", "b", "activity", "approval", "wait", "any", "=input.x", "=1 +", "PT1H", ">", ""])
loose = st.dictionaries(st.sampled_from(KEYS), WORDS | json_values, max_size=6)


@settings(deadline=None, max_examples=300, suppress_health_check=list(HealthCheck))
@given(
    json_values
    | st.fixed_dictionaries(
        {"name": st.just("a") | json_values, "steps": st.lists(loose, max_size=4) | json_values},
        optional={
            "edges": st.lists(loose, max_size=4),
            "input": json_values,
            "policies": json_values,
            "title": json_values,
        },
    )
)
def test_fuzz_any_document_gets_an_answer(doc: object) -> None:
    """Reading and validating never raise; what has no problem can be compiled."""
    definition, form = read_document(doc)
    if definition is None:
        assert form
        return
    found = (*form, *validate(definition, AROUND))
    if is_publishable(found):
        compile_plan(definition, "sha256:0", 1)


@pytest.mark.parametrize(
    "when",
    [
        "steps.a.output.n > 5",
        "steps.a.output.t == 'x' && steps.a.outcome == 'succeeded'",
        "steps.a.output.o > 5",
        "steps.a.output != null",
        "has(steps.a.output.t)",
        "steps.a.error.code == ''",
    ],
)
def test_conditions_that_may_hold_are_let_through(when: str) -> None:
    """Optional values, whole outputs and faults that depend on the value say nothing before the run."""
    assert [p.code for p in problems_of(typed(when)) if p.severity == "error"] == []


@pytest.mark.parametrize("when", ["size(input.rows) > 0", "input.rows[0].n > 1", "input.rows.all(r, r.n > 1)"])
def test_what_a_list_holds_is_not_known(when: str) -> None:
    assert [p.code for p in problems_of(listed(when)) if p.severity == "error"] == []
