"""Services beside the writer: relay, feed, supervisor, the wire's frames."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signoff.engine.faults import QUIET_S, Faults
from signoff.engine.views import FeedEvent
from signoff.errors import Unavailable
from signoff.runtime.feed import LocalFeed
from signoff.runtime.relay import Relay
from signoff.runtime.service import Service
from signoff.runtime.supervisor import Child, Supervisor
from signoff.runtime.wire import MAX_FRAME_BYTES, FrameError, Unpacker, pack, socket_address
from signoff.store.leases import OutboxRow, list_outbox
from tests.engine.office import ask, chain, open_office

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)
MESSAGES = st.lists(st.dictionaries(st.text(), JSON, max_size=4), max_size=5)


@given(MESSAGES, st.lists(st.integers(0, 200), max_size=20))
def test_frames_survive_any_cutting(messages: list[dict[str, Any]], cuts: list[int]) -> None:
    data = b"".join(pack(m) for m in messages)
    unpacker, found, start = Unpacker(), [], 0
    for cut in sorted(cuts):
        found += unpacker.feed(data[start : max(start, cut)])
        start = max(start, cut)
    found += unpacker.feed(data[start:])
    assert found == messages


@given(st.binary(max_size=200))
def test_garbage_is_refused_or_waits_for_more(data: bytes) -> None:
    try:
        found = Unpacker().feed(data)
    except FrameError:
        return
    assert all(isinstance(m, dict) for m in found)


@pytest.mark.parametrize("frame", [(MAX_FRAME_BYTES + 1).to_bytes(4, "big"), b"\0\0\0\2[]", b"\0\0\0\1{"])
def test_what_is_no_message_is_refused(frame: bytes) -> None:
    with pytest.raises(FrameError):
        Unpacker().feed(frame)


def test_a_folder_with_a_long_path_gets_a_loopback_address(tmp_path: Path) -> None:
    assert socket_address(tmp_path / ("x" * 120)) == "tcp:127.0.0.1:0"
    assert socket_address(Path("x")).startswith("unix:")


def test_a_wire_over_loopback_works_as_well(tmp_path: Path) -> None:
    from signoff.cli.context import save_settings
    from signoff.wiring import Settings, listen, open_remote

    folder = tmp_path / ("deep" * 30)
    with open_office(folder) as office:
        settings = Settings(folder)
        save_settings(settings)
        assert listen(office.running, settings).startswith("tcp:127.0.0.1:")
        office.publish(chain("buy", ask("manager")))
        signoff, client = open_remote(settings)
        run_id = office.start("buy")
        assert signoff.queries.get_run("default", run_id).row.status == "running"
        client.close()
        signoff.queries.close()


def news(n: int) -> FeedEvent:
    return FeedEvent("default", "r-1", n, "running", {}, datetime.now(UTC))


def test_the_feed_keeps_order_and_a_bad_listener_disturbs_nobody() -> None:
    feed = LocalFeed()
    heard: list[int] = []
    done = threading.Event()

    def bad(_: FeedEvent) -> None:
        raise RuntimeError("on purpose")

    def good(event: FeedEvent) -> None:
        heard.append(event.sequence)
        if event.sequence == 99:
            done.set()

    feed.subscribe(bad)
    stop = feed.subscribe(good)
    feed.start()
    for n in range(100):
        feed.publish(news(n))
    assert done.wait(10)
    stop()
    feed.publish(news(100))
    feed.close()
    assert heard == list(range(100))


def test_a_notice_stays_until_every_sink_has_taken_it(tmp_path: Path) -> None:
    taken: list[str] = []
    broken = [True]

    def sink(row: OutboxRow) -> None:
        if broken[0]:
            raise OSError("the mail server is down")
        taken.append(row.topic)

    with open_office(tmp_path, services=False) as office:
        office.publish(chain("buy", ask("manager")))
        run_id = office.start("buy")
        office.until_step(run_id, "manager", "waiting")
        relay = Relay(office.running.reader, office.running.writer, (sink,))
        relay.work()
        assert [r.topic for r in list_outbox(office.running.reader, 10)] == ["approval.opened"]
        broken[0] = False
        relay.work()
        office.decide(run_id, "manager", "grace")
        relay.work()
        assert taken == ["approval.opened", "run.ended"]
        assert list_outbox(office.running.reader, 10) == []


def test_a_service_goes_on_after_a_failing_round() -> None:
    class Shaky(Service):
        name = "shaky"
        error_pause_s = 0.0

        def __init__(self) -> None:
            super().__init__()
            self.rounds = 0
            self.enough = threading.Event()

        def work(self) -> float | None:
            self.rounds += 1
            if self.rounds >= 3:
                self.enough.set()
                return None
            raise RuntimeError("on purpose")

    service = Shaky()
    service.start()
    assert service.enough.wait(10)
    service.close()


def test_a_service_that_goes_on_failing_fills_no_log(caplog: pytest.LogCaptureFixture) -> None:
    """An outage of the database is a traceback, then a line a minute, then one that says it is over."""

    class Shaky(Service):
        name = "shaky"
        error_pause_s = 0.0

        def __init__(self) -> None:
            super().__init__()
            self.left = 500
            self.over = threading.Event()

        def work(self) -> float | None:
            if self.left:
                self.left -= 1
                raise RuntimeError("on purpose")
            if self._failed_rounds:
                self.wake()  # once more, when the end was told
            else:
                self.over.set()
            return None

    service = Shaky()
    with caplog.at_level("WARNING"):
        service.start()
        assert service.over.wait(10)
        service.close()
    said = [r.getMessage() for r in caplog.records if r.name == "signoff.runtime"]
    assert said == ["shaky failed; it tries again", "shaky works again, after 500 failures"]


def test_an_outage_is_one_line_and_not_one_per_request(caplog: pytest.LogCaptureFixture) -> None:
    now = [0.0]
    faults = Faults(lambda: now[0])
    gone = Unavailable("The database server does not answer.", code="store_gone")
    full = OSError("No space left on device")
    with caplog.at_level("ERROR"):
        for error in (gone, full, gone, gone, full):
            assert faults.told(error, "start_run").code in ("store_gone", "disk_full")
        now[0] += QUIET_S
        faults.told(gone, "decide")
        for _ in range(2):
            faults.told(RuntimeError("nobody expected this"), "decide")
    assert [r.getMessage() for r in caplog.records] == [
        "request start_run failed: The database server does not answer.",
        "request start_run failed: The disk of the database is full.",
        "request decide failed: The database server does not answer. (2 more requests since the last line)",
        "request decide failed",
        "request decide failed",
    ]


def child(tmp_path: Path, name: str) -> Child:
    """A process that writes its id and waits for the end of its lifeline or a signal."""
    code = (
        "import os, pathlib, sys\n"
        "from signoff.runtime.supervisor import until_told_to_stop\n"
        "stop = until_told_to_stop()\n"
        f"path = pathlib.Path({str(tmp_path)!r}) / '{name}'\n"
        "open(path, 'a').write(f'{os.getpid()}\\n')\n"
        "stop.wait()\n"
    )
    return Child(name, [sys.executable, "-c", code])


def wait_for(path: Path, lines: int) -> list[int]:
    pause = threading.Event()
    for _ in range(600):
        found = path.read_text().split() if path.exists() else []
        if len(found) >= lines:
            return [int(p) for p in found]
        pause.wait(0.05)
    raise AssertionError(f"{path.name} did not start {lines} times")


def is_alive(pid: int) -> bool:
    """Whether a process runs (one that ended and was not waited for yet does not)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.process
