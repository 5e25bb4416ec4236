"""Starts the processes of one machine, starts each again when it ends, and stops them in order.

Children hold the reading end of a pipe whose writing end only the supervisor has: when the supervisor is
killed, however hard, they see the end of file and stop by themselves.
"""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

log = logging.getLogger("signoff.supervisor")
LIFELINE = "SIGNOFF_LIFELINE"
MAX_PAUSE_S = 5.0
HEALTHY_S = 10.0


@dataclass(slots=True)
class Child:
    """One supervised process."""

    name: str
    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None
    started_at: float = 0.0
    pause_s: float = 0.1
    restart_at: float = 0.0
    restart_count: int = 0


class Supervisor:
    """Keeps children running. Order matters: the first is started first and stopped last."""

    def __init__(self, children: Sequence[Child]) -> None:
        self.children = list(children)
        self._read, self._write = os.pipe()
        os.set_inheritable(self._read, True)
        self._changed = threading.Event()
        self._stopping = threading.Event()

    def start(self) -> None:
        """Start all children."""
        for child in self.children:
            self._spawn(child)

    def stop(self) -> None:
        """Ask `run` to end; may be called from a signal handler."""
        self._stopping.set()
        self._changed.set()

    def run(self) -> None:
        """Watch the children until `stop` is called, then stop them."""
        try:
            while not self._stopping.is_set():
                self._tend()
                self._changed.wait(0.2)
                self._changed.clear()
        finally:
            self.close()

    def close(self, timeout_s: float = 15.0) -> None:
        """Terminate in reverse order; whoever does not end in time is killed."""
        self._stopping.set()
        deadline = time.monotonic() + timeout_s
        for child in reversed(self.children):
            process = child.process
            if process is None or process.poll() is not None:
                continue
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(max(0.5, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                log.warning("%s did not stop in time and is killed", child.name)
                process.kill()
                process.wait()
        for end in (self._read, self._write):
            if end >= 0:
                os.close(end)
        self._read = self._write = -1

    def _spawn(self, child: Child) -> None:
        environment = {**os.environ, **child.environment, LIFELINE: str(self._read)}
        child.process = subprocess.Popen(
            list(child.command),
            env=environment,
            stdin=subprocess.DEVNULL,
            pass_fds=(self._read,),
            start_new_session=True,
        )
        child.started_at = time.monotonic()
        log.info("started %s (process %d)", child.name, child.process.pid)

    def _tend(self) -> None:
        now = time.monotonic()
        for child in self.children:
            process = child.process
            if process is not None and process.poll() is not None:
                if now - child.started_at > HEALTHY_S:
                    child.pause_s = 0.1
                log.warning(
                    "%s ended with %s; it starts again in %.1f s", child.name, process.returncode, child.pause_s
                )
                child.process = None
                child.restart_at = now + child.pause_s
                child.pause_s = min(child.pause_s * 2, MAX_PAUSE_S)
                child.restart_count += 1
            if child.process is None and now >= child.restart_at and not self._stopping.is_set():
                self._spawn(child)


def until_told_to_stop(on_stop: Callable[[], None] | None = None) -> threading.Event:
    """An event that is set by SIGTERM, SIGINT, or the end of the supervisor; for the main thread of a child."""
    stop = threading.Event()

    def told(*_: object) -> None:
        stop.set()
        if on_stop is not None:
            on_stop()

    signal.signal(signal.SIGTERM, told)
    signal.signal(signal.SIGINT, told)
    lifeline = os.environ.get(LIFELINE)
    if lifeline:

        def watch() -> None:
            os.read(int(lifeline), 1)
            told()

        threading.Thread(target=watch, name="signoff-lifeline", daemon=True).start()
    return stop


def python_child(name: str, *arguments: str, environment: Mapping[str, str] | None = None) -> Child:
    """A child that runs a module of this interpreter."""
    return Child(name, [sys.executable, "-m", *arguments], environment or {})
