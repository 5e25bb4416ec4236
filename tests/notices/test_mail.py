"""Mails: what they say and do not say, what nobody can smuggle in, and what becomes of those that cannot be sent."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signoff.connectors.post import FolderPost, HookPost, NotSent, SmtpPost, secret_of, signature
from signoff.errors import ConfigurationFault, InvalidInput
from signoff.runtime.letters import chat, mail, one_line
from signoff.runtime.notice_settings import HookSettings, MailSettings, NoticeSettings, load_notice_settings
from signoff.runtime.timers import TimerPump
from tests.engine.office import TENANT, Clock, ask, chain, person
from tests.notices.mailing import ADDRESS, BUY, deliver, mailing_office, mails, text_of, tokens, waiting
from tests.notices.smtp import Mailbox, mail_server

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
FACTS: dict[str, Any] = {
    "topic": "approval.opened", "message_id": "m1", "name": "Grace", "email": "grace@office.example", "title": "Buying",
    "label": "Manager approves", "kind": "approval", "requester": "Ada", "zone": "Europe/Berlin", "due": "",
    "expires": "2026-12-01T12:00:00+00:00", "run_id": "r-1", "step": "manager", "status": "running",
}  # fmt: skip


@pytest.fixture
def box() -> Iterator[Mailbox]:
    with mail_server() as found:
        yield found


def test_a_mail_can_be_read_as_text_and_says_no_values(tmp_path: Path, box: Mailbox) -> None:
    """Security list, 28: title and who asks; the token only behind the `#`; the whole link on one line."""
    with mailing_office(tmp_path / "data", box) as office:
        waiting(office, amount=4711)
        found = mails(office, box)
        message = next(m for m in found if "grace" in str(m["To"]))
        text = text_of(message)
        link = tokens(found)["grace"]
        assert f"\n{ADDRESS}/link#{link}\n" in text
        assert "Requested by: Ada" in text
        assert "4711" not in str(message)
        assert message.get_content_type() == "multipart/alternative"
        body = message.get_body(("html",))
        assert body is not None
        assert f'href="{ADDRESS}/link#{link}"' in body.get_content()
        assert "src=" not in body.get_content()
        assert message["Auto-Submitted"] == "auto-generated"
        assert str(message["Subject"]) == "Please decide: Manager (Buy)"
        assert len({m["Message-ID"] for m in found}) == 3
        assert all(len(line) <= 998 for line in box.raw[0].split(b"\r\n"))
        assert max(len(line) for line in box.raw[0].split(b"\r\n")) <= 200


def test_values_are_shown_where_the_policy_allows_and_never_sensitive_ones(tmp_path: Path, box: Mailbox) -> None:
    secret = chain("pay", ask("manager", shows={"Amount": "=input.amount"}),
                   input=[{"name": "amount", "type": "number", "sensitive": True}])  # fmt: skip
    with mailing_office(tmp_path / "data", box, mail={"values": True}) as office:
        waiting(office, amount=4711)
        waiting(office, secret, amount=815)
        texts = [text_of(m) for m in mails(office, box)]
        assert sum("Amount: 4711" in t for t in texts) == 3
        assert not any("815" in t for t in texts)


EVIL = "Pay now\r\nBcc: all@office.example\r\n\r\n<img src=x onerror=alert(1)>\u202e"


def test_nobody_adds_a_header_or_markup(tmp_path: Path, box: Mailbox) -> None:
    """Security list, 28: names and labels with line breaks, markup and direction marks."""
    document = chain("buy", ask("manager"), input=BUY["input"])
    document["title"] = document["steps"][0]["label"] = "Pay <b>now</b>"
    with mailing_office(tmp_path / "data", box) as office:
        office.running.save_person("ada", name=EVIL, roles=None, groups=None)
        office.running.save_person("grace", name=EVIL, roles=None, groups=None)
        waiting(office, document)
        message = next(m for m in mails(office, box) if "grace" in str(m["To"]))
        assert "Bcc" not in message
        assert len(message["To"].addresses) == 1
        body = message.get_body(("html",))
        assert body is not None
        assert "<img" not in body.get_content()
        assert "<b>" not in body.get_content()
        assert "\u202e" not in str(message)


@given(st.text(max_size=300), st.text(max_size=300), st.text(max_size=300))
def test_any_text_makes_one_well_formed_mail(title: str, label: str, name: str) -> None:
    facts = FACTS | {"title": title, "label": label, "name": name, "requester": label}
    raw = mail(facts, "Signoff <s@x.example>", ADDRESS, "t" * 43, NOW).as_bytes()
    head = raw.partition(b"\r\n\r\n")[0]
    names = [line.split(b":")[0] for line in head.split(b"\r\n") if line[:1] not in (b" ", b"\t")]
    assert sorted(names) == sorted(
        [b"From", b"To", b"Subject", b"Date", b"Message-ID", b"Auto-Submitted", b"MIME-Version", b"Content-Type"]
    )


@given(st.text())
def test_one_line_is_one_line(text: str) -> None:
    assert len(one_line(text).splitlines()) <= 1
    assert len(one_line(text)) <= 160


@pytest.mark.parametrize("address", ["", "nobody", "a@b\r\nBcc: c@d", "a@b\n"])
def test_a_bad_address_is_no_mail(address: str) -> None:
    with pytest.raises(ValueError, match="no e-mail address"):
        mail(FACTS | {"email": address}, "s@x.example", ADDRESS, "t" * 43, NOW)


def test_one_bad_address_holds_up_nobody(tmp_path: Path, box: Mailbox) -> None:
    """Given up at once with the server's words, visible to an operator, and sent anew with a reason."""
    box.refuse["alan@office.example"] = 550
    with mailing_office(tmp_path / "data", box) as office:
        run_id = waiting(office)
        assert set(tokens(mails(office, box))) == {"edith", "grace"}
        [dead] = office.signoff.queries.list_deliveries(TENANT, status="dead").items
        assert (dead.login, dead.run_id, dead.tries) == ("alan", run_id, 1)
        assert "550 no such mailbox" in dead.error
        assert office.signoff.queries.count_dead_deliveries(TENANT) == 1
        box.refuse.clear()
        with pytest.raises(InvalidInput, match="reason"):
            office.signoff.do("retry_delivery", person("katherine"), TENANT, id=dead.id, reason=" ")
        office.signoff.do("retry_delivery", person("katherine"), TENANT, id=dead.id, reason="mended")
        assert "alan" in tokens(mails(office, box))
        with pytest.raises(InvalidInput, match="is sent"):
            office.signoff.do("retry_delivery", person("katherine"), TENANT, id=dead.id, reason="again")


