"""The approval cases, each on every way to decide; the page assets/docs/cases.md is this table.

python -m tests.cases.test_channels      writes the page again
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from signoff.api.app import create_api
from signoff.cli.context import save_settings
from signoff.web.app import create_app
from signoff.web.settings import WebSettings
from signoff.wiring import Settings, listen
from tests.arch.sources import ROOT
from tests.cases.channels import CHANNELS, STEP, Channel, Chromium, Link, Page, Place, Rest, Waiting
from tests.engine.office import TENANT, Clock, ask, call, chain, person
from tests.notices.mailing import mailing_office
from tests.notices.smtp import mail_server

PAGE = ROOT / "assets" / "docs" / "cases.md"
REASON = 'It costs "too much":\n' + "line by line, " * 30 + "\n'no'."


@dataclass
class Case:
    """One situation from a public report: what it is, and what is done on each way."""

    id: str
    title: str
    play: Callable[[Place, Channel, Clock], None]
    browser: bool = False


CASES: list[Case] = []


def case(id: str, title: str, *, browser: bool = False) -> Callable[[Any], Any]:
    """Put a function into the table."""

    def add(play: Callable[[Place, Channel, Clock], None]) -> Any:
        CASES.append(Case(id, title, play, browser))
        return play

    return add


def asked(place: Place, *, by: str = "ada", **more: Any) -> Waiting:
    """A run whose managers are asked, with an order after it."""
    version = place.office.publish(chain("buy", ask(STEP, **more), call("order")))["version"]
    started = place.office.signoff.start_run(person(by), TENANT, "buy", {}, version=version)
    return place.wait(str(started["run_id"]), reader="alan")


def decided(place: Place, run_id: str) -> list[tuple[str, str]]:
    """Who decided what, as recorded."""
    events = place.office.signoff.queries.list_events(TENANT, run_id)
    return [(e.actor, e.data["outcome"]) for e in events if e.type == "approval.decision_recorded"]


def orders(place: Place, run_id: str) -> int:
    return sum(c.step == "order" and c.run_id == run_id for c in place.office.connectors.calls)


@case("C01", "two approve, the second is told who was first, and the next step runs once", browser=True)
def the_second_comes_too_late(place: Place, way: Channel, clock: Clock) -> None:
    waiting = asked(place)
    assert way.decide("grace", waiting).recorded
    late = way.decide("alan", waiting)
    assert not late.recorded
    assert "already handled" in late.words or "Nothing waits for you" in late.words
    place.office.until_status(waiting.run_id, "succeeded")
    assert decided(place, waiting.run_id) == [("Grace", "approved")]
    assert orders(place, waiting.run_id) == 1


@case("C03", "one rejection settles three of three; whoever comes later is refused with the reason")
def one_rejection_settles(place: Place, way: Channel, clock: Clock) -> None:
    waiting = asked(place, required=3, rejection="at_once")
    assert way.decide("grace", waiting, "rejected", "too dear").recorded
    late = way.decide("alan", waiting)
    assert not late.recorded
    assert "already handled" in late.words
    place.office.until_status(waiting.run_id, "rejected")
    assert decided(place, waiting.run_id) == [("Grace", "rejected")]
    assert orders(place, waiting.run_id) == 0


@case("C04", "“any two” is not met by one person twice")
def one_person_twice(place: Place, way: Channel, clock: Clock) -> None:
    waiting = asked(place, required=2)
    assert way.decide("grace", waiting).recorded
    way.forget()  # a second session
    again = way.decide("grace", waiting)
    assert not again.recorded
    assert "already" in again.words
    assert place.office.view(waiting.run_id).state.steps[STEP].status.value == "waiting"
    assert way.decide("alan", waiting).recorded
    place.office.until_status(waiting.run_id, "succeeded")
    assert decided(place, waiting.run_id) == [("Grace", "approved"), ("Alan", "approved")]


@case("C05", "nobody approves their own request, and the attempt is kept", browser=True)
def ones_own_request(place: Place, way: Channel, clock: Clock) -> None:
    waiting = asked(place, by="grace")
    assert "grace" not in waiting.links, "no link is even sent"
    said = way.decide("grace", waiting, by="alan")
    assert not said.recorded
    assert ("somebody else" if isinstance(way, Link) else "You started this run") in said.words
    assert decided(place, waiting.run_id) == []
    if not isinstance(way, Chromium):  # which offers nothing to click
        kinds = {"link_of_another"} if isinstance(way, Link) else {"own_request"}
        assert set(place.office.evidence(waiting.run_id)) == kinds
    free = asked(place, by="grace", requester_may_decide=True)
    assert way.decide("grace", free).recorded
    place.office.until_status(free.run_id, "succeeded")


@case("C07", "who is not asked sees nothing of it and decides nothing")
def somebody_who_is_not_asked(place: Place, way: Channel, clock: Clock) -> None:
    waiting = asked(place, shows={"Secret": "Swordfish"})
    shown = way.look("dan", waiting)
    assert "Swordfish" not in shown
    assert STEP.title() not in shown
    said = way.decide("dan", waiting, by="grace")
    assert not said.recorded
    assert "Swordfish" not in said.words
    assert decided(place, waiting.run_id) == []
    assert place.office.view(waiting.run_id).state.steps[STEP].status.value == "waiting"


@case("C08", "looking uses nothing up: whoever is asked can still decide")
def looking_changes_nothing(place: Place, way: Channel, clock: Clock) -> None:
    waiting = asked(place)
    before = place.office.types(waiting.run_id)
    client = Page(place).client("grace")
    for method in ("GET", "HEAD"):
        for path in ("/inbox", f"/inbox/{waiting.task}", "/link", "/link/task", f"/decide/{waiting.task}"):
            client.send(method, path)
            Rest(place).send("grace", method, f"/inbox/{waiting.task}/decision")
    way.look("grace", waiting)
    assert place.office.types(waiting.run_id) == before
    assert way.decide("grace", waiting).recorded


@case("C09", "a long reason with line breaks and quotes is kept as it was written", browser=True)
def the_reason_is_kept(place: Place, way: Channel, clock: Clock) -> None:
    waiting = asked(place)
    assert way.decide("grace", waiting, "rejected", REASON).recorded
    events = place.office.signoff.queries.list_events(TENANT, waiting.run_id)
    [vote] = [e for e in events if e.type == "approval.decision_recorded"]
    assert vote.data["comment"] == REASON
    place.office.until_status(waiting.run_id, "rejected")


@case("C12", "silence is an outcome of its own; whoever comes late is told so, and nobody is named as decider")
def silence_never_approves(place: Place, way: Channel, clock: Clock) -> None:
    waiting = asked(place, expires="PT1H")
    place.pass_time(clock, hours=1)
    place.office.until_step(waiting.run_id, STEP, "expired")
    late = way.decide("grace", waiting)
    assert not late.recorded
    assert "The time to decide" in late.words
    assert decided(place, waiting.run_id) == []
    assert orders(place, waiting.run_id) == 0


@case("C13", "after it was handed over, the first approver is refused and the next one decides")
def after_a_handover(place: Place, way: Channel, clock: Clock) -> None:
    waiting = asked(place, escalation=[{"after": "PT2H", "people": ["eve"], "hand_over": True}])
    place.pass_time(clock, hours=2)
    place.office.until(waiting.run_id, lambda v: bool(getattr(v.state.steps[STEP].approval, "escalated", ())))
    late = way.decide("grace", waiting)
    assert not late.recorded
    assert "handed over" in late.words or "link is not good" in late.words
    now = place.wait(waiting.run_id, reader="eve")
    assert way.decide("eve", now).recorded
    place.office.until_status(waiting.run_id, "succeeded")
    assert [who for who, _ in decided(place, waiting.run_id)] == ["Eve"]


class Served:
    """The pages and the API of an office on a free port."""

    def __init__(self, place: Place) -> None:
        app = create_app(place.office.signoff, WebSettings())
        app.mount("/api", create_api(place.office.signoff))
        config = uvicorn.Config(app, port=0, log_level="warning", timeout_graceful_shutdown=1, ws="websockets-sansio")
        self._server, self._ready = uvicorn.Server(config), threading.Event()
        self._thread = threading.Thread(target=self._server.run, daemon=True)
        self._place = place

    def __enter__(self) -> Served:
        self._thread.start()
        for _ in range(400):
            if self._server.started:
                port = self._server.servers[0].sockets[0].getsockname()[1]
                self._place.address = f"http://localhost:{port}"
                return self
            self._ready.wait(0.05)
        raise AssertionError("the server did not start")

    def __exit__(self, *exc: object) -> None:
        self._server.should_exit = True
        self._thread.join(15)


@pytest.fixture(scope="module")
def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, clock: Clock) -> Iterator[Place]:
    folder: Path = tmp_path_factory.mktemp("channels") / "data"
    with mail_server() as box, mailing_office(folder, box, now=clock) as office:
        settings = Settings(folder)
        save_settings(settings)
        listen(office.running, settings)
        more = {"eve": (("approver",), ()), "grace": (("approver", "starter"), ("managers",))}
        for login, (roles, groups) in more.items():
            email = f"{login}@office.example"
            office.running.save_person(
                login, name=login.title(), roles=roles, groups=groups, email=email, password="demo"
            )
        found = Place(office, box, "")
        with Served(found):
            yield found
        office.check_replay()


@pytest.mark.parametrize("way", CHANNELS, ids=lambda c: c.name)
@pytest.mark.parametrize("which", CASES, ids=lambda c: c.id)
def test_the_case_on_this_way(place: Place, clock: Clock, which: Case, way: type[Channel]) -> None:
    which.play(place, way(place), clock)


@pytest.mark.browser
@pytest.mark.parametrize("which", [c for c in CASES if c.browser], ids=lambda c: c.id)
def test_the_case_in_a_browser(place: Place, clock: Clock, browser: Any, which: Case) -> None:
    place.browser = browser
    which.play(place, Chromium(place), clock)


def page() -> str:
    """The table as a page."""
    ways = (*CHANNELS, Chromium)
    lines = [
        "# Approval cases, on every way",
        "",
        "Situations in which approval products failed in public, each played on every way to decide: JSON over HTTP,",
        "the command line, the form of the inbox page, the form behind a mailed link, and, where the page itself",
        "matters, clicks in a real browser. The table is that of `tests/cases/test_channels.py`, and a test compares",
        "the two (`python -m tests.cases.test_channels` writes it again).",
        "",
        "| case | what must hold | " + " | ".join(w.name for w in ways) + " |",
        "|---|---|" + "---|" * len(ways),
    ]
    for each in CASES:
        marks = ["yes"] * len(CHANNELS) + ["yes" if each.browser else "–"]
        lines.append(f"| {each.id} | {each.title} | " + " | ".join(marks) + " |")
    return "\n".join(lines) + "\n"


def test_the_page_is_this_table() -> None:
    assert PAGE.read_text("utf-8") == page(), "run: python -m tests.cases.test_channels"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
