"""What every test may use: the shared example material and a real browser whose requests stay on this machine."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from tests import browser as chromium
from tests import postgres, stores

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page

ROOT = Path(__file__).resolve().parent.parent

# A shared, noisy machine: deadlines would measure the neighbours. CI draws the same examples every time.
settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("default"), derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")


def shared_folder() -> Path | None:
    """The folder with the example material: SIGNOFF_SHARED, or `shared` beside the checkout, or None."""
    named = os.environ.get("SIGNOFF_SHARED")
    folder = Path(named) if named else ROOT.parent / "shared"
    return folder if folder.is_dir() else None


SHARED_MISSING = "no example material: set SIGNOFF_SHARED to the shared folder, or lay it beside the checkout"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Tests of rooms that ask for `store` run once on each."""
    if "store" in metafunc.fixturenames:
        one = metafunc.definition.get_closest_marker("sqlite")
        metafunc.parametrize("store", stores.KINDS[:1] if one else stores.KINDS, indirect=True)


@pytest.hookimpl(tryfirst=True)  # before `-m` chooses
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks tests by the fixtures they ask for, so that `-m "not browser"` cannot miss one."""
    for item in items:
        fixtures = getattr(item, "fixturenames", ())
        if "browser_path" in fixtures:
            item.add_marker("browser")
        callspec = getattr(item, "callspec", None)
        if (callspec and callspec.params.get("store") == "postgresql") or "postgres_server" in fixtures:
            item.add_marker("postgresql")
        if "shared" in fixtures:
            item.add_marker("corpus")
        if item.get_closest_marker("corpus") and shared_folder() is None:
            item.add_marker(pytest.mark.skip(reason=SHARED_MISSING))


@pytest.fixture(scope="session")
def shared() -> Path:
    """The shared folder; a test that asks for it is skipped where there is none."""
    folder = shared_folder()
    if folder is None:
        pytest.skip(SHARED_MISSING)
    return folder


@pytest.fixture(scope="session")
def postgres_running() -> Iterator[postgres.Server | None]:
    """One server for the session; None where none is installed."""
    programs = postgres.find_programs()
    if programs is None:
        yield None
    else:
        with postgres.started_server(programs) as server:
            yield server


@pytest.fixture
def postgres_server(request: pytest.FixtureRequest) -> postgres.Server:
    """The server; a test that asks for it is skipped where none is installed."""
    server: postgres.Server | None = request.getfixturevalue("postgres_running")
    if server is None:
        pytest.skip(postgres.MISSING)
    return server


@pytest.fixture
def store(request: pytest.FixtureRequest) -> Iterator[stores.Stores]:
    """Where the data of this test are; see `tests/stores.py`."""
    kind = getattr(request, "param", "sqlite")
    server = request.getfixturevalue("postgres_server") if kind == "postgresql" else None
    before, stores.current = stores.current, stores.Stores(kind, server)
    yield stores.current
    stores.current.drop()
    stores.current = before


@pytest.fixture(scope="session")
def browser_path() -> str:
    """The Chromium to drive. On CI a missing browser is a failure, not a skip."""
    path = chromium.find_browser()
    if path is None:
        if os.environ.get("CI"):
            pytest.fail(chromium.MISSING)
        pytest.skip(chromium.MISSING.splitlines()[0] + " `make test` finds or installs one.")
    return path


# Module scope, because Playwright's synchronous API occupies this thread's event loop while it is open:
# `asyncio.run` in a later test would refuse to start.
@pytest.fixture(scope="module")
def browser(browser_path: str) -> Iterator[Browser]:
    """A headless Chromium, one per test module."""
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=20_000)  # a shared, noisy machine: what is right is seen at once nevertheless
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=browser_path, args=list(chromium.LAUNCH_ARGS))
        yield running
        running.close()


@pytest.fixture
def browser_context(browser: Browser) -> Iterator[BrowserContext]:
    """A fresh profile (cookies, storage) whose requests may go to this machine only; any other fails the test."""
    context = browser.new_context(viewport={"width": 1280, "height": 800}, locale="en-GB", timezone_id="UTC")
    context.set_default_timeout(15_000)
    strangers = chromium.watch_strangers(context)
    yield context
    context.close()
    assert not strangers, f"the page asked for something outside this machine: {strangers}"


@pytest.fixture
def page(browser_context: BrowserContext) -> Page:
    """A fresh tab in a fresh profile; see `browser_context`."""
    return browser_context.new_page()
