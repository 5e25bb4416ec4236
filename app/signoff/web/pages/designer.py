"""The designer: a draft on a canvas, an editor for what is selected, what is wrong with it, saving and publishing."""

from __future__ import annotations

from typing import Any

import panel as pn
import panel_material_ui as pmui

from signoff import errors
from signoff.core.definition import Definition, StepKind
from signoff.core.problem import Problem
from signoff.core.rejection import Rejection
from signoff.core.states import Actor
from signoff.core.validate import is_publishable
from signoff.engine.views import DraftView
from signoff.web.escape import label
from signoff.web.models import sheet as board
from signoff.web.models.selection import Selection, follow
from signoff.web.models.sheet import Sheet, open_sheet, problems_of
from signoff.web.models.undo import Undo
from signoff.web.models.words import KIND_WORDS
from signoff.web.pages.changes import ChangesPane
from signoff.web.pages.drafts import DraftKeeper
from signoff.web.pages.trial import TrialDesk
from signoff.web.parts.canvas import Canvas
from signoff.web.parts.inspector import Edit, Pointer, definition_panel, edge_panel, step_panel
from signoff.web.parts.markup import Safe, heading, link, notice
from signoff.web.parts.panes import html, wrap
from signoff.web.parts.problems import ProblemList
from signoff.web.shell import frame
from signoff.web.site import Visitor

UNSAVED = " · <b data-unsaved>unsaved changes</b>"
"""The page's script asks before leaving while this is shown."""
TALL = {"height": "34px"}
PANEL_STYLES = {
    "border": "1px solid light-dark(#dfe3eb, #333a48)",
    "border-radius": "10px",
    "padding": "14px 14px 4px",
    "flex": "1 1 320px",
    "min-width": "0",
    "max-width": "100%",
    "max-height": "720px",
    "overflow-y": "auto",
}


def designer_page(visitor: Visitor, params: dict[str, str]) -> Any:
    """The draft of one definition."""
    name = params["name"]
    draft = visitor.site.signoff.queries.find_draft(visitor.site.tenant, name)
    if draft is None:
        raise errors.NotFound(f"There is no draft of '{name[:60]}'.", remedy="Look at the list of definitions.")
    sheet, read = open_sheet(draft.document, draft.layout)
    if sheet is None:
        raise errors.InvalidInput(
            f"The draft of '{name[:60]}' cannot be read: {read[0].sentence}",
            remedy="Save a correct one through the API or CLI.",
        )
    page = _Designer(visitor, draft, sheet)
    return frame(visitor, f"{sheet.definition.title} (draft)", *page.content(), on_theme=page.canvas.graph.turn)


