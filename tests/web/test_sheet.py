"""The draft on the drawing board: every edit keeps it readable, undoable and mendable."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signoff.core.definition import MAX_STEPS, ApprovalConfig, Definition, StepKind
from signoff.core.document import read_document, write_document
from signoff.core.rejection import Rejection
from signoff.core.validate import NAME, Surroundings, is_publishable
from signoff.web.models import renaming
from signoff.web.models import sheet as board
from signoff.web.models.naming import identifier
from signoff.web.models.sheet import Sheet
from signoff.web.models.undo import Undo
from tests.web.office import PURCHASE


def opened(document: dict[str, Any] = PURCHASE) -> Sheet:
    sheet, problems = board.open_sheet(document, {})
    assert sheet is not None
    assert problems == ()
    return sheet


def made(result: Sheet | Rejection) -> Sheet:
    assert isinstance(result, Sheet), result
    return result


def chain(*labels: str) -> Sheet:
    """Activities in a row."""
    sheet = Sheet(Definition("chain", "Chain"))
    for label in labels:
        sheet = made(board.add_step(sheet, StepKind.ACTIVITY, after=board.last_added(sheet)))
        sheet = renaming.relabel(sheet, board.last_added(sheet), label)
    return sheet


def keys(sheet: Sheet) -> set[str]:
    return {e.key for e in sheet.definition.edges}


def test_steps_get_identifiers_from_their_labels() -> None:
    sheet = chain("Prüfe die Rechnung", "Übergabe", "日本")
    assert [s.id for s in sheet.definition.steps] == ["prufe_die_rechnung", "ubergabe", "step"]
    assert keys(sheet) == {"prufe_die_rechnung>ubergabe", "ubergabe>step"}


@given(st.text(max_size=300), st.sets(st.sampled_from(["step", "a", "b_2", "x"])))
def test_every_identifier_is_a_name_and_free(label: str, taken: set[str]) -> None:
    made_name = identifier(label, taken)
    assert NAME.fullmatch(made_name)
    assert made_name not in taken


def test_a_twenty_first_step_is_refused_with_a_sentence() -> None:
    sheet = chain(*(f"Step number {chr(97 + i)}" for i in range(MAX_STEPS)))
    refused = board.add_step(sheet, StepKind.WAIT)
    assert isinstance(refused, Rejection)
    assert "20 steps; at most 20" in refused.message


def test_a_cycle_is_refused_in_the_words_of_validation() -> None:
    refused = board.connect(chain("A", "B", "C"), "c", "a")
    assert isinstance(refused, Rejection)
    assert refused.message == "The steps form a cycle: A → B → C → A."


def test_the_same_connection_twice_is_refused() -> None:
    refused = board.connect(chain("A", "B"), "a", "b", "succeeded")
    assert isinstance(refused, Rejection)
    assert "'A' and 'B' are connected twice" in refused.message


def test_deleting_a_middle_step_connects_its_neighbours_and_names_what_is_loose() -> None:
    """Case C32: A -> B -> C with a condition that uses B's output."""
    sheet = chain("A", "B", "C")
    sheet = made(board.change_edge(sheet, "b>c", when="steps.b.output.ok == true"))
    line = Undo(sheet)
    line.push(board.remove(sheet, ["b"], {"a>b", "b>c"}))
    assert keys(line.current) == {"a>c"}
    assert keys(line.undo()) == {"a>b", "b>c"}
    line.redo()
    loose = board.change_config(line.current, "c", connector="x", input={"ok": "=steps.b.output.ok"})
    sentences = [p.sentence for p in board.problems_of(loose, Surroundings())]
    assert any("input ok of 'C': there is no step 'b'" in s for s in sentences)