def test_a_mail_server_that_is_away_is_tried_again_ever_more_rarely(tmp_path: Path) -> None:
    """Stays pending with back-off under one Message-ID, is given up after twelve tries; runs go on meanwhile."""
    clock = Clock()
    with mail_server() as box:
        port = box.port
    with mailing_office(tmp_path / "data", Mailbox(port), now=clock) as office:
        run_id = waiting(office)
        waits = []
        for _ in range(40):
            deliver(office)
            pending = office.signoff.queries.list_deliveries(TENANT, status="pending").items
            if not pending:
                break
            assert "could not be reached" in pending[-1].error
            waits.append((max(p.due for p in pending) - clock.now).total_seconds())
            clock.now = max(clock.now, max(p.due for p in pending))
        dead = office.signoff.queries.list_deliveries(TENANT, status="dead").items
        assert [d.tries for d in dead] == [12, 12, 12]
        assert (waits[0], max(waits)) == (30, 7_200)
        office.decide(run_id, "manager", "grace")


def test_a_short_absence_loses_no_mail_and_repeats_its_message_id(tmp_path: Path) -> None:
    clock = Clock()
    with mail_server() as gone:
        port = gone.port
    with mailing_office(tmp_path / "data", Mailbox(port), now=clock) as office:
        waiting(office)
        deliver(office)
        with mail_server(port) as box:
            clock.move(minutes=5)
            assert set(tokens(mails(office, box))) == {"alan", "edith", "grace"}
            assert len(box.raw) == 3


def test_after_a_crash_between_sending_and_saying_so_it_comes_twice_under_one_id(tmp_path: Path, box: Mailbox) -> None:
    """At least once: both mails have one Message-ID, either link is good, and one decision comes of it."""
    from signoff.store.dialects.sqlite import open_engine
    from tests.notices.mailing import by_link

    with mailing_office(tmp_path / "data", box) as office:
        run_id = waiting(office)
        first = tokens(mails(office, box))["grace"]
        engine = open_engine(tmp_path / "data" / "signoff.db")
        with engine.begin() as connection:
            connection.exec_driver_sql("UPDATE delivery SET status='pending', tries=0 WHERE login='grace'")
        engine.dispose()
        found = mails(office, box)
        assert len(found) == 4
        own = [m for m in found if "grace" in str(m["To"])]
        assert len({m["Message-ID"] for m in own}) == 1
        second = tokens(found)["grace"]
        assert first != second
        by_link(office, "grace", first, run_id)
        with pytest.raises(Exception, match="already"):
            by_link(office, "grace", second, run_id)


