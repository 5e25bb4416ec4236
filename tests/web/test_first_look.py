"""What a person meets first: the theme their system prefers, and the way out on every kind of page."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.web.office import Office
from tests.web.test_security import Client, signed_in


def sign_in(page: Any, office: Office) -> None:
    page.goto(f"{office.address}/login")
    page.get_by_label("Login").fill("dan")
    page.get_by_label("Password").fill("demo")
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.wait_for_url(lambda url: "/login" not in url)


@pytest.mark.browser
@pytest.mark.parametrize("preferred", ["dark", "light"])
def test_pages_are_as_the_system_prefers_until_somebody_chooses(
    browser: Browser, office: Office, preferred: Any
) -> None:
    other = {"dark": "light", "light": "dark"}[preferred]
    context = browser.new_context(color_scheme=preferred)
    try:
        page = context.new_page()
        sign_in(page, office)
        page.goto(f"{office.address}/inbox")
        toggle = page.get_by_label("Toggle theme")
        expect(toggle).to_be_visible()
        dark = page.locator(".mui-dark").first
        (expect(dark).to_be_attached if preferred == "dark" else expect(dark).not_to_be_attached)()
        toggle.click()
        (expect(dark).to_be_attached if other == "dark" else expect(dark).not_to_be_attached)()
        page.goto(f"{office.address}/runs")
        expect(page.get_by_label("Toggle theme")).to_be_visible()
        (expect(dark).to_be_attached if other == "dark" else expect(dark).not_to_be_attached)()
    finally:
        context.close()


def test_plain_pages_have_the_way_out(office: Office) -> None:
    dan = signed_in(office, "dan")
    page = dan.get("/account").text
    assert 'href="/account"' in page
    [form] = [part for part in page.split("<form")[1:] if 'action="/logout"' in part]
    token = form.partition('name="token" value="')[2].partition('"')[0]
    assert dan.send("POST", "/logout", {"token": token}).status == 303
    assert dan.get("/account").status == 303
    assert 'action="/logout"' not in Client(office).get("/login").text
