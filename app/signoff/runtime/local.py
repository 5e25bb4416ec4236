"""A worker's link to an engine in the same process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from signoff.core.states import Actor
from signoff.engine.request import Request, unwrap
from signoff.engine.writer import Writer


class LocalLink:
    """Puts worker requests straight into the writer's queue."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    def offer(self, worker: str, args: dict[str, Any], on_task: Callable[[dict[str, Any]], None]) -> None:
        """Offer slots and wait until the engine knows."""
        request = self._build(worker, "offer", "", args)
        request.context = on_task
        unwrap(self._writer.ask(request))

    def request(self, worker: str, do: str, tenant: str, args: dict[str, Any]) -> dict[str, Any]:
        """Send and wait."""
        return unwrap(self._writer.ask(self._build(worker, do, tenant, args)))

    def post(
        self, worker: str, do: str, tenant: str, args: dict[str, Any], done: Callable[[dict[str, Any]], None]
    ) -> None:
        """Send without waiting."""
        self._writer.submit(self._build(worker, do, tenant, args, done))

    @staticmethod
    def _build(
        worker: str,
        do: str,
        tenant: str,
        args: dict[str, Any],
        reply: Callable[[dict[str, Any]], None] = lambda answer: None,
    ) -> Request:
        actor = Actor("worker", worker, channel="worker")
        return Request(do, tenant or "default", actor, args, reply, origin="worker")
