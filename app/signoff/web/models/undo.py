"""Undo and redo over immutable states: one action of a person is one step."""

from __future__ import annotations


class Undo[T]:
    """A line of states with a cursor. Equal neighbours are one state."""

    def __init__(self, first: T, *, limit: int = 200) -> None:
        self._states = [first]
        self._at = 0
        self._limit = limit

    @property
    def current(self) -> T:
        """The state the person sees."""
        return self._states[self._at]

    @property
    def can_undo(self) -> bool:
        """Whether there is an earlier state."""
        return self._at > 0

    @property
    def can_redo(self) -> bool:
        """Whether a state was undone and nothing else was done since."""
        return self._at < len(self._states) - 1

    def push(self, state: T) -> bool:
        """Make `state` the current one and forget what was undone; False where nothing changed."""
        if state == self.current:
            return False
        del self._states[self._at + 1 :]
        self._states.append(state)
        if len(self._states) > self._limit:
            del self._states[0]
        self._at = len(self._states) - 1
        return True

    def replace(self, state: T) -> None:
        """Change the current state without making a step of it (a consequence of the same action)."""
        self._states[self._at] = state
        del self._states[self._at + 1 :]

    def undo(self) -> T:
        """Go one step back, where there is one."""
        self._at = max(0, self._at - 1)
        return self.current

    def redo(self) -> T:
        """Go one step forward again, where there is one."""
        self._at = min(len(self._states) - 1, self._at + 1)
        return self.current
