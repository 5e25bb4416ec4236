"""A refusal as a value: the rules of the state machine said no, and why."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Rejection:
    """What the core answers instead of events when a command may not be carried out.

    Attributes:
        code: stable machine word, for example `step_not_failed`.
        message: what was wanted, on what, and what stands in the way.
        remedy: what the reader can do about it.
        evidence: True where the attempt itself must be kept in the run's log (late results, second
            decisions, refused operator commands).
        known: True where the command was a repetition of one already carried out; the caller gets the
            known answer and nothing else happens.
        details: JSON-ready facts for machines (never secrets).
    """

    code: str
    message: str
    remedy: str = ""
    evidence: bool = True
    known: bool = False
    details: dict[str, object] = field(default_factory=dict)

    @property
    def sentence(self) -> str:
        """Message and remedy as one text, the same on every face."""
        return f"{self.message} {self.remedy}".strip()
