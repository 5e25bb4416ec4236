"""Starting a run: a form made from the definition's input fields; one rendered form starts one run."""

from __future__ import annotations

import secrets
from typing import Any

import panel as pn
import panel_material_ui as pmui

from signoff import errors
from signoff.core.definition import FieldType
from signoff.core.states import Actor
from signoff.engine.views import VersionView
from signoff.web.escape import esc, label
from signoff.web.parts.forms import FieldForm, say_at
from signoff.web.parts.markup import Safe, digest_text, heading, link, notice
from signoff.web.parts.panes import html
from signoff.web.shell import frame
from signoff.web.site import Visitor, in_thread


def start_page(visitor: Visitor, params: dict[str, str]) -> Any:
    """The form of the newest version."""
    site, name = visitor.site, params["name"]
    version = site.signoff.queries.find_version(site.tenant, name)
    if version is None:
        raise errors.NotFound(f"Nothing of '{name[:60]}' has been published.", remedy="Publish its draft first.")
    if "start_run" not in visitor.may:
        raise errors.Forbidden("Your roles do not let you start runs.", remedy="Ask someone who may.")
    d = version.definition
    where = Safe(
        f"{link('/definitions', 'Definitions')} / start · version {version.version} {digest_text(version.digest)}"
    )
    text = f'<p class="said own soft">{esc(d.description)}</p>' if d.description else ""
    if any(f.type is FieldType.FILE for f in d.input):
        words = link(f"/start/{name}", "Fill in the form with files", css="button main")
        return frame(visitor, f"Start {d.title}", html(heading(Safe(label(d.title)), crumb=where) + text + words))
    form = _StartForm(visitor, version)
    return frame(visitor, f"Start {d.title}", html(heading(Safe(label(d.title)), crumb=where) + text), form.whole)


class _StartForm:
    """One rendered form: its idempotency key makes two clicks start one run."""

    def __init__(self, visitor: Visitor, version: VersionView) -> None:
        self._visitor, self._version = visitor, version
        self._key = f"web:{visitor.person.login}:{secrets.token_urlsafe(18)}"
        self._form = FieldForm(version.definition.input, what=f"the input of '{version.definition.title}'")
        self._business_key = pmui.TextInput(
            label="Key of your own (optional)",
            helper_text="for example an order number; it finds the run again",
            max_length=200,
            sizing_mode="stretch_width",
            margin=(0, 0, 14, 0),
            size="small",
        )
        self._said = html("", margin=(0, 0, 10, 0))
        self._button = pmui.Button(label="Start run", variant="contained", margin=0)
        self._button.on_click(visitor.command(self._start, self._say))
        parts = (self._form, self._business_key, self._said, self._button)
        self.whole = pn.Column(*parts, max_width=560, sizing_mode="stretch_width", margin=(18, 0, 0, 0))

    def _say(self, words: str, kind: str) -> None:
        self._said.object = notice(words, kind)

    async def _start(self, actor: Actor) -> None:
        filled = self._form.read()
        if not filled.is_good:
            self._say(filled.problems.get("", "Mend the marked fields; nothing was started."), "error")
            return
        site, version = self._visitor.site, self._version
        self._button.disabled = True
        try:
            answer = await in_thread(
                lambda: site.signoff.start_run(
                    actor,
                    site.tenant,
                    version.name,
                    filled.values,
                    version=version.version,
                    business_key=self._business_key.value.strip(),
                    idempotency_key=self._key,
                )
            )
        except errors.InvalidInput as error:
            self._show(error)
            raise
        finally:
            self._button.disabled = False
        self._visitor.go(f"/runs/{answer['run_id']}")

    def _show(self, error: errors.InvalidInput) -> None:
        """Problems that only the engine found, at their fields."""
        for problem in error.problems:
            widget = self._form.widgets.get(str(getattr(problem, "field", "")))
            if widget is not None:
                say_at(widget, str(getattr(problem, "sentence", problem)), wrong=True)
