"""`signoff demo` as a new user meets it: real processes, two browsers, and `kill -9` in the middle."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import httpx2
import pytest
from playwright.sync_api import expect

from tests import browser as chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page

pytestmark = [pytest.mark.process, pytest.mark.filterwarnings("ignore:reference already known")]
ROOT = Path(__file__).parents[2]
READY = "() => window.Bokeh && Bokeh.documents.length > 0 && Bokeh.documents[0].is_idle"


def free_ports() -> int:
    """A port that is free together with the next one."""
    for port in range(18_600, 18_900, 2):
        try:
            for p in (port, port + 1):
                socket.create_server(("127.0.0.1", p)).close()
        except OSError:
            continue
        return port
    raise AssertionError("no free ports")


class Demo:
    """The demo on a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_ports()
        self.address = f"http://127.0.0.1:{self.port}"
        self.service = f"http://127.0.0.1:{self.port + 1}"
        self.process: subprocess.Popen[str] | None = None
        self.said: list[str] = []
        self._reading: threading.Thread | None = None

    def start(self) -> None:
        """Start it and wait until it has printed its address."""
        command = [
            sys.executable,
            "-m",
            "signoff.cli.main",
            "demo",
            "--data",
            str(self.folder),
            "--port",
            str(self.port),
        ]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=os.environ,
        )
        ready = threading.Event()

        def read(out: Callable[[], str]) -> None:
            for line in iter(out, ""):
                self.said.append(line)
                if "Stop with Ctrl-C" in line:
                    ready.set()
            ready.set()

        assert self.process.stdout is not None
        self._reading = threading.Thread(target=read, args=(self.process.stdout.readline,), daemon=True)
        self._reading.start()
        assert ready.wait(90)
        assert self.address in "".join(self.said), "".join(self.said)

    def pids(self, role: str) -> list[int]:
        """Process ids of a role's processes."""
        found = subprocess.run(
            ["pgrep", "-f", f"process {role}.*{self.folder}"], capture_output=True, text=True, check=False
        )
        return [int(p) for p in found.stdout.split()]

    def kill_everything(self) -> None:
        """SIGKILL to the supervisor and to every process it started."""
        assert self.process is not None
        victims = [p for role in ("engine", "worker", "web") for p in self.pids(role)]
        self.process.kill()
        for pid in victims:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self.process.wait(10)
        self._close_output()
        pause = threading.Event()
        for _ in range(200):  # the demo's service notices by itself that its supervisor is gone
            try:
                for p in (self.port, self.port + 1):
                    socket.create_server(("127.0.0.1", p)).close()
                return
            except OSError:
                pause.wait(0.1)
        raise AssertionError("a process survived its supervisor")

    def stop(self) -> None:
        """End it as Ctrl-C does."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            self.process.wait(30)
        self._close_output()

    def _close_output(self) -> None:
        assert self.process is not None
        assert self._reading is not None
        assert self.process.stdout is not None
        self._reading.join(10)
        self.process.stdout.close()

    def let(self, path: str, mode: str) -> None:
        """Tell the service how to behave."""
        httpx2.post(f"{self.service}/control", data={"path": path, "mode": mode}, trust_env=False)

    def effects(self, path: str) -> int:
        """How often the service really did something."""
        found = httpx2.get(f"{self.service}/control", trust_env=False).json()["effects"]
        return sum(e["path"] == path for e in found)


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    made = Demo(tmp_path_factory.mktemp("demo") / "data")
    made.start()
    yield made
    made.stop()


def sign_in(browser: Browser, demo: Demo, login: str) -> Page:
    """A person in a browser of their own; no request may leave this machine."""
    context = browser.new_context(viewport={"width": 1440, "height": 900}, locale="en-GB", timezone_id="UTC")
    context.set_default_timeout(20_000)
    strangers = chromium.watch_strangers(context)
    page = context.new_page()
    page.on("close", lambda _: strangers and pytest.fail(f"requests left this machine: {strangers}"))
    page.goto(f"{demo.address}/login")
    page.get_by_label("Login").fill(login)
    page.get_by_label("Password").fill("demo")
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.wait_for_url(lambda url: "/login" not in url)
    return page


def show(page: Page, demo: Demo, path: str) -> None:
    page.goto(demo.address + path)
    page.wait_for_function(READY)


def step(page: Page, step_id: str) -> Locator:
    return page.locator(f'.react-flow__node[data-id="{step_id}"]')


def test_there_are_finished_waiting_rejected_and_stalled_runs(demo: Demo) -> None:
    command = [sys.executable, "-m", "signoff.cli.main", "run", "list", "--data", str(demo.folder)]
    listed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    for status in ("succeeded", "running", "rejected", "stalled"):
        assert status in listed


def test_what_the_page_about_rest_says_works(demo: Demo) -> None:
    """The commands of assets/docs/rest.md, run as they stand against this demo."""
    text = (ROOT / "assets" / "docs" / "rest.md").read_text("utf-8")
    commands = "\n".join(re.findall(r"```sh\n(.*?)```", text, re.S)).replace("localhost:8600", f"127.0.0.1:{demo.port}")
    done = subprocess.run(["bash", "-eu", "-c", commands], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    assert '"run_id":"r-' in done.stdout, done.stdout


def test_the_tour_of_the_readme_with_two_people_and_kill_9(demo: Demo, browser: Browser) -> None:
    ada = sign_in(browser, demo, "ada")
    show(ada, demo, "/definitions/purchase_approval/start")
    ada.get_by_label("What is bought").fill("Espresso machine")
    ada.get_by_label("Supplier").fill("Kaffee & Co")
    ada.get_by_label("Cost centre").click()
    ada.get_by_role("menuitem", name="Production").click()
    ada.get_by_label("Amount in EUR").fill("2450")
    ada.get_by_label("Why it is needed").fill("The old one leaks")
    ada.get_by_role("button", name="Start run").click()
    ada.wait_for_url("**/runs/r-*")
    ada.wait_for_function(READY)
    run_path = ada.url.removeprefix(demo.address)
    expect(step(ada, "manager_approval")).to_have_attribute("aria-label", re.compile("Waiting"))

    demo.kill_everything()  # in the middle of an approval wait
    demo.start()

    demo.let("/orders", "refuse")
    grace = sign_in(browser, demo, "grace")
    show(grace, demo, f"/inbox/{run_path.rsplit('/', 1)[1]}/manager_approval")
    expect(grace.get_by_text("Espresso machine")).to_be_visible()
    grace.get_by_label("Comment").fill("Much needed")
    grace.get_by_role("button", name="Approve").click()
    expect(grace.get_by_role("heading", name="Approved")).to_be_visible()

    katherine = sign_in(browser, demo, "katherine")
    show(katherine, demo, run_path)
    expect(katherine.get_by_role("status").filter(has_text="The run needs a person.")).to_contain_text(
        "does not accept"
    )
    step(katherine, "place_order").click()
    demo.let("/orders", "ok")
    before = demo.effects("/orders")
    katherine.get_by_role("button", name="Retry").click()
    katherine.get_by_label("Reason").fill("The supplier is back")
    katherine.get_by_role("dialog").get_by_role("button", name="Retry").click()
    expect(katherine.get_by_role("status").filter(has_text="The run succeeded")).to_be_visible()
    assert demo.effects("/orders") == before + 1
    history = katherine.get_by_role("list", name="History")
    for fact in (
        "Ada (designer) started the run",
        "Grace (manager) approved",
        "The supplier is back",
        "ended as succeeded",
    ):
        expect(history).to_contain_text(fact)
    show(ada, demo, run_path)
    expect(ada.locator(".react-flow__node.is-succeeded")).to_have_count(3)
    for page in (ada, grace, katherine):
        page.context.close()


def test_killed_in_the_middle_of_an_activity_the_call_is_made_once(demo: Demo) -> None:
    """The service does it and loses the answer; engine and worker are killed; the repeat has no second effect."""
    demo.let("/budget/check", "lose")
    base = [sys.executable, "-m", "signoff.cli.main"]
    data = ["--data", str(demo.folder)]
    given = '{"item": "Lamp", "supplier": "X", "cost_centre": "IT", "amount": 80, "reason": "dark"}'
    start = [*base, "run", "start", "purchase_approval", "--input", given, "--as", "ada", *data]
    run_id = subprocess.run(start, capture_output=True, text=True, check=True, timeout=60).stdout.strip()
    pause = threading.Event()
    while demo.effects("/budget/check") == 0:
        pause.wait(0.05)
    before = demo.effects("/budget/check")
    assert demo.process is not None
    for role in ("engine", "worker"):
        for pid in demo.pids(role):
            os.kill(pid, signal.SIGKILL)
    demo.let("/budget/check", "ok")
    show_run = [*base, "run", "show", run_id, *data]
    for _ in range(300):
        shown = subprocess.run(show_run, capture_output=True, text=True, check=False, timeout=60).stdout
        if "has waited for a decision" in shown:
            break
        pause.wait(0.2)
    assert "has waited for a decision" in shown, shown
    assert demo.effects("/budget/check") == before, "the repeated call carried the same key"
