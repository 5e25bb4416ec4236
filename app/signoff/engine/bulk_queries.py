"""What one command would do to many runs: decided on copies by the same core, nothing written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from signoff.core.commands import MigrateRun, OperatorCommand
from signoff.core.decide import decide
from signoff.core.explain import explain
from signoff.core.facts import Directory, Facts
from signoff.core.plan import Plan
from signoff.core.rejection import Rejection
from signoff.core.states import Actor, RunState
from signoff.engine.bulk_requests import BULK, MAX_RUNS
from signoff.engine.caches import PlanCache, plan_of
from signoff.engine.moving import move_command, plan_args, target_of
from signoff.engine.run_requests import HANDLERS, OperatorRequest
from signoff.engine.sentences import sentence_of
from signoff.errors import InvalidInput, NotFound, SignoffError
from signoff.store.bodies import load
from signoff.store.reads import definitions as d
from signoff.store.reads import runs as r
from signoff.store.reads.reader import Reader
from signoff.store.times import to_micros

SCANNED = 5_000
"""No preview looks at more runs than this."""
_STEP_COMMANDS = {
    "retry_step": "retried",
    "skip_step": "skipped",
    "complete_step": "completed by hand",
    "replay_dead_letter": "replayed",
    "confirm_effect": "said to have happened",
    "deny_effect": "said not to have happened",
    "reassign_step": "given to other people",
}
"""Commands on a step, which is found by itself where none is named, and what could not be done where there is none."""
_SHOWN_AS = {"replay_dead_letter": "retry_step"}
_FOLLOWING = 4


@dataclass(frozen=True, slots=True)
class RunFilter:
    """Which runs a bulk command is for; what is empty does not matter.

    Attributes:
        step: id of a step that is in `step_status` (or where the command could be sent to it).
        error: code of a step's error, e.g. `http_503`.
        unchanged_s: nothing happened in the run for so many seconds.
        run_ids: exactly these.
    """

    definition: str = ""
    version: int | None = None
    status: str = ""
    step: str = ""
    error: str = ""
    unchanged_s: float = 0.0
    run_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Foreseen:
    """What the command would do to one run.

    Attributes:
        sequence: of the run as it was looked at; applying needs it.
        can: whether it would be accepted.
        sentence: what it would do, or why it cannot.
        following: what would happen at once because of it, in sentences.
        status: of the run now.
        after: of the run afterwards.
    """

    run_id: str
    title: str
    version: int
    business_key: str
    status: str
    sequence: int
    can: bool
    sentence: str
    step: str = ""
    after: str = ""
    following: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Preview:
    """All runs that fit the filter, at most `MAX_RUNS`; `more` where there are others."""

    command: str
    items: tuple[Foreseen, ...]
    more: bool = False
    args: dict[str, Any] = field(default_factory=dict)

    @property
    def sendable(self) -> list[dict[str, Any]]:
        """The items of the bulk request: the runs that can, as they were seen."""
        return [{"run_id": i.run_id, "sequence": i.sequence, "step": i.step} for i in self.items if i.can]


class BulkQueries:
    """Previews of bulk commands."""

    def __init__(
        self, reader: Reader, plans: PlanCache, now: Callable[[], datetime], directory: Callable[[str], Directory]
    ) -> None:
        self._reader, self._plans, self._now = reader, plans, now
        self.directory = directory

    def preview(
        self, tenant: str, actor: Actor, command: str, which: RunFilter, args: dict[str, Any] | None = None
    ) -> Preview:
        """Decide the command on a copy of every run that fits.

        Raises:
            InvalidInput: the command cannot be sent to many runs, or its arguments are wrong.
        """
        if command not in BULK:
            raise InvalidInput(
                f"'{command[:40]}' cannot be sent to many runs.", remedy=f"Use one of: {', '.join(BULK)}."
            )
        given = {"reason": "Preview.", **(args or {})}
        facts = Facts(self._now(), 0.5, self.directory(tenant))
        items: list[Foreseen] = []
        for record, state in self._runs(tenant, which):
            plan = self._plans.get(record.version_id)
            if not _fits(state, which):
                continue
            if len(items) == MAX_RUNS:
                return Preview(command, tuple(items), True, args or {})
            items.append(self._foresee(tenant, actor, command, record, state, plan, given, which.step, facts))
        return Preview(command, tuple(items), args=args or {})

    def _runs(self, tenant: str, which: RunFilter) -> Iterator[tuple[r.RunRecord, RunState]]:
        before = to_micros(self._now() - timedelta(seconds=which.unchanged_s)) if which.unchanged_s else None
        ids = which.run_ids or r.list_run_ids(
            self._reader,
            tenant,
            definition=which.definition,
            version=which.version,
            status=which.status,
            changed_before=before,
            limit=SCANNED,
        )
        for run_id in ids:
            try:
                found = r.find_run(self._reader, tenant, run_id)
            except NotFound:  # its content was erased
                continue
            if found is not None:
                yield found

    def _foresee(
        self,
        tenant: str,
        actor: Actor,
        name: str,
        record: r.RunRecord,
        state: RunState,
        plan: Plan,
        args: dict[str, Any],
        step: str,
        facts: Facts,
    ) -> Foreseen:
        if name in _STEP_COMMANDS and not step:
            told = explain(plan, state)
            step = next((s.step for s in told.steps if _SHOWN_AS.get(name, name) in s.actions), "")

        def result(can: bool, sentence: str, **more: Any) -> Foreseen:
            return Foreseen(
                run_id=record.public_id,
                title=plan.definition.title,
                version=record.version,
                business_key=record.business_key,
                status=record.status,
                sequence=state.sequence,
                can=can,
                sentence=sentence,
                **more,
            )

        if name in _STEP_COMMANDS and not step:
            return result(False, f"No step of it can be {_STEP_COMMANDS[name]}.")
        try:
            command = self._command(tenant, actor, name, plan, {**args, "step": step} if step else args)
        except SignoffError as error:
            return result(False, str(error), step=step)
        decided = decide(plan, state, command, facts)
        if isinstance(decided, Rejection):
            return result(False, decided.sentence, step=step)
        after, events = decided
        named = command.target if isinstance(command, MigrateRun) else plan
        label = f" '{plan.label(step)}'" if step in plan.steps else ""
        target = f" to version {command.target.version}" if isinstance(command, MigrateRun) else ""
        verb = {"migrate_run": "move"}.get(name, name.partition("_")[0])
        will = f"Would {verb}{label or ' the run'}{target}."
        following = tuple(sentence_of(x, named) for x in events[1 : 1 + _FOLLOWING])
        return result(True, will, step=step, after=str(after.status), following=following)

    def _command(self, tenant: str, actor: Actor, name: str, plan: Plan, args: dict[str, Any]) -> OperatorCommand:
        if name == "migrate_run":
            meant = plan_args(self._reader.rows, tenant, args)
            target = self._version(tenant, plan.definition.name, target_of(meant))
            return move_command(self._reader.rows, tenant, actor, args, meant, plan, target)
        handler = HANDLERS[name]
        assert isinstance(handler, OperatorRequest)
        return handler.build(actor, args)

    def _version(self, tenant: str, name: str, number: int) -> Plan:
        found = d.find_version(self._reader, tenant, name, number)
        if found is None:
            raise InvalidInput(f"There is no version {number} of '{name}'.", remedy="Publish it first.")
        return plan_of(load(found[3]), found[2], found[1])


def _fits(state: RunState, which: RunFilter) -> bool:
    if which.step and which.step not in state.steps:
        return False
    if which.error:
        steps = [state.steps[which.step]] if which.step else list(state.steps.values())
        return any(s.error and s.error.code == which.error for s in steps)
    return True
