"""The compiled probe of an activity, and the connector an attempt calls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from signoff.core.definition import ActivityConfig, Probe
from signoff.core.expression import Expression, Template, compile_expression, compile_template

CALL = frozenset({"call"})
PROBED = frozenset({"call", "answer"})
ANSWER = frozenset({"answer"})


@dataclass(frozen=True, slots=True, eq=False)
class CompiledProbe:
    """What a probe is given, how its answer is judged, and what the step gives where it happened."""

    ask: Template
    happened: Expression
    output: Expression | None

    def judge(self, scope: Mapping[str, Any], answer: Any) -> tuple[bool, Any]:
        """Whether the call happened, and its output where it did.

        Raises:
            ExpressionError: the answer does not say.
        """
        told = {**scope, "answer": answer}
        if not self.happened.decide(told):
            return False, None
        return True, self.output.evaluate(told) if self.output else answer


def compile_probe(probe: Probe) -> CompiledProbe:
    """Compile a valid probe."""
    return CompiledProbe(
        compile_template(probe.input, CALL)[0],
        compile_expression(probe.happened, PROBED),
        compile_expression(probe.output, PROBED) if probe.output else None,
    )


def connector_of(config: ActivityConfig, probe: int, undo: int = 0) -> str:
    """The connector that an attempt calls: the probe's, the compensation's, or the activity's own."""
    if undo and config.compensation:
        return config.compensation.connector
    return config.probe.connector if probe and config.probe else config.connector
