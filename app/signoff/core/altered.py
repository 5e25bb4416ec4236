"""`dataclasses.replace` for the frozen, slotted dataclasses of the hot path: the same result in half the time.

It copies slot by slot instead of going through `__init__`, so it is only for classes without `__post_init__`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import cache
from operator import attrgetter
from typing import Any

_Setters = dict[str, Callable[[Any, Any], None]]


@cache
def _slots(cls: type) -> tuple[Callable[[Any], tuple[Any, ...]], tuple[Callable[[Any, Any], None], ...], _Setters]:
    names = [f.name for f in fields(cls)]
    setters: _Setters = {name: cls.__dict__[name].__set__ for name in names}
    return attrgetter(*names), tuple(setters.values()), setters


def altered[T](old: T, **changes: Any) -> T:
    """A copy of a frozen, slotted dataclass with two or more fields, some of them changed.

    Raises:
        KeyError: a name that is no field.
    """
    cls: Any = type(old)
    values, setters, by_name = _slots(cls)
    new: T = object.__new__(cls)
    for put, value in zip(setters, values(old), strict=True):
        put(new, value)
    for name, value in changes.items():
        by_name[name](new, value)
    return new
