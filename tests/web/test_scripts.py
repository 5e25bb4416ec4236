"""No text that people write runs as a script on any page (security list, 17)."""

from __future__ import annotations

from itertools import product
from typing import Any

from playwright.sync_api import expect

from tests.web.conftest import Visitors
from tests.web.office import TENANT, Office

CALL = "window.ran=1"
TAGS = (
    "img src=x",
    "svg",
    "body",
    "video src=x",
    "audio src=x",
    "input autofocus",
    "details open",
    "iframe",
    "object data=x",
)
EVENTS = ("onerror", "onload", "onfocus", "ontoggle", "onpointerenter")
FRAMES = ("<{t} {e}={c}>", '"><{t} {e}={c}>', "'><{t}/{e}={c}>", "</script><{t} {e}={c}>", "</textarea><{t} {e}={c}>")
OTHERS = (
    f"<script>{CALL}</script>",
    f"<scr<script>ipt>{CALL}</script>",
    f"javascript:{CALL}",
    f"[x](javascript:{CALL})",
    f'<a href="javascript:{CALL}">x</a>',
    f"<style>@import 'javascript:{CALL}'</style>",
    f"{{{{constructor.constructor('{CALL}')()}}}}",
    f"${{{CALL}}}",
    f"<math><mtext></p><img src=x onerror={CALL}>",
    f"<template><img src=x onerror={CALL}></template>",
    f"\u202e<img src=x onerror={CALL}>",
    f"&lt;img src=x onerror={CALL}&gt;",
    f"<!--><img src=x onerror={CALL}>-->",
    f"]]><img src=x onerror={CALL}>",
    f"<form action=javascript:{CALL}><button>",
)
CORPUS = [f.format(t=t, e=e, c=CALL) for f, t, e in product(FRAMES, TAGS, EVENTS)] + list(OTHERS)
assert len(CORPUS) > 200


def packed(texts: list[str], limit: int) -> list[str]:
    """The texts joined into as few as possible, each at most `limit` characters long."""
    found = [""]
    for text in texts:
        if len(found[-1]) + len(text) + 1 > limit:
            found.append("")
        found[-1] = f"{found[-1]} {text}".strip()
    return found


def process(labels: list[str], everything: str) -> dict[str, Any]:
    steps: list[dict[str, Any]] = [
        {"id": f"s{i}", "kind": "wait", "label": text, "duration": "P1D"} for i, text in enumerate(labels[:19])
    ]
    shown = {text: text for text in CORPUS}
    ask = {
        "id": "ask",
        "kind": "approval",
        "label": labels[0],
        "groups": ["managers"],
        "instructions": everything,
        "shows": shown,
    }
    return {
        "format": "signoff/1",
        "name": "scripts",
        "title": labels[-1],
        "description": everything[:3_900],
        "input": [{"name": "note", "label": labels[1], "help": labels[2], "type": "long_text"}],
        "steps": [ask, *steps],
        "edges": [{"from": "ask", "to": s["id"]} for s in steps],
    }


def test_no_text_of_people_runs_as_a_script(visit: Visitors, office: Office) -> None:
    labels = packed(CORPUS, 390)
    everything = " ".join(CORPUS)
    office.publish(process(labels, everything))
    signoff, dan = office.signoff, office.actor("dan")
    run_id = signoff.start_run(dan, TENANT, "scripts", {"note": everything[:19_000]}, business_key=labels[3][:190])[
        "run_id"
    ]
    office.wait_until(run_id, lambda s: s["ask"] == "waiting")
    ada, max_ = visit("ada"), visit("max")
    pages = [(ada, f"/definitions{p}") for p in ("", "/scripts/versions", "/scripts/draft", "/scripts/start")]
    pages += [(ada, "/runs"), (ada, f"/runs/{run_id}"), (max_, "/inbox"), (max_, f"/inbox/{run_id}/ask")]
    for page, path in pages:
        visit.go(page, path)
        expect(page.get_by_text("onerror=window.ran=1").first).to_be_attached()
        assert page.evaluate("() => window.ran") is None, path
    max_.get_by_label("Comment").fill(everything[:3_900])
    max_.get_by_role("button", name="Reject").click()
    expect(max_.get_by_role("heading", name="Rejected")).to_be_visible()
    visit.go(max_, f"/runs/{run_id}")
    expect(max_.get_by_role("list", name="History")).to_contain_text("onerror=window.ran=1")
    assert max_.evaluate("() => window.ran") is None
