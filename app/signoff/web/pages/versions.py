"""One definition: the version new runs use as a graph, all versions, and what may be done to them."""

from __future__ import annotations

from functools import partial
from typing import Any

import panel as pn
import panel_material_ui as pmui

from signoff import errors
from signoff.core.states import Actor
from signoff.engine.views import VersionView
from signoff.web.escape import clock, esc, label
from signoff.web.models.picture import draw, edge_look, step_look
from signoff.web.pages.bulk import migrate_link
from signoff.web.parts.dialogs import AskDialog
from signoff.web.parts.graph import StepGraph
from signoff.web.parts.inputs import choice_input
from signoff.web.parts.markup import Safe, digest_text, empty, heading, link, notice, table
from signoff.web.parts.panes import html, wrap
from signoff.web.shell import frame, shown_positions
from signoff.web.site import Visitor, in_thread

HEAD = ("Version", "Digest", "Published", "By", "Compare and move")


def versions_page(visitor: Visitor, params: dict[str, str]) -> Any:
    """The newest version as a graph, and all versions."""
    queries, tenant, name = visitor.site.signoff.queries, visitor.site.tenant, params["name"]
    versions = queries.list_versions(tenant, name)
    if not versions and queries.find_draft(tenant, name) is None:
        raise errors.NotFound(f"There is no definition '{name[:60]}'.", remedy="Look at the list of definitions.")
    ways = Safe(link(f"/definitions/{name}/draft", "Draft", css="button"))
    crumb = link("/definitions", "Definitions")
    if not versions:
        head = heading(name, crumb=crumb, side=ways)
        return frame(
            visitor, name, html(head), html(empty("Nothing of this has been published yet."), margin=(12, 0, 0, 0))
        )
    current = next((v for v in versions if not v.archived), versions[0])
    if "start_run" in visitor.may and not current.archived:
        ways = Safe(link(f"/definitions/{name}/start", "Start", css="button main") + ways)
    if "read_migrations" in visitor.may and len(versions) > 1:
        ways = Safe(link(f"/definitions/{name}/migrations", "Migration plans", css="button") + ways)
    graph = _still(current)
    about = (
        f'<p class="said own soft">{esc(current.definition.description)}</p>' if current.definition.description else ""
    )
    listed = html()
    desk = _Desk(visitor, name, listed)
    desk.draw(versions)
    return frame(
        visitor,
        current.definition.title,
        html(heading(Safe(label(current.definition.title)), crumb=crumb, side=ways) + about),
        pn.Column(graph, margin=(12, 0, 16, 0), sizing_mode="stretch_width"),
        html("<h2>Versions</h2>", margin=(0, 0, 8, 0)),
        listed,
        desk.row,
        desk.said,
        desk.dialog,
        on_theme=graph.turn,
    )


def _still(version: VersionView) -> StepGraph:
    d = version.definition
    labels = {s.id: s.label for s in d.steps}
    steps = {s.id: step_look(s) for s in d.steps}
    edges = {e.key: edge_look(e, labels, live=False) for e in d.edges}
    nodes, lines = draw(d, shown_positions(d, version.layout), steps, edges, editable=False)
    return StepGraph(editable=False, nodes=nodes, edges=lines, height=380)


