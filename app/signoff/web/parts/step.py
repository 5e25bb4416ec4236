"""What a run page says about one step: its explanation, its attempts, its error, its output."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from signoff.core.asking_words import due_of, of_quotas
from signoff.core.definition import ActivityConfig, ApprovalConfig, FormConfig, SignalConfig, StepKind, SubflowConfig
from signoff.core.states import Vote
from signoff.engine.views import AttemptView, RunView
from signoff.web.escape import clock, esc, label
from signoff.web.models.words import KIND_WORDS
from signoff.web.parts.history import attempts_list
from signoff.web.parts.icons import svg
from signoff.web.parts.markup import Safe, link, notice, pairs, step_badge, value_markup

SHOWN_ATTEMPTS = 30
"""A step that works on a list can have thousands; the REST route lists them all."""


def step_facts(view: RunView, step_id: str, attempts: Sequence[AttemptView], login: str) -> Safe:
    """The card of the selected step."""
    step, state = view.plan.steps[step_id], view.state.steps[step_id]
    explained = view.explanation.of(step_id)
    following = f'<p class="soft said">{esc(explained.next)}</p>' if explained.next else ""
    parts = [
        f'<div class="row">{step_badge(state.status.value, step.kind.value)}'
        f'<span class="soft small">{svg(step.kind.value, size=14)} '
        f"{KIND_WORDS[step.kind.value]}</span></div>",
        f"<h2>{label(step.label)}</h2>",
        f'<p class="said">{esc(explained.sentence)}</p>{following}',
    ]
    for action, words in (
        ("decide", "Decide this"),
        ("submit_form", "Fill this in"),
        ("withdraw_vote", "Withdraw your vote"),
    ):
        if action in explained.actions:
            parts.append(f"<p>{link(f'/inbox/{view.row.run_id}/{step_id}', words, css='button main')}</p>")
    if state.error and state.status.value not in ("failed", "retrying", "outcome_unknown"):
        parts.append(notice(state.error.message, "warning"))
    if state.items and state.items.total:
        done, total = state.items.done, state.items.total
        bar = f'<progress max="{total}" value="{done}" aria-label="Items done"></progress>'
        parts.append(f"<p>{bar} {done} of {total} done</p>")
    parts.append(pairs(_facts(view, step_id)))
    if state.approval and state.approval.votes:
        votes = {v.name: _vote(v) for v in state.approval.votes}
        title = "Decisions" if step.kind is StepKind.APPROVAL else "Filled in by"
        parts.append(f"<h3>{title}</h3>{pairs(votes)}")
    if attempts:
        left = f'<p class="soft small">The last {SHOWN_ATTEMPTS} of {len(attempts)}.</p>'
        more = left if len(attempts) > SHOWN_ATTEMPTS else ""
        parts.append(f"<h3>Attempts</h3>{more}{attempts_list(attempts[-SHOWN_ATTEMPTS:])}")
    if step_id in view.state.outputs:
        parts.append(f"<h3>Output</h3>{value_markup(view.state.outputs[step_id])}")
    return Safe(f'<div class="card stack" data-step="{esc(step_id)}">{"".join(parts)}</div>')


def _vote(v: Vote) -> Safe:
    values = pairs(v.values) if v.values else ""
    return Safe(f"{esc(v.outcome)} on {clock(v.at)}{_said(v.comment)}{values}")


def _said(comment: str) -> str:
    return f'<div class="said own">{esc(comment)}</div>' if comment else ""


def _facts(view: RunView, step_id: str) -> dict[str, Any]:
    step, state = view.plan.steps[step_id], view.state.steps[step_id]
    facts: dict[str, Any] = {"Name in expressions": Safe(f'<span class="mono">steps.{esc(step_id)}</span>')}
    match step.config:
        case ActivityConfig(connector=connector, probe=probe, compensation=undo):
            facts["Calls"] = connector
            if undo:
                facts["Undone by"] = undo.connector
            if probe:
                facts["If its answer is lost"] = f"asks {probe.connector} whether it happened"
        case ApprovalConfig() as c:
            facts["Asks"] = ", ".join((*c.asked_groups, *c.asked_people)) or "whom its expression names"
            if state.approval and state.approval.quotas:
                facts["Approvals"] = of_quotas(state.approval)
        case FormConfig(groups=groups, people=people, requester=requester):
            facts["Asks"] = ", ".join((*groups, *people, *(("who started the run",) if requester else ())))
        case SubflowConfig(definition=definition, version=version):
            facts["Starts"] = f"{definition}, version {version}"
            if state.child:
                facts["Run"] = link(f"/runs/{state.child}", state.child)
        case SignalConfig(signal=signal):
            facts["Signal"] = signal
            if state.key:
                facts["Key"] = state.key
        case _:
            pass
    if state.generation > 1:
        facts["Generation"] = state.generation
    if due := due_of(state):
        facts["Due"] = Safe(clock(due))
    if state.approval and state.approval.ladder:
        facts["Next reminder or escalation"] = Safe(clock(state.approval.ladder[0].due))
    return facts
