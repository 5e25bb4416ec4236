"""Completing by hand, reassigning and withdrawing on a real database: rows, inboxes and evidence follow."""

from __future__ import annotations

from typing import Any

import pytest

from signoff import errors
from signoff.wiring import Settings, open_verifier
from tests.engine.office import TENANT, Office, ask, call, chain, person


def operate(office: Office, name: str, run_id: str, **args: Any) -> None:
    office.signoff.operate(name, person("katherine"), TENANT, run_id, **{"reason": "On leave.", **args})


def inbox(office: Office, login: str) -> list[str]:
    return [i.step for i in office.signoff.queries.list_inbox(TENANT, login).items]


def verified(office: Office) -> None:
    with open_verifier(Settings(office.folder)) as verifier:
        assert [f.message for f in verifier.findings()] == []


def test_inboxes_follow_a_reassignment(office: Office) -> None:
    office.running.save_person("eve", name="Eve", roles=("approver",))
    office.publish(chain("buy", ask("manager", required=2), call("order")))
    run_id = office.start("buy")
    office.until_step(run_id, "manager", "waiting")
    office.decide(run_id, "manager", "grace")
    operate(office, "reassign_step", run_id, step="manager", add=["Eve"], remove=["alan"])
    assert (inbox(office, "eve"), inbox(office, "alan"), inbox(office, "edith")) == (["manager"], [], ["manager"])
    assert office.signoff.queries.find_task(TENANT, "alan", run_id, "manager") is None
    verified(office)
    with pytest.raises(errors.Refused, match="not among those who may decide"):
        office.decide(run_id, "manager", "alan")
    with pytest.raises(errors.Refused, match="Grace has already approved it"):
        operate(office, "reassign_step", run_id, step="manager", remove=["grace"])
    assert office.evidence(run_id) == ["not_an_approver", "has_voted"]
    office.decide(run_id, "manager", "eve")
    office.until_status(run_id, "succeeded")
    decisions = [
        e.data for e in office.signoff.queries.list_events(TENANT, run_id) if e.type == "approval.decision_recorded"
    ]
    assert [d["authority"] for d in decisions] == ["group managers", "named by an operator"]
    verified(office)


def test_whoever_is_taken_off_and_named_again_is_asked_again(office: Office) -> None:
    office.publish(chain("buy", ask("manager")))
    run_id = office.start("buy")
    office.until_step(run_id, "manager", "waiting")
    operate(office, "reassign_step", run_id, step="manager", remove=["alan"])
    operate(office, "reassign_step", run_id, step="manager", add=["alan"], remove=["grace"])
    assert (inbox(office, "alan"), inbox(office, "grace")) == (["manager"], [])
    verified(office)


def test_a_vote_is_withdrawn_and_the_task_is_back_in_the_inbox(office: Office) -> None:
    office.publish(chain("buy", ask("manager", required=2)))
    run_id = office.start("buy")
    office.until_step(run_id, "manager", "waiting")
    office.decide(run_id, "manager", "grace")
    task = office.signoff.queries.find_task(TENANT, "grace", run_id, "manager")
    assert task is not None
    assert (task.may_withdraw, task.may_decide, task.given) == (True, False, 1)
    assert inbox(office, "grace") == []
    withdraw = office.signoff.withdraw_vote
    with pytest.raises(errors.Refused, match="You have not decided"):
        withdraw(person("alan"), TENANT, run_id, "manager", generation=1)
    withdraw(person("grace"), TENANT, run_id, "manager", generation=1, comment="A mistake.", idempotency_key="w")
    again = withdraw(
        person("grace"), TENANT, run_id, "manager", generation=1, comment="A mistake.", idempotency_key="w"
    )
    assert again["step_status"] == "waiting"
    assert inbox(office, "grace") == ["manager"]
    task = office.signoff.queries.find_task(TENANT, "grace", run_id, "manager")
    assert task is not None
    assert (task.may_withdraw, task.may_decide, task.given) == (False, True, 0)
    verified(office)
    office.decide(run_id, "manager", "grace")
    office.decide(run_id, "manager", "alan")
    office.until_status(run_id, "succeeded")
    assert office.types(run_id).count("approval.vote_withdrawn") == 1
    with pytest.raises(errors.Refused, match="already handled by Alan"):
        withdraw(person("grace"), TENANT, run_id, "manager", generation=1)
    verified(office)


def test_a_dead_letter_that_was_done_by_hand_is_gone(office: Office) -> None:
    office.connectors.broken.add("copy")
    copy = call("copy", "flaky", output=[{"name": "files", "type": "integer"}])
    office.publish(chain("job", copy, call("tell", input={"n": "=steps.copy.output.files"})))
    run_id = office.start("job")
    office.until_status(run_id, "stalled")
    assert [x.step for x in office.signoff.queries.list_dead_letters(TENANT).items] == ["copy"]
    with pytest.raises(errors.Forbidden, match="complete a step by hand"):
        office.signoff.operate("complete_step", person("grace"), TENANT, run_id, reason="x", step="copy")
    operate(office, "complete_step", run_id, step="copy", output={"files": 3}, reason="Copied them with rsync.")
    view = office.until_status(run_id, "succeeded")
    assert view.state.steps["copy"].status == "succeeded"
    assert view.explanation.of("copy").sentence.startswith("'Copy' was done by hand by ")
    assert office.connectors.calls[-1].input == {"n": 3}
    assert office.signoff.queries.list_dead_letters(TENANT).items == ()
    verified(office)


def test_what_waits_for_no_worker_is_done_by_hand(office: Office) -> None:
    office.publish(chain("job", call("print", pool="printers"), call("tell")))
    run_id = office.start("job")
    office.until_step(run_id, "print", "scheduled")
    operate(office, "complete_step", run_id, step="print")
    office.until_status(run_id, "succeeded")
    assert office.connectors.count("print") == 0
    verified(office)


@pytest.mark.parametrize("given", ["eve", ["eve", 3], [None], {"eve": 1}])
def test_logins_are_a_list(office: Office, given: object) -> None:
    office.publish(chain("buy", ask("manager")))
    run_id = office.start("buy")
    office.until_step(run_id, "manager", "waiting")
    with pytest.raises(errors.InvalidInput, match="must be a list of logins"):
        operate(office, "reassign_step", run_id, step="manager", add=given)
