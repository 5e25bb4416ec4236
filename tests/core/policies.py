"""Whether quotas can be filled, by another rule than the product's: Hall's theorem instead of an assignment."""

from __future__ import annotations

from itertools import combinations

from signoff.core.quorum import person_key
from signoff.core.states import Quota


def fills(quotas: tuple[Quota, ...], people: frozenset[str]) -> bool:
    """Whether distinct people can fill every place: for any of the quotas together there are enough (Hall)."""
    for size in range(1, len(quotas) + 1):
        for some in combinations(quotas, size):
            able = {person_key(p) for q in some for p in q.people} & people
            if len(able) < sum(q.required for q in some):
                return False
    return True