def test_whoever_has_no_address_or_no_account_gets_no_letter(tmp_path: Path, box: Mailbox) -> None:
    with mailing_office(tmp_path / "data", box) as office:
        office.running.save_person("newcomer", roles=("approver",), groups=("managers",))
        office.running.save_person("edith", roles=None, groups=None, active=False)
        waiting(office)
        assert set(tokens(mails(office, box))) == {"alan", "grace"}


def test_nothing_is_planned_where_no_mail_is_set_up(tmp_path: Path) -> None:
    from tests.engine.office import open_office

    with open_office(tmp_path / "data", services=False) as office:
        waiting(office)
        deliver(office)
        assert office.signoff.queries.list_deliveries(TENANT).items == ()


def test_the_server_is_told_login_and_password_by_reference(box: Mailbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAIL_PASSWORD", "s3cret")
    letter = mail(FACTS, "s@x.example", ADDRESS, "t" * 43, NOW)
    SmtpPost("127.0.0.1", box.port, "none", "us", "env:MAIL_PASSWORD").send(letter)
    assert box.logins == ["\0us\0s3cret"]
    with pytest.raises(NotSent, match="without TLS"):
        SmtpPost("mail.example", 25, "none").send(letter)
    with pytest.raises(NotSent, match="did not let us in"):
        SmtpPost("127.0.0.1", box.port, "starttls").send(letter)
    for bad in ("s3cret", "env:", "env:NOT_SET_ANYWHERE", "file:/nowhere"):
        with pytest.raises(ConfigurationFault):
            secret_of(bad)
    assert secret_of("") == ""


def test_a_folder_takes_mails_too(tmp_path: Path) -> None:
    letter = mail(FACTS, "s@x.example", ADDRESS, "t" * 43, NOW)
    for _ in range(2):
        FolderPost(tmp_path / "out").send(letter)
    [file] = (tmp_path / "out").iterdir()
    assert file.stat().st_mode & 0o077 == 0
    assert b"Message-ID: <m1@x.example>" in file.read_bytes()


@pytest.mark.parametrize(
    "settings",
    [
        NoticeSettings("", MailSettings("h")),
        NoticeSettings("ftp://x", MailSettings("h")),
        NoticeSettings("https://x/", MailSettings("h")),
        NoticeSettings("https://x", MailSettings()),
        NoticeSettings("https://x", MailSettings("h", folder="f")),
        NoticeSettings("https://x", MailSettings("h", tls="maybe")),
        NoticeSettings("https://x", None, (HookSettings("a", "u"), HookSettings("a", "v"))),
    ],
)
def test_settings_that_cannot_work_are_refused(settings: NoticeSettings) -> None:
    with pytest.raises(ConfigurationFault):
        settings.check()


def test_broken_settings_are_said(tmp_path: Path) -> None:
    (tmp_path / "notices.json").write_text('{"mail": {"nonsense": 1}}')
    with pytest.raises(ConfigurationFault, match=r"notices\.json"):
        load_notice_settings(tmp_path)


class _Hook(BaseHTTPRequestHandler):
    got: list[tuple[dict[str, str], bytes]]
    status = 200

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.got.append(({k.lower(): v for k, v in self.headers.items()}, body))
        self.send_response(type(self).status)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""


@pytest.fixture
def hook() -> Iterator[Any]:
    handler: Any = type("Hook", (_Hook,), {"got": [], "status": 200})
    with HTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        handler.url = f"http://127.0.0.1:{server.server_address[1]}/hook"
        yield handler
        server.shutdown()
        thread.join(5)


def test_a_chat_tool_gets_signed_notices_with_plain_addresses(
    tmp_path: Path, hook: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOOK", "shared")
    hooks = (HookSettings("ops", hook.url, "env:HOOK", ("approval.opened", "run.ended"), allow_host=True),)
    with mailing_office(tmp_path / "data", Mailbox(), hooks=hooks, public_address=ADDRESS) as office:
        settings = load_notice_settings(office.folder)
        assert settings.mail is not None
        run_id = waiting(office)
        office.decide(run_id, "manager", "grace")
        deliver(office)
        [opened, ended] = [json.loads(body) for _, body in hook.got]
        assert opened["url"] == f"{ADDRESS}/inbox/{run_id}/manager"
        assert "Manager waits for a decision" in opened["text"]
        assert ended["topic"] == "run.ended"
        headers, body = hook.got[0]
        at = int(headers["x-signoff-timestamp"])
        assert headers["x-signoff-signature"] == f"sha256={signature('shared', at, body)}"
        assert headers["x-signoff-delivery"]
        assert not any(b"link" in body for _, body in hook.got)


@pytest.mark.parametrize(("status", "final"), [(404, True), (500, False), (302, False)])
def test_a_chat_tool_that_says_no(hook: Any, status: int, final: bool) -> None:
    hook.status = status
    with pytest.raises(NotSent) as error:
        HookPost(hook.url, "", ("127.0.0.1",)).send({}, "d", 1)
    assert error.value.final is final
    assert len(hook.got) == 1


@pytest.mark.parametrize(
    "url",
    ["http://127.0.0.1:1/x", "http://169.254.169.254/x", "http://[::1]/x", "http://localhost/", "file:/etc/passwd", "ftp://x/",
     "http://2130706433/", "http://[::ffff:127.0.0.1]/"],
)  # fmt: skip
def test_a_chat_tool_inside_the_network_is_refused(url: str) -> None:
    """Security list, 21."""
    with pytest.raises(NotSent):
        HookPost(url, "").send({}, "d", 1)


def test_chat_words_of_what_has_no_step() -> None:
    facts = {k: v for k, v in FACTS.items() if k not in ("label", "kind")} | {"topic": "run.stalled", "step": ""}
    assert "needs an operator" in chat(facts, ADDRESS)["text"]
    assert chat(facts, ADDRESS)["url"] == f"{ADDRESS}/runs/r-1"


def test_reminders_and_escalations_are_mailed_to_those_they_are_for(tmp_path: Path, box: Mailbox) -> None:
    clock = Clock()
    people = {"reminders": {"every": "PT1H"}, "escalation": [{"after": "PT90M", "people": ["dan"]}]}
    with mailing_office(tmp_path / "data", box, now=clock) as office:
        office.running.save_person("dan", roles=("approver",), groups=None)
        run_id = waiting(office, chain("buy", ask("manager", required=2, **people), input=BUY["input"]))
        deliver(office)
        office.decide(run_id, "manager", "grace")
        for _ in range(2):
            clock.move(minutes=61)
            TimerPump(office.running.reader, office.running.writer, clock).work()
        subjects = [(str(m["Subject"]).split(":")[0], str(m["To"]).split(" ")[0]) for m in mails(office, box)[3:]]
        assert ("Escalated", "Dan") in subjects
        assert {to for kind, to in subjects if kind == "Reminder"} >= {"Alan", "Edith"}
        assert ("Reminder", "Grace") not in subjects


def test_who_decides_for_somebody_absent_gets_a_mail_too(tmp_path: Path, box: Mailbox) -> None:
    """With a link of their own (`test_deputies.py`). What is due is the expiry."""
    form = [{"name": "amount", "type": "number"}]
    document = chain("buy", ask("manager", expires="P9D", reminders={"every": "P1D", "at_most": 1}), input=form)
    with mailing_office(tmp_path / "data", box) as office:
        office.running.save_person("eve", name="Eve", roles=("approver",), email="eve@office.example")
        until = (datetime.now(UTC) + timedelta(days=2)).isoformat()
        office.signoff.do("set_absence", person("grace"), TENANT, delegate="eve", ends=until)
        run_id = waiting(office, document)
        found = mails(office, box)
        assert sorted(str(m["To"]).split("@")[0].split("<")[-1] for m in found) == ["alan", "edith", "eve", "grace"]
        assert sorted(tokens(found)) == ["alan", "edith", "eve", "grace"]
        expires = office.view(run_id).state.steps["manager"].expires
        assert expires is not None
        told = text_of(next(m for m in found if "alan" in str(m["To"])))
        assert f"{expires.astimezone(UTC):%d}" in told
