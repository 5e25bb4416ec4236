"""The states page says what the transition tables say (`python -m tests.docs.test_states_doc` writes it again)."""

from __future__ import annotations

from signoff.core.states_page import states_page
from tests.arch.sources import ROOT

PAGE = ROOT / "assets" / "docs" / "states.md"


def test_the_states_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == states_page(), "run: python -m tests.docs.test_states_doc"


def test_the_states_page_names_every_state_and_draws_both_diagrams() -> None:
    text = states_page()
    assert text.count("```mermaid") == 2
    for word in ("not_taken", "stalled", "terminated", "retrying", "ClaimActivity", "already dealt with"):
        assert word in text or word.replace(" ", "_") in text


if __name__ == "__main__":
    PAGE.write_text(states_page(), encoding="utf-8")
