"""One thing wrong with a definition, worded the same in designer, API and CLI."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """A validation finding.

    Attributes:
        code: stable machine word, e.g. `cycle`.
        message: a sentence that names steps by their label.
        remedy: what to do.
        step: id of the step concerned, or "".
        edge: key of the edge concerned, or "".
        path: where in the document, e.g. `steps[2].input.amount`.
        severity: `error` stops publishing, `warning` does not.
        position: 0-based character offset inside an expression, -1 where it does not apply.
    """

    code: str
    message: str
    remedy: str
    step: str = ""
    edge: str = ""
    path: str = ""
    severity: str = "error"
    position: int = -1

    @property
    def sentence(self) -> str:
        """Message and remedy as one text."""
        return f"{self.message} {self.remedy}".strip()
