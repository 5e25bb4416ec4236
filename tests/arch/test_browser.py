"""The browser that the tests get: it renders, and what it asks for outside this machine is noticed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests import browser as chromium
from tests.arch.sources import ROOT

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


def test_a_page_renders(page: Page) -> None:
    page.set_content("<button onclick=\"this.textContent = 'Signed'\">Sign</button>")
    page.get_by_role("button").click()
    assert page.get_by_role("button", name="Signed").is_visible()


def test_a_stranger_is_noticed(browser: Browser) -> None:
    with browser.new_context() as context:
        strangers = chromium.watch_strangers(context)
        tab = context.new_page()
        with tab.expect_event("requestfailed"):
            tab.set_content('<img src="http://stranger.invalid/x.png">')
    assert strangers == ["http://stranger.invalid/x.png"]


def test_a_named_browser_that_is_missing_is_said_plainly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SIGNOFF_CHROMIUM", "/nowhere/chromium")
    with pytest.raises(chromium.BrowserMissing, match=r"'/nowhere/chromium', which is not a program"):
        chromium.find_browser()


def test_no_python_is_said_plainly(tmp_path: Path) -> None:
    """The set-up looks everywhere, finds nothing new enough, and says what to do."""
    script = (
        "import runpy, sys\n"
        "names = runpy.run_path('.ci/bootstrap.py')\n"
        "find = names['find_python']\n"
        "find.__globals__['candidate_pythons'] = lambda: iter(['/old/python'])\n"
        "find.__globals__['version_of'] = lambda path: (3, 9)\n"
        "try:\n    find()\nexcept names['SetupError'] as error:\n    print(error)\n"
    )
    environment = {"PATH": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert "needs Python 3.12 or newer, but this machine has only: 3.9" in done.stdout, done.stderr
    assert "SIGNOFF_PYTHON=" in done.stdout
