"""One run: its explanation, its live graph, the selected step, its history, and what an operator may do."""

from __future__ import annotations

from typing import Any

import panel as pn

from signoff.engine.permissions import permitted
from signoff.engine.views import EventView, FeedEvent, RunView
from signoff.web.escape import clock, esc, label
from signoff.web.live import run_topic
from signoff.web.models.picture import draw, step_look
from signoff.web.pages.operate import Operations
from signoff.web.parts.graph import LiveGraph, StepGraph
from signoff.web.parts.history import history_list
from signoff.web.parts.markup import Safe, digest_text, heading, link, notice, pairs, run_badge
from signoff.web.parts.panes import html, wrap
from signoff.web.parts.run_graph import looks
from signoff.web.parts.step import step_facts
from signoff.web.shell import frame, shown_positions
from signoff.web.site import Visitor

CHUNK = 40
"""Facts per pane of the history: only the last pane is drawn again when something happens."""
READ_PAUSE_MS = 60
"""Colours change at once; the explanation is read again once per burst of changes."""
LEGEND = Safe(
    '<div class="legend" aria-label="Connections"><span><i class="open"></i>not decided yet</span>'
    "<span><i></i>taken</span>"
    '<span><i class="dead"></i>not taken</span><span><i class="blocked"></i>blocked</span></div>'
)


def run_page(visitor: Visitor, params: dict[str, str]) -> Any:
    """The page of one run."""
    page = _RunPage(visitor, params["run_id"])
    return frame(visitor, f"Run {page.view.row.run_id}", *page.content(), on_theme=page.graph.turn)


