"""The event of a run that moves to another version of its definition (semantics §9)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from signoff.core.event import Edges, Event
from signoff.core.states import Actor


@dataclass(frozen=True, slots=True, kw_only=True)
class RunMigrated(Event):
    """The run goes on under another version; what replay needs of the new plan is in the event.

    Attributes:
        from_digest, to_digest: of the versions.
        definition_version: number of the new one.
        plan_digest: names the migration plan.
        steps: (new id, old id, generation) of every step of the new version; the old id is empty for a step that is
            new, and a generation that differs from the old one begins the step again.
        ways: how every edge of the new version stands, as far as it is resolved.
        input: the new input where it changed, else None.
        plan_id, approved_by: of the stored plan that somebody approved, where there was one.
    """

    wire: ClassVar[str] = "run.migrated"
    actor: Actor
    reason: str
    from_digest: str
    from_version: int
    to_digest: str
    definition_version: int
    plan_digest: str
    steps: tuple[tuple[str, str, int], ...]
    ways: Edges = ()
    input: dict[str, Any] | None = None
    plan_id: str = ""
    approved_by: str = ""


def outputs_after(outputs: Mapping[str, Any], event: RunMigrated) -> dict[str, Any]:
    """Outputs by the ids of the new version; those of removed steps stay under their old id."""
    renamed = {old: new for new, old, _ in event.steps if old}
    return {renamed.get(i, i): output for i, output in outputs.items()}
