"""From the commit in the engine's thread to the changed node in the browser: shared by test and benchmark."""

from __future__ import annotations

import re
import time
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from playwright.sync_api import expect

from signoff.engine.views import FeedEvent
from tests.web.conftest import Visitors
from tests.web.office import Office

if TYPE_CHECKING:
    from playwright.sync_api import Page

WATCH = """() => {
  const find = (root) => {
    const hit = root.querySelector(".react-flow__nodes");
    if (hit) return hit;
    for (const node of root.querySelectorAll("*")) {
      const inner = node.shadowRoot && find(node.shadowRoot);
      if (inner) return inner;
    }
    return null;
  };
  window.seen = [];
  const note = (node) => {
    const state = [...node.classList].find((c) => c.startsWith("is-"));
    const step = node.dataset.id;
    if (step && state && window.seen.every((s) => s.step !== step || s.state !== state.slice(3)))
      window.seen.push({step, state: state.slice(3), at: Date.now()});
  };
  new MutationObserver((changes) => changes.forEach((c) => c.target.dataset && note(c.target)))
    .observe(find(document), {subtree: true, attributes: true, attributeFilter: ["class"]});
}"""

STEPS = 12


def chain() -> dict[str, Any]:
    """A gate, then activities in a row: many changes, one after the other."""
    steps: list[dict[str, Any]] = [
        {"id": "gate", "kind": "activity", "label": "Gate", "connector": "order", "input": {}}
    ]
    steps += [
        {"id": f"s{i}", "kind": "activity", "label": f"Step {i}", "connector": "budget", "input": {"n": i}}
        for i in range(STEPS)
    ]
    ids = [s["id"] for s in steps]
    edges = [{"from": a, "to": b} for a, b in pairwise(ids)]
    return {"format": "signoff/1", "name": "chain", "title": "Chain", "steps": steps, "edges": edges}


def latencies(page: Page, told: dict[tuple[str, str], float]) -> list[float]:
    """Milliseconds from the feed to the DOM, for every change that the browser showed."""
    shown = {(s["step"], s["state"]): s["at"] for s in page.evaluate("() => window.seen")}
    return sorted(shown[key] - at * 1000 for key, at in told.items() if key in shown)


def one_round(visit: Visitors, office: Office) -> list[float]:
    """Milliseconds from feed to DOM of one run's changes, sorted; the chain must be published."""
    office.desk.gate.clear()
    told: dict[tuple[str, str], float] = {}
    run_id = office.signoff.start_run(office.actor("dan"), "default", "chain", {})["run_id"]

    def heard(event: FeedEvent) -> None:
        if event.run_id == run_id:
            for step, status in event.steps.items():
                told.setdefault((step, status), time.time())

    ada = visit("ada", f"/runs/{run_id}")
    expect(ada.locator('.react-flow__node[data-id="gate"]')).to_have_class(re.compile("is-running"))
    ada.evaluate(WATCH)
    stop = office.signoff.feed.subscribe(heard)
    office.desk.gate.set()
    expect(ada.locator(".react-flow__node.is-succeeded")).to_have_count(STEPS + 1)
    stop()
    measured = latencies(ada, told)
    ada.context.close()
    return measured
