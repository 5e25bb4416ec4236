"""Keeping a draft: saving with its revision, publishing, and what to do when somebody else saved in between."""

from __future__ import annotations

import panel as pn
import panel_material_ui as pmui

from signoff import errors
from signoff.core.states import Actor
from signoff.engine.views import DraftView
from signoff.web.escape import esc
from signoff.web.models.sheet import Sheet
from signoff.web.parts.markup import Safe, digest_text, link
from signoff.web.parts.panes import html, wrap
from signoff.web.site import Say, Visitor, in_thread, sentence


class DraftKeeper:
    """The stored side of a draft that is being edited."""

    def __init__(self, visitor: Visitor, draft: DraftView, sheet: Sheet, say: Say) -> None:
        self._visitor, self._name, self._say = visitor, draft.name, say
        self.revision = draft.revision
        self._saved: Sheet | None = sheet
        self._published = 0
        self.choice = pn.Column(sizing_mode="stretch_width", margin=0)

    def is_unsaved(self, sheet: Sheet) -> bool:
        """Whether the sheet differs from what is stored."""
        return sheet != self._saved

    async def save(self, actor: Actor, sheet: Sheet) -> bool:
        """Store the sheet on top of its revision; False, with a sentence, where that is not the newest."""
        site = self._visitor.site
        document, layout, based_on = sheet.document(), sheet.layout(), self.revision
        try:
            answer = await in_thread(
                lambda: site.signoff.save_draft(actor, site.tenant, self._name, document, layout, based_on)
            )
        except errors.Conflict as error:
            self._offer(error, sheet)
            return False
        self.revision, self._saved = answer["revision"], sheet
        self.choice[:] = []
        return True

    async def publish(self, actor: Actor, sheet: Sheet) -> None:
        """Save what is not saved yet, then freeze that revision; say version and digest."""
        site = self._visitor.site
        if self.is_unsaved(sheet) and not await self.save(actor, sheet):
            return
        revision = self.revision
        answer = await in_thread(lambda: site.signoff.publish(actor, site.tenant, self._name, revision))
        if answer["created"]:
            self._published = revision
        # The second click of a double click finds nothing new; what the first one did stays said.
        new = "Published" if self._published == revision else "Nothing new to publish: this is already"
        self._say(f"{new} version {answer['version']}, {answer['digest']}.", "success")
        way = link(f"/definitions/{self._name}/start", "Start a run of it", css="button")
        self.choice[:] = [
            html(Safe(f'<div class="row">{way}{digest_text(answer["digest"])}</div>'), margin=(8, 0, 0, 0))
        ]

    def _offer(self, error: errors.Conflict, sheet: Sheet) -> None:
        """Tell who saved in between; nothing of either is lost."""
        site = self._visitor.site
        self._say(sentence(error), "error")
        theirs = site.signoff.queries.find_draft(site.tenant, self._name)
        if theirs is None:
            return
        look = Safe(
            f'<a class="button" href="/definitions/{esc(self._name)}/draft" target="_blank" rel="noopener">'
            f"Look at revision {theirs.revision} in another tab</a>"
        )

        async def on_top(actor: Actor) -> None:
            self.revision = theirs.revision
            if await self.save(actor, sheet):
                self._say(f"Saved as revision {self.revision}, on top of revision {theirs.revision}.", "success")

        mine = pmui.Button(
            label=f"Save mine on top of revision {theirs.revision}",
            variant="outlined",
            color="warning",
            margin=0,
            on_click=self._visitor.command(on_top, self._say),
        )
        self.choice[:] = [wrap(html(look, sizing_mode=None), mine, gap="10px", margin=(8, 0, 0, 0))]
