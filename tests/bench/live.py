"""`python -m tests.bench.live`: from a commit in the engine to the changed colour in Chromium.

Engine, web server and browser share this machine; prints the median of the rounds' p50 and p95 in milliseconds.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

from tests import browser as chromium
from tests.bench.figures import machine, median, percentile
from tests.web.conftest import Visitors
from tests.web.latency import chain, one_round
from tests.web.office import Server, open_office

ROUNDS = 9


def main() -> int:
    """Measure and print."""
    path = chromium.find_browser()
    if path is None:
        print(chromium.MISSING)
        return 1
    rounds = []
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        office = open_office(Path(folder))
        with office.running, Server(office):
            browser = playwright.chromium.launch(executable_path=path, args=list(chromium.LAUNCH_ARGS))
            visit = Visitors(browser, office)
            office.publish(chain())
            one_round(visit, office)
            rounds = [one_round(visit, office) for _ in range(ROUNDS)]
            browser.close()
    p50 = median([percentile(r, 0.5) for r in rounds])
    p95 = median([percentile(r, 0.95) for r in rounds])
    worst = max(percentile(r, 0.95) for r in rounds)
    print(f"{machine()}")
    print(f"event to DOM, {ROUNDS} rounds: p50 {p50:.0f} ms, p95 {p95:.0f} ms (worst round's p95 {worst:.0f} ms)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