def test_the_supervisor_starts_again_what_is_killed_and_stops_all(tmp_path: Path) -> None:
    supervisor = Supervisor([child(tmp_path, "a"), child(tmp_path, "b")])
    supervisor.start()
    thread = threading.Thread(target=supervisor.run)
    thread.start()
    first = wait_for(tmp_path / "a", 1)[0]
    wait_for(tmp_path / "b", 1)
    os.kill(first, signal.SIGKILL)
    pids = wait_for(tmp_path / "a", 2) + wait_for(tmp_path / "b", 1)
    supervisor.stop()
    thread.join(30)
    assert not thread.is_alive()
    assert [p for p in pids if is_alive(p)] == []


@pytest.mark.process
def test_when_the_supervisor_is_killed_its_children_end(tmp_path: Path) -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from pathlib import Path\n"
        "from signoff.runtime.supervisor import Supervisor\n"
        "from tests.runtime.test_services import child\n"
        "s = Supervisor([child(Path(sys.argv[2]), 'a')]); s.start(); s.run()\n"
    )
    root = str(Path(__file__).parents[2])
    process = subprocess.Popen([sys.executable, "-c", code, root, str(tmp_path)])
    pid = wait_for(tmp_path / "a", 1)[0]
    process.kill()
    process.wait(10)
    pause = threading.Event()
    for _ in range(200):
        if not is_alive(pid):
            return
        pause.wait(0.05)
    raise AssertionError("the child survived its supervisor")


def test_the_socket_is_open_to_its_owner_only(tmp_path: Path) -> None:
    from signoff.wiring import Settings, listen

    with open_office(tmp_path / "d") as office:
        address = listen(office.running, Settings(tmp_path / "d"))
        path = Path(address.removeprefix("unix:"))
        assert path.stat().st_mode & 0o077 == 0
        with socket.socket(socket.AF_UNIX) as raw:
            raw.connect(str(path))
            raw.sendall(b"\xff\xff\xff\xffnonsense")
            assert raw.recv(10) == b"", "whoever does not speak the protocol is dropped"
