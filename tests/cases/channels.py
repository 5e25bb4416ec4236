"""The ways on which a person decides, behind one face: REST, command line, web page, mailed link, real browser.

Each sends what a person of that way would send: HTTP over a socket to a real server, the real command line on the
data folder, the form of the inbox page, the form behind a link that was really mailed, clicks in Chromium.
"""

from __future__ import annotations

import http.client
import json
import re
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
from typer.testing import CliRunner

from signoff.cli.main import app as command_line
from signoff.runtime.timers import TimerPump
from signoff.web.session import form_token
from tests.engine.office import TENANT, Clock, Office
from tests.notices.mailing import mails, tokens
from tests.notices.smtp import Mailbox
from tests.web.test_security import Client

if TYPE_CHECKING:
    from playwright.sync_api import Browser

PASSWORD = "demo"
_NUMBERS = count()
STEP = "manager"


@dataclass
class Waiting:
    """An approval that waits, as it was shown when it was opened, and the links that were mailed for it."""

    run_id: str
    generation: int
    shown_digest: str
    links: dict[str, str]

    @property
    def task(self) -> str:
        """Its address below the face."""
        return f"{self.run_id}/{STEP}"


@dataclass
class Place:
    """A running office with everything that people use to reach it."""

    office: Office
    box: Mailbox
    address: str
    browser: Browser | None = None

    def pass_time(self, clock: Clock, **by: float) -> None:
        """The clock moves on, and what is due by then happens."""
        clock.move(**by)
        running = self.office.running
        TimerPump(running.reader, running.writer, clock).work()

    def wait(self, run_id: str, reader: str = "grace") -> Waiting:
        """What waits there, after the mails about it have gone out."""
        self.office.until_step(run_id, STEP, "waiting")
        before = len(self.box.raw)
        found = tokens(mails(self.office, self.box)[before:])
        task = self.office.signoff.queries.find_task(TENANT, reader, run_id, STEP)
        assert task is not None
        return Waiting(run_id, task.generation, task.shown_digest, found)


@dataclass
class Said:
    """What came of a decision: whether it was recorded, and all that the person was told."""

    recorded: bool
    words: str


@dataclass
class Channel:
    """One way to decide."""

    place: Place
    name = ""
    _signed_in: dict[str, Any] = field(default_factory=dict)

    def decide(self, who: str, what: Waiting, outcome: str = "approved", comment: str = "ok", *, by: str = "") -> Said:
        """A decision by a person, sent whatever waits; `by` names whose link it is, where it is not their own."""
        raise NotImplementedError

    def look(self, who: str, what: Waiting) -> str:
        """All that the person is shown of it, and of the list of what waits for them."""
        raise NotImplementedError

    def forget(self) -> None:
        """Sign in anew next time."""
        self._signed_in.clear()


