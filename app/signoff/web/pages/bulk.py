"""One command for many runs: choose which, see what it would do to each, tick, say why, send."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlencode

import panel as pn
import panel_material_ui as pmui

from signoff import errors
from signoff.core.states import TERMINAL_RUNS, Actor, RunStatus
from signoff.engine.bulk_queries import Foreseen, Preview, RunFilter
from signoff.engine.bulk_requests import BULK
from signoff.web.escape import esc, label
from signoff.web.models.words import ACTION_WORDS, run_word
from signoff.web.parts.markup import Safe, empty, heading, link, notice, run_badge, table
from signoff.web.parts.panes import html, wrap
from signoff.web.shell import arguments, frame
from signoff.web.site import Visitor, in_thread

FIELDS = ("command", "status", "definition", "version", "step", "error", "hours", "target", "plan")
_WORDS = {**ACTION_WORDS, "migrate_run": "Move to another version", "replay_dead_letter": "Replay dead letters"}
_TAKES_MORE = ("edit_input", "reassign_step")
"""Commands that need more than a reason: on the command line and over REST."""


def bulk_page(visitor: Visitor, _: dict[str, str]) -> Any:
    """Filters, the preview they give, and the command."""
    if "bulk" not in visitor.may:
        raise errors.Forbidden("Your roles do not let you send commands to many runs.", remedy="Ask an operator.")
    asked = arguments(*FIELDS)
    titles = {d.name: d.title for d in visitor.site.signoff.queries.list_definitions(visitor.site.tenant)}
    head = html(heading("One command for many runs", crumb=link("/runs", "Runs")))
    form = html(_form(asked, titles), margin=(10, 0, 12, 0))
    if not asked["command"]:
        return frame(visitor, "Many runs", head, form, html(empty("Choose a command to see what it would do.")))
    try:
        desk = _Desk(visitor, asked)
    except (errors.InvalidInput, errors.NotFound) as error:
        return frame(visitor, "Many runs", head, form, html(notice(f"{error.message} {error.remedy}", "error")))
    return frame(visitor, "Many runs", head, form, *desk.content())


def migrate_link(definition: str, version: int, target: int) -> Safe:
    """The way to the preview of moving all open runs of a version."""
    asked = {"command": "migrate_run", "definition": definition, "version": version, "target": target}
    return link(f"/operations?{urlencode(asked)}", f"Move runs of version {version}…")


def _form(asked: dict[str, str], titles: dict[str, str]) -> str:
    commands = "".join(_option(c, _WORDS.get(c, c), asked["command"]) for c in BULK if c not in _TAKES_MORE)
    open_states = [s for s in RunStatus if s not in TERMINAL_RUNS]
    states = "".join(_option(s.value, run_word(s.value), asked["status"]) for s in open_states)
    names = "".join(_option(name, title, asked["definition"]) for name, title in titles.items())

    def text(name: str, words: str, size: int = 8) -> str:
        return f'<label>{words} <input type="text" name="{name}" value="{esc(asked[name])}" size="{size}"></label>'

    return f"""<form class="row filters" method="get" action="/operations">
