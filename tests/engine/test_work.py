"""Dead letters, and what work under way reports: through the real engine, worker and store."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from signoff import errors
from signoff.connectors.call import ActivityError, Call
from signoff.runtime.local import LocalLink
from tests.engine.office import TENANT, Clock, Connectors, Office, call, chain, open_office, person

ONCE = {"max_attempts": 1}


def letters(office: Office) -> list[tuple[str, str, int]]:
    page = office.signoff.queries.list_dead_letters(TENANT)
    return [(x.step, x.code, x.attempts) for x in page.items]


def test_work_that_failed_for_good_is_a_dead_letter_until_it_is_replayed(office: Office) -> None:
    office.publish(chain("buy", call("a"), call("b", "flaky")))
    office.connectors.broken.add("b")
    run_id = office.start("buy")
    office.until_status(run_id, "stalled")
    assert letters(office) == [("b", "broken", 1)]
    assert office.signoff.queries.count_dead_letters(TENANT) == 1
    letter = office.signoff.queries.list_dead_letters(TENANT, definition="buy").items[0]
    assert (letter.run_id, letter.label, letter.message) == (run_id, "B", "b is broken.")
    assert office.signoff.queries.list_dead_letters(TENANT, definition="other").items == ()
    olga = person("katherine")
    with pytest.raises(errors.Forbidden, match="replay a dead letter"):
        office.signoff.operate("replay_dead_letter", person("dan"), TENANT, run_id, step="b", reason="again")
    with pytest.raises(errors.Refused, match="there is none"):
        office.signoff.operate("replay_dead_letter", olga, TENANT, run_id, step="a", reason="again")
    with pytest.raises(errors.Refused, match="changed"):
        office.signoff.operate("replay_dead_letter", olga, TENANT, run_id, step="b", reason="again", seen_sequence=2)
    office.connectors.broken.clear()
    office.signoff.operate("replay_dead_letter", olga, TENANT, run_id, step="b", reason="mended")
    office.until_status(run_id, "succeeded")
    assert letters(office) == []
    first, second = (c for c in office.connectors.calls if c.step == "b")
    assert first.key == second.key


def test_what_a_process_handles_and_what_is_over_is_no_dead_letter(office: Office) -> None:
    office.connectors.broken.add("b")
    handled = chain("handled", call("b", "flaky"), call("mend"))
    handled["edges"] = [{"from": "b", "to": "mend", "on": "failed"}]
    office.publish(handled)
    office.until_status(office.start("handled"), "succeeded")
    office.publish(chain("fails", call("b", "flaky"), policies={"failure": "fail"}))
    office.until_status(office.start("fails"), "failed")
    office.publish(chain("stalls", call("b", "flaky")))
    run_id = office.start("stalls")
    office.until_status(run_id, "stalled")
    assert len(letters(office)) == 1
    office.signoff.operate("cancel_run", person("katherine"), TENANT, run_id, reason="never mind")
    assert letters(office) == []


def test_workers_that_die_of_it_use_up_the_attempts(tmp_path: Path) -> None:
    clock = Clock()
    with open_office(tmp_path, now=clock, slots=0, services=False) as office:
        office.publish(chain("poison", call("a", retry={"max_attempts": 2, "initial_s": 0.0, "jitter": 0.0})))
        run_id = office.start("poison")
        for attempt in (1, 2):
            link, tasks = LocalLink(office.running.writer), []
            link.offer(f"w{attempt}", {"pools": ["default"], "free": 1}, tasks.append)
            (task,) = tasks
            claim = {k: task[k] for k in ("run_id", "step", "generation", "attempt", "fence")}
            clock.move(seconds=120)
            engine(office, "expire_lease", {**claim, "worker": f"w{attempt}"})
            if attempt == 1:
                engine(
                    office,
                    "fire_timer",
                    {"run_id": run_id, "step": "a", "kind": "retry", "generation": 1, "attempt": 1},
                )
        assert letters(office) == [("a", "worker_lost", 2)]


def engine(office: Office, do: str, args: dict[str, Any]) -> None:
    from signoff.core.states import Actor
    from signoff.engine.request import Request, unwrap

    actor = Actor("system", "test", channel="engine")
    unwrap(office.running.writer.ask(Request(do, TENANT, actor, args, print, origin="engine")))


class Rows(Connectors):
    """Goes through rows, reports where it is, breaks off once, and goes on from there."""

    def __init__(self) -> None:
        super().__init__()
        self["rows"] = self.rows
        self.reported, self.go_on = threading.Event(), threading.Event()
        self.last: list[Any] = []

    def rows(self, call: Call) -> Any:
        self.calls.append(call)
        self.last.append(call.last and call.last.details)
        if call.last is None:
            with pytest.raises(ValueError, match="step 'copy' must be a number from 0 to 1"):
                call.report(7)
            call.report(0.4, "row 400 of 1000", {"row": 400})
            self.reported.set()
            assert self.go_on.wait(30)
            call.report(0.5, "row 500 of 1000", {"row": 500})
            raise ActivityError("The connection broke.")
        return {"from": call.last.details["row"]}


def test_progress_is_seen_live_and_handed_to_the_next_attempt(tmp_path: Path) -> None:
    connectors = Rows()
    with open_office(tmp_path, connectors=connectors) as office:
        office.publish(chain("copy", call("copy", "rows", retry={"initial_s": 0.0})))
        run_id = office.start("copy")
        assert connectors.reported.wait(30)
        view = office.until(run_id, lambda v: v.explanation.of("copy").progress is not None)
        assert "It reported 40 %: row 400 of 1000 (" in view.explanation.of("copy").sentence
        attempt = office.signoff.queries.list_attempts(TENANT, run_id)[0]
        assert attempt.progress is not None
        assert (attempt.progress.fraction, attempt.progress.details) == (0.4, {"row": 400})
        events = len(office.types(run_id))
        connectors.go_on.set()
        done = office.until_status(run_id, "succeeded")
        assert done.state.outputs["copy"] == {"from": 500}
        assert connectors.last == [None, {"row": 500}]
        assert events == 3
        assert "run.ended" in office.types(run_id)


@pytest.mark.parametrize(
    ("report", "wrong"),
    [
        ({"fraction": 2}, "must be a number from 0 to 1"),
        ({"fraction": "half"}, "must be a number from 0 to 1"),
        ({"note": "x" * 301}, "at most 300 characters"),
        ({"note": 7}, "at most 300 characters"),
        ({"details": "x" * 5_000}, "more than 4000 characters"),
        ({"details": [float("nan")]}, "not finite"),
    ],
)
def test_a_report_that_cannot_be_kept_renews_the_lease_and_names_the_step(
    tmp_path: Path, report: dict[str, Any], wrong: str
) -> None:
    with open_office(tmp_path, now=Clock(), slots=0, services=False) as office:
        office.publish(chain("copy", call("copy")))
        office.start("copy")
        link, tasks = LocalLink(office.running.writer), []
        link.offer("w1", {"pools": ["default"], "free": 1}, tasks.append)
        claim = [tasks[0][k] for k in ("run_id", "step", "generation", "attempt", "fence")]
        answer = link.request("w1", "heartbeat", "", {"claims": [claim], "progress": [report]})
        assert (answer["lost"], answer["bad"][0][0]) == ([], 0)
        assert "step 'copy'" in answer["bad"][0][1]
        assert wrong in answer["bad"][0][1]
        stale = [*claim[:4], claim[4] - 1]
        answer = link.request("w1", "heartbeat", "", {"claims": [stale], "progress": [{"note": "hello"}]})
        assert answer["lost"] == [0]
        (attempt,) = office.signoff.queries.list_attempts(TENANT, claim[0])
        assert attempt.progress is None


def test_an_activity_that_polls_is_asked_until_it_is_ready(tmp_path: Path) -> None:
    connectors, answers = Connectors(), iter([{"ready": False}, {"ready": True, "n": 3}])

    def status(call: Call) -> Any:
        connectors.calls.append(call)
        return next(answers)

    connectors["status"] = status
    poll = {"until": "answer.ready", "every": "PT0.05S", "for": "PT10S"}
    with open_office(tmp_path, connectors=connectors) as office:
        office.publish(chain("wait", call("ready", "status", poll=poll)))
        view = office.until_status(office.start("wait"), "succeeded")
        assert view.state.outputs["ready"] == {"ready": True, "n": 3}
        assert [c.key.rpartition("/")[2] for c in connectors.calls] == ["1", "2"]
        assert office.check_replay() == 1


def test_each_item_of_a_list_is_called_once_and_a_retry_calls_what_is_left(tmp_path: Path) -> None:
    connectors, lock = Connectors(), threading.Lock()
    together = [0, 0]
    broken = {7}

    def copy(call: Call) -> Any:
        with lock:
            connectors.calls.append(call)
            together[0] += 1
            together[1] = max(together)
        try:
            if call.input["row"] in broken:
                raise ActivityError(f"Row {call.input['row']} is broken.", retryable=False)
            return {"twice": call.input["row"] * 2}
        finally:
            with lock:
                together[0] -= 1

    connectors["copy"] = copy
    step = call("copy", "copy", for_each={"items": "input.rows", "parallel": 3}, input={"row": "=item"})
    document = chain("each", step, input=[{"name": "rows", "type": "list"}])
    with open_office(tmp_path, connectors=connectors) as office:
        office.publish(document)
        rows = list(range(40))
        run_id = office.start("each", rows=rows)
        view = office.until_status(run_id, "stalled")
        assert "Item 7 of 40 failed" in view.row.reason
        assert letters(office) == [("copy", "error", 1)]
        broken.clear()
        office.signoff.operate("replay_dead_letter", person("katherine"), TENANT, run_id, step="copy", reason="mended")
        done = office.until_status(run_id, "succeeded")
        assert done.state.outputs["copy"] == [{"twice": n * 2} for n in rows]
        called = [c.input["row"] for c in connectors.calls]
        assert sorted(called) == sorted([*rows, 7])
        assert together[1] <= 3
        keys = {c.key for c in connectors.calls}
        assert len(keys) == 40
        attempts = office.signoff.queries.list_attempts(TENANT, run_id)
        assert sorted(a.item for a in attempts if a.status != "cancelled") == sorted([*rows, 7])
        assert office.check_replay() == 1
