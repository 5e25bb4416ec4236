"""An office with a web server for a module's tests, and people who sign in to it in browsers of their own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from tests import browser as chromium
from tests.web.office import Office, Server, open_office

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

READY = "() => window.Bokeh && Bokeh.documents.length > 0 && Bokeh.documents[0].is_idle"


@pytest.fixture(scope="module")
def office_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    office = open_office(tmp_path_factory.mktemp("office"))
    with office.running, Server(office):
        yield office


@pytest.fixture
def office(office_server: Office) -> Office:
    """The module's office; its outside services work again."""
    office_server.desk.broken = False
    office_server.desk.gate.set()
    return office_server


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Buttons added to an open page send themselves along with their clicks; Bokeh warns, and nothing is wrong."""
    for item in items:
        if "tests/web/" in item.path.as_posix():
            item.add_marker(pytest.mark.filterwarnings("ignore:reference already known"))


class Visitors:
    """Browsers of people. Requests stay on this machine, and no page complains, or the test fails."""

    def __init__(self, browser: Browser, office: Office) -> None:
        self._browser, self._office = browser, office
        self._contexts: list[tuple[BrowserContext, list[str]]] = []
        self.complaints: list[str] = []
        self.expected: tuple[str, ...] = ()

    def __call__(self, login: str, path: str = "/", *, width: int = 1440, height: int = 900) -> Page:
        """A signed-in person's tab, showing a path."""
        page = self.stranger(width=width, height=height)
        page.goto(f"{self._office.address}/login")
        page.get_by_label("Login").fill(login)
        page.get_by_label("Password").fill("demo")
        page.get_by_role("button", name="Sign in", exact=True).click()
        page.wait_for_url(lambda url: "/login" not in url)
        self.go(page, path)
        return page

    def go(self, page: Page, path: str) -> None:
        """Open a path and wait until the page is drawn."""
        page.goto(self._office.address + path)
        self.ready(page)

    def ready(self, page: Page) -> None:
        page.wait_for_function(READY)

    def stranger(self, *, width: int = 1440, height: int = 900) -> Page:
        """A tab of somebody who is not signed in."""
        context = self._browser.new_context(
            viewport={"width": width, "height": height}, locale="en-GB", timezone_id="UTC"
        )
        context.set_default_timeout(15_000)
        self._contexts.append((context, chromium.watch_strangers(context)))
        page = context.new_page()
        page.on("console", lambda m: self.complaints.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("dialog", lambda dialog: (self.complaints.append(f"a script ran: {dialog.message}"), dialog.dismiss()))
        return page

    def close(self) -> None:
        for context, strangers in self._contexts:
            context.close()
            assert not strangers, f"a page asked for something outside this machine: {strangers}"
        unexpected = [c for c in self.complaints if not any(words in c for words in self.expected)]
        assert not unexpected, unexpected


@pytest.fixture
def visit(browser: Browser, office: Office) -> Iterator[Visitors]:
    visitors = Visitors(browser, office)
    yield visitors
    visitors.close()


Visit = Callable[..., "Page"]
