"""Lost answers through the real engine, worker and store: probes, and what an operator says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from signoff import errors
from signoff.connectors.call import ActivityError, Call
from tests.engine.office import TENANT, Connectors, Office, call, chain, open_office, person

FAST = {"max_attempts": 2, "initial_s": 0.0}
PROBE = {"connector": "look", "input": {"key": "=call.key"}, "happened": "answer.found", "output": "answer.payment"}


class Bank(Connectors):
    """A bank whose answers can be lost on the way back, or before the call reached it."""

    def __init__(self) -> None:
        super().__init__()
        self.update(pay=self.pay, look=self.look)
        self.paid: dict[str, Any] = {}
        self.lose = "the answer"
        self.looked: list[Call] = []

    def pay(self, call: Call) -> Any:
        self.calls.append(call)
        if self.lose != "the call":
            self.paid[call.key] = {"id": f"P-{len(self.paid)}"}
        lose, self.lose = self.lose, ""
        if lose:
            raise ActivityError("The answer was lost.", code="outcome_unknown")
        return self.paid[call.key]

    def look(self, call: Call) -> Any:
        self.looked.append(call)
        found = self.paid.get(call.input["key"])
        return {"found": found is not None, "payment": found}


@pytest.fixture
def bank() -> Bank:
    return Bank()


def test_a_payment_whose_answer_was_lost_is_found_and_not_made_again(tmp_path: Path, bank: Bank) -> None:
    with open_office(tmp_path, connectors=bank) as office:
        office.publish(chain("pay", call("pay", "pay", effect="check_first", retry=FAST, probe=PROBE)))
        run_id = office.start("pay")
        view = office.until_status(run_id, "succeeded")
        assert view.state.outputs["pay"] == {"id": "P-0"}
        assert (bank.count("pay"), len(bank.looked)) == (1, 1)
        assert bank.looked[0].key == f"{bank.calls[0].key}/probe"
        attempts = office.signoff.queries.list_attempts(TENANT, run_id)
        assert [a.status for a in attempts] == ["failed", "succeeded"]
        assert office.check_replay() == 1


def test_a_payment_that_never_arrived_is_made_again_with_the_same_key(tmp_path: Path, bank: Bank) -> None:
    bank.lose = "the call"
    with open_office(tmp_path, connectors=bank) as office:
        office.publish(chain("pay", call("pay", "pay", effect="check_first", retry=FAST, probe=PROBE)))
        run_id = office.start("pay")
        office.until_status(run_id, "succeeded")
        assert bank.calls[0].key == bank.calls[1].key
        assert [a.status for a in office.signoff.queries.list_attempts(TENANT, run_id)] == [
            "failed",
            "succeeded",
            "succeeded",
        ]


def stalled(office: Office) -> str:
    office.publish(chain("pay", call("pay", "pay", effect="at_most_once", output=[{"name": "id"}]), call("tell")))
    run_id = office.start("pay")
    view = office.until_status(run_id, "stalled")
    assert view.state.steps["pay"].status == "outcome_unknown"
    assert view.row.reason.startswith("The outcome of 'Pay' is unknown")
    return run_id


def test_an_operator_says_that_it_happened(tmp_path: Path, bank: Bank) -> None:
    with open_office(tmp_path, connectors=bank) as office:
        run_id = stalled(office)
        olga = person("katherine")
        with pytest.raises(errors.Forbidden, match="say that a call happened"):
            office.signoff.operate("confirm_effect", person("grace"), TENANT, run_id, step="pay", reason="seen")
        with pytest.raises(errors.Refused, match="missing"):
            office.signoff.operate("confirm_effect", olga, TENANT, run_id, step="pay", reason="seen")
        with pytest.raises(errors.Refused, match="may have happened"):
            office.signoff.operate("skip_step", olga, TENANT, run_id, step="pay", reason="never mind")
        for _ in range(2):
            office.signoff.operate(
                "confirm_effect",
                olga,
                TENANT,
                run_id,
                step="pay",
                reason="seen",
                output={"id": "P-0"},
                idempotency_key="k",
            )
        view = office.until_status(run_id, "succeeded")
        assert view.state.outputs["pay"] == {"id": "P-0"}
        assert bank.count("pay") == 1
        assert office.evidence(run_id) == ["outcome_unknown"]
        assert office.check_replay() == 1


def test_an_operator_says_that_it_did_not_happen(tmp_path: Path, bank: Bank) -> None:
    bank.lose = "the call"
    with open_office(tmp_path, connectors=bank) as office:
        run_id = stalled(office)
        office.signoff.operate(
            "deny_effect", person("katherine"), TENANT, run_id, step="pay", reason="the bank knows nothing"
        )
        office.until_status(run_id, "succeeded")
        first, second = (c for c in bank.calls if c.step == "pay")
        assert first.key == second.key
