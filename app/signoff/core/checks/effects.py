"""What an effect contract needs: a probe where a lost call is looked up, and only there."""

from __future__ import annotations

from collections.abc import Iterator

from signoff.core.checks.steps import check_secrets
from signoff.core.checks.surroundings import Surroundings
from signoff.core.definition import ActivityConfig, Definition, EffectContract, Probe, Step
from signoff.core.problem import Problem


def check_effects(d: Definition, around: Surroundings) -> Iterator[Problem]:
    """The probes of all activities."""
    for s in d.steps:
        if not isinstance(s.config, ActivityConfig):
            continue
        checks, probe = s.config.effect is EffectContract.CHECK_FIRST, s.config.probe
        if checks and probe is None:
            message = f"'{s.label}' checks first whether a lost call happened, but names nothing to ask."
            yield Problem("no_probe", message, "Give it a probe, or choose another contract.", s.id)
        elif probe is not None:
            if not checks:
                message = f"'{s.label}' has a probe, but its contract is not to check first."
                yield Problem("unused_probe", message, "Choose 'check_first' or remove it.", s.id, severity="warning")
            yield from _probe(s, probe, around)


def _probe(s: Step, probe: Probe, around: Surroundings) -> Iterator[Problem]:
    if not probe.connector:
        yield Problem("no_connector", f"The probe of '{s.label}' calls nothing.", "Choose a connector.", s.id)
    elif around.connectors is not None and probe.connector not in around.connectors:
        known = ", ".join(sorted(around.connectors)) or "none"
        message = f"The probe of '{s.label}' calls '{probe.connector[:80]}', which is not installed."
        yield Problem("missing_connector", message, f"Installed: {known}.", s.id)
    if not probe.happened.strip():
        message = f"The probe of '{s.label}' does not say when the call happened."
        yield Problem("no_condition", message, "Give a condition such as answer.body.found.", s.id)
    yield from check_secrets(s, probe.input)
