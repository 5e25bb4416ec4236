"""A whole installation of real processes for tests: engine, worker, and whatever kills them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from signoff.cli.context import save_settings
from signoff.core.states import Actor
from signoff.engine.client import Signoff
from signoff.engine.views import RunView
from signoff.errors import SignoffError, Unavailable
from signoff.runtime.client import WireClient
from signoff.wiring import Settings, open_remote, start_engine
from tests import stores

ROOT = Path(__file__).parents[2]
TENANT = "default"
PEOPLE: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "ada": (("designer", "publisher", "starter"), ()),
    "grace": (("approver",), ("managers",)),
    "katherine": (("operator",), ()),
}


def person(login: str) -> Actor:
    """Somebody of the plant."""
    return Actor("person", login, channel="test")


class Plant:
    """Processes on one data folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "data"
        self.ledger = folder / "ledger"
        self.gate = folder / "gate"
        self.ledger.mkdir()
        self.settings = Settings(self.folder, modules=("tests.runtime.activities",))
        stores.current.prepare(self.folder)
        save_settings(self.settings)
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self._client: WireClient | None = None
        self._signoff: Signoff | None = None
        running = start_engine(self.settings, services=False)
        for login, (roles, groups) in PEOPLE.items():
            running.save_person(login, name=login.title(), roles=roles, groups=groups)
        running.close()

    # Processes

    def start(self, role: str, name: str = "", *options: str) -> None:
        """Start an engine or a worker."""
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "PLANT_LEDGER": str(self.ledger),
            "PLANT_GATE": str(self.gate),
            "SIGNOFF_LOG": "ERROR",
        }
        command = [sys.executable, "-m", "signoff.cli.main", "process", role, "--data", str(self.folder), *options]
        self.processes[name or role] = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL)

    def signal(self, name: str, number: int) -> None:
        """Send a signal; waits for the end where the signal is deadly."""
        process = self.processes[name]
        process.send_signal(number)
        if number == signal.SIGKILL:
            process.wait(10)

    def kill(self, name: str) -> None:
        """SIGKILL."""
        self.signal(name, signal.SIGKILL)

    def close(self) -> None:
        """End everything."""
        if self._client is not None:
            self._client.close()
        if self._signoff is not None:
            self._signoff.queries.close()
        for process in reversed(self.processes.values()):
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.terminate()
        for process in self.processes.values():
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(5)

    # The client's side

    @property
    def signoff(self) -> Signoff:
        """A connection that finds the engine again after a restart."""
        if self._signoff is None:
            self._signoff, self._client = open_remote(self.settings, wait_s=20.0)
        return self._signoff

    def insist(self, do: Callable[[], Any]) -> Any:
        """Repeat a request while the engine is away, as a careful client does."""
        pause = threading.Event()
        for _ in range(200):
            try:
                return do()
            except Unavailable:
                pause.wait(0.05)
        raise AssertionError("the engine did not come back")

    def publish(self, document: dict[str, Any]) -> None:
        """Create and publish a definition."""
        self.signoff.create_draft(person("ada"), TENANT, document)
        self.signoff.publish(person("ada"), TENANT, document["name"], 1)

    def begin(self, name: str, key: str = "") -> str:
        """Start a run."""
        answer = self.insist(lambda: self.signoff.start_run(person("ada"), TENANT, name, {}, idempotency_key=key))
        return str(answer["run_id"])

    def decide(self, run_id: str, step: str, key: str) -> None:
        """Approve, and approve again with the same key until the engine has answered."""
        self.insist(
            lambda: self.signoff.decide(
                person("grace"), TENANT, run_id, step, "approved", generation=1, comment="ok", idempotency_key=key
            )
        )

    def view(self, run_id: str) -> RunView:
        """The run as it is in the database."""
        return self.signoff.queries.get_run(TENANT, run_id)

    def until(self, run_id: str, good: Callable[[RunView], bool], timeout_s: float = 40.0) -> RunView:
        """Wait until the run is where it should be."""
        return self.wait_for(lambda: self.view(run_id), good, timeout_s)

    def wait_for(self, look: Callable[[], Any], good: Callable[[Any], bool], timeout_s: float = 40.0) -> Any:
        """Look again at short intervals; the feed may be cut while processes die."""
        pause = threading.Event()
        found: Any = None
        for _ in range(int(timeout_s / 0.05)):
            try:
                found = look()
            except (SignoffError, OSError):
                found = None
            if found is not None and good(found):
                return found
            pause.wait(0.05)
        raise AssertionError(f"not there after {timeout_s} s: {found}")

    def calls(self, step: str) -> list[str]:
        """Idempotency keys with which a step was really called, in order."""
        path = self.ledger / step
        return path.read_text().split() if path.exists() else []


@contextmanager
def plant(folder: Path, *, workers: int = 1) -> Iterator[Plant]:
    """A running plant."""
    made = Plant(folder)
    try:
        made.start("engine")
        for n in range(workers):
            made.start("worker", f"worker{n}", "--name", f"worker{n}")
        assert made.signoff
        yield made
    finally:
        made.gate.touch()
        made.close()
