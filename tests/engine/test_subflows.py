"""Parents and children on a real engine: started in the same commit, ended, held and stopped together."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from signoff.core.definition import SubflowConfig
from signoff.errors import InvalidInput, Refused
from tests.engine.office import TENANT, Clock, Office, ask, call, chain, open_office, person

INPUT = [{"name": "amount", "type": "number"}]


def child_of(step: str = "sub", definition: str = "inner", **more: Any) -> dict[str, Any]:
    return {"id": step, "kind": "subflow", "definition": definition, "input": {"amount": "=input.amount"}, **more}


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    with open_office(tmp_path / "data", now=Clock(), services=False) as office:
        yield office
        office.check_replay()


def family(office: Office, *inner: dict[str, Any], **more: Any) -> tuple[str, str]:
    """A run and the child that its step started."""
    office.publish(chain("inner", *(inner or (ask("manager"),)), input=INPUT))
    office.publish(chain("outer", child_of(**more), call("after"), input=INPUT))
    answer = office.signoff.start_run(person("dan"), TENANT, "outer", {"amount": 5}, business_key="K-1")
    parent: str = answer["run_id"]
    return parent, office.view(parent).state.steps["sub"].child


def decide(office: Office, run_id: str, outcome: str = "approved") -> None:
    step = office.view(run_id).state.steps["manager"]
    office.signoff.decide(
        person("grace"), TENANT, run_id, "manager", outcome, generation=step.generation, comment="Well."
    )


def status(office: Office, run_id: str) -> str:
    return str(office.view(run_id).state.status)


def operate(office: Office, do: str, run_id: str, **args: Any) -> None:
    office.signoff.operate(do, person("katherine"), TENANT, run_id, reason="Because.", **args)


def test_a_child_runs_and_its_output_comes_back(office: Office) -> None:
    parent, child = family(office)
    view = office.view(child)
    assert (view.state.parent, view.state.parent_step, view.state.depth) == (parent, "sub", 1)
    assert (view.state.input, view.row.started_by, view.row.business_key) == ({"amount": 5.0}, "dan", "K-1")
    waiting = office.view(parent).explanation.of("sub").sentence
    assert "There: 'Manager' has waited for a decision of" in waiting
    decide(office, child)
    assert status(office, child) == "succeeded"
    output = office.view(parent).state.outputs["sub"]
    assert output["manager"]["outcome"] == "approved"
    office.until_step(parent, "after", "succeeded")


def test_separation_of_duties_reaches_the_child(office: Office) -> None:
    office.running.save_person("dan", roles=("starter", "approver"), groups=("managers",))
    _, child = family(office)
    item = office.signoff.queries.find_task(TENANT, "dan", child, "manager")
    assert item is not None
    assert not item.may_decide


def test_publishing_pins_the_newest_version_for_good(office: Office) -> None:
    family(office)
    draft = office.signoff.queries.find_draft(TENANT, "inner")
    changed = {**draft.document, "title": "Another"}  # type: ignore[union-attr]
    office.signoff.save_draft(person("ada"), TENANT, "inner", changed, {}, based_on=1)
    newer = office.signoff.publish(person("ada"), TENANT, "inner", 2)
    assert newer["version"] == 2
    version = office.signoff.queries.find_version(TENANT, "outer", 1)
    config = version.definition.steps[0].config  # type: ignore[union-attr]
    assert isinstance(config, SubflowConfig)
    assert (config.version, config.digest.startswith("sha256:"), config.digest != newer["digest"]) == (1, True, True)
    again = office.signoff.start_run(person("dan"), TENANT, "outer", {"amount": 1})["run_id"]
    assert office.view(office.view(again).state.steps["sub"].child).row.version == 1
    assert office.signoff.publish(person("ada"), TENANT, "outer", 1)["version"] == 2


def test_rejection_failure_and_cancelling_come_up(office: Office) -> None:
    parent, child = family(office)
    decide(office, child, "rejected")
    assert (status(office, child), status(office, parent)) == ("rejected", "rejected")
    other = office.signoff.start_run(person("dan"), TENANT, "outer", {"amount": 5})["run_id"]
    second = office.view(other).state.steps["sub"].child
    operate(office, "cancel_run", second)
    assert status(office, other) == "stalled"
    assert f"The run '{second}' of 'inner' ended as cancelled: Because." in office.view(other).explanation.sentence
    operate(office, "retry_step", other, step="sub")
    third = office.view(other).state.steps["sub"].child
    assert third not in ("", second)
    decide(office, third)
    office.until_status(other, "succeeded")


def test_pausing_cancelling_and_terminating_go_down(office: Office) -> None:
    parent, child = family(office)
    operate(office, "pause_run", parent)
    assert status(office, child) == "paused"
    operate(office, "resume_run", parent)
    assert status(office, child) == "running"
    operate(office, "cancel_run", parent)
    assert (status(office, child), status(office, parent)) == ("cancelled", "cancelled")
    again = office.signoff.start_run(person("dan"), TENANT, "outer", {"amount": 5})["run_id"]
    below = office.view(again).state.steps["sub"].child
    operate(office, "terminate_run", again)
    assert (status(office, below), status(office, again)) == ("terminated", "terminated")


def test_a_child_that_takes_too_long_is_cancelled(tmp_path: Path) -> None:
    clock = Clock()
    with open_office(tmp_path / "data", now=clock) as office:
        parent, child = family(office, expires="PT2H")
        assert "It expires at" in office.view(parent).explanation.of("sub").next
        clock.move(hours=3)
        office.until_status(parent, "stalled")
        assert "did not end in time" in office.view(parent).state.reason
        office.until_status(child, "cancelled")
        operate(office, "retry_step", parent, step="sub")
        again = office.view(parent).state.steps["sub"].child
        assert again != child
        decide(office, again)
        office.until_status(parent, "succeeded")
        office.check_replay()


def test_a_stalled_child_shows_in_its_parent(office: Office) -> None:
    office.connectors.broken.add("fix")
    parent, child = family(office, call("fix", "flaky", retry={"max_attempts": 1}))
    office.until_status(child, "stalled")
    said = office.view(parent).explanation
    assert "There: The run needs a person." in said.sentence
    assert status(office, parent) == "running"


def test_a_child_that_cannot_start_fails_the_step_and_is_mended(office: Office) -> None:
    office.publish(chain("inner", ask("manager"), input=[{"name": "amount", "type": "number", "maximum": 10}]))
    office.publish(chain("outer", child_of(), input=INPUT))
    parent = office.signoff.start_run(person("dan"), TENANT, "outer", {"amount": 50})["run_id"]
    assert status(office, parent) == "stalled"
    assert "is above 10" in office.view(parent).explanation.sentence
    operate(office, "edit_input", parent, input={"amount": 5})
    operate(office, "retry_step", parent, step="sub")
    assert status(office, office.view(parent).state.steps["sub"].child) == "running"


def test_grandchildren_and_circles(office: Office) -> None:
    office.publish(chain("inner", call("a"), input=INPUT))
    office.publish(chain("middle", child_of(), input=INPUT))
    office.publish(chain("outer", child_of(definition="middle"), input=INPUT))
    parent = office.signoff.start_run(person("dan"), TENANT, "outer", {"amount": 5})["run_id"]
    office.until_status(parent, "succeeded")
    assert list(office.view(parent).state.outputs["sub"]) == ["sub"]
    document = chain("inner", child_of(definition="outer"), input=INPUT)
    office.signoff.save_draft(person("ada"), TENANT, "inner", document, {}, based_on=1)
    with pytest.raises(InvalidInput, match="inner → outer → middle → inner"):
        office.signoff.publish(person("ada"), TENANT, "inner", 2)


def test_a_failed_commit_starts_neither(office: Office) -> None:
    family(office)
    before = len(office.signoff.queries.list_runs(TENANT).items)
    journal = office.running.writer.engine.journal  # type: ignore[union-attr]

    def broken() -> None:
        raise OSError("the disk is gone")

    journal.before_commit = broken
    with pytest.raises(Exception, match="just now"):
        office.signoff.start_run(person("dan"), TENANT, "outer", {"amount": 5})
    journal.before_commit = lambda: None
    assert len(office.signoff.queries.list_runs(TENANT).items) == before


def test_a_version_that_others_start_is_not_deleted(office: Office) -> None:
    office.running.save_person("ada", roles=("designer", "publisher", "starter", "administrator"), groups=None)
    office.publish(chain("inner", ask("manager")))
    office.publish(chain("outer", {"id": "sub", "kind": "subflow", "definition": "inner"}))
    office.signoff.save_draft(person("ada"), TENANT, "inner", chain("inner", ask("other")), {}, based_on=1)
    office.signoff.publish(person("ada"), TENANT, "inner", 2)
    with pytest.raises(Refused, match="version 1 of 'outer' starts runs of it"):
        office.signoff.do("delete_version", person("ada"), TENANT, name="inner", version=1, reason="Tidy.")
