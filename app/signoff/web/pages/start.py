"""Starting a run: a form made from the definition's input fields; one rendered form starts one run."""

from __future__ import annotations

import secrets
from typing import Any

import panel as pn
import panel_material_ui as pmui

from signoff import errors
from signoff.core.states import Actor
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
    key = f"web:{visitor.person.login}:{secrets.token_urlsafe(18)}"
    form = FieldForm(d.input, what=f"the input of '{d.title}'")
    business_key = pmui.TextInput(
        label="Key of your own (optional)",
        helper_text="for example an order number; it finds the run again",
        max_length=200,
        sizing_mode="stretch_width",
        margin=(0, 0, 14, 0),
        size="small",
    )
    said = html("")
    button = pmui.Button(label="Start run", variant="contained", margin=0)

    def say(words: str, kind: str) -> None:
        said.object = notice(words, kind)

    async def start(actor: Actor) -> None:
        filled = form.read()
        if not filled.is_good:
            say(filled.problems.get("", "Mend the marked fields; nothing was started."), "error")
            return
        button.disabled = True
        try:
            answer = await in_thread(
                lambda: site.signoff.start_run(
                    actor,
                    site.tenant,
                    name,
                    filled.values,
                    version=version.version,
                    business_key=business_key.value.strip(),
                    idempotency_key=key,
                )
            )
        except errors.InvalidInput as error:
            _show(form, error)
            raise
        finally:
            button.disabled = False
        visitor.go(f"/runs/{answer['run_id']}")

    button.on_click(visitor.command(start, say))
    about = Safe(f"version {version.version} {digest_text(version.digest)}")
    text = f'<p class="said soft">{esc(d.description)}</p>' if d.description else ""
    return frame(
        visitor,
        f"Start {d.title}",
        html(
            heading(Safe(label(d.title)), crumb=Safe(f"{link('/definitions', 'Definitions')} / start · {about}")) + text
        ),
        pn.Column(form, business_key, said, button, max_width=560, sizing_mode="stretch_width", margin=(18, 0, 0, 0)),
    )


def _show(form: FieldForm, error: errors.InvalidInput) -> None:
    """Problems that only the engine found, at their fields."""
    for problem in error.problems:
        widget = form.widgets.get(str(getattr(problem, "field", "")))
        if widget is not None:
            say_at(widget, str(getattr(problem, "sentence", problem)), wrong=True)
