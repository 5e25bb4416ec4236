"""The designer's trial run: choose what happens, see the path, the times, who would be asked, and what comes out."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import panel as pn
import panel_material_ui as pmui

from signoff import errors
from signoff.core.definition import (
    ActivityConfig,
    ApprovalConfig,
    Definition,
    FormConfig,
    SignalConfig,
    Step,
    SubflowConfig,
)
from signoff.core.script import Answer, Choice, Message, Script, made_up
from signoff.core.wording import clock, span
from signoff.engine.trials import TrialView, try_out
from signoff.web.escape import esc, label
from signoff.web.parts.dialogs import AskDialog
from signoff.web.parts.forms import FieldForm
from signoff.web.parts.markup import Safe, notice, pairs, run_badge, table
from signoff.web.parts.panes import html
from signoff.web.site import Visitor

GOES_WELL = "goes well"


class TrialDesk:
    """A button, a dialog that asks what happens, and the result below the canvas."""

    def __init__(
        self, visitor: Visitor, read: Callable[[], Definition | None], say: Callable[[str, str], None]
    ) -> None:
        self._visitor, self._read, self._say = visitor, read, say
        self.dialog = AskDialog()
        self.pane = html("", margin=(10, 0, 0, 0))
        self.button = pmui.Button(
            label="Trial run",
            variant="outlined",
            size="small",
            margin=0,
            sx={"height": "34px"},
            on_click=visitor.handler(lambda _: self._open(), say),
        )

    def _open(self) -> None:
        definition = self._read()
        if definition is None:
            self._say("Mend the problems below first; then it can be tried.", "error")
            return
        form = FieldForm(definition.input, made_up(definition.input), what="the input") if definition.input else None
        chosen = {s.id: _choice(s) for s in definition.steps}
        widgets = {i: w for i, w in chosen.items() if w is not None}
        body: list[Any] = [form] if form else []
        if widgets:
            body += [html("<h3>What happens</h3>", margin=(4, 0, 6, 0)), *widgets.values()]
        run = partial(self._run, definition, form, widgets)
        words = "Nothing is called, nobody is asked and nothing is stored; a month passes in a moment."
        body_column = pn.Column(*body, sizing_mode="stretch_width", margin=0)
        self.dialog.ask("Trial run", words, [body_column], "Run", self._visitor.handler(run, self.dialog.say))

    def _run(self, definition: Definition, form: FieldForm | None, widgets: dict[str, Any], _: Any) -> None:
        values: dict[str, Any] = {}
        if form is not None:
            filled = form.read()
            if not filled.is_good:
                return
            values = filled.values
        site = self._visitor.site
        try:
            done = try_out(
                definition,
                values,
                by=self._visitor.person.login,
                script=script_for({i: w.value for i, w in widgets.items()}, definition),
                directory=site.signoff.queries.bulk.directory(site.tenant),
            )
        except errors.InvalidInput as error:
            self.dialog.say(error.message)
            return
        self.dialog.close()
        self.pane.object = result_markup(done)


def _choice(step: Step) -> Any:
    config = step.config
    options = [GOES_WELL]
    if isinstance(config, ActivityConfig | SubflowConfig):
        options += ["fails"]
    elif isinstance(config, ApprovalConfig):
        options += ["rejected", *(["returned once"] if config.returns_to else []), "nobody answers"]
    elif isinstance(config, FormConfig):
        options += [*(["returned once"] if config.returns_to else []), "nobody answers"]
    elif isinstance(config, SignalConfig):
        options += ["no message comes"]
    else:
        return None
    return pmui.Select(
        label=step.label,
        options=options,
        value=GOES_WELL,
        size="small",
        sizing_mode="stretch_width",
        margin=(0, 0, 8, 0),
    )


def script_for(chosen: dict[str, str], definition: Definition) -> Script:
    """The script for what a person chose, by step id."""
    answers: dict[str, list[Answer]] = {}
    choices: dict[str, list[Choice]] = {}
    messages: dict[str, list[Message]] = {}
    for step, word in chosen.items():
        found = definition.find_step(step)
        if word == "fails":
            answers[step] = [Answer(error="trial", message="It failed in the trial.", retryable=False)]
        elif word == "rejected":
            choices[step] = [Choice("rejected")]
        elif word == "returned once" and found is not None:
            to = getattr(found.config, "returns_to", ("",))[0]
            choices[step] = [Choice("returned", to=to), Choice()]
        elif word == "nobody answers":
            choices[step] = [Choice("nobody")]
        elif word == "no message comes":
            messages[step] = [Message(comes=False)]
    return Script(answers, choices, messages)


def result_markup(done: TrialView) -> Safe:
    """A trial's result: how it ended, its path, who was asked, what came out."""
    parts = [
        f'<div class="row"><h2>Trial run</h2>{run_badge(done.status)}<span>after {esc(span(done.took_s))}</span></div>'
    ]
    if done.stopped:
        parts.append(notice(done.stopped))
    if done.path:
        rows = ((Safe(label(s.label)), s.how, f"after {span(s.at_s)}") for s in done.path)
        parts.append(table(("Step", "How it ended", "When"), rows, name="Path of the trial"))
    if done.asked:
        asked = (
            (Safe(label(a.label)), Safe(label(", ".join(a.people))), clock(a.due) if a.due else "–") for a in done.asked
        )
        parts.append("<h3>Who would be asked</h3>")
        parts.append(table(("Step", "People", "Until (if begun on Monday, 4 January 2027)"), asked, name="Asked"))
    outputs = {k: v for k, v in done.outputs.items() if v not in (None, {}, [])}
    if outputs:
        parts += ["<h3>Outputs</h3>", pairs(outputs)]
    if done.not_done:
        parts.append(f'<p class="soft">Not done: {label(", ".join(done.not_done))}</p>')
    return Safe(f'<section data-trial class="stack">{"".join(parts)}</section>')
