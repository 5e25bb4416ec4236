"""Sending work back from the browser, and pages that look again after the engine was away."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

from playwright.sync_api import expect

from signoff.engine.views import FeedEvent, resync
from signoff.web.live import Live, run_topic, tenant_topic
from tests.web.conftest import Visitors
from tests.web.office import TENANT, Office


def returning() -> dict[str, Any]:
    steps = [
        {"id": "prepare", "kind": "activity", "label": "Prepare the offer", "connector": "budget", "input": {"n": 1}},
        {
            "id": "approve",
            "kind": "approval",
            "label": "Manager approves",
            "groups": ["managers"],
            "returns_to": ["prepare"],
        },
    ]
    edges = [{"from": "prepare", "to": "approve"}]
    return {"format": "signoff/1", "name": "returning", "title": "Returning", "steps": steps, "edges": edges}


def test_an_approver_sends_the_work_back(visit: Visitors, office: Office) -> None:
    office.publish(returning())
    started = office.signoff.start_run(office.actor("dan"), TENANT, "returning", {}, business_key="K-77")
    run_id = started["run_id"]
    office.wait_until(run_id, lambda steps: steps["approve"] == "waiting")
    max_ = visit("max", "/inbox")
    row = max_.get_by_role("row").filter(has_text="K-77")
    row.get_by_role("link", name="Manager approves").click()
    visit.ready(max_)
    max_.get_by_label("Comment").fill("Two more offers, please")
    max_.get_by_role("button", name=re.compile("Return to .*Prepare the offer")).click()
    expect(max_.get_by_role("heading", name="Returned")).to_be_visible()
    office.wait_until(run_id, lambda steps: steps["approve"] == "waiting")
    assert office.signoff.queries.get_run(TENANT, run_id).state.steps["approve"].round == 2
    visit.go(max_, f"/runs/{run_id}")
    expect(max_.get_by_role("list", name="History")).to_contain_text("sent the work back")


class _Feed:
    def __init__(self) -> None:
        self.listener: Any = None

    def subscribe(self, listener: Any) -> Any:
        self.listener = listener
        return lambda: None


class _Document:
    def add_next_tick_callback(self, callback: Any) -> None:
        callback()

    def on_session_destroyed(self, _: Any) -> None:
        return


def test_after_a_lost_connection_every_page_looks_again() -> None:
    feed = _Feed()
    live = Live(feed)
    seen: list[tuple[str, FeedEvent]] = []
    for name, topic in (("run", run_topic("t", "r-1")), ("list", tenant_topic("t"))):
        live.follow(topic, _Document(), lambda events, name=name: seen.extend((name, e) for e in events))
    assert sorted(name for name, _ in seen) == ["list", "run"], "looks once again when it begins to follow"
    seen.clear()
    feed.listener(resync(datetime.now(UTC)))
    assert sorted(name for name, _ in seen) == ["list", "run"]