class _Desk:
    """Buttons for one chosen version: archive and back, make it the draft."""

    def __init__(self, visitor: Visitor, name: str, listed: Any) -> None:
        self._visitor, self._name, self._listed = visitor, name, listed
        self.dialog = AskDialog()
        self.said = html("", margin=(8, 0, 0, 0))
        self.row = pn.Column(sizing_mode="stretch_width", margin=(10, 0, 0, 0))
        self._chosen = 0

    def draw(self, versions: list[VersionView]) -> None:
        """Draw the table, and the buttons that the person's roles allow."""
        current = next((v.version for v in versions if not v.archived), 0)
        self._listed.object = table(HEAD, (self._line(v, versions, current) for v in versions), name="Versions")
        self._chosen = self._chosen or versions[0].version
        self._buttons(versions)

    def _line(self, v: VersionView, versions: list[VersionView], current: int) -> tuple[object, ...]:
        note = " · archived" if v.archived else " · new runs use it" if v.version == current else ""
        path = f"/definitions/{self._name}/compare"
        older = next((o.version for o in versions if o.version < v.version), 0)
        ways = link(f"{path}?old={older}&new={v.version}", f"with version {older}") if older else Safe("")
        draft = link(f"{path}?old={v.version}", "with the draft")
        newer = current if "bulk" in self._visitor.may and v.version < current else 0
        move = migrate_link(self._name, v.version, newer) if newer else Safe("")
        both = Safe(" · ".join(x for x in (ways, draft, move) if x))
        return f"version {v.version}{note}", digest_text(v.digest), Safe(clock(v.published_at)), label_of(v), both

    def _buttons(self, versions: list[VersionView]) -> None:
        found = next(v for v in versions if v.version == self._chosen)
        buttons = []
        if "restore_draft" in self._visitor.may:
            buttons.append(self._button("Make it the draft", self._visitor.command(self._restore, self._say)))
        if "archive" in self._visitor.may:
            words = "Unarchive" if found.archived else "Archive"
            ask = self._visitor.handler(lambda _: self._ask(words, found), self._say)
            buttons.append(self._button(words, ask))
        if not buttons:
            self.row[:] = []
            return
        options = {f"version {v.version}": str(v.version) for v in versions}
        choice = choice_input("Version", options, str(self._chosen), lambda v: self._choose(int(v)))
        choice.styles = {"flex": "0 1 200px"}
        self.row[:] = [wrap(choice, *buttons, gap="8px", align="center", margin=0)]

    def _button(self, words: str, do: Any) -> Any:
        return pmui.Button(label=words, variant="outlined", margin=0, on_click=do)

    def _choose(self, version: int) -> None:
        self._chosen = version
        self._again()

    def _again(self) -> None:
        site = self._visitor.site
        self.draw(site.signoff.queries.list_versions(site.tenant, self._name))

    def _ask(self, words: str, version: VersionView) -> None:
        reason = pmui.TextAreaInput(
            label="Reason", rows=2, max_length=2_000, sizing_mode="stretch_width", margin=(0, 0, 12, 0)
        )
        about = "No new runs of it start; open runs go on." if words == "Archive" else "New runs of it may start again."
        send = partial(self._archive, reason, version)
        title = f"{words} version {version.version}"
        self.dialog.ask(title, about, [reason], words, self._visitor.command(send, self.dialog.say))

    async def _archive(self, reason: Any, version: VersionView, actor: Actor) -> None:
        given, site = (reason.value_input or reason.value or "").strip(), self._visitor.site
        reason.error_state = not given
        reason.helper_text = "" if given else "Say why; it is kept in the audit trail."
        if not given:
            return
        answer = await in_thread(
            lambda: site.signoff.archive(
                actor, site.tenant, self._name, given, version=version.version, archived=not version.archived
            )
        )
        self.dialog.close()
        used = answer["new_runs_use"]
        self._say(f"Done. {f'New runs use version {used}.' if used else 'No new runs can start.'}", "success")
        self._again()

    async def _restore(self, actor: Actor) -> None:
        site, version = self._visitor.site, self._chosen
        answer = await in_thread(lambda: site.signoff.restore_draft(actor, site.tenant, self._name, version))
        same = " already" if answer.get("unchanged") else ""
        self._say(f"Version {version} is{same} the draft, revision {answer['revision']}.", "success")

    def _say(self, words: str, kind: str) -> None:
        self.said.object = notice(words, kind)


def label_of(version: VersionView) -> Safe:
    """Who published it."""
    return Safe(label(version.published_by))
