"""Messages on a real engine: used once, kept, first in first out, known again, refused at the door, never lost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from signoff.errors import Conflict, Forbidden, InvalidInput
from tests.engine.office import TENANT, Clock, Office, call, chain, open_office, person

PAYLOAD = [{"name": "amount", "type": "number"}]


def paid(step: str = "paid", **more: Any) -> dict[str, Any]:
    return {"id": step, "kind": "signal", "signal": "payment", "payload": PAYLOAD, **more}


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def office(tmp_path: Path, clock: Clock) -> Iterator[Office]:
    with open_office(tmp_path / "data", now=clock, services=False) as office:
        yield office
        office.check_replay()


def send(office: Office, key: str, amount: Any = 5, login: str = "dan", **more: Any) -> dict[str, Any]:
    answer: dict[str, Any] = office.signoff.send_signal(
        person(login), TENANT, "payment", key, {"amount": amount}, **more
    )
    return answer


def start(office: Office, key: str = "K-1", name: str = "sell") -> str:
    run_id: str = office.signoff.start_run(person("dan"), TENANT, name, {}, business_key=key)["run_id"]
    return run_id


def statuses(office: Office) -> list[tuple[str, str]]:
    return [(m.message_id, m.status) for m in reversed(office.signoff.queries.list_signals(TENANT).items)]


def test_a_message_reaches_the_step_that_waits(office: Office) -> None:
    office.publish(chain("sell", paid(), call("ship")))
    run_id = start(office)
    answer = send(office, "K-1", message_id="a")
    assert answer == {"id": "a", "status": "used", "run_id": run_id, "step": "paid", "created": True}
    assert office.view(run_id).state.outputs["paid"] == {"amount": 5.0}
    assert send(office, "K-1", message_id="a") == {**answer, "created": False}
    with pytest.raises(Conflict, match="another payload"):
        send(office, "K-1", 6, message_id="a")
    (event,) = [e for e in office.signoff.queries.list_events(TENANT, run_id) if e.type == "signal.received"]
    assert event.sentence == "'Paid' got the signal 'payment' from Dan (message 'a')."


def test_one_that_comes_early_is_kept_and_the_oldest_is_used_first(office: Office, clock: Clock) -> None:
    office.publish(chain("sell", paid("first"), paid("second")))
    assert send(office, "K-1", 1, message_id="a")["status"] == "kept"
    clock.move(minutes=5)
    assert send(office, "K-1", 2, message_id="b")["status"] == "kept"
    assert send(office, "K-2", 3, message_id="c")["status"] == "kept"
    view = office.view(start(office))
    assert (view.state.status, view.state.outputs) == (
        "succeeded", {"first": {"amount": 1.0}, "second": {"amount": 2.0}})  # fmt: skip
    assert statuses(office) == [("a", "used"), ("b", "used"), ("c", "kept")]
    sentences = [e.sentence for e in office.signoff.queries.list_events(TENANT, view.row.run_id)]
    assert any("which had come at 2026-11-30 08:00" in x for x in sentences)


def test_the_one_that_has_waited_longest_gets_it(office: Office) -> None:
    office.publish(chain("sell", paid()))
    one, two = start(office), start(office)
    assert send(office, "K-1")["run_id"] == one
    assert send(office, "K-1")["run_id"] == two
    assert send(office, "K-1")["status"] == "kept"


def test_one_message_never_goes_to_two_steps_of_a_run(office: Office) -> None:
    document = chain("sell", paid("first"), paid("second"))
    office.publish({**document, "edges": []})
    run_id = start(office)
    send(office, "K-1")
    steps = office.view(run_id).state.steps
    assert [steps[i].status for i in ("first", "second")] == ["succeeded", "waiting"]


def test_a_wrong_payload_is_refused_at_the_door_and_nothing_is_kept(office: Office) -> None:
    office.publish(chain("sell", paid()))
    run_id = start(office)
    with pytest.raises(InvalidInput) as caught:
        send(office, "K-1", "much")
    assert caught.value.problems[0]["field"] == "amount"  # type: ignore[index]
    assert statuses(office) == []
    assert office.evidence(run_id) == ["invalid_payload"]


def test_a_kept_message_that_does_not_fit_is_seen_and_mended(office: Office) -> None:
    office.publish(chain("sell", paid()))
    send(office, "K-1", "much", message_id="bad")
    send(office, "K-1", 7, message_id="good")
    run_id = start(office)
    assert office.view(run_id).state.status == "stalled"
    assert statuses(office) == [("bad", "refused"), ("good", "kept")]
    (refused,) = office.signoff.queries.list_signals(TENANT, status="refused").items
    assert "is not a number" in refused.note
    office.signoff.operate("retry_step", person("katherine"), TENANT, run_id, step="paid", reason="Sent again.")
    assert office.view(run_id).state.outputs["paid"] == {"amount": 7.0}
    assert statuses(office) == [("bad", "refused"), ("good", "used")]


def test_while_paused_messages_are_kept(office: Office) -> None:
    office.publish(chain("sell", paid()))
    run_id = start(office)
    office.signoff.operate("pause_run", person("katherine"), TENANT, run_id, reason="Audit.")
    assert send(office, "K-1")["status"] == "kept"
    office.signoff.operate("resume_run", person("katherine"), TENANT, run_id, reason="Over.")
    assert office.view(run_id).state.status == "succeeded"


def test_kept_messages_expire_or_are_discarded(office: Office, clock: Clock) -> None:
    office.publish(chain("sell", paid()))
    send(office, "K-1", message_id="short", keep="PT1H")
    send(office, "K-1", message_id="wrong")
    clock.move(hours=2)
    with pytest.raises(Forbidden):
        office.signoff.do("discard_signal", person("dan"), TENANT, name="payment", key="K-1", id="wrong", reason="x")
    office.signoff.do("discard_signal", person("katherine"), TENANT, name="payment", key="K-1", id="wrong", reason="x")
    run_id = start(office)
    assert office.view(run_id).state.steps["paid"].status == "waiting"
    assert statuses(office) == [("short", "expired"), ("wrong", "discarded")]
    assert send(office, "K-1", message_id="wrong")["created"] is False


def test_a_failed_commit_keeps_neither_the_message_nor_its_effect(office: Office) -> None:
    office.publish(chain("sell", paid()))
    run_id = start(office)
    journal = office.running.writer.engine.journal  # type: ignore[union-attr]

    def broken() -> None:
        raise OSError("the disk is gone")

    journal.before_commit = broken
    with pytest.raises(Exception, match="just now"):
        send(office, "K-1", message_id="a")
    journal.before_commit = lambda: None
    assert statuses(office) == []
    assert send(office, "K-1", message_id="a")["run_id"] == run_id


def test_what_is_no_name_key_or_payload_is_refused(office: Office) -> None:
    for args in ({"name": "Not a name"}, {"key": ""}, {"key": " x"}, {"payload": [1]}, {"keep": "soon"}):
        with pytest.raises(InvalidInput):
            office.signoff.do("send_signal", person("dan"), TENANT, **{"name": "payment", "key": "k", **args})
    with pytest.raises(Forbidden):
        send(office, "K-1", login="grace")
