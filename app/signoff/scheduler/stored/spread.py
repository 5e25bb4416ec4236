"""How the end of a task reaches its dependents, a page of edges per transaction.

A page that is not the last one leaves an entry in the stored frontier: the ended version and the last dependent
that has heard of it. Whoever comes next goes on from there, so a crash in the middle loses nothing, and a failure
under a million dependents never becomes one giant transaction. Until an entry is done, its dependents simply wait:
they are never released by mistake, because each of them still counts the edge as open.
"""

from signoff.scheduler.states import TaskState
from signoff.scheduler.stored.version import Version
from signoff.scheduler.stored.work import Entry, Work


def spread(work: Work, budget: int, stored: bool) -> None:
    """Touch at most about ``budget`` edges; ``stored``: also those that earlier transactions left."""
    while budget > 0:
        if not work.queue and not (stored and _load(work, budget)):
            return
        entry = work.queue[0]
        asked = budget
        rows = work.tables.edges.open_targets(entry.node, entry.cursor, asked)
        for required, *row in rows:
            _resolve(work, work.adopt(row), entry, bool(required))
        if rows:
            entry.cursor, entry.moved = rows[-1][1], True
            work.tables.edges.close([(entry.node, row[1]) for row in rows])
            work.count("edges_touched", len(rows))
        budget -= len(rows) or 1
        if len(rows) < asked:
            work.queue.popleft()
            if entry.entry:
                work.tables.ledger.drop_frontier(entry.entry)


def _load(work: Work, limit: int) -> bool:
    """Take the oldest stored entries; the queue is empty, so none of them can be in it already."""
    work.queue.extend(Entry(*row) for row in work.tables.ledger.frontier(limit))
    return bool(work.queue)


def _resolve(work: Work, target: Version, entry: Entry, required: bool) -> None:
    """One edge: its target is blocked, or waits for one dependency less."""
    if target.state is not TaskState.PENDING:
        return
    if entry.bad and required:
        work.end(target, TaskState.BLOCKED, via=entry.version)
        return
    if entry.bad:
        work.count("optional_failures", 1, target.tenant, target.kind)
    work.touch(target)
    target.unmet -= 1
    if not target.unmet:
        work.move(target, TaskState.READY)
