"""The inbox says what the core would say: who may answer, why not, and how many wait."""

from __future__ import annotations

import pytest

from signoff import errors
from tests.engine.office import TENANT, Office, ask, call, chain, person


def count(office: Office, login: str) -> int:
    return office.signoff.queries.count_inbox(TENANT, login)


def listed(office: Office, login: str) -> dict[str, str]:
    """Step to why this person may not answer it, "" where they may."""
    return {i.step: i.why_not for i in office.signoff.queries.list_inbox(TENANT, login).items}


def test_ones_own_request_counts_only_where_one_may_decide_it(office: Office) -> None:
    office.running.save_person("grace", roles=("approver", "starter"), groups=("managers",))
    office.publish(chain("theirs", ask("p")))
    office.publish(chain("mine", ask("q", requester_may_decide=True)))
    for name, step in (("theirs", "p"), ("mine", "q")):
        office.until_step(office.start(name, by="grace"), step, "waiting")
    assert count(office, "grace") == 1
    assert listed(office, "grace") == {"p": "You started this run, so you may not decide 'P' yourself.", "q": ""}
    assert count(office, "alan") == 2


def test_a_vote_on_another_approval_takes_this_one_away(office: Office) -> None:
    steps = [call("a"), ask("p", required=2), ask("q", join="any", deciders_differ_from=["p"])]
    document = chain("pair", *steps)
    document["edges"] = [{"from": "a", "to": "q"}, {"from": "p", "to": "q"}]
    office.publish(document)
    run_id = office.start("pair")
    office.until_step(run_id, "q", "waiting")
    assert count(office, "grace") == 2
    office.decide(run_id, "p", "grace")
    assert count(office, "grace") == 0
    why = "You decided another step of this run, so you may not decide 'Q' as well."
    assert listed(office, "grace") == {"q": why}
    with pytest.raises(errors.Refused) as refused:
        office.decide(run_id, "q", "grace")
    assert str(refused.value).startswith(why)
    assert (count(office, "alan"), count(office, "edith")) == (2, 2)


def test_what_a_pause_holds_back_does_not_count(office: Office) -> None:
    office.publish(chain("buy", ask("p")))
    run_id = office.start("buy")
    office.until_step(run_id, "p", "waiting")
    operator = person("katherine")
    office.signoff.operate("pause_run", operator, TENANT, run_id, reason="Audit.")
    assert count(office, "grace") == 0
    assert listed(office, "grace") == {"p": "The run of 'P' is paused."}
    office.signoff.operate("resume_run", operator, TENANT, run_id, reason="Audit over.")
    assert count(office, "grace") == 1
    office.decide(run_id, "p", "alan")
    task = office.signoff.queries.find_task(TENANT, "grace", run_id, "p")
    assert task is not None
    assert not task.may_decide
    assert task.why_not.startswith("'P' was already handled by Alan")


def test_the_number_beside_the_inbox_has_an_end(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody with very many open items gets pages as quickly as others."""
    office.publish(chain("much", ask("p")))
    for _ in range(7):
        office.until_step(office.start("much"), "p", "waiting")
    assert count(office, "grace") == 7
    monkeypatch.setattr("signoff.store.reads.runs.MOST_COUNTED", 5)
    assert count(office, "grace") == 5
