"""A slice of the exhaustive search in each run, a million states in the slow one (`tests.core.small_world`)."""

from __future__ import annotations

import pytest

from signoff.core.quorum import settled_outcome
from tests.core import small_world

EXPECTED = {
    "accepted", "stale_result", "already_known", "obsolete_timer", "already_decided", "not_failed", "paused",
    "changed_meanwhile", "not_claimable", "stopping", "run_over", "effect_under_way",
}  # fmt: skip


def test_a_slice_of_the_small_world() -> None:
    found = small_world.run_search(2_500)
    assert len(found.seen) >= 2_500
    assert found.depth >= 6
    assert set(found.answers) >= EXPECTED


def test_a_broken_rule_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a quorum that is reached does not settle, the approval waits for nobody, and the search objects."""

    def never(approval: object, requester: str, **rule: bool) -> str | None:
        found = settled_outcome(approval, requester, **rule)  # type: ignore[arg-type]
        return None if found == "approved" else found

    monkeypatch.setattr("signoff.core.decide.approvals.settled_outcome", never)
    with pytest.raises(AssertionError):
        small_world.run_search(5_000)


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_a_million_states_of_the_small_world() -> None:
    found = small_world.run_search(1_000_000, generations=9, claims=16)
    assert len(found.seen) >= 1_000_000
    assert found.depth >= 14
