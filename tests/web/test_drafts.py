"""Keeping a draft without a browser: what is said after a second click, and after somebody else saved."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from signoff.web.models.sheet import open_sheet
from signoff.web.pages.drafts import DraftKeeper
from tests.web.office import PURCHASE, TENANT, Office


@pytest.fixture
def kept(office: Office) -> tuple[DraftKeeper, Any, list[str]]:
    """The keeper of a new draft, its sheet, and what it said."""
    name = f"kept_{len(office.signoff.queries.list_definitions(TENANT))}"
    office.signoff.create_draft(office.actor("ada"), TENANT, {**PURCHASE, "name": name}, {})
    draft = office.signoff.queries.find_draft(TENANT, name)
    sheet, _ = open_sheet(draft.document, draft.layout)
    said: list[str] = []
    visitor: Any = SimpleNamespace(
        site=SimpleNamespace(signoff=office.signoff, tenant=TENANT), command=lambda work, say: None
    )
    return DraftKeeper(visitor, draft, sheet, lambda words, _: said.append(words)), sheet, said


def test_the_second_click_on_publish_says_what_the_first_did(
    kept: tuple[DraftKeeper, Any, list[str]], office: Office
) -> None:
    keeper, sheet, said = kept
    for _ in range(2):
        asyncio.run(keeper.publish(office.actor("ada"), sheet))
    assert said[0].startswith("Published version 1, sha256:")
    assert said[1] == said[0]


def test_a_conflict_says_once_that_nothing_is_lost(kept: tuple[DraftKeeper, Any, list[str]], office: Office) -> None:
    keeper, sheet, said = kept
    name = sheet.definition.name
    office.signoff.save_draft(office.actor("ada"), TENANT, name, {**PURCHASE, "name": name, "title": "Theirs"}, {}, 1)
    mine = replace(sheet, definition=replace(sheet.definition, title="Mine"))
    assert not asyncio.run(keeper.save(office.actor("ada"), mine))
    assert said[-1].count("Your changes are still here") == 1
