"""More of those who want something, in half of the worlds: who stands in for others, many runs at once, limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from signoff.core.states import StepStatus
from tests.simulation.ask import Ask, person

if TYPE_CHECKING:
    from tests.simulation.actors import Cast

LIMITS: tuple[dict[str, Any], ...] = (
    {},
    {"activities": {"at_once": 0}},
    {"activities": {"at_once": 1}},
    {"activities": {"at_once": 2}, "weight": 3},
    {"pools": {"gpu": {"at_once": 1}}},
    {"connectors": {"work": {"at_once": 1, "per_minute": 20}}},
    {"open_runs": 3},
    {"armed_timers": 4},
    {"starts_per_minute": 2},
    {"run_time": "PT1H"},
    {"run_time": "PT5M", "events_per_run": 100},
)
MANY = ("pause_run", "resume_run", "retry_step", "skip_step", "cancel_run")


class Deputies:
    """Operators who do work by hand and reassign it, voters who think again, bulk commands, administrators."""

    def __init__(self, cast: Cast) -> None:
        self._cast, self._world, self._dice = cast, cast.world, cast.world.dice
        self._newest = 0

    def act(self) -> list[Ask]:
        """One of them."""
        return self._dice.choice((self._by_hand, self._reassign, self._withdraw, self._bulk, self._limits))()

    def _steps(self, *statuses: StepStatus, asked: bool = False) -> list[tuple[str, str]]:
        return [
            (r, i)
            for r in sorted(self._world.auditor.runs)
            for i, s in sorted(self._world.auditor.state(r).steps.items())
            if s.status in statuses and (s.approval or not asked)
        ]

    def _by_hand(self) -> list[Ask]:
        found = self._steps(StepStatus.FAILED, StepStatus.SCHEDULED, StepStatus.RETRYING, StepStatus.RUNNING)
        if not found:
            return []
        run_id, step = self._dice.choice(found)
        ask = self._cast.operation("complete_step", run_id, step, self._cast.view(run_id).sequence)
        ask.args |= {"step": step, "output": {"n": 7}}
        return [ask]

    def _reassign(self) -> list[Ask]:
        found = self._steps(StepStatus.WAITING, asked=True)
        if not found:
            return []
        run_id, step = self._dice.choice(found)
        view = self._cast.view(run_id)
        asked = view.steps[step].approval
        if asked is None:  # as it was when somebody looked
            return []
        ask = self._cast.operation("reassign_step", run_id, step, view.sequence)
        add = [p for p in ("ann", "bob", "cem", "eve") if p not in asked.roster]
        ask.args |= {"step": step, "add": self._some(add), "remove": self._some(list(asked.roster))}
        return [ask]

    def _some(self, people: list[str]) -> list[str]:
        return [p for p in people if self._dice.random() < 0.4]

    def _withdraw(self) -> list[Ask]:
        found = self._steps(StepStatus.WAITING, asked=True)
        voted = [(r, i, v.person) for r, i in found for v in self._votes(r, i)]
        if not voted:
            return []
        run_id, step, who = self._dice.choice(voted)
        generation = self._cast.view(run_id).steps[step].generation
        args = {"run_id": run_id, "step": step, "generation": generation, "comment": f"c{self._world.number()}"}
        return [self._cast.keyed(Ask("withdraw_vote", person(who), args))]

    def _votes(self, run_id: str, step: str) -> Any:
        asked = self._cast.view(run_id).steps[step].approval
        return asked.votes if asked else ()

    def _bulk(self) -> list[Ask]:
        runs = [r for r in sorted(self._world.auditor.runs) if self._dice.random() < 0.5]
        if not runs:
            return []
        items = [{"run_id": r, "sequence": self._cast.view(r).sequence} for r in runs]
        command = self._dice.choice(MANY)
        if command in ("retry_step", "skip_step"):
            items = [{**i, "step": self._dice.choice(sorted(self._cast.view(i["run_id"]).steps))} for i in items]
        args = {"command": command, "items": items, "reason": f"b{self._world.number()}"}
        return [self._cast.keyed(Ask("bulk", person("olga"), args))]

    def _limits(self) -> list[Ask]:
        return [self.limits(self._dice.choice(LIMITS))]

    def limits(self, limits: dict[str, Any]) -> Ask:
        """An administrator sets limits; only the answer tells the auditor which hold."""
        auditor = self._world.auditor
        auditor.limits = None
        number = self._newest = self._newest + 1

        def heard(answer: dict[str, Any]) -> None:
            if number == self._newest:  # of two in one batch the second holds, heard of or not
                auditor.limits = limits if "ok" in answer else None

        return Ask("set_limits", person("root"), {"limits": limits, "reason": "as it goes"}, heard=heard)
