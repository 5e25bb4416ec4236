"""How the engine's own services send requests to the writer."""

from __future__ import annotations

import queue
from typing import Any

from signoff.core.states import Actor
from signoff.engine.request import Request
from signoff.engine.writer import Writer


def submit_all(writer: Writer, actor: Actor, requests: list[tuple[str, str, dict[str, Any]]]) -> list[dict[str, Any]]:
    """Send (name, tenant, args) requests together and wait for all answers, in any order."""
    answers: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    for name, tenant, args in requests:
        writer.submit(Request(name, tenant, actor, args, answers.put, origin="engine"))
    return [answers.get() for _ in requests]
