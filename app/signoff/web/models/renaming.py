"""Other labels and identifiers: edges, positions and expressions that name a step follow it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from signoff.core.definition import (
    ActivityConfig,
    ApprovalConfig,
    FormConfig,
    SignalConfig,
    StepConfig,
    SubflowConfig,
    WaitConfig,
)
from signoff.core.rejection import Rejection
from signoff.core.validate import NAME
from signoff.web.models.naming import identifier
from signoff.web.models.sheet import Sheet, change_step, refuse, sorted_edges


def rename_step(sheet: Sheet, step_id: str, new_id: str) -> Sheet | Rejection:
    """The step under another identifier; edges, positions and expressions follow."""
    d = sheet.definition
    if not NAME.fullmatch(new_id):
        return refuse(
            "bad_step_id",
            f"Expected an identifier, but '{new_id[:60]}' is not one.",
            "Use a lower-case letter, then lower-case letters, digits and underscores, at most 63.",
        )
    if new_id != step_id and d.find_step(new_id):
        return refuse("duplicate_step", f"Two steps have the id '{new_id}'.", "Give one another id.")
    reference = re.compile(rf"(?<![\w.])steps\s*\.\s*{re.escape(step_id)}(?!\w)")

    def moved(value: Any) -> Any:
        if isinstance(value, str):
            return reference.sub(f"steps.{new_id}", value) if value.startswith("=") else value
        if isinstance(value, Mapping):
            return {k: moved(v) for k, v in value.items()}
        return [moved(v) for v in value] if isinstance(value, list) else value

    steps = tuple(
        replace(
            s,
            id=new_id if s.id == step_id else s.id,
            config=_renamed_in(s.config, moved, step_id, new_id),
            skip=replace(s.skip, condition=reference.sub(f"steps.{new_id}", s.skip.condition)),
        )
        for s in d.steps
    )
    edges = [
        replace(
            e,
            source=new_id if e.source == step_id else e.source,
            target=new_id if e.target == step_id else e.target,
            when=reference.sub(f"steps.{new_id}", e.when),
        )
        for e in d.edges
    ]
    positions = {new_id if i == step_id else i: p for i, p in sheet.positions.items()}
    return Sheet(replace(d, steps=steps, edges=sorted_edges(edges)), positions)


def _activity_renamed(c: ActivityConfig, moved: Any) -> ActivityConfig:
    """The expressions of an activity, of what finds out, asks again and undoes."""

    def bare(expression: str) -> str:
        return str(moved(f"={expression}")).removeprefix("=")

    probe, poll, undo = c.probe, c.poll, c.compensation
    if probe:
        probe = replace(probe, input=moved(probe.input), happened=bare(probe.happened), output=bare(probe.output))
    return replace(
        c,
        input=moved(c.input),
        probe=probe,
        poll=replace(poll, until=bare(poll.until)) if poll else None,
        compensation=replace(undo, input=moved(undo.input)) if undo else None,
    )


def _renamed_in(config: StepConfig, moved: Any, old: str, new: str) -> StepConfig:
    match config:
        case ActivityConfig():
            return _activity_renamed(config, moved)
        case ApprovalConfig():
            return replace(
                config,
                shows=moved(config.shows),
                returns_to=tuple(new if i == old else i for i in config.returns_to),
                deciders_differ_from=tuple(new if i == old else i for i in config.deciders_differ_from),
            )
        case FormConfig():
            return replace(
                config,
                shows=moved(config.shows),
                prefill=moved(config.prefill),
                returns_to=tuple(new if i == old else i for i in config.returns_to),
            )
        case SignalConfig():
            return replace(config, key=moved(config.key))
        case SubflowConfig():
            return replace(config, input=moved(config.input))
        case WaitConfig():
            return replace(config, duration=moved(config.duration), until=moved(config.until))


def relabel(sheet: Sheet, step_id: str, label: str) -> Sheet:
    """Another label. The identifier follows while it is still the generated one."""
    step = sheet.definition.find_step(step_id)
    if step is None or label == step.label:
        return sheet
    others = {s.id for s in sheet.definition.steps if s.id != step_id}
    changed = change_step(sheet, step_id, label=label)
    if not re.fullmatch(rf"{identifier(step.label)}(_\d+)?", step_id):
        return changed
    renamed = rename_step(changed, step_id, identifier(label, others))
    return changed if isinstance(renamed, Rejection) else renamed
