"""Reading the golden histories."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from signoff.core.codec import decode_event
from signoff.core.document import read_document
from signoff.core.events import Event
from signoff.core.plan import Plan, compile_plan

HISTORIES = Path(__file__).parent / "histories"
FILES = sorted(HISTORIES.glob("*.jsonl"))


@dataclass(frozen=True)
class History:
    """One recorded run: its first plan, all its plans by digest, its events stored and decoded, the last snapshot."""

    plan: Plan
    plans: dict[str, Plan]
    stored: list[dict[str, Any]]
    events: list[Event]
    snapshot: dict[str, Any]


def read_history(path: Path) -> History:
    head, *stored, last = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
    plans = {x["digest"]: _plan(x) for x in (head, *head.get("later", []))}
    events = [
        decode_event(x["type"], x["version"], datetime.fromisoformat(x["at"]), x["step"], x["data"]) for x in stored
    ]
    return History(plans[head["digest"]], plans, stored, events, last["snapshot"])


def _plan(head: dict[str, Any]) -> Plan:
    definition, problems = read_document(head["definition"])
    assert definition is not None
    assert problems == ()
    return compile_plan(definition, head["digest"], head["version"])
