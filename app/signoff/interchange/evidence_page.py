"""The evidence of one run as a page for people: no script, nothing loaded from elsewhere, everything escaped."""

from __future__ import annotations

import json
from collections.abc import Iterable
from html import escape
from typing import Any

from signoff.engine.queries import Queries
from signoff.errors import SignoffError
from signoff.interchange.verifier import Bundle

_STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color:#1c2430}"
    "table{border-collapse:collapse;width:100%}td,th{text-align:left;vertical-align:top;padding:.3rem .6rem;"
    "border-bottom:1px solid #d8dde5}code,pre{font:13px ui-monospace,monospace;white-space:pre-wrap;word-break:"
    "break-all}h1,h2{overflow-wrap:anywhere}@media(max-width:48rem){td,th{display:block}th{border:0}}"
)


def evidence_page(queries: Queries, tenant: str, run_id: str, lines: Iterable[str]) -> str:
    """A page of what happened in a run: definition, what people saw and decided, every event with its proof."""
    parsed = [json.loads(line) for line in lines]
    check = Bundle()
    check.read(json.dumps(line) for line in parsed)
    run = next(x for x in parsed if x["kind"] == "run")
    events = [x for x in parsed if x["kind"] == "event"]
    sentences = _sentences(queries, tenant, run_id)
    parts = [
        f"<h1>Evidence of run {escape(run_id)}</h1>",
        _facts(parsed[0], run, events, check),
        "<h2>What people saw and decided</h2>",
        _decisions(events),
        "<h2>Everything that happened</h2>",
        _history(events, sentences),
        *(
            f"<h2>Definition {escape(x['name'])}, version {x['version']}</h2><p><code>{escape(x['digest'])}</code></p>"
            f"<pre>{escape(json.dumps(json.loads(x['content']), indent=1, ensure_ascii=False))}</pre>"
            for x in parsed
            if x["kind"] == "definition"
        ),
        "<h2>Checkpoint</h2>",
        *(f"<pre>{escape(x['note'])}</pre>" for x in parsed if x["kind"] == "checkpoint"),
    ]
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><link rel="icon" href="data:,">'
        f'<meta name="viewport" content="width=device-width"><title>Evidence of run {escape(run_id)}</title>'
        f"<style>{_STYLE}</style><body>{''.join(parts)}</body></html>\n"
    )


def _sentences(queries: Queries, tenant: str, run_id: str) -> dict[int, str]:
    found: dict[int, str] = {}
    try:
        while more := queries.list_events(tenant, run_id, after=max(found, default=0)):
            found |= {e.sequence: e.sentence for e in more}
    except SignoffError:
        return {}  # its content was erased
    return found


def _facts(head: dict[str, Any], run: dict[str, Any], events: list[dict[str, Any]], check: Bundle) -> str:
    rows = [("Tenant", head["tenant"]), ("Exported", f"{head['at']} by {head['by']}"), ("Events", str(len(events)))]
    if run["erased"]:
        erased = run["erased"]
        rows.append(("Content", f"erased at {erased['at']} by {erased['by']}: {erased['reason']}"))
    good = "every hash, commitment and signature was right when this page was made"
    rows.append(("Proof", "; ".join(text for _, text in check.findings) or good))
    rows += [("Note", remark) for remark in check.remarks]
    return _table(rows)


def _decisions(events: list[dict[str, Any]]) -> str:
    shown = [e for e in events if e["body"] and e["type"].partition(".")[0] in ("approval", "form")]
    if not shown:
        return "<p>Nobody was asked, or the content was erased.</p>"
    rows = []
    for event in shown:
        body = json.loads(event["body"])
        text = json.dumps(body, indent=1, ensure_ascii=False)
        rows.append((f"{event['seq']} · {event['type']} · {event['step']}", text))
    return _table(rows, pre=True)


def _history(events: list[dict[str, Any]], sentences: dict[int, str]) -> str:
    rows = []
    for e in events:
        said = sentences.get(e["seq"], "" if e["body"] is not None else "erased")
        rows.append(
            (f"{e['seq']} · {e['type']} · {e['step']}", f"{said}\nat {e['at']} µs by {e['actor']}\n{e['hash']}")
        )
    return _table(rows, pre=True)


def _table(rows: Iterable[tuple[str, str]], *, pre: bool = False) -> str:
    tag = "pre" if pre else "span"
    cells = "".join(f"<tr><th>{escape(a)}</th><td><{tag}>{escape(b)}</{tag}></td></tr>" for a, b in rows)
    return f"<table>{cells}</table>"