class _Designer:
    def __init__(self, visitor: Visitor, draft: DraftView, sheet: Sheet) -> None:
        self.visitor = visitor
        self.around = visitor.site.signoff.queries.surroundings(visitor.site.tenant)
        self.line = Undo(sheet)
        self.problems: tuple[Problem, ...] = ()
        self.pointer = Pointer("")
        self.head, self.said = html(), html("", margin=(8, 0, 0, 0))
        self.panel = pn.Column(margin=0, styles=PANEL_STYLES)
        self.listed = ProblemList(self._show_problem)
        self.keeper = DraftKeeper(visitor, draft, sheet, self.say)
        self.changes = ChangesPane(visitor, draft.name)
        self.trial = TrialDesk(visitor, self._tried, self.say)
        self.canvas = Canvas(sheet, self.edit, self._selected)
        self._build_buttons()
        self._changed(rebuild=True)
        if "save_draft" not in visitor.may:
            self.say("Your roles let you look at this draft and try things out, but not save it.", "info")

    def _build_buttons(self) -> None:
        def button(words: str, work: Any, **look: Any) -> Any:
            return pmui.Button(
                label=words,
                variant=look.pop("variant", "outlined"),
                size="small",
                margin=0,
                sx=TALL,
                on_click=self.visitor.handler(lambda _: work(), self.say),
                **look,
            )

        self.adders = [button(f"Add {KIND_WORDS[k].lower()}", lambda k=k: self._add(k)) for k in board.NEW_LABELS]
        self.undo = button("Undo", lambda: self._travel(self.line.undo))
        self.redo = button("Redo", lambda: self._travel(self.line.redo))
        self.arrange = button("Arrange", lambda: self.edit(board.arrange))
        self.delete = button("Delete", self._delete, color="error")
        self.save = pmui.Button(label="Save draft", size="small", margin=0, variant="contained", sx=TALL)
        self.publish = pmui.Button(
            label="Publish", size="small", margin=0, variant="contained", color="success", sx=TALL
        )
        self.save.on_click(self.visitor.command(self._save, self.say))
        self.publish.on_click(self.visitor.command(self._publish, self.say))

    def content(self) -> list[Any]:
        """What the page shows, one below the other."""
        may = self.visitor.may
        ends = [b for b, name in ((self.save, "save_draft"), (self.publish, "publish")) if name in may]
        tools = [*self.adders, self.undo, self.redo, self.arrange, self.delete, self.trial.button, *ends]
        left = pn.Column(
            self.canvas.graph,
            self.listed.column,
            self.changes.pane,
            margin=0,
            styles={"flex": "3 1 540px", "min-width": "0", "max-width": "100%"},
        )
        return [
            self.head,
            wrap(*tools, gap="8px", margin=(10, 0, 0, 0), sizing_mode="stretch_width"),
            self.said,
            self.keeper.choice,
            self.trial.dialog,
            self.trial.pane,
            wrap(
                left,
                self.panel,
                gap="14px",
                margin=(10, 0, 0, 0),
                align="flex-start",
                sizing_mode="stretch_width",
            ),
        ]

    @property
    def sheet(self) -> Sheet:
        """What is on the canvas."""
        return self.line.current

    def say(self, words: str, kind: str) -> None:
        """Show a sentence above the canvas; "" takes the last one away."""
        self.said.object = notice(words, kind) if words else ""

    def edit(self, edit: Edit) -> None:
        """One action of a person: one step of undo, or a sentence that says why not."""
        before = self.sheet
        result = edit(before)
        if isinstance(result, Rejection):
            self.say(result.sentence, "error")
            self.canvas.draw_again(before, self._marks())
            self._rebuild()
            return
        self.say("", "info")
        self.line.push(result)
        gone = self._follow(before, result)
        self._changed(rebuild=gone)

    def _follow(self, before: Sheet, after: Sheet) -> bool:
        """Keep the selection and the panel on what was renamed; True where something selected is gone."""
        old = self.canvas.selection
        now = follow(before, after, old)
        if now != old:
            self.canvas.select(now)
        if (len(now.steps), len(now.edges)) != (len(old.steps), len(old.edges)):
            return True
        for name in (*now.steps, *now.edges):
            self.pointer.rename(name)
        return False

    def _changed(self, *, rebuild: bool) -> None:
        self.problems = problems_of(self.sheet, self.around)
        self.canvas.draw(self.sheet, self._marks())
        d = self.sheet.definition
        unsaved = self.keeper.is_unsaved(self.sheet)
        state = f"revision {self.keeper.revision}{UNSAVED if unsaved else ''}"
        crumb = Safe(f"{link('/definitions', 'Definitions')} / draft · {state}")
        self.head.object = heading(
            Safe(label(d.title)), crumb=crumb, side=Safe(f'<span class="soft small">{len(d.steps)} of 20 steps</span>')
        )
        self.listed.show(self.problems)
        self.changes.show(d)
        self.undo.disabled, self.redo.disabled = not self.line.can_undo, not self.line.can_redo
        self.save.disabled = not unsaved
        self.publish.disabled = not is_publishable(self.problems)
        self.delete.disabled = self.canvas.selection.is_empty
        if rebuild:
            self._rebuild()

    def _tried(self) -> Definition | None:
        """What is on the canvas, where it can be run."""
        self.canvas.settle()
        return self.sheet.definition if is_publishable(self.problems) else None

    def _marks(self) -> dict[str, str]:
        marks: dict[str, str] = {}
        for p in self.problems:
            if p.step and marks.get(p.step) != "error":
                marks[p.step] = p.severity
        return marks

    def _rebuild(self) -> None:
        steps, edges = self.canvas.selection.steps, self.canvas.selection.edges
        step = self.sheet.definition.find_step(steps[0]) if len(steps) == 1 else None
        if step is not None:
            self.pointer = Pointer(step.id)
            inputs = step_panel(step, self.pointer, self.sheet.definition.policies, self.around, self._apply)
        elif not steps and len(edges) == 1 and self.sheet.find_edge(edges[0]):
            self.pointer = Pointer(edges[0])
            inputs = edge_panel(self.sheet, self.pointer, self._apply)
        else:
            inputs = definition_panel(self.sheet, self._apply)
        self.panel[:] = inputs

    def _apply(self, edit: Edit) -> None:
        self.visitor.handler(lambda _: self.edit(edit), self.say)()

    def _selected(self, _: Selection) -> None:
        self.delete.disabled = self.canvas.selection.is_empty
        self._rebuild()

    def _select(self, steps: tuple[str, ...] = (), edges: tuple[str, ...] = ()) -> None:
        self.canvas.select(Selection(steps, edges))
        self._changed(rebuild=True)

    def _show_problem(self, problem: Problem) -> None:
        if problem.edge and self.sheet.find_edge(problem.edge):
            self._select(edges=(problem.edge,))
        else:
            self._select(steps=(problem.step,) if problem.step else ())

    def _add(self, kind: StepKind) -> None:
        self.canvas.settle()
        chosen = self.canvas.selection.steps
        after = chosen[0] if len(chosen) == 1 else ""
        before = self.sheet
        self.edit(lambda s: board.add_step(s, kind, after=after))
        if self.sheet is not before:
            added = board.last_added(self.sheet)
            self._select(steps=(added,))
            self.canvas.show(added)

    def _delete(self) -> None:
        chosen = self.canvas.selection
        self.edit(lambda s: board.remove(s, chosen.steps, chosen.edges))

    def _travel(self, go: Any) -> None:
        self.canvas.settle()
        before = self.sheet
        go()
        self._follow(before, self.sheet)
        self._changed(rebuild=True)

    async def _save(self, actor: Actor) -> None:
        self.canvas.settle()
        if await self.keeper.save(actor, self.sheet):
            self.say(f"Saved as revision {self.keeper.revision}.", "success")
        self._changed(rebuild=False)

    async def _publish(self, actor: Actor) -> None:
        self.canvas.settle()
        if not is_publishable(self.problems):
            self.say("Mend the problems below first; nothing was published.", "error")
            return
        self.publish.disabled = True
        try:
            await self.keeper.publish(actor, self.sheet)
            self.changes.look_again()
        finally:
            self._changed(rebuild=False)
