"""Closing a scheduler: no new work, queued tasks cancelled or kept, running ones waited for."""

import threading
from typing import Any

from signoff.scheduler.core import SchedulerCore
from signoff.scheduler.endings import cancel_all_queued
from signoff.scheduler.records import Claim, CloseReport
from signoff.scheduler.states import READY, RUNNING

CANCELLED_REASON = "the scheduler was closed"
KEPT_REASON = "kept when the scheduler was closed; it will not be claimed"


def close_scheduler(core: SchedulerCore, idle: threading.Condition, timeout: float | None, queued: str) -> CloseReport:
    """See ``TaskScheduler.close``; ``idle`` is notified when a callback arrives after closing began."""
    if queued not in ("cancel", "keep"):
        raise ValueError(f"Expected queued tasks to be closed by 'cancel' or 'keep', not {queued!r}.")
    with idle:
        core.closing = core.unusual = True
        cancelled = cancel_all_queued(core, CANCELLED_REASON) if queued == "cancel" else {}
    core.feed.deliver()
    with idle:
        finished = idle.wait_for(lambda: not core.running, timeout)
        table = core.table
        running: list[Claim] = []
        kept: dict[Any, str] = {}
        for slot in table.current_slots():
            if table.state[slot] == RUNNING:
                running.append((table.ids[slot], table.generation_of(slot)))
            elif table.state[slot] <= READY:
                kept[table.ids[slot]] = KEPT_REASON
        return CloseReport(finished, tuple(running), cancelled, kept)
