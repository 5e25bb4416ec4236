"""What an operator may do to a run or a step: buttons from the explanation, a reason, one command per dialog."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from functools import partial
from typing import Any

import panel as pn
import panel_material_ui as pmui

from signoff.core.definition import ActivityConfig, Field, FieldType
from signoff.core.states import Actor
from signoff.engine.views import RunView
from signoff.web.models.words import ACTION_WORDS
from signoff.web.parts.choosing import PeopleChooser
from signoff.web.parts.dialogs import AskDialog
from signoff.web.parts.forms import FieldForm
from signoff.web.parts.markup import notice
from signoff.web.parts.panes import html, wrap
from signoff.web.site import Visitor, in_thread

RUN_WORDS = {
    "pause_run": "Nothing starts and no clock runs until the run is resumed.",
    "resume_run": "Clocks go on where they stopped.",
    "cancel_run": "Work under way is awaited; nothing else begins. This cannot be undone.",
    "terminate_run": "The run ends at once, whatever is under way. This cannot be undone.",
    "edit_input": "The new values hold for everything that begins from now on.",
}
STEP_WORDS = {
    "retry_step": "A new generation of this step begins; what succeeded before is not repeated.",
    "confirm_effect": "The call took effect, although its answer was lost: the step succeeds with the output you give.",
    "deny_effect": "The call took no effect: it is made again with the same idempotency key.",
    "skip_step": "The step counts as done without having been done; the history says so.",
    "complete_step": "Somebody did this by hand: the step succeeds with the output you give, and the history says so.",
    "reassign_step": "Other people are asked. Votes so far count on, and no fewer are needed than before.",
}
UNDO_WORDS = {
    "retry_step": "Its compensation is tried again, with the same idempotency key.",
    "skip_step": "Somebody undid it by hand: the history says so, and undoing goes on with the step before.",
}
DONE_WORDS = {
    "pause_run": "The run is paused",
    "resume_run": "The run goes on",
    "cancel_run": "The run is being cancelled",
    "terminate_run": "The run was terminated",
    "edit_input": "The input was changed",
    "retry_step": "Retrying",
    "skip_step": "Skipped",
    "complete_step": "Recorded as done by hand",
    "reassign_step": "Reassigned",
    "confirm_effect": "Recorded that it happened",
    "deny_effect": "Recorded that it did not happen; it is done again",
}
HOLDS_WHILE = {"pause_run": "paused", "cancel_run": "cancelling"}
"""States of the run during which what was said about an action is true; others stay true."""
_LOOKS = {"cancel_run": "error", "terminate_run": "error"}
FREE = "free"
"""The one field of a substitute output whose fields are not declared."""
_SUBSTITUTE = Field(FREE, "Substitute output (JSON object)", FieldType.OBJECT, required=False)

_BY_HAND = Field(FREE, "What was done (JSON object)", FieldType.OBJECT, required=False)
_OUTPUT = Field(FREE, "Output (JSON object)", FieldType.OBJECT, required=False)
_OUTPUTS = Field(FREE, "Outputs (JSON list, one for each item)", FieldType.LIST, required=False)
_GIVEN = Field(FREE, "What the call gave (JSON object)", FieldType.OBJECT, required=False)


class Operations:
    """Buttons for a run and its selected step, and the dialog they share."""

    def __init__(self, visitor: Visitor, run_id: str, view: Callable[[], RunView], again: Callable[[], None]) -> None:
        self._visitor, self._run_id, self._view, self._again = visitor, run_id, view, again
        self.dialog = AskDialog()
        self._said = html()
        self._run_buttons = wrap(gap="8px", margin=(10, 0, 0, 0))
        self._step_buttons = wrap(gap="8px", margin=(10, 0, 0, 0))
        self.run_row = pn.Column(self._run_buttons, self._said, sizing_mode="stretch_width", margin=0)
        self.step_row = self._step_buttons
        self._step = ""
        self._holds_while = ""
        self._offered: tuple[tuple[str, ...], str, tuple[str, ...]] | None = None

    def select(self, step: str) -> None:
        """Offer what may be done to this step."""
        self._step = step

    def show(self) -> None:
        """Draw the buttons that the state and the person's roles allow now."""
        explanation = self._view().explanation
        if self._holds_while not in ("", self._view().row.status):
            self._said.object, self._holds_while = "", ""
        run = tuple(a for a in explanation.actions if a in RUN_WORDS)
        known = {s.step: s.actions for s in explanation.steps}
        step = tuple(a for a in known.get(self._step, ()) if a in STEP_WORDS)
        if (run, self._step, step) == self._offered:
            return
        self._offered = (run, self._step, step)
        self._run_buttons[:] = [self._button(a, "") for a in run]
        self._step_buttons[:] = [self._button(a, self._step) for a in step]

    def _button(self, action: str, step: str) -> Any:
        return pmui.Button(
            label=ACTION_WORDS[action],
            variant="contained" if action == "retry_step" else "outlined",
            color=_LOOKS.get(action, "primary"),
            margin=0,
            on_click=self._visitor.handler(lambda _: self._open(action, step), self._say),
        )

    def _open(self, action: str, step: str) -> None:
        view = self._view()
        reason = pmui.TextAreaInput(
            label="Reason", rows=2, max_length=2_000, sizing_mode="stretch_width", margin=(0, 0, 12, 0)
        )
        more = self._people(view, step) if action == "reassign_step" else _more(action, view, step)
        label = view.plan.label(step) if step else ""
        about = f"‘{label}’: " if label else ""
        send = partial(self._send, action, step, reason, more, view.row.sequence, secrets.token_urlsafe(18))
        undoing = bool(step) and view.state.steps[step].undo > 0
        words = about + (UNDO_WORDS if undoing else STEP_WORDS | RUN_WORDS)[action]
        body = [reason, *([more] if more is not None else [])]
        self.dialog.ask(
            ACTION_WORDS[action], words, body, ACTION_WORDS[action], self._visitor.command(send, self.dialog.say)
        )

    def _people(self, view: RunView, step: str) -> PeopleChooser:
        asked = view.state.steps[step].approval
        assert asked is not None
        people = self._visitor.site.signoff.queries.list_people(self._visitor.site.tenant)
        names = {p.login: p.name or p.login for p in people if p.active}
        return PeopleChooser(names, asked.roster, [v.person for v in asked.votes])

    async def _send(self, action: str, step: str, reason: Any, more: Any, seen: int, key: str, actor: Actor) -> None:
        given = (reason.value_input or reason.value or "").strip()
        reason.error_state = not given
        reason.helper_text = "" if given else "Say why; it is kept in the history."
        args, good = _arguments(action, more)
        if not given or not good:
            return
        if step:
            args["step"] = step
        site = self._visitor.site
        self.dialog.wait(True)
        try:
            await in_thread(
                lambda: site.signoff.operate(
                    action,
                    actor,
                    site.tenant,
                    self._run_id,
                    reason=given,
                    seen_sequence=seen,
                    idempotency_key=f"web:{actor.id}:{key}",
                    **args,
                )
            )
        finally:
            self.dialog.wait(False)
        self.dialog.close()
        label = f" ‘{self._view().plan.label(step)}’" if step else ""
        self._say(f"{DONE_WORDS[action]}{label}.", "success")
        self._holds_while = HOLDS_WHILE.get(action, "")
        self._again()

    def _say(self, words: str, kind: str) -> None:
        self._holds_while = ""
        self._said.object = notice(words, kind)