class _RunPage:
    def __init__(self, visitor: Visitor, run_id: str) -> None:
        self.visitor, self.run_id = visitor, run_id
        self.view = self._read()
        steps, edges = looks(self.view)
        positions = shown_positions(self.view.plan.definition, self.view.layout)
        self.selected = _first_of_interest(self.view)
        self._chosen = False
        chosen = (self.selected,) if self.selected else ()
        nodes, lines = draw(self.view.plan.definition, positions, steps, edges, editable=False, selected=chosen)
        self.graph = StepGraph(editable=False, nodes=nodes, edges=lines, height=_height(positions))
        self.live = LiveGraph(self.graph, steps, edges)
        self.head, self.top, self.step = html(), html(), html()
        self.operations = Operations(visitor, run_id, lambda: self.view, self._again)
        self.history = pn.Column(sizing_mode="stretch_width", margin=0)
        self._events: list[EventView] = []
        self._show()
        self._show_history()
        self.graph.on("selection_changed", self._select)
        topic = run_topic(visitor.site.tenant, run_id)
        visitor.site.live.follow(topic, visitor.document, self._colour)
        visitor.site.live.follow(topic, visitor.document, lambda _: self._again(), pause_ms=READ_PAUSE_MS)

    def _read(self) -> RunView:
        queries = self.visitor.site.signoff.queries
        return queries.get_run(self.visitor.site.tenant, self.run_id, reader=self.visitor.person)

    def content(self) -> list[Any]:
        """What the page shows, one below the other."""
        beside = pn.Column(self.step, self.operations.step_row, sizing_mode="stretch_width", margin=0)
        left = pn.Column(self.graph, html(LEGEND, margin=(6, 0, 0, 2)), margin=0, styles=_flex("3 1 520px"))
        right = pn.Column(beside, margin=0, styles=_flex("1 1 300px"))
        return [
            self.head,
            self.top,
            self.operations.run_row,
            wrap(left, right, gap="16px", align="flex-start", margin=(12, 0, 16, 0), sizing_mode="stretch_width"),
            html("<h2>History</h2>"),
            self.history,
            self.operations.dialog,
        ]

    def _colour(self, events: list[FeedEvent]) -> None:
        """Show new states at once, from what the feed tells; sentences and edges follow a moment later."""
        statuses: dict[str, str] = {}
        for event in events:
            statuses.update(event.steps)
        plan = self.view.plan
        self.live.show({i: step_look(plan.steps[i], s) for i, s in statuses.items() if i in plan.steps}, {})

    def _again(self) -> None:
        self.view = self._read()
        self.live.show(*looks(self.view))
        self._follow()
        self._show()
        self._show_history()

    def _follow(self) -> None:
        """Until somebody selects a step, the one that matters most is selected."""
        now = _first_of_interest(self.view)
        if not self._chosen and now and now != self.selected:
            self.selected = now
            self.graph.show_selection((now,))

    def _show(self) -> None:
        row, explanation = self.view.row, self.view.explanation
        title = self.view.plan.definition.title  # of the version that runs, whatever the draft says by now
        crumb = Safe(f"{link('/runs', 'Runs')} / {label(title)} · {esc(row.run_id)}")
        about: dict[str, Any] = {
            "Definition": Safe(f"{label(title)}, version {row.version} {digest_text(self.view.digest)}"),
            "Started": Safe(f"{clock(row.started_at)} by {label(self.visitor.name_of(row.started_by))}"),
        }
        if parent := self.view.state.parent:
            about["Started by the run"] = link(f"/runs/{parent}", parent)
            crumb = Safe(f"{link('/runs', 'Runs')} / {link(f'/runs/{parent}', 'parent run')} / {esc(row.run_id)}")
        if row.business_key:
            about["Key"] = row.business_key
        if "export_audit" in permitted(self.visitor.person.roles):
            here = f"/evidence/{row.run_id}"
            about["Evidence"] = Safe(f"{link(here, 'as a page')} · {link(here + '/bundle', 'as a bundle to check')}")
        self.head.object = heading(Safe(f"{label(title)} {run_badge(row.status)}"), crumb=crumb)
        following = f'<p class="soft said">{esc(explanation.next)}</p>' if explanation.next else ""
        kind = {"stalled": "error", "failed": "error", "succeeded": "success", "paused": "warning"}.get(
            row.status, "info"
        )
        said = f'<p class="said">{esc(explanation.sentence)}</p>{following}'
        said = f'<div class="notice {kind}" role="status" aria-live="polite">{said}</div>'
        given = f"<details><summary>Input and origin</summary>{pairs({**about, **self.view.state.input})}</details>"
        self.top.object = f'<div class="stack" style="margin-top:10px">{said}{given}</div>'
        self._show_step()

    def _show_step(self) -> None:
        self.operations.select(self.selected)
        self.operations.show()
        if self.selected not in self.view.plan.steps:
            self.step.object = '<div class="card soft">Select a step to see what it does and what happened.</div>'
            return
        queries = self.visitor.site.signoff.queries
        attempts = [a for a in queries.list_attempts(self.visitor.site.tenant, self.run_id) if a.step == self.selected]
        self.step.object = step_facts(self.view, self.selected, attempts, self.visitor.person.login)

    def _show_history(self) -> None:
        queries, tenant = self.visitor.site.signoff.queries, self.visitor.site.tenant
        fresh: list[EventView] = []
        known = (*self._events[-1:],)
        while more := queries.list_events(tenant, self.run_id, after=known[-1].sequence if known else 0):
            fresh += more
            known = (more[-1],)
        if not fresh and self._events:
            return
        first = len(self._events) // CHUNK
        self._events += fresh
        for i in range(first, (len(self._events) + CHUNK - 1) // CHUNK):
            listed = history_list(self._events[i * CHUNK : (i + 1) * CHUNK])
            if i < len(self.history):
                self.history[i].object = listed
            else:
                self.history.append(html(listed))

    def _select(self, message: dict[str, Any], _: Any = None) -> None:
        chosen = message.get("nodes") or [""]
        if str(chosen[0]) == self.selected:
            return
        self.selected, self._chosen = str(chosen[0]), True
        self.visitor.handler(
            lambda _: self._show_step(), lambda words, kind: setattr(self.top, "object", notice(words, kind))
        )()


def _first_of_interest(view: RunView) -> str:
    order = ("outcome_unknown", "failed", "expired", "waiting", "retrying", "running", "scheduled")
    by_status = {view.state.steps[i].status.value: i for i in reversed(list(view.plan.steps))}
    return next((by_status[s] for s in order if s in by_status), "")


def _height(positions: dict[str, tuple[float, float]]) -> int:
    rows = max((y for _, y in positions.values()), default=0.0) - min((y for _, y in positions.values()), default=0.0)
    return int(min(620, max(320, rows * 0.9 + 240)))


def _flex(flex: str) -> dict[str, str]:
    return {"flex": flex, "min-width": "0", "max-width": "100%"}
