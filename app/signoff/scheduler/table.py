"""The memory of a scheduler: one number (slot) per task version, parallel arrays indexed by it, sparse dicts.

Slots are given in the order of submission, so comparing slots compares submission order. What most tasks do not
have (a generation above 1, optional edges, a function, a result, a cause …) is in dicts that stay empty until
used. All access happens under the scheduler's lock.
"""

from array import array
from collections.abc import Hashable, Iterator
from typing import Any, Final

from signoff.scheduler.records import Cause, Work
from signoff.scheduler.states import CANCELLED, PENDING, SUCCEEDED, TaskState, STATE_OF_CODE

FIRST_GENERATION: Final = 1
_GROW_BY: Final = 64


class TaskTable:
    """Parallel arrays over slots.

    Attributes:
        size: number of slots in use; the arrays are longer (they grow by an eighth).
        index: task id → slot of its newest generation.
        ids: slot → task id.
        state: slot → state code (``states.PENDING`` …).
        missing: slot → number of edges the task still waits for.
        after: slot → slots that require it and still wait for it, or None.
        since: slot → clock reading when it became ready, later when it was claimed (seconds).
        dependencies: slot → required dependencies as ids, in the order given.
        awaited: id nobody submitted yet → slots that require it (open graphs, and inside a batch).
    """

    def __init__(self) -> None:
        self.size = 0
        self.capacity = 0
        self.index: dict[Any, int] = {}
        self.ids: list[Any] = []
        self.state = bytearray()
        self.missing: list[int] = []
        self.after: list[list[int] | None] = []
        self.since = array("d")
        self.dependencies: list[tuple[Any, ...]] = []
        self.awaited: dict[Any, list[int]] = {}
        self.generation: dict[int, int] = {}
        self.previous: dict[int, int] = {}
        self.optional: dict[int, tuple[Any, ...]] = {}
        self.optional_after: dict[int, list[int]] = {}
        self.optional_awaited: dict[Any, list[int]] = {}
        self.work: dict[int, Work] = {}
        self.result: dict[int, Any] = {}
        self.error: dict[int, Any] = {}
        self.cause: dict[int, Cause] = {}
        self.blocked_via: dict[int, int] = {}
        self.retired = [0] * len(STATE_OF_CODE)

    def grow(self) -> None:
        """Make room for more slots; existing array objects stay the same."""
        more = _GROW_BY + (self.capacity >> 3)
        self.ids.extend([None] * more)
        self.state.extend(bytes(more))
        self.missing.extend([0] * more)
        self.after.extend([None] * more)
        self.since.frombytes(bytes(8 * more))
        self.dependencies.extend([()] * more)
        self.capacity += more

    def generation_of(self, slot: int) -> int:
        """Generation of the version in this slot."""
        return self.generation.get(slot, FIRST_GENERATION)

    def current_slots(self) -> Iterator[int]:
        """Slots of the newest generations, in submission order."""
        if not self.previous:
            return iter(range(self.size))
        return iter(sorted(self.index.values()))

    def has_unknown(self, slot: int) -> bool:
        """Whether a version has a dependency that nobody submitted yet. O(its dependencies)."""
        if not (self.awaited or self.optional_awaited):
            return False
        index = self.index
        return any(dep not in index for dep in self.dependencies[slot]) or any(
            dep not in index for dep in self.optional.get(slot, ())
        )

    def state_of(self, slot: int) -> TaskState:
        """The state of a version, in the words of ``TaskState``."""
        code = self.state[slot]
        return TaskState.WAITING if code == PENDING and self.has_unknown(slot) else STATE_OF_CODE[code]

    def targets(self, slot: int) -> list[int]:
        """Every version that waits for this one, over required and optional edges."""
        return [*(self.after[slot] or ()), *self.optional_after.get(slot, ())]

    def unlink(self, slot: int) -> None:
        """Remove the edges that lead into a version that will never run. O(edges of its dependencies)."""
        for dependency in self.dependencies[slot]:
            source = self.index.get(dependency)
            if source is None:
                _drop(self.awaited, dependency, slot)
            elif targets := self.after[source]:
                self.after[source] = [target for target in targets if target != slot] or None
        for dependency in self.optional.get(slot, ()):
            self._cut_optional(slot, dependency)

    def hand_over(self, old: int, new: int) -> None:
        """Let a new version take the place of an old one: id, edges to dependents, next generation is set apart."""
        self.previous[new] = old
        self.after[new], self.after[old] = self.after[old], None
        if old in self.optional_after:
            self.optional_after[new] = self.optional_after.pop(old)
        if self.state[old] < SUCCEEDED:
            self.state[old] = CANCELLED
        self.retired[self.state[old]] += 1

    def drop_optional(self, slot: int, dependency: Any) -> int:
        """Forget one optional edge; returns 1 if it was still waited for, else 0."""
        self.optional[slot] = tuple(dep for dep in self.optional[slot] if dep != dependency)
        return self._cut_optional(slot, dependency)

    def _cut_optional(self, slot: int, dependency: Any) -> int:
        source = self.index.get(dependency)
        if source is None:
            return _drop(self.optional_awaited, dependency, slot)
        return _drop(self.optional_after, source, slot)

    def slot_of_generation(self, task: Hashable, generation: int) -> int | None:
        """Slot of one generation of a task, or None. O(generations of that task)."""
        slot = self.index.get(task)
        while slot is not None and self.generation_of(slot) != generation:
            slot = self.previous.get(slot)
        return slot


def _drop[K](edges: dict[K, list[int]], key: K, slot: int) -> int:
    """Remove a slot from one list of a sparse mapping; returns how many were removed (0 or 1)."""
    targets = edges.get(key, [])
    left = [target for target in targets if target != slot]
    if left:
        edges[key] = left
    else:
        edges.pop(key, None)
    return len(targets) - len(left)
