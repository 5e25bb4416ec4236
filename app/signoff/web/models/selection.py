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
