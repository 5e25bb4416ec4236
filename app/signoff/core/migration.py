"""A migration plan: how runs of one version go on under another (semantics §9). An object, checked before any run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from signoff.core.diff import match_steps
from signoff.core.digest import digest_of
from signoff.core.expression import ExpressionError, compile_template
from signoff.core.plan import Plan
from signoff.core.problem import Problem
from signoff.core.states import RunStatus

COVERED = (RunStatus.RUNNING, RunStatus.STALLED, RunStatus.PAUSED)


@dataclass(frozen=True, slots=True)
class MigrationPlan:
    """From one version to another.

    Attributes:
        source: digest of the version that runs are on.
        target: digest of the version they go to.
        steps: old id to new id of steps whose id changed; "" lets a step go. Others keep their id where the target
            has it, and are let go where it has not.
        input: mapping of the new input's fields, in which texts beginning with `=` are CEL over `input`, `steps` and
            `run`; fields not named keep their value. None keeps all.
        covers: statuses of the runs it is for.
    """

    source: str
    target: str
    steps: Mapping[str, str] = field(default_factory=dict)
    input: Mapping[str, Any] | None = None
    covers: tuple[RunStatus, ...] = COVERED

    @property
    def digest(self) -> str:
        """Names exactly this plan."""
        return digest_of(
            {
                "source": self.source,
                "target": self.target,
                "steps": dict(self.steps),
                "input": None if self.input is None else dict(self.input),
                "covers": [str(s) for s in self.covers],
            }
        )

    def new_id(self, step: str, target: Plan) -> str:
        """What a step of the source is called in the target; "" where it is let go."""
        return self.steps.get(step, step if step in target.steps else "")


def propose(source: Plan, target: Plan) -> MigrationPlan:
    """The plan that keeps every step that can be recognised: by id, else by label or content."""
    same = match_steps(source.definition, target.definition)
    return MigrationPlan(source.digest, target.digest, {a: b for a, b in same.items() if a != b})


def plan_problems(plan: MigrationPlan, source: Plan, target: Plan) -> tuple[Problem, ...]:
    """Everything that is wrong with a plan whatever the run."""
    found = []

    def complain(code: str, message: str, remedy: str, step: str = "") -> None:
        found.append(Problem(code, message, remedy, step=step))

    if plan.source != source.digest or plan.target != target.digest:
        complain("wrong_versions", "The plan is for other versions.", "Make one for these two.")
    if source.digest == target.digest:
        complain("same_version", "Both versions are the same.", "Choose another target.")
    for old, new in plan.steps.items():
        if old not in source.steps:
            complain("unknown_step", f"The plan names the step '{old}', which the source has not.", "Correct it.", old)
        elif new and new not in target.steps:
            complain("unknown_step", f"The plan names the step '{new}', which the target has not.", "Correct it.", old)
        elif new and new != old and new in source.steps:
            complain("name_taken", f"'{new}' is another step of the source.", "Give the step an id of its own.", old)
    taken: dict[str, str] = {}
    for old in source.steps:
        new = plan.new_id(old, target)
        if new and new in taken:
            complain("two_for_one", f"'{taken[new]}' and '{old}' both become '{new}'.", "Let one of them go.", old)
        taken.setdefault(new, old)
    if plan.input is not None:
        try:
            compile_template(dict(plan.input))
        except (ExpressionError, ValueError) as error:
            complain("bad_input_mapping", f"The input mapping cannot be read. {error}", "Correct it.")
    return tuple(found)
