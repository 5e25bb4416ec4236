"""What is selected, and how it follows edits that rename it."""

from __future__ import annotations

from dataclasses import dataclass

from signoff.web.models.sheet import Sheet


@dataclass(frozen=True, slots=True)
class Selection:
    """Ids of selected steps and keys of selected edges."""

    steps: tuple[str, ...] = ()
    edges: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether nothing is selected."""
        return not self.steps and not self.edges


class Pursuit:
    """Which selection counts, while a browser may be behind with what was selected for its person.

    A browser that is to select something else tells the way there: what it lets go of, nothing at all, both
    together, and in the end what was asked for. A slow one takes seconds over it.
    """

    def __init__(self) -> None:
        self.now = Selection()
        self._behind: set[str] | None = None
        self._last: Selection | None = None

    def ask(self, selection: Selection) -> None:
        """Select something for the person; what the browser tells from now on may be the way there."""
        if self._behind is not None or selection != self.now:
            self._behind = (self._behind or set()) | _ids(self.now)
        self._last, self.now = None, selection

    def hear(self, told: Selection) -> bool:
        """What the browser tells; True where the person has selected something else by it."""
        self._last = told
        if self._behind is not None and told != self.now and _ids(told) <= self._behind | _ids(self.now):
            return False
        return self._arrive()

    def give_up(self) -> bool:
        """The browser had time enough: what it told last counts. True where that is something else."""
        return self._arrive()

    def _arrive(self) -> bool:
        self._behind, told, self._last = None, self._last, None
        changed = told is not None and told != self.now
        self.now = told if told is not None else self.now
        return changed


def _ids(selection: Selection) -> set[str]:
    return {*selection.steps, *selection.edges}


def follow(before: Sheet, after: Sheet, selected: Selection) -> Selection:
    """The selection after an edit: renamed things stay selected, removed ones do not."""
    old, new = [s.id for s in before.definition.steps], [s.id for s in after.definition.steps]
    moved = dict(zip(old, new, strict=True)) if len(old) == len(new) else {i: i for i in new}
    steps = tuple(moved[i] for i in selected.steps if i in moved)
    return Selection(steps, _edges(before, after, selected.edges))


def _edges(before: Sheet, after: Sheet, selected: tuple[str, ...]) -> tuple[str, ...]:
    was, now = {e.key for e in before.definition.edges}, {e.key for e in after.definition.edges}
    kept = tuple(k for k in selected if k in now)
    fresh, gone = now - was, was - now
    if len(selected) == 1 and not kept and len(fresh) == len(gone) == 1:
        return (fresh.pop(),)
    return kept
