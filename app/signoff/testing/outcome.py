"""How a run stands: what a test looks at and what it insists on."""

from __future__ import annotations

from typing import Any, Self

from signoff.core.simulate import Trial
from signoff.engine.sentences import sentence_of


class Outcome:
    """The readable side of a run."""

    def __init__(self, trial: Trial) -> None:
        self.trial = trial

    @property
    def status(self) -> str:
        """Of the run."""
        return str(self.trial.state.status)

    @property
    def steps(self) -> dict[str, str]:
        """Step id to outcome, or to its status while it has none."""
        return {i: s.outcome or str(s.status) for i, s in self.trial.state.steps.items()}

    @property
    def outputs(self) -> dict[str, Any]:
        """Step id to output."""
        return dict(self.trial.state.outputs)

    @property
    def history(self) -> list[str]:
        """What happened, in the sentences of the run page."""
        return [sentence_of(x, self.trial.plan) for x in self.trial.events]

    def waits_for(self, step: str) -> tuple[str, ...]:
        """Names or logins of the people that a step waits for."""
        return tuple(self.trial.explain().of(step).waits_for)

    def then(self, status: str = "", **steps: str) -> Self:
        """The run and these steps stand so; otherwise the test fails with what the engine says about the run.

        Raises:
            AssertionError: something stands otherwise.
        """
        wrong = [
            f"step '{i}' is {self.steps.get(i, 'unknown')}, not {how}"
            for i, how in steps.items()
            if self.steps.get(i) != how
        ]
        if status and self.status != status:
            wrong.insert(0, f"the run is {self.status}, not {status}")
        if wrong:
            told = self.trial.explain()
            happened = "\n  ".join(self.history)
            raise AssertionError(f"{'; '.join(wrong)}.\n{told.sentence} {told.next}\nWhat happened:\n  {happened}")
        return self