def test_a_new_identifier_is_followed_by_edges_places_and_expressions() -> None:
    sheet = made(renaming.rename_step(opened(), "order", "purchase_order"))
    sheet = board.change_config(sheet, "tell", input={"n": "=steps.purchase_order.output.number"})
    again = made(renaming.rename_step(sheet, "purchase_order", "po"))
    assert {"approve>po", "po>tell"} <= keys(again)
    tell = again.definition.find_step("tell")
    assert tell is not None
    assert tell.config.input == {"n": "=steps.po.output.number"}  # type: ignore[union-attr]
    assert set(again.positions) == {"check", "approve", "po", "tell"}
    assert is_publishable(board.problems_of(again, Surroundings()))


def test_approvals_follow_the_new_name_of_a_step_they_name() -> None:
    sheet = board.change_config(opened(), "approve", returns_to=("check",), deciders_differ_from=("check",))
    approve = made(renaming.rename_step(sheet, "check", "look")).definition.find_step("approve")
    assert approve is not None
    assert isinstance(approve.config, ApprovalConfig)
    assert (approve.config.returns_to, approve.config.deciders_differ_from) == (("look",), ("look",))


@pytest.mark.parametrize("wrong", ["Order", "1st", "", "tell"])
def test_a_wrong_identifier_is_refused(wrong: str) -> None:
    assert isinstance(renaming.rename_step(opened(), "order", wrong), Rejection)


def test_relabelling_keeps_an_identifier_that_somebody_chose() -> None:
    sheet = made(renaming.rename_step(chain("A"), "a", "chosen"))
    assert renaming.relabel(sheet, "chosen", "Other").definition.steps[0].id == "chosen"


EDITS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.sampled_from(list(board.NEW_LABELS)), st.integers(0, 9)),
        st.tuples(st.just("connect"), st.integers(0, 9), st.integers(0, 9)),
        st.tuples(st.just("remove"), st.integers(0, 9), st.just(0)),
        st.tuples(st.just("relabel"), st.integers(0, 9), st.text(max_size=30)),
        st.tuples(st.just("arrange"), st.just(0), st.just(0)),
    ),
    max_size=25,
)


def carried_out(sheet: Sheet, edit: tuple[str, Any, Any]) -> Sheet:
    ids = [s.id for s in sheet.definition.steps]
    what, a, b = edit

    def pick(i: int) -> str:
        return ids[i % len(ids)] if ids else ""

    match what:
        case "add":
            result = board.add_step(sheet, a, after=pick(b))
        case "connect":
            result = board.connect(sheet, pick(a), pick(b), "")
        case "remove":
            result = board.remove(sheet, [pick(a)])
        case "relabel":
            result = renaming.relabel(sheet, pick(a), b)
        case _:
            result = board.arrange(sheet)
    return sheet if isinstance(result, Rejection) else result


@given(EDITS)
def test_any_edits_keep_the_draft_whole_and_undo_brings_back_each_step(edits: list[tuple[str, Any, Any]]) -> None:
    line = Undo(Sheet(Definition("d", "D")), limit=1_000)
    seen = [line.current]
    for edit in edits:
        if line.push(carried_out(line.current, edit)):
            seen.append(line.current)
        sheet = line.current
        again, problems = read_document(write_document(sheet.definition))
        assert again == sheet.definition
        assert problems == ()
        codes = {p.code for p in board.problems_of(sheet, Surroundings())}
        assert not codes & {
            "cycle",
            "duplicate_edge",
            "duplicate_step",
            "unknown_step",
            "bad_step_id",
            "too_many_steps",
        }
        assert set(sheet.positions) == {s.id for s in sheet.definition.steps}
        assert len(set(sheet.positions.values())) == len(sheet.positions), "two steps lie on one place"
    for state in reversed(seen[:-1]):
        assert line.undo() == state
    for state in seen[1:]:
        assert line.redo() == state
    assert not line.can_redo


def test_a_layout_survives_storing() -> None:
    sheet = board.move(opened(), {"order": (12.34, -5.0), "nobody": (1.0, 1.0)})
    again, _ = board.open_sheet(sheet.document(), sheet.layout())
    assert again == sheet