def _more(action: str, view: RunView, step: str) -> Any:
    """What the dialog asks for besides the reason."""
    if action == "edit_input":
        return FieldForm(view.plan.definition.input, view.state.input, what="the input")
    if action == "cancel_run" and any(getattr(s.config, "compensation", None) for s in view.plan.steps.values()):
        return pmui.Checkbox(
            label="Undo the completed steps that have a compensation, the last one first",
            value=False,
            margin=(0, 0, 12, 0),
        )
    if step and view.state.steps[step].undo:
        return FieldForm((_BY_HAND,), what="what was done") if action == "skip_step" else None
    if action in ("skip_step", "confirm_effect", "complete_step"):
        what = {"skip_step": "the substitute output", "complete_step": "the output"}.get(action, "what the call gave")
        config = view.plan.steps[step].config
        fields = config.output if isinstance(config, ActivityConfig) else ()
        each = isinstance(config, ActivityConfig) and config.for_each is not None
        free = {"skip_step": _SUBSTITUTE, "complete_step": _OUTPUT}.get(action, _GIVEN)
        if each:
            return FieldForm((_OUTPUTS,), what=what)
        return FieldForm(fields or (free,), what=what)
    if action == "retry_step" and isinstance(view.plan.steps[step].config, ActivityConfig):
        return pmui.Checkbox(
            label="A new effect: the outside service gets a new idempotency key", value=False, margin=(0, 0, 12, 0)
        )
    return None


def _arguments(action: str, more: Any) -> tuple[dict[str, Any], bool]:
    """Arguments of the command, and whether they may be sent."""
    if action == "cancel_run" and more is not None:
        return {"compensate": bool(more.value)}, True
    if action == "retry_step" and more is not None:
        return {"new_effect": bool(more.value)}, True
    if isinstance(more, PeopleChooser):
        return more.read()
    if not isinstance(more, FieldForm):
        return {}, True
    filled = more.read()
    if action == "edit_input":
        return {"input": filled.values}, filled.is_good
    if more.is_untouched:
        more.clear()
        return {"output": None}, True
    return {"output": filled.values.get(FREE) if FREE in more.widgets else filled.values}, filled.is_good
