"""What an approver is shown, and the digest that binds a decision to exactly that (semantics §7)."""

from __future__ import annotations

from typing import Any

from signoff.core.definition import ApprovalConfig, FormConfig
from signoff.core.digest import digest_of
from signoff.core.expression import ExpressionError
from signoff.core.flow import input_summary, scope_of
from signoff.core.payload import plain_json
from signoff.core.plan import Plan
from signoff.core.schema import fields_json
from signoff.core.states import RunState


def shown_of(plan: Plan, state: RunState, step: str) -> dict[str, Any]:
    """What an approval or a form opened now would show, as label to value.

    Raises:
        ExpressionError: a value is missing or has the wrong type, or all of it is too large.
    """
    config = plan.steps[step].config
    assert isinstance(config, ApprovalConfig | FormConfig)
    values: dict[str, Any] = {}
    if config.shows:
        made = plan.templates[step](scope_of(state))
        values = dict(made["shows"] if isinstance(config, FormConfig) else made)
    if not config.shows:
        for f in plan.definition.input:
            if (value := state.input.get(f.name)) is not None:
                values[_free_name(f.label or f.name, f.name, values)] = value
    for source, outcome in input_summary(plan, state, step).items():
        if outcome in ("failed", "expired", "rejected", "blocked"):
            values[_free_name(plan.label(source), source, values)] = f"({outcome})"
    refuse_too_large(values, f"what '{plan.label(step)}' shows")
    return values


def refuse_too_large(values: dict[str, Any], what: str) -> None:
    """Say so before anybody is asked about more than can be stored; an operator can mend the input.

    Raises:
        ExpressionError: it is too large, or deeper than readers can follow.
    """
    try:
        plain_json(values)
    except ValueError as problem:
        raise ExpressionError(f"Something is wrong with {what}. {problem}") from None


def shown_digest(state: RunState, step: str, shown: dict[str, Any]) -> str:
    """Names exactly what was displayed, under which definition, at which step."""
    return digest_of({"definition": state.digest, "step": step, "shown": shown})


def form_digest(plan: Plan, step: str) -> str:
    """Names the words, buttons and fields that are offered for an answer."""
    config = plan.steps[step].config
    assert isinstance(config, ApprovalConfig | FormConfig)
    offered: dict[str, Any] = {
        "label": plan.label(step),
        "instructions": config.instructions,
        "fields": fields_json(config.fields),
        "returns_to": {i: plan.label(i) for i in config.returns_to},
    }
    if isinstance(config, ApprovalConfig):
        offered["outcomes"] = ["approved", "rejected"]
        offered["comment_required_on"] = list(config.comment_required_on)
    return digest_of(offered)


def _free_name(label: str, name: str, taken: dict[str, Any]) -> str:
    """A label that hides no other value: with the name beside it where two would read alike."""
    while label in taken:
        label = f"{label} ({name})"
    return label