class Rest(Channel):
    """JSON over HTTP with a bearer token."""

    name = "REST"

    def send(self, who: str, method: str, path: str, body: dict[str, Any] | None = None) -> tuple[int, str]:
        """A request; the status and the text of its answer."""
        headers = {"Content-Type": "application/json"}
        if path != "/session":
            if who not in self._signed_in:
                status, text = self.send(who, "POST", "/session", {"login": who, "password": PASSWORD})
                assert status == 200, text
                self._signed_in[who] = json.loads(text)["token"]
            headers["Authorization"] = f"Bearer {self._signed_in[who]}"
        connection = http.client.HTTPConnection(urlsplit(self.place.address).netloc, timeout=20)
        connection.request(method, f"/api{path}", None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, text

    def decide(self, who: str, what: Waiting, outcome: str = "approved", comment: str = "ok", *, by: str = "") -> Said:
        """`POST /inbox/{run}/{step}/decision`."""
        body = {"outcome": outcome, "comment": comment}
        body |= {"generation": what.generation, "shown_digest": what.shown_digest}
        status, text = self.send(who, "POST", f"/inbox/{what.task}/decision", body)
        assert status == 200 or 400 <= status < 500, text
        return Said(status == 200, text)

    def look(self, who: str, what: Waiting) -> str:
        """The inbox, the task and the run."""
        paths = ("/inbox", f"/inbox/{what.task}", f"/runs/{what.run_id}")
        return "\n".join(self.send(who, "GET", path)[1] for path in paths)


class CommandLine(Channel):
    """`signoff approve|reject …` on the data folder."""

    name = "CLI"

    def run(self, who: str, *words: str) -> tuple[int, str]:
        """A command's exit and all its output."""
        environment = {"SIGNOFF_DATA": str(self.place.office.folder), "SIGNOFF_USER": who, "COLUMNS": "300"}
        done = CliRunner().invoke(command_line, list(words), env=environment)
        assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
        return done.exit_code, done.output

    def decide(self, who: str, what: Waiting, outcome: str = "approved", comment: str = "ok", *, by: str = "") -> Said:
        """The command of the outcome."""
        verb = {"approved": "approve", "rejected": "reject"}[outcome]
        code, text = self.run(who, verb, what.run_id, STEP, "--comment", comment)
        return Said(code == 0, text)

    def look(self, who: str, what: Waiting) -> str:
        """The inbox."""
        return self.run(who, "inbox", "--json")[1]


class Page(Channel):
    """The form of the inbox page, sent as a browser sends it."""

    name = "web"
    by_link = False

    def client(self, who: str) -> Client:
        """A signed-in browser without scripts."""
        if who not in self._signed_in:
            client = Client(self.place)  # type: ignore[arg-type]
            assert client.sign_in(who, PASSWORD).status == 303
            self._signed_in[who] = client
        return self._signed_in[who]

    def decide(self, who: str, what: Waiting, outcome: str = "approved", comment: str = "ok", *, by: str = "") -> Said:
        """`POST /decide/{run}/{step}` with the token of the session."""
        client = self.client(who)
        key = f"another form {next(_NUMBERS)}"
        form = {"outcome": outcome, "comment": comment.replace("\n", "\r\n"), "key": key}
        form |= {"generation": str(what.generation), "shown_digest": what.shown_digest}
        form |= {"token": form_token(client.secret)} | ({"by_link": "yes"} if self.by_link else {})
        answer = client.send("POST", f"/decide/{what.task}", form)
        assert answer.status < 500, answer.text
        return Said("Your decision has been recorded." in answer.text, answer.text)

    def look(self, who: str, what: Waiting) -> str:
        """The run's evidence; pages of live documents are looked at in the browser."""
        return self.client(who).get(f"/evidence/{what.run_id}").text


class Link(Page):
    """The link of the mail, opened by a signed-in person, then the form behind it."""

    name = "link"
    by_link = True

    def decide(self, who: str, what: Waiting, outcome: str = "approved", comment: str = "ok", *, by: str = "") -> Said:
        """`POST /link` with the fragment's token, then the form."""
        token = what.links.get(by or who)
        assert token, f"no link was mailed to {by or who}"
        opened = self.client(who).send("POST", "/link", {"token": token})
        if opened.status != 303:
            return Said(False, opened.text)
        return super().decide(who, what, outcome, comment)

    def look(self, who: str, what: Waiting) -> str:
        """What their own link shows them; whoever was sent none tries those of others."""
        said, own = [], what.links.get(who)
        for token in [own] if own else what.links.values():
            said.append(self.client(who).send("POST", "/link", {"token": token}).text)
            said.append(self.client(who).get("/link/task").text)
        return "\n".join(said)


class Chromium(Channel):
    """A person with a browser: the page is opened, read and answered by clicking."""

    name = "browser"

    def decide(self, who: str, what: Waiting, outcome: str = "approved", comment: str = "ok", *, by: str = "") -> Said:
        """Open the task and click; where there is nothing to click, what the page says instead."""
        assert self.place.browser is not None
        context = self.place.browser.new_context()
        try:
            page = context.new_page()
            page.goto(f"{self.place.address}/login?next=/inbox/{what.task}")
            page.get_by_label("Login").fill(who)
            page.get_by_label("Password").fill(PASSWORD)
            page.get_by_role("button", name="Sign in", exact=True).click()
            page.wait_for_url(lambda url: "/login" not in url)
            button = page.get_by_role("button", name={"approved": "Approve", "rejected": "Reject"}[outcome], exact=True)
            refusal = page.get_by_text(re.compile("You started this run|Nothing waits for you|already handled")).first
            button.or_(refusal).first.wait_for()
            if not button.count():
                return Said(False, refusal.inner_text())
            page.get_by_label("Comment").fill(comment)
            button.click()
            page.wait_for_url("**/decide/**")
            text = page.inner_text("body")
            return Said("Your decision has been recorded." in text, text)
        finally:
            context.close()

    def look(self, who: str, what: Waiting) -> str:
        """Not asked: the case has no look of its own here."""
        pytest.skip("looked at by the other ways")


CHANNELS: tuple[type[Channel], ...] = (Rest, CommandLine, Page, Link)
