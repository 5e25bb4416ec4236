"""What counts as selected while a slow browser is behind, and what a line takes when Enter is pressed."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from signoff.web.models.selection import Pursuit, Selection
from signoff.web.parts.inputs import number_input, text_input

OLD, NEW, OTHER = Selection(("old",)), Selection(("new",)), Selection(("other",))
NOTHING, BOTH = Selection(), Selection(("old", "new"))


def asked(start: Selection, *asks: Selection) -> Pursuit:
    pursuit = Pursuit()
    pursuit.hear(start)
    for selection in asks:
        pursuit.ask(selection)
    return pursuit


@pytest.mark.parametrize("way", list(permutations([OLD, NOTHING, BOTH])))
def test_what_a_browser_tells_on_its_way_is_no_choice(way: tuple[Selection, ...]) -> None:
    pursuit = asked(OLD, NEW)
    assert [pursuit.hear(told) for told in way] == [False] * 3
    assert pursuit.now == NEW
    assert not pursuit.hear(NEW)
    assert pursuit.now == NEW


@pytest.mark.parametrize("choice", [OLD, NOTHING, OTHER, BOTH])
def test_once_it_has_followed_every_choice_counts_at_once(choice: Selection) -> None:
    pursuit = asked(OLD, NEW)
    pursuit.hear(NEW)
    assert pursuit.hear(choice)
    assert pursuit.now == choice


def test_a_click_elsewhere_counts_while_it_is_behind() -> None:
    pursuit = asked(OLD, NEW)
    assert pursuit.hear(OTHER)
    assert pursuit.hear(NOTHING)


def test_two_requests_in_a_row_leave_both_behind() -> None:
    pursuit = asked(OLD, OTHER, NEW)
    assert not pursuit.hear(OTHER)
    assert not pursuit.hear(OLD)
    assert pursuit.now == NEW


def test_what_was_told_last_counts_when_the_time_is_over() -> None:
    pursuit = asked(OLD, NEW)
    pursuit.hear(OLD)
    pursuit.hear(NOTHING)
    assert pursuit.give_up()
    assert pursuit.now == NOTHING
    assert not pursuit.give_up()
    silent = asked(OLD, NEW)
    assert not silent.give_up()
    assert silent.now == NEW


def test_asking_for_what_is_selected_waits_for_nothing() -> None:
    pursuit = asked(OLD, OLD)
    assert pursuit.hear(NOTHING)


@pytest.mark.parametrize(("make", "typed", "expected"), [(text_input, "Ask", "Ask"), (number_input, "12.5", 12.5)])
def test_enter_takes_what_was_typed_though_the_browser_sends_an_old_value(make: Any, typed: str, expected: Any) -> None:
    taken: list[Any] = []
    widget = make("Label", "" if make is text_input else None, taken.append)
    widget.value_input = typed
    widget._handle_enter(None)
    widget.value = typed  # the browser's own, when the field is left
    assert taken == [expected]
