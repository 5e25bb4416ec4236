"""Where the Chromium is that tests and documents drive.

`find_browser()` looks and never installs; `python -m tests.browser` prints what it finds; `python -m tests.browser
ensure` also installs one where it can and records it, which is what `make test` does.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Request

ROOT = Path(__file__).resolve().parent.parent
RECORD = ROOT / ".build" / "chromium.txt"
INSTALL_LOG = ROOT / ".build" / "chromium-install.txt"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge")
APPLICATIONS = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
)

LAUNCH_ARGS = (
    "--no-sandbox",  # CI runs as root, where Chromium's own sandbox refuses to start
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    # Nothing in these tests may ask for anything outside this machine, the browser's own services included.
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1",
)

LOCAL = {"localhost", "127.0.0.1", "::1", ""}

MISSING = """No Chromium to test with. What helps, any one of these:
  - install Chromium or Google Chrome (on Debian and Ubuntu: apt-get install chromium), then run the command again
  - .venv/bin/python -m playwright install chromium
  - SIGNOFF_CHROMIUM=/path/to/chromium make test"""


class BrowserMissing(Exception):
    """There is no browser; the message says what a person can do about it."""


def _playwright_browser() -> str:
    """The path at which Playwright's own Chromium lies, or would lie."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        return playwright.chromium.executable_path


def _candidates() -> Iterator[str]:
    if RECORD.exists():
        yield RECORD.read_text().strip()
    for name in NAMES:
        if path := shutil.which(name):
            yield path
    yield from APPLICATIONS
    yield _playwright_browser()


def _installed() -> Iterator[str]:
    """Every installed Chromium, best first; only the named one when SIGNOFF_CHROMIUM names one.

    Raises:
        BrowserMissing: SIGNOFF_CHROMIUM names something that is not there.
    """
    if named := os.environ.get("SIGNOFF_CHROMIUM"):
        path = shutil.which(named)
        if path is None:
            raise BrowserMissing(f"SIGNOFF_CHROMIUM names '{named}', which is not a program.\n{MISSING}")
        yield path
        return
    yield from (path for path in _candidates() if path and os.access(path, os.X_OK))


def find_browser() -> str | None:
    """The path of an installed Chromium, or None.

    Raises:
        BrowserMissing: SIGNOFF_CHROMIUM names something that is not there.
    """
    return next(_installed(), None)


def _starts(path: str) -> bool:
    """Whether Playwright can drive this browser at all (a snap's wrapper, for one, may not start)."""
    from playwright.sync_api import Error, sync_playwright

    try:
        with sync_playwright() as playwright:
            playwright.chromium.launch(executable_path=path, args=list(LAUNCH_ARGS), timeout=60_000).close()
    except Error as error:
        print(f"setup: {path} does not start: {error.message.splitlines()[0]}", file=sys.stderr)
        return False
    return True


def watch_strangers(context: BrowserContext) -> list[str]:
    """A list that fills with every address outside this machine that pages of the context ask for."""
    strangers: list[str] = []

    def note(request: Request) -> None:
        url = urlsplit(request.url)
        if url.scheme in {"http", "https", "ws", "wss"} and (url.hostname or "") not in LOCAL:
            strangers.append(request.url)

    context.on("request", note)
    return strangers


def _say(text: str) -> None:
    print(f"setup: {text}", file=sys.stderr, flush=True)


def _run(*command: str) -> bool:
    """Runs an installer; what it prints goes to a file, because on many machines it fails and the next one works."""
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    RECORD.parent.mkdir(exist_ok=True)
    with INSTALL_LOG.open("a") as log:
        try:
            done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        except OSError as error:
            log.write(f"{error}\n")
            return False
    return done.returncode == 0


def _install_with_playwright() -> None:
    _say("no Chromium found; asking Playwright for its own")
    if not _run(sys.executable, "-m", "playwright", "install", "chromium"):
        _say(f"Playwright could not bring one (its words are in {INSTALL_LOG.relative_to(ROOT)})")


def _install_with_apt() -> None:
    if not shutil.which("apt-get"):
        return
    become = () if os.geteuid() == 0 else ("sudo", "-n")
    _say("installing the system's package 'chromium' with apt-get")
    install = (*become, "apt-get", "install", "-y", "-q", "--no-install-recommends", "chromium", "fonts-dejavu-core")
    if not _run(*install) and not (_run(*become, "apt-get", "update", "-q") and _run(*install)):
        _say(f"apt-get could not install it (its words are in {INSTALL_LOG.relative_to(ROOT)})")


def ensure_browser() -> str:
    """The path of a Chromium that starts, installed first if need be, and recorded for the tests.

    Raises:
        BrowserMissing: there is none and none could be installed.
    """
    known = RECORD.read_text().strip() if RECORD.exists() else None
    installers = () if os.environ.get("SIGNOFF_CHROMIUM") else (_install_with_playwright, _install_with_apt)
    for install in (None, *installers):
        if install:
            install()
        for path in dict.fromkeys(_installed()):
            if path == known or _starts(path):
                RECORD.parent.mkdir(exist_ok=True)
                RECORD.write_text(path + "\n")
                return path
    raise BrowserMissing(MISSING)


def main(arguments: list[str]) -> int:
    try:
        path = ensure_browser() if arguments == ["ensure"] else find_browser()
    except BrowserMissing as error:
        print(f"setup: {error}", file=sys.stderr)
        return 1
    if path is None:
        print(f"setup: {MISSING}", file=sys.stderr)
        return 1
    if arguments != ["ensure"]:
        print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
