"""Runs through the real engine on real SQLite: the main story, retries, skips, evidence, double clicks."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from signoff import errors
from tests.engine.office import TENANT, Office, ask, call, chain, person

AMOUNT = [{"name": "amount", "type": "number"}]


def test_the_main_story(office: Office) -> None:
    office.publish(chain("buy", call("check"), ask("manager"), call("order"), input=AMOUNT))
    run_id = office.start("buy", amount=12)
    office.until_step(run_id, "manager", "waiting")
    item = office.signoff.queries.list_inbox(TENANT, "grace").items[0]
    assert (item.run_id, item.shown, item.may_decide) == (run_id, {"amount": 12.0}, True)
    office.decide(run_id, "manager", "grace", comment="fine")
    view = office.until_status(run_id, "succeeded")
    assert view.state.outputs["manager"] == {"outcome": "approved", "decided_by": ["grace"], "comment": "fine"}
    assert office.types(run_id)[-1] == "run.ended"
    assert office.signoff.queries.list_inbox(TENANT, "alan").items == ()


def test_the_same_key_starts_one_run_and_another_input_is_refused(office: Office) -> None:
    """C29."""
    office.publish(chain("buy", ask("manager"), input=AMOUNT))
    with ThreadPoolExecutor(5) as pool:
        ids = list(pool.map(lambda _: office.start("buy", key="k", amount=1), range(5)))
    assert len(set(ids)) == 1
    with pytest.raises(errors.Conflict, match="used for another request"):
        office.start("buy", key="k", amount=2)
    assert len({office.start("buy", amount=1) for _ in range(5)}) == 5
    assert len(office.signoff.queries.list_runs(TENANT).items) == 6


def test_bad_input_starts_nothing_and_names_every_field(office: Office) -> None:
    office.publish(chain("buy", ask("manager"), input=[*AMOUNT, {"name": "item"}]))
    with pytest.raises(errors.InvalidInput) as caught:
        office.start("buy", amount="much")
    assert {p["field"] for p in caught.value.problems} == {"amount", "item"}
    assert office.signoff.queries.list_runs(TENANT).items == ()


def test_a_failure_stalls_and_a_retry_repeats_only_the_failed_step(office: Office) -> None:
    """C22: A -> (B, C) -> D."""
    steps = [call("a"), call("b"), call("c", "flaky"), call("d")]
    document = chain("fan", *steps)
    document["edges"] = [{"from": x, "to": y} for x, y in (("a", "b"), ("a", "c"), ("b", "d"), ("c", "d"))]
    office.publish(document)
    office.connectors.broken.add("c")
    run_id = office.start("fan")
    before = office.until_status(run_id, "stalled")
    assert "c is broken" in before.explanation.sentence
    assert before.explanation.of("c").actions == ("retry_step", "skip_step", "complete_step")
    office.connectors.broken.clear()
    office.signoff.operate("retry_step", person("katherine"), TENANT, run_id, step="c", reason="mended")
    after = office.until_status(run_id, "succeeded")
    assert [office.connectors.count(s) for s in "abcd"] == [1, 1, 2, 1]
    assert after.state.steps["a"].since == before.state.steps["a"].since
    keys = {c.key for c in office.connectors.calls if c.step == "c"}
    assert len(keys) == 1, "the idempotency key is the same over operator retries of a round"


def test_skipping_needs_a_reason_a_role_and_shows_as_skipped(office: Office) -> None:
    """C21."""
    output = [{"name": "copied", "type": "integer"}]
    office.publish(
        chain(
            "copy",
            call("copy_files", "flaky", output=output),
            call("tell", input={"n": "=steps.copy_files.output.copied"}),
        )
    )
    office.connectors.broken.add("copy_files")
    run_id = office.start("copy")
    office.until_status(run_id, "stalled")
    operate = office.signoff.operate
    with pytest.raises(errors.Refused, match="reason"):
        operate("skip_step", person("katherine"), TENANT, run_id, step="copy_files", reason=" ")
    with pytest.raises(errors.Forbidden, match="operator"):
        operate("skip_step", person("dan"), TENANT, run_id, step="copy_files", reason="by hand")
    with pytest.raises(errors.Refused, match=r"not a whole number|not a number"):
        operate(
            "skip_step", person("katherine"), TENANT, run_id, step="copy_files", reason="x", output={"copied": "all"}
        )
    operate("skip_step", person("katherine"), TENANT, run_id, step="copy_files", reason="by hand", output={"copied": 7})
    view = office.until_status(run_id, "succeeded")
    assert view.state.steps["copy_files"].status == "skipped"
    assert [c.input for c in office.connectors.calls if c.step == "tell"] == [{"n": 7}]
    skipped = next(e for e in office.signoff.queries.list_events(TENANT, run_id) if e.type == "step.skipped")
    assert (skipped.actor, skipped.data["reason"]) == ("Katherine", "by hand")


def test_two_clicks_on_retry_make_one_attempt(office: Office) -> None:
    """C24."""
    office.publish(chain("one", call("a", "flaky")))
    office.connectors.broken.add("a")
    run_id = office.start("one")
    seen = office.until_status(run_id, "stalled").state.sequence
    answers: list[Any] = []

    def click(key: str) -> None:
        try:
            answers.append(
                office.signoff.operate(
                    "retry_step",
                    person("katherine"),
                    TENANT,
                    run_id,
                    step="a",
                    reason="again",
                    seen_sequence=seen,
                    idempotency_key=key,
                )
            )
        except errors.Refused as error:
            answers.append(error)

    threads = [threading.Thread(target=click, args=(k,)) for k in ("same", "same", "other")]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    office.until_status(run_id, "stalled")
    assert office.types(run_id).count("step.retried") == 1
    assert office.connectors.count("a") == 2
    office.signoff.operate("terminate_run", person("katherine"), TENANT, run_id, reason="enough")
    with pytest.raises(errors.Refused, match="has ended as terminated"):
        office.signoff.operate("retry_step", person("katherine"), TENANT, run_id, step="a", reason="again")
    assert office.types(run_id).count("step.retried") == 1


def test_a_wrong_value_is_a_visible_error_that_edit_input_mends(office: Office) -> None:
    fields = [{"name": "order", "type": "object"}]
    office.publish(chain("buy", call("check", input={"amount": "=input.order.amount"}), input=fields))
    run_id = office.start("buy", order={})
    view = office.until_status(run_id, "stalled")
    assert view.state.steps["check"].error is not None
    assert "'amount' is missing" in view.explanation.sentence
    office.signoff.operate(
        "edit_input", person("katherine"), TENANT, run_id, reason="typo", input={"order": {"amount": 5}}
    )
    office.signoff.operate("retry_step", person("katherine"), TENANT, run_id, step="check", reason="mended")
    office.until_status(run_id, "succeeded")
    assert office.connectors.calls[0].input == {"amount": 5}


def test_a_pause_holds_new_work_back_until_it_is_resumed(office: Office) -> None:
    office.publish(chain("two", call("a", "slow"), call("b")))
    run_id = office.start("two")
    assert office.connectors.begun.acquire(timeout=10)
    office.signoff.operate("pause_run", person("katherine"), TENANT, run_id, reason="audit")
    office.connectors.let_go.set()
    view = office.until_step(run_id, "b", "scheduled")
    assert view.row.status == "paused"
    assert [a.status for a in office.signoff.queries.list_attempts(TENANT, run_id)] == ["succeeded", "held"]
    office.signoff.operate("resume_run", person("katherine"), TENANT, run_id, reason="done")
    office.until_status(run_id, "succeeded")
    assert office.connectors.count("b") == 1


def test_cancel_awaits_what_runs_and_stops_what_has_not_begun(office: Office) -> None:
    office.publish(chain("two", call("a", "slow"), call("b")))
    run_id = office.start("two")
    assert office.connectors.begun.acquire(timeout=10)
    answer = office.signoff.operate("cancel_run", person("katherine"), TENANT, run_id, reason="not needed")
    assert answer["status"] == "cancelling"
    office.connectors.let_go.set()
    view = office.until_status(run_id, "cancelled")
    assert (view.state.steps["a"].status, view.state.steps["b"].status) == ("succeeded", "cancelled")
    assert office.connectors.count("b") == 0


def test_a_late_result_is_evidence_and_changes_nothing(office: Office) -> None:
    office.publish(chain("one", call("a", "slow")))
    run_id = office.start("one")
    assert office.connectors.begun.acquire(timeout=10)
    office.signoff.operate("terminate_run", person("katherine"), TENANT, run_id, reason="stop")
    office.connectors.let_go.set()
    view = office.until(run_id, lambda v: office.evidence(run_id) == ["run_over"])
    assert view.row.status == "terminated"
    assert view.state.steps["a"].outcome == ""


def test_output_that_is_not_json_fails_the_attempt_with_a_sentence(office: Office) -> None:
    office.connectors["bad"] = lambda call: {"thing": object()}
    office.publish(chain("one", call("a", "bad")))
    view = office.until_status(office.start("one"), "stalled")
    assert "not JSON" in view.explanation.sentence


def test_a_body_that_is_too_large_names_the_step(office: Office) -> None:
    office.connectors["huge"] = lambda call: {"text": "x" * 1_200_000}
    office.publish(chain("one", call("a", "huge")))
    view = office.until_status(office.start("one"), "stalled")
    assert "output of 'A'" in view.explanation.sentence
    assert "larger than 1000000" in view.explanation.sentence


def test_large_bodies_survive_beside_their_events(office: Office) -> None:
    office.connectors["long"] = lambda call: {"text": "ü" * 5_000}
    office.publish(chain("two", call("a", "long"), call("b", input={"text": "=steps.a.output.text"})))
    run_id = office.start("two")
    office.until_status(run_id, "succeeded")
    assert office.connectors.calls[0].input == {"text": "ü" * 5_000}


def test_work_is_sent_back_for_another_round(office: Office) -> None:
    """Votes of the old round stay readable and never count; the key of the round is new."""
    document = chain("buy", call("prepare"), ask("manager", required=2, returns_to=["prepare"]), call("order"))
    office.publish(document)
    run_id = office.start("buy")
    office.until_step(run_id, "manager", "waiting")
    item = office.signoff.queries.find_task(TENANT, "grace", run_id, "manager")
    assert item is not None
    assert item.returns_to == (("prepare", "Prepare"),)
    office.decide(run_id, "manager", "grace")
    office.decide(run_id, "manager", "alan", outcome="returned", comment="two offers, please")
    view = office.until(
        run_id, lambda v: v.state.steps["manager"].round == 2 and v.state.steps["manager"].status == "waiting"
    )
    assert view.state.steps["manager"].approval is not None
    assert view.state.steps["manager"].approval.votes == ()
    assert office.connectors.count("prepare") == 2
    assert len({c.key for c in office.connectors.calls if c.step == "prepare"}) == 2
    assert "two offers" in " ".join(e.sentence for e in office.signoff.queries.list_events(TENANT, run_id))
    with pytest.raises(errors.Refused, match="changed while you were reading"):
        office.decide(run_id, "manager", "edith", generation=1)
    for who in ("grace", "alan"):
        office.decide(run_id, "manager", who)
    office.until_status(run_id, "succeeded")


def test_every_event_has_a_sentence_of_its_own() -> None:
    """No history shows a wire name where a sentence belongs."""
    import inspect

    from signoff.core.events import ALL_EVENTS
    from signoff.engine import sentences

    source = inspect.getsource(sentences)
    assert [e.__name__ for e in ALL_EVENTS if f"e.{e.__name__}()" not in source] == []


def test_what_was_done_is_undone_in_reverse_by_real_workers(office: Office) -> None:
    undo = {"effect": "compensatable", "compensation": {"connector": "ok", "input": {"undo": "=run.id"}}}
    last = call("c", "flaky", retry={"max_attempts": 1})
    process = chain("trip", call("a", "ok", **undo), call("b", "ok", **undo), last)
    process["policies"] = {"failure": "compensate"}
    office.connectors.broken.add("c")
    office.publish(process)
    run_id = office.start("trip")
    view = office.until_status(run_id, "failed")
    assert {i: str(s.status) for i, s in view.state.steps.items()} == {
        "a": "compensated",
        "b": "compensated",
        "c": "failed",
    }
    undone = [x.key for x in office.connectors.calls if x.key.endswith("/undo")]
    assert undone == [f"{run_id}/b/1/1/undo", f"{run_id}/a/1/1/undo"]
    office.check_replay()


def test_cancelling_with_compensation_over_the_wire(office: Office) -> None:
    undo = {"effect": "compensatable", "compensation": {"connector": "ok"}}
    office.publish(chain("trip", call("a", "ok", **undo), {"id": "w", "kind": "wait", "duration": "P1D"}))
    run_id = office.start("trip")
    office.until_step(run_id, "w", "waiting")
    with pytest.raises(errors.InvalidInput, match="compensate"):
        office.signoff.operate("cancel_run", person("katherine"), TENANT, run_id, reason="No.", compensate="yes")
    office.signoff.operate("cancel_run", person("katherine"), TENANT, run_id, reason="No.", compensate=True)
    view = office.until_status(run_id, "cancelled")
    assert (view.state.steps["a"].status, view.state.steps["w"].status) == ("compensated", "cancelled")


def test_a_text_with_nul_is_refused(office: Office) -> None:
    """No database text can be relied on to hold one; values of runs can, they are JSON."""
    office.publish(chain("works", call("a"), input=[{"name": "n"}]))
    with pytest.raises(errors.InvalidInput, match="NUL"):
        office.start("wor\0ks")
    with pytest.raises(errors.InvalidInput, match="NUL"):
        office.start("works", key="k\0", n="x")
    run_id = office.start("works", n="a\0b")
    office.until_status(run_id, "succeeded")
    assert office.view(run_id).state.input == {"n": "a\0b"}
    assert office.signoff.queries.list_runs(TENANT, text="\0").items == ()
