"""The memory of a scheduler: one number (slot) per task version, parallel arrays indexed by it, sparse dicts.

Slots are given in the order of submission, so comparing slots compares submission order. What most tasks do not
have (a generation above 1, optional edges, a function, a result, a cause …) is in dicts that stay empty until
used. All access happens under the scheduler's lock.

Dependents of a version are kept in the smallest form that holds them: ``None`` for none yet, the slot itself for
one, a tuple for a few (which the garbage collector need not look at again, as it must at a list), a list for many,
and ``ENDED`` once the version has ended and nobody waits for it any more.
"""

from array import array
from collections.abc import Hashable, Iterator
from typing import Any, Final

from signoff.scheduler.records import Cause, Work
from signoff.scheduler.states import CANCELLED, PENDING, STATE_OF_CODE, SUCCEEDED, TaskState

FIRST_GENERATION: Final = 1
ENDED: Final = ()
_GROW_BY: Final = 64

FEW: Final = 6
"""Up to so many dependents are a tuple, which is made anew for each; more are a list, which grows in place."""

type Several = tuple[int, ...] | list[int]
type Place = int | Several
type Targets = Place | None


class TaskTable:
    """Parallel arrays over slots.

    Attributes:
        size: number of slots in use; the arrays are longer (they grow by an eighth).
        index: task id → slot of its newest generation; or, for an id that others wait for and nobody submitted
            yet, the versions that require it. Use ``find`` where speed does not matter.
        ids: slot → task id.
        state: slot → state code (``states.PENDING`` …).
        missing: slot → number of edges the task still waits for.
        after: slot → versions that require it and still wait for it.
        since: slot → clock reading when it became ready, later when it was claimed (seconds; only with timings).
        dependencies: slot → required dependencies as ids, in the order given.
    """

    __slots__ = (
        "after",
        "blocked_via",
        "capacity",
        "cause",
        "dependencies",
        "error",
        "generation",
        "ids",
        "index",
        "missing",
        "optional",
        "optional_after",
        "optional_awaited",
        "previous",
        "result",
        "retired",
        "since",
        "size",
        "state",
        "work",
    )

    def __init__(self) -> None:
        self.size = 0
        self.capacity = 0
        self.index: dict[Any, Any] = {}  # Place: `Any` for the checker only, the hot path looks at the type itself
        self.ids: list[Any] = []
        self.state = bytearray()
        self.missing: list[int] = []
        self.after: list[Targets] = []
        self.since = array("d")
        self.dependencies: list[tuple[Any, ...]] = []
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

    def grow(self, timed: bool) -> None:
        """Make room for more slots; existing array objects stay the same."""
        more = _GROW_BY + (self.capacity >> 3)
        self.ids.extend([None] * more)
        self.state.extend(bytes(more))
        self.missing.extend([0] * more)
        self.after.extend([None] * more)
        self.dependencies.extend([()] * more)
        if timed:
            self.since.frombytes(bytes(8 * more))
        self.capacity += more

    def find(self, task: Any) -> int | None:
        """Slot of the newest generation of a task, or None if nobody submitted it."""
        place = self.index.get(task)
        return place if isinstance(place, int) else None

    def generation_of(self, slot: int) -> int:
        """Generation of the version in this slot."""
        return self.generation.get(slot, FIRST_GENERATION)

    def slot_of_generation(self, task: Hashable, generation: int) -> int | None:
        """Slot of one generation of a task, or None. O(generations of that task)."""
        slot = self.find(task)
        while slot is not None and self.generation_of(slot) != generation:
            slot = self.previous.get(slot)
        return slot

    def current_slots(self) -> Iterator[int]:
        """Slots of the newest generations, in submission order."""
        if not self.previous:
            return iter(range(self.size))
        return iter(sorted(place for place in self.index.values() if isinstance(place, int)))

    def has_unknown(self, slot: int) -> bool:
        """Whether a version has a dependency that nobody submitted yet. O(its dependencies)."""
        if not (self._count_unknown() or self.optional_awaited):
            return False
        dependencies = (*self.dependencies[slot], *self.optional.get(slot, ()))
        return any(self.find(dependency) is None for dependency in dependencies)

    def state_of(self, slot: int) -> TaskState:
        """The state of a version, in the words of ``TaskState``."""
        code = self.state[slot]
        return TaskState.WAITING if code == PENDING and self.has_unknown(slot) else STATE_OF_CODE[code]

    def targets(self, slot: int) -> list[int]:
        """Every version that waits for this one, over required and optional edges."""
        return [*as_list(self.after[slot]), *self.optional_after.get(slot, ())]

    def unknown_ids(self) -> dict[Any, list[int]]:
        """Every id nobody submitted yet → the versions that wait for it. O(V)."""
        found: dict[Any, list[int]] = {}
        if self._count_unknown():
            found = {task: list(place) for task, place in self.index.items() if not isinstance(place, int)}
        for task, slots in self.optional_awaited.items():
            found[task] = [*found.get(task, ()), *slots]
        return found

    def unknown_targets(self, task: Any) -> list[int]:
        """The versions that wait for an id nobody submitted yet."""
        place = self.index.get(task)
        required = () if place is None or isinstance(place, int) else place
        return [*required, *self.optional_awaited.get(task, ())]

    def link(self, slot: int, dependency: Any) -> int:
        """Register one required edge into ``slot``; returns 1 if it must be waited for, 0 if its source has ended."""
        source = self.index.get(dependency)
        if source is None:
            self.index[dependency] = (slot,)
        elif not isinstance(source, int):
            self.index[dependency] = with_target(source, slot)
        elif self.state[source] >= SUCCEEDED:
            return 0
        else:
            old = self.after[source]
            self.after[source] = slot if old is None else with_target((old,) if isinstance(old, int) else old, slot)
        return 1

    def unlink(self, slot: int) -> None:
        """Remove the edges that lead into a version that will never run. O(edges of its dependencies)."""
        for dependency in self.dependencies[slot]:
            source = self.index.get(dependency)
            if isinstance(source, int):
                if self.state[source] < SUCCEEDED:
                    self.after[source] = without_target(self.after[source], slot)
            elif source is not None:
                self.leave_unknown(dependency, source, slot)
        for dependency in self.optional.get(slot, ()):
            self._cut_optional(slot, dependency)

    def leave_unknown(self, dependency: Any, waiting: Several, slot: int) -> None:
        """Let a version wait no more for an id that nobody submitted yet; ``waiting`` is what ``index`` has for it."""
        left = tuple(target for target in waiting if target != slot)
        if left:
            self.index[dependency] = left
        else:
            del self.index[dependency]

    def hand_over(self, old: int, new: int) -> None:
        """Let a new version take over the dependents of an old one, which thereby has ended."""
        self.previous[new] = old
        if self.state[old] < SUCCEEDED:
            self.state[old] = CANCELLED
            self.after[new] = self.after[old]
            if old in self.optional_after:
                self.optional_after[new] = self.optional_after.pop(old)
        self.after[old] = ENDED
        self.retired[self.state[old]] += 1

    def drop_optional(self, slot: int, dependency: Any) -> int:
        """Forget one optional edge; returns 1 if it was still waited for, else 0."""
        self.optional[slot] = tuple(dep for dep in self.optional[slot] if dep != dependency)
        return self._cut_optional(slot, dependency)

    def _count_unknown(self) -> int:
        """Number of ids that tasks require and nobody submitted yet: not among those that have a first version."""
        return len(self.index) - (self.size - len(self.previous))

    def _cut_optional(self, slot: int, dependency: Any) -> int:
        source = self.find(dependency)
        if source is None:
            return _drop(self.optional_awaited, dependency, slot)
        return _drop(self.optional_after, source, slot)


def as_list(targets: Targets) -> list[int]:
    """The dependents in any of their forms, as a list."""
    if isinstance(targets, int):
        return [targets]
    return list(targets) if targets else []


def with_target(targets: Several, slot: int) -> Several:
    """One or more dependents, and one more."""
    if isinstance(targets, list):
        targets.append(slot)
        return targets
    return targets + (slot,) if len(targets) < FEW else [*targets, slot]


def without_target(targets: Targets, slot: int) -> Targets:
    """The dependents but for one, in the smallest form."""
    left = [target for target in as_list(targets) if target != slot]
    return (left if len(left) > FEW else tuple(left)) if left else None


def _drop[K](edges: dict[K, list[int]], key: K, slot: int) -> int:
    """Remove a slot from one list of a sparse mapping; returns how many were removed (0 or 1)."""
    targets = edges.get(key, [])
    left = [target for target in targets if target != slot]
    if left:
        edges[key] = left
    else:
        edges.pop(key, None)
    return len(targets) - len(left)
