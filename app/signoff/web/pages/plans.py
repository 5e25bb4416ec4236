"""Migration plans of a definition: proposed here, tried out, approved by somebody else, applied to runs."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any
from urllib.parse import urlencode

import panel as pn
import panel_material_ui as pmui

from signoff.core.migration import propose
from signoff.core.plan import compile_plan
from signoff.core.quorum import same_person
from signoff.core.states import Actor
from signoff.engine.permissions import who_may
from signoff.engine.views import MigrationPlanView, VersionView
from signoff.errors import Forbidden, NotFound
from signoff.web.escape import esc, label, moment
from signoff.web.models.mapping import to_text
from signoff.web.parts.dialogs import AskDialog
from signoff.web.parts.inputs import choice_input
from signoff.web.parts.markup import Safe, digest_text, empty, heading, link, notice, table
from signoff.web.parts.panes import html, wrap
from signoff.web.parts.rows import MappingRows
from signoff.web.shell import frame
from signoff.web.site import Visitor, in_thread

GONE = "(it is let go)"
WORDS = {"proposed": "waits for approval", "approved": "approved", "rejected": "rejected", "withdrawn": "withdrawn"}


def plans_page(visitor: Visitor, path: dict[str, str]) -> Any:
    """The page.

    Raises:
        Forbidden: the person may not read plans.
        NotFound: nothing of that name was published.
    """
    if "read_migrations" not in visitor.may:
        raise Forbidden(
            f"Expected to look at migration plans, but that takes the role {who_may('read_migrations')}.",
            remedy="Ask someone who has it.",
        )
    name = path["name"]
    versions = visitor.site.signoff.queries.list_versions(visitor.site.tenant, name)
    if not versions:
        raise NotFound(f"There is no published definition '{name[:60]}'.", remedy="Publish it first.")
    listed = _List(visitor, name, versions)
    where = Safe(f"{link('/definitions', 'Definitions')} / {link(f'/definitions/{name}/versions', 'versions')}")
    head = html(heading(Safe(f"Migration plans of {label(versions[0].definition.title)}"), crumb=where))
    words = "A plan says which step of one version becomes which of another; applying it moves the runs that can."
    about = html(f'<p class="soft">{words}</p>')
    form: list[Any] = []
    if len(versions) < 2:
        only = f"There is only version {versions[0].version}: publish another one, and runs can be moved to it."
        form = [html(f'<p class="soft">{only}</p>')]
    elif "propose_migration" in visitor.may:
        form = [_Proposal(visitor, name, versions, listed.draw).whole]
    return frame(visitor, "Migration plans", head, about, listed.said, listed.cards, *form, listed.dialog)


class _List:
    """The plans as cards, each with what this person may do."""

    def __init__(self, visitor: Visitor, name: str, versions: list[VersionView]) -> None:
        self._visitor, self._name = visitor, name
        self._versions = {v.version: v for v in versions}
        self.dialog, self.said = AskDialog(), html("", margin=(0, 0, 8, 0))
        self.cards = pn.Column(sizing_mode="stretch_width", margin=(8, 0, 0, 0))
        self.draw()

    def draw(self) -> None:
        """Read and show them."""
        site = self._visitor.site
        found = site.signoff.queries.plans.list(site.tenant, definition=self._name).items
        self.cards[:] = [self._card(p) for p in found] or [html(empty("There are no migration plans yet.", more=""))]

    def _card(self, p: MigrationPlanView) -> Any:
        now, name_of = datetime.now(UTC), self._visitor.name_of
        decided = ""
        if p.decided_at:
            comment = f": {label(p.comment)}" if p.comment else ""
            decided = (
                f"<div>{WORDS[p.status]} by {label(name_of(p.decided_by))} {moment(p.decided_at, now)}{comment}</div>"
            )
        steps = table(("Step now", "Becomes"), self._steps(p), name="Steps that change") if p.plan["steps"] else ""
        card = html(
            f'<div class="card stack" data-plan="{esc(p.plan_id)}"><div><b>Version {p.source_version} to '
            f"{p.target_version}</b> · {WORDS[p.status]}</div><div>{label(p.reason)}</div>"
            f'<div class="soft small">proposed by {label(name_of(p.proposed_by))} {moment(p.proposed_at, now)} · '
            f"{esc(p.plan_id)} · {digest_text(p.digest)}</div>{decided}{steps}{_input(p)}</div>"
        )
        return pn.Column(
            card, wrap(*self._buttons(p), gap="8px", margin=(6, 0, 14, 0)), sizing_mode="stretch_width", margin=0
        )

    def _steps(self, p: MigrationPlanView) -> list[tuple[object, ...]]:
        source, target = self._versions.get(p.source_version), self._versions.get(p.target_version)
        return [
            (_label(source, old), _label(target, new) if new else GONE) for old, new in sorted(p.plan["steps"].items())
        ]

    def _buttons(self, p: MigrationPlanView) -> list[Any]:
        may, own = self._visitor.may, same_person(p.proposed_by, self._visitor.person.login)
        buttons: list[Any] = []
        if p.status in ("proposed", "approved") and "bulk" in may:
            asked = {
                "command": "migrate_run",
                "definition": p.definition,
                "version": p.source_version,
                "plan": p.plan_id,
            }
            way = link(f"/operations?{urlencode(asked)}", "Try it out and apply…", css="button nowrap")
            buttons.append(html(way, styles={"flex": "0 0 auto"}))
        if p.status == "proposed" and "decide_migration" in may and not own:
            buttons += [self._button(p, "Approve", "approved"), self._button(p, "Reject", "rejected")]
        if p.status in ("proposed", "approved") and "withdraw_migration" in may:
            buttons.append(self._button(p, "Withdraw", "withdrawn"))
        return buttons

    def _button(self, p: MigrationPlanView, words: str, outcome: str) -> Any:
        ask = self._visitor.handler(lambda _: self._ask(p, words, outcome), self._say)
        return pmui.Button(label=words, variant="outlined", margin=0, on_click=ask)

    def _ask(self, p: MigrationPlanView, words: str, outcome: str) -> None:
        comment = pmui.TextAreaInput(
            label="Comment" if outcome == "approved" else "Reason", rows=2, max_length=2_000,
            sizing_mode="stretch_width", margin=(0, 0, 12, 0),
        )  # fmt: skip
        send = partial(self._send, p, outcome, comment)
        about = f"The plan of version {p.source_version} to {p.target_version}, {p.plan_id}."
        self.dialog.ask(f"{words} the plan", about, [comment], words, self._visitor.command(send, self.dialog.say))

    async def _send(self, p: MigrationPlanView, outcome: str, comment: Any, actor: Actor) -> None:
        given, site = (comment.value_input or comment.value or "").strip(), self._visitor.site
        args: dict[str, Any] = {"plan_id": p.plan_id}
        if outcome == "withdrawn":
            what, args = "withdraw_migration", {**args, "reason": given}
        else:
            what, args = "decide_migration", {**args, "outcome": outcome, "comment": given}
        await in_thread(lambda: site.signoff.do(what, actor, site.tenant, **args))
        self.dialog.close()
        self._say(f"The plan is {outcome}.", "success")
        self.draw()

    def _say(self, words: str, kind: str) -> None:
        self.said.object = notice(words, kind)


class _Proposal:
    """The form of a new plan: which version to which, what each step becomes, new input."""

    def __init__(self, visitor: Visitor, name: str, versions: list[VersionView], drawn: Callable[[], None]) -> None:
        self._visitor, self._name, self._drawn = visitor, name, drawn
        self._versions = {str(v.version): v for v in versions}
        newest = str(versions[0].version)
        self._source, self._target = str(versions[-1].version), newest
        self._steps: dict[str, str] = {}
        self._input: dict[str, Any] = {}
        self._said = html("", margin=(0, 0, 8, 0))
        self._rows = pn.Column(sizing_mode="stretch_width", margin=0)
        self._reason = pmui.TextInput(
            label="Reason", max_length=2_000, sizing_mode="stretch_width", margin=(0, 0, 12, 0), size="small"
        )
        options = {f"version {n}": n for n in self._versions}
        both = [
            choice_input("From", options, self._source, partial(self._choose, "_source")),
            choice_input("To", options, self._target, partial(self._choose, "_target")),
        ]
        for choice in both:
            choice.styles = {"flex": "1 1 160px"}
        button = pmui.Button(label="Propose the plan", variant="contained", margin=0)
        button.on_click(visitor.command(self._send, self._say))
        title = html("<h2>Propose a plan</h2>", margin=(14, 0, 6, 0))
        new = MappingRows("New values of the input", {}, self._map, name_label="Field")
        parts = [title, wrap(*both, margin=0), self._rows, new, self._reason, self._said, wrap(button, margin=0)]
        self.whole = pn.Column(*parts, max_width=640, sizing_mode="stretch_width", margin=0)
        self._draw()

    def _choose(self, which: str, version: str) -> None:
        setattr(self, which, version)
        self._draw()

    def _map(self, mapping: dict[str, Any]) -> None:
        self._input = mapping

    def _draw(self) -> None:
        source, target = self._versions[self._source], self._versions[self._target]
        plans = [compile_plan(v.definition, v.digest, v.version) for v in (source, target)]
        found = propose(plans[0], plans[1]).steps
        there = {s.id for s in target.definition.steps}
        options = {s.label: s.id for s in target.definition.steps} | {GONE: ""}
        self._steps = {s.id: found.get(s.id, s.id if s.id in there else "") for s in source.definition.steps}
        self._rows[:] = [
            choice_input(f"‘{s.label}’ becomes", options, self._steps[s.id], partial(self._becomes, s.id))
            for s in source.definition.steps
        ]

    def _becomes(self, old: str, new: str) -> None:
        self._steps[old] = new

    async def _send(self, actor: Actor) -> None:
        reason = (self._reason.value_input or self._reason.value or "").strip()
        site, source = self._visitor.site, self._versions[self._source]
        plan: dict[str, Any] = {"target": int(self._target), "steps": {o: n for o, n in self._steps.items() if o != n}}
        if self._input:
            plan["input"] = self._input
        answer = await in_thread(
            lambda: site.signoff.do(
                "propose_migration", actor, site.tenant,
                definition=self._name, version=source.version, plan=plan, reason=reason,
            )
        )  # fmt: skip
        self._say("It is proposed." if answer["created"] else f"Such a plan is {answer['status']} already.", "success")
        self._drawn()

    def _say(self, words: str, kind: str) -> None:
        self._said.object = notice(words, kind)


def _label(version: VersionView | None, step: str) -> str:
    found = version.definition.find_step(step) if version else None
    return found.label if found else step


def _input(p: MigrationPlanView) -> str:
    if not p.plan["input"]:
        return ""
    return str(
        table(("Input field", "New value"), [(k, to_text(v)) for k, v in p.plan["input"].items()], name="New input")
    )
