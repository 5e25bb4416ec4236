"""Trial runs for every face: the core's simulation with sentences, and the people of a tenant where there are any."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from signoff.core.definition import Definition
from signoff.core.facts import Directory
from signoff.core.script import MONDAY, Script, made_up, made_up_people
from signoff.core.simulate import Asked, Trial, run_trial
from signoff.engine.sentences import sentence_of


@dataclass(frozen=True, slots=True)
class TrialStep:
    """One step that ended (or waits) in a trial, in order; `at_s` counts seconds from the start."""

    step: str
    label: str
    how: str
    at_s: float


@dataclass(frozen=True, slots=True)
class TrialView:
    """What a trial run came to; `stopped` says why it did not end by itself. Times count from the start."""

    status: str
    stopped: str
    took_s: float
    input: dict[str, Any]
    path: tuple[TrialStep, ...]
    asked: tuple[Asked, ...]
    outputs: dict[str, Any]
    not_done: tuple[str, ...]
    history: tuple[str, ...]


def try_out(
    definition: Definition,
    input: Mapping[str, Any] | None = None,
    *,
    by: str = "starter",
    script: Script | None = None,
    directory: Directory | None = None,
) -> TrialView:
    """Run a definition in memory.

    Args:
        definition: without errors (see `validate`).
        input: made up where it is None.
        by: who starts it.
        script: how activities answer and what people do; all goes well where it says nothing.
        directory: real people and groups; a group without members is filled with made-up ones.
    """
    groups, people = made_up_people(definition)
    known = directory or Directory()
    real = {g: m for g, m in known.groups.items() if m}
    everybody = {**people, **known.people}
    whole = replace(known, groups={**groups, **real}, people={**everybody, by: everybody.get(by, by.capitalize())})
    trial = Trial(definition, input, by=by, script=script, directory=whole)
    result = run_trial(trial)
    labels = {s.id: s.label for s in definition.steps}
    return TrialView(
        status=result.status,
        stopped=result.stopped,
        took_s=result.took.total_seconds(),
        input=made_up(definition.input) if input is None else dict(input),
        path=tuple(TrialStep(i, labels[i], how, (at - MONDAY).total_seconds()) for i, how, at in result.path),
        asked=result.asked,
        outputs=dict(result.outputs),
        not_done=tuple(labels[i] for i in result.not_done),
        history=tuple(sentence_of(x, trial.plan) for x in result.events),
    )