<label>Command <select name="command"><option value="">choose…</option>{commands}</select></label>
<label>Process <select name="definition"><option value="">any</option>{names}</select></label>
<label>State <select name="status"><option value="">open</option>{states}</select></label>
{text("version", "On version", 4)}{text("step", "Step id")}{text("error", "Error code")}
{text("hours", "Unchanged for hours", 4)}{text("target", "To version", 4)}{text("plan", "By the plan", 14)}
<button class="button">Preview</button></form>"""


def _option(value: str, words: str, chosen: str) -> str:
    return f'<option value="{esc(value)}"{" selected" if value == chosen else ""}>{esc(words)}</option>'


def _number(asked: dict[str, str], name: str) -> float | None:
    if not asked[name]:
        return None
    try:
        number = float(asked[name])
    except ValueError:
        number = -1.0
    if not 0 < number < 1e9:
        raise errors.InvalidInput(f"'{asked[name][:20]}' is no number above 0.", remedy="Correct it.")
    return number


class _Desk:
    """The preview with a box to tick for each run that can, a reason, and the button that sends."""

    def __init__(self, visitor: Visitor, asked: dict[str, str]) -> None:
        self._visitor, self._command = visitor, asked["command"]
        version, target = _number(asked, "version"), _number(asked, "target")
        which = RunFilter(
            asked["definition"],
            int(version) if version else None,
            asked["status"],
            asked["step"],
            asked["error"],
            (_number(asked, "hours") or 0.0) * 3600,
        )
        self._args: dict[str, Any] = {}
        if self._command == "migrate_run" and asked["plan"]:
            self._args = {"plan_id": asked["plan"]}
        elif self._command == "migrate_run":
            if target is None:
                raise errors.InvalidInput("Moving runs needs the version to go to.", remedy="Fill in “To version”.")
            self._args = {"plan": {"target": int(target)}}
        site = visitor.site
        self._found: Preview = site.signoff.queries.bulk.preview(
            site.tenant, visitor.visit.actor, self._command, which, self._args
        )
        self._key = secrets.token_urlsafe(18)
        self._boxes = {
            i.run_id: pmui.Checkbox(label=_short(i), value=True, margin=(0, 0, 2, 0))
            for i in self._found.items
            if i.can
        }
        self._reason = pmui.TextAreaInput(
            label="Reason", rows=2, max_length=2_000, sizing_mode="stretch_width", margin=(10, 0, 8, 0)
        )
        self._send_button = pmui.Button(label="", variant="contained", margin=0)
        self._send_button.on_click(visitor.command(self._send, self._say))
        self._said = html("", margin=(8, 0, 0, 0))
        self._results = html("", margin=(8, 0, 0, 0))
        for box in self._boxes.values():
            box.param.watch(lambda _: self._count(), "value")
        self._count()

    def content(self) -> list[Any]:
        """What the page shows below its filters."""
        items = self._found.items
        if not items:
            return [html(empty("No run fits these filters."))]
        more = " There are more than these; they come with the next preview." if self._found.more else ""
        summary = f"{len(self._boxes)} of {len(items)} runs can.{more} Nothing has been changed yet."
        cannot = [i for i in items if not i.can]
        parts: list[Any] = [html(f'<p class="said">{esc(summary)}</p>')]
        if self._boxes:
            tick = pmui.Button(label="Tick none", variant="text", size="small", margin=0)
            tick.on_click(self._visitor.handler(lambda _: self._tick(tick), self._say))
            parts += [
                html("<h2>Can</h2>", margin=(10, 0, 4, 0)),
                tick,
                pn.Column(*self._boxes.values(), sizing_mode="stretch_width", margin=0),
                self._reason,
                wrap(self._send_button, gap="8px", margin=0),
            ]
        parts += [self._said, self._results]
        if cannot:
            rows = _rows(cannot)
            parts += [html("<h2>Cannot</h2>", margin=(14, 0, 4, 0))]
            parts += [html(table(("Run", "State", "Because"), rows, name="Runs that cannot"))]
        return parts

    def _chosen(self) -> list[dict[str, Any]]:
        return [x for x in self._found.sendable if self._boxes[x["run_id"]].value]

    def _tick(self, button: Any) -> None:
        value = not any(b.value for b in self._boxes.values())
        for box in self._boxes.values():
            box.value = value
        button.label = "Tick none" if value else "Tick all"

    def _count(self) -> None:
        count = len(self._chosen())
        words = _WORDS.get(self._command, self._command)
        self._send_button.label = f"{words}: {count} run{'' if count == 1 else 's'}"
        self._send_button.disabled = not count

    async def _send(self, actor: Actor) -> None:
        given = (self._reason.value_input or self._reason.value or "").strip()
        self._reason.error_state = not given
        self._reason.helper_text = "" if given else "Say why; it is kept in the history."
        if not given:
            return
        site, items = self._visitor.site, self._chosen()
        self._send_button.disabled = True
        answer = await in_thread(
            lambda: site.signoff.bulk(
                actor,
                site.tenant,
                self._command,
                items,
                reason=given,
                args=self._args,
                idempotency_key=f"web:{actor.id}:{self._key}",
            )
        )
        kind = "success" if not answer["refused"] else "warning"
        self._say(f"{answer['done']} done, {answer['refused']} refused, recorded as {answer['bulk_id']}.", kind)
        rows = (
            (
                link(f"/runs/{x['run_id']}", x["run_id"]),
                run_badge(x["status"]) if x["done"] else "refused",
                Safe(label(x["message"])),
            )
            for x in answer["results"]
        )
        self._results.object = table(("Run", "State now", "Because"), rows, name="Results")

    def _say(self, words: str, kind: str) -> None:
        self._said.object = notice(words, kind)


def _short(item: Foreseen) -> str:
    key = f" · {item.business_key}" if item.business_key else ""
    following = f" {' '.join(item.following)}" if item.following else ""
    return f"{item.title} v{item.version}{key} · {item.run_id}: {item.sentence}{following}"


def _rows(items: Iterable[Foreseen]) -> Iterable[tuple[object, ...]]:
    for i in items:
        title = link(f"/runs/{i.run_id}", Safe(f"<b>{label(i.title)}</b>"))
        what = Safe(f'{title} v{i.version}<div class="soft mono nowrap">{esc(i.run_id)}</div>')
        yield what, run_badge(i.status), Safe(label(i.sentence))
