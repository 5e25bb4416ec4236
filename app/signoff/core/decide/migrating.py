"""Moving a run to another version: can it, and if so what stays, what begins again, who is asked again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from signoff.core import commands as c
from signoff.core import events as e
from signoff.core.decide.advance import advance
from signoff.core.decide.build import Build
from signoff.core.decide.operators import may_operate, shown_or_none
from signoff.core.definition import OUTCOMES, ActivityConfig, ApprovalConfig, FormConfig, WaitConfig
from signoff.core.evolve import evolve
from signoff.core.expression import ExpressionError, compile_template
from signoff.core.flow import edges_of_untaken, resolve_edges, scope_of
from signoff.core.forms import check_values
from signoff.core.migration import plan_problems
from signoff.core.plan import Plan
from signoff.core.policies import MigrationPolicy
from signoff.core.rejection import Rejection
from signoff.core.states import FINAL_STEPS, RunState, StepState, StepStatus

APPROVED = MigrationPolicy.APPROVED
_NOT_BEGUN = (StepStatus.PENDING, StepStatus.BLOCKED, StepStatus.NOT_TAKEN)
_TRIED = (StepStatus.RUNNING, StepStatus.RETRYING)
_DONE_WELL = (StepStatus.SUCCEEDED, StepStatus.SKIPPED)


def migrate(build: Build, command: c.MigrateRun) -> Rejection | None:
    """Append `run.migrated` and let everything happen that follows under the new plan; or say why not."""
    wanted = f"move the run to version {command.target.version}"
    if refused := may_operate(build, command, wanted) or _not_for_this_run(build, command, wanted):
        return refused
    source, state, target = build.plan, build.state, command.target
    for step in state.steps:
        if refused := _step_cannot(build, command, step, wanted):
            return refused
    for step in target.steps:
        old = state.retired.get(step)
        kind = target.steps[step].kind
        if old is not None and old.outcome not in ("", "skipped", "failed", *OUTCOMES.get(kind, ())):
            message = f"Expected to {wanted}, but '{target.label(step)}' was another kind of step in this run before."
            return Rejection("kind_changed", message, "Give the new step an id of its own.")
    values, wrong = _input_after(build, command, wanted)
    if wrong:
        return wrong
    changed = values != dict(state.input)
    if changed and (half := next((i for i, s in state.steps.items() if _half_done(s)), "")):
        return _list_half_done(build, half, wanted)
    event = e.RunMigrated(
        at=build.now,
        actor=command.actor,
        reason=command.reason,
        from_digest=source.digest,
        from_version=source.version,
        to_digest=target.digest,
        definition_version=target.version,
        plan_digest=command.migration.digest,
        steps=_steps_after(build, command, changed),
        input=values if changed else None,
        plan_id=command.plan_id,
        approved_by=command.approved_by,
    )
    draft = evolve(source, state, event)
    event = replace(event, ways=_ways_after(source, state, target, draft, event))
    build.emit(event)
    build.plan = target
    _ask_again(build, source, state, {new: old for new, old, _ in event.steps})
    advance(build, [i for i, s in build.state.steps.items() if s.status is StepStatus.PENDING])
    return None


def _not_for_this_run(build: Build, command: c.MigrateRun, wanted: str) -> Rejection | None:
    state, migration = build.state, command.migration
    if state.digest == migration.target:
        return Rejection(
            "already_there", f"The run is on version {state.version} already.", "Nothing to do.", known=True
        )
    if state.digest != migration.source or command.target.digest != migration.target:
        message = f"Expected to {wanted}, but the plan is not for version {state.version}, on which the run is."
        return Rejection("other_version", message, "Make a plan from that version.")
    if command.seen_sequence is not None and state.sequence > command.seen_sequence:
        message = f"Expected to {wanted}, but it changed while you were looking."
        return Rejection("changed_meanwhile", message, "Look again, then repeat it.")
    if state.stopping:
        return Rejection("stopping", f"Expected to {wanted}, but the run is being stopped.", "Wait for it to end.")
    if state.status not in migration.covers:
        message = f"Expected to {wanted}, but the plan does not cover runs that are {state.status}."
        return Rejection("not_covered", message, "Make a plan that covers them.")
    asks = [p.version for p in (build.plan, command.target) if p.definition.policies.migration is APPROVED]
    if asks and not command.approved_by:
        message = f"Expected to {wanted}, but version {asks[0]} asks for a plan that somebody else has approved."
        return Rejection("plan_not_approved", message, "Propose the plan and have a publisher approve it.")
    problems = plan_problems(migration, build.plan, command.target)
    if problems:
        return Rejection("invalid_plan", " ".join(p.sentence for p in problems), evidence=False)
    return None


def _step_cannot(build: Build, command: c.MigrateRun, step: str, wanted: str) -> Rejection | None:
    """Why this step keeps the run from moving, or None."""
    old, now = build.plan.steps[step], build.state.steps[step]
    new_id = command.migration.new_id(step, command.target)
    new = command.target.steps.get(new_id)

    def no(code: str, why: str, remedy: str) -> Rejection:
        return Rejection(code, f"Expected to {wanted}, but {why}.", remedy)

    if now.status is StepStatus.RUNNING:
        why = f"worker '{now.worker}' is at '{old.label}' and its effect may happen"
        return no("effect_under_way", why, "Wait for its answer.")
    if now.status is StepStatus.OUTCOME_UNKNOWN:
        return no("outcome_unknown", f"nobody knows whether '{old.label}' happened", "Say what became of it first.")
    if now.status in _NOT_BEGUN:
        return None
    if now.probe and now.status not in FINAL_STEPS and (new is None or new.config != old.config):
        why = f"it is being looked up whether a lost call of '{old.label}' happened"
        return no("probe_under_way", why, "Wait for what the probe says.")
    active = now.status not in FINAL_STEPS
    if new is None:
        if active:
            return no("step_removed", f"'{old.label}' is {now.status} and the new version has no such step",
                      "Wait until it is over, skip it, or map it to another step.")  # fmt: skip
        return None
    if new.kind is not old.kind:
        return no("kind_changed", f"'{old.label}' is {now.status} and would become {new.kind}", "Use another step id.")
    if new_id != step and now.fence and now.status not in _DONE_WELL:
        why = f"'{old.label}' was tried under its old id, which is part of its idempotency key"
        return no("tried_before", why, "Keep its id, or finish it first.")
    if _half_done(now) and (new.config != old.config or new_id != step):
        return _list_half_done(build, step, wanted)
    plain = isinstance(old.config, ActivityConfig | ApprovalConfig | FormConfig | WaitConfig)
    if active and not plain and (new.config != old.config or new_id != step):
        return no("step_changed", f"'{old.label}' is {now.status} and would change", "Wait until it is over.")
    return None


def _half_done(step: StepState) -> bool:
    """Some items of its list were done or tried: beginning again would call for them once more."""
    items = step.items
    if items is None or step.status in FINAL_STEPS:
        return False
    return bool(items.done or items.failed or any(x.attempt > 1 or x.status in _TRIED for x in items.open))


def _list_half_done(build: Build, step: str, wanted: str) -> Rejection:
    why = f"'{build.plan.label(step)}' is half done and would begin again with the first item"
    return Rejection("list_half_done", f"Expected to {wanted}, but {why}.", "Wait until its list is done.")


def _input_after(build: Build, command: c.MigrateRun, wanted: str) -> tuple[dict[str, Any], Rejection | None]:
    state, definition = build.state, command.target.definition
    names = {f.name for f in definition.input}
    values = {k: v for k, v in state.input.items() if k in names and v is not None}
    if command.migration.input is not None:
        try:
            values |= compile_template(dict(command.migration.input))[0](scope_of(state))
        except ExpressionError as error:
            message = f"Expected to {wanted}, but the input mapping says nothing for this run. {error}"
            return {}, Rejection("input_mapping", message, "Correct the mapping, or mend the input first.")
    clean, problems = check_values(definition.input, values, what=f"the input of '{definition.title}'")
    if problems:
        message = f"Expected to {wanted}, but its input does not fit. " + " ".join(p.message for p in problems)
        return {}, Rejection("input_does_not_fit", message, "Give the plan an input mapping.")
    return clean, None


def _steps_after(build: Build, command: c.MigrateRun, input_changed: bool) -> tuple[tuple[str, str, int], ...]:
    state, target = build.state, command.target
    came_from = {new: i for i in state.steps if (new := command.migration.new_id(i, target))}
    found = []
    for new in target.steps:
        old = came_from.get(new, new if new in state.retired else "")
        was = state.steps.get(old) or state.retired.get(old)
        if was is None:
            found.append((new, "", 1))
            continue
        again = was.status in (StepStatus.BLOCKED, StepStatus.NOT_TAKEN) or (
            was.status is StepStatus.SCHEDULED
            and (input_changed or old != new or target.steps[new].config != build.plan.steps[old].config)
        )
        found.append((new, old, was.generation + again))
    return tuple(found)


def _ways_after(source: Plan, before: RunState, target: Plan, draft: RunState, event: e.RunMigrated) -> e.Edges:
    """How each edge of the new version stands: as before where its source's edges are the same, else resolved anew.

    An edge into a step that had begun before stays as it was.
    """
    old_id = {new: old for new, old, _ in event.steps}
    found: list[tuple[str, str]] = []
    for step, state in draft.steps.items():
        edges = target.outgoing[step]
        if not edges or state.status not in FINAL_STEPS:
            continue
        known = _known_ways(source, before, target, step, old_id)
        fresh = known if known is not None else _resolved(target, draft, step, state)
        stood = _known_ways(source, before, target, step, old_id, some=True) or {}
        for edge in edges:
            began = draft.steps[edge.target].status is not StepStatus.PENDING
            resolved = stood.get(edge.key) if began and edge.key in stood else fresh.get(edge.key)
            if resolved is not None:
                found.append((edge.key, resolved))
    return tuple(found)


def _known_ways(
    source: Plan, before: RunState, target: Plan, step: str, old_id: Mapping[str, str], *, some: bool = False
) -> dict[str, str] | None:
    """Edges of a step as they stood before, by their new keys; None where the set differs (unless `some` will do)."""
    if old_id[step] not in source.outgoing:
        return {} if some else None
    by_shape = {
        (e_.target, e_.on, e_.when, e_.otherwise): before.edges.get(e_.key) for e_ in source.outgoing[old_id[step]]
    }
    found, missing = {}, 0
    for edge in target.outgoing[step]:
        resolved = by_shape.pop((old_id.get(edge.target, ""), edge.on, edge.when, edge.otherwise), None)
        if resolved is None:
            missing += 1
        else:
            found[edge.key] = resolved
    return found if some or not (missing or by_shape) else None


def _resolved(target: Plan, draft: RunState, step: str, state: StepState) -> dict[str, str]:
    if not state.outcome:
        return dict(edges_of_untaken(target, step))
    return dict(resolve_edges(target, draft, step, state.outcome, draft.outputs.get(step), state.error))


def _ask_again(build: Build, source: Plan, before: RunState, old_id: Mapping[str, str]) -> None:
    """Void every open approval and form that shows or asks something else now."""
    for step, state in build.state.steps.items():
        if state.status is not StepStatus.WAITING or state.approval is None:
            continue
        old, new = source.steps[old_id[step]], build.plan.steps[step]
        same = old_id[step] == step and (old.config, old.label) == (new.config, new.label)
        if same and shown_or_none(source, before, step) == shown_or_none(build.plan, build.state, step):
            continue
        reason = "The process was changed after people had been asked."
        voided = e.FormVoided if isinstance(new.config, FormConfig) else e.ApprovalVoided
        build.emit(voided(at=build.now, step=step, generation=state.generation + 1, reason=reason))
