"""Lines of the security checklist that belong to no one room: all routes alike, filters, cookies behind TLS, logs."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from fastapi.testclient import TestClient

from signoff.cli.commands.serve import configure_logging
from signoff.errors import Refused
from signoff.web.app import create_app
from signoff.web.session import form_token
from signoff.web.settings import WebSettings
from tests.api.every_route import EVERY, request_of
from tests.api.test_api import PASSWORD, Desk, desk
from tests.engine.office import PEOPLE, TENANT, Office, ask, chain, open_office, person
from tests.notices.mailing import mailing_office, mails, tokens
from tests.notices.smtp import mail_server

__all__ = ["desk"]


@pytest.fixture
def behind_tls(tmp_path: Path) -> Iterator[tuple[Office, TestClient]]:
    """The browser application as it is behind a proxy that ends TLS."""
    with open_office(tmp_path / "data", services=False) as office:
        office.running.save_person("grace", roles=None, groups=None, password=PASSWORD)
        app = create_app(office.signoff, WebSettings(secure_cookies=True, origins=("signoff.example:443",)))
        yield office, TestClient(app, base_url="https://signoff.example", follow_redirects=False)


def test_14_and_16_cookies_and_headers_behind_tls(behind_tls: tuple[Office, TestClient]) -> None:
    _, http = behind_tls
    asked = http.get("/login")
    token = re.search(r'name="token" value="([^"]+)"', asked.text)
    assert token
    form = {"login": "grace", "password": PASSWORD, "token": token[1]}
    answers = [asked, http.post("/login", data=form), http.post("/link", data={"token": "x" * 43})]
    cookies = [c for a in answers for c in a.headers.get_list("set-cookie") if "max-age=0" not in c.lower()]
    names = {c.split("=")[0] for c in cookies}
    assert {"__Host-signoff", "__Host-signoff-form"} <= names
    for cookie in (c.lower() for c in cookies):
        assert cookie.startswith("__host-"), cookie
        for mark in ("secure", "httponly", "path=/", "samesite="):
            assert mark in cookie, cookie
        assert "domain=" not in cookie
    for answer in (asked, http.get("/inbox"), http.get("/nothing"), http.get("/account")):
        assert answer.headers["strict-transport-security"].startswith("max-age=31536000")
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"


def test_08_self_approval_is_refused_on_every_route(tmp_path: Path) -> None:
    """C05: by REST, command line, browser and link, in the same words, each attempt kept; and allowed where it is."""
    with mail_server() as box, mailing_office(tmp_path / "data", box) as office:
        office.running.save_person("grace", roles=("approver", "starter"), groups=("managers",), password=PASSWORD)
        office.publish(chain("buy", ask("manager")))
        run_id = office.start("buy", by="grace")
        office.until_step(run_id, "manager", "waiting")
        assert "grace" not in tokens(mails(office, box)), "no link is even sent"
        task = office.signoff.queries.find_task(TENANT, "grace", run_id, "manager")
        seen = {"generation": task.generation, "shown_digest": task.shown_digest}
        said = []
        for channel in ("api", "cli", "web", "link", "operator"):
            with pytest.raises(Refused) as refused:
                office.signoff.decide(person("grace", channel), TENANT, run_id, "manager", "approved", **seen)
            said.append((refused.value.code, str(refused.value)))
        api = Desk(office)
        answer = api.post("grace", f"/inbox/{run_id}/manager/decision", {"outcome": "approved", **seen})
        said.append((answer.json()["code"], f"{answer.json()['title']} {answer.json()['remedy']}"))
        web = TestClient(create_app(office.signoff, WebSettings()), base_url="http://localhost", follow_redirects=False)
        secret = office.signoff.sign_in(TENANT, "grace", PASSWORD)["session"]
        form = {"outcome": "approved", **seen, "key": "k" * 12, "token": form_token(secret)}
        page = web.post(f"/decide/{run_id}/manager", data=form, headers={"Cookie": f"signoff={secret}"})
        assert "You started this run" in page.text
        assert len({code for code, _ in said}) == 1
        assert office.evidence(run_id) == ["own_request"] * 7
        office.publish(chain("free", ask("manager", requester_may_decide=True)))
        other = office.start("free", by="grace")
        office.until_step(other, "manager", "waiting")
        office.decide(other, "manager", "grace")
        office.until_status(other, "succeeded")


INJECTIONS = [
    "'", "''", "\"", "`", "\\", "';--", "' OR '1'='1", "' OR 1=1--", "\" OR \"\"=\"", "1 OR 1=1", "1;DROP TABLE run",
    "') OR ('1'='1", "' UNION SELECT login, password_hash FROM person--", "%' OR '%'='", "_", "%", "%%", "*", "?", "??",
    ":x", "@x", "$1", "{}", "{0}", "%s", "%(x)s", "${7*7}", "{{7*7}}", "1' AND SLEEP(5)--",
    "1) AND randomblob(9999999)--",
    "' AND (SELECT count(*) FROM sqlite_master)>0--", "'||(SELECT 1)||'", "admin'/*", "*/", "/*",
    "--", "#",
    "\u2019 OR 1=1",     "%27 OR 1=1", "0x27", "-1", "99999999999999999999", "1e309", "NaN", "null", "true", "[]",
    "../../etc/passwd", "..\\..\\x", "\r\nX: y", "\u202e", "\ud7ff", "a" * 199,
]  # fmt: skip
FILTERS = {
    "/runs": ("status", "definition", "text", "cursor", "limit"),
    "/dead-letters": ("definition", "cursor", "limit"),
    "/signals": ("name", "key", "status", "cursor"),
    "/letters": ("status", "run_id", "cursor"),
    "/inbox": ("cursor", "limit"),
    "/audit/events.csv": ("definition",),
    "/definitions/buy/compare": ("old", "new"),
}


def test_24_filters_and_cursors_are_values_and_never_sql(desk: Desk) -> None:
    """Every filter with a corpus of injections: nothing breaks, nothing more is seen, nothing is changed."""
    office = desk.office
    everything = ("operator", "auditor", "administrator", "approver", "starter", "publisher", "designer")
    office.running.save_person("root", roles=everything, password=PASSWORD)
    office.publish(chain("buy", ask("manager")))
    run_id = office.start("buy")
    office.until_step(run_id, "manager", "waiting")
    headers = desk.as_("root")
    for path, names in FILTERS.items():
        for name in names:
            for text in INJECTIONS:
                answer = desk.http.get(f"{path}?{name}={quote(text)}", headers=headers)
                desk.api.state.limits.searches._left.clear()
                assert answer.status_code in (200, 404, 422), (path, name, text)
                assert "argon2" not in answer.text
                if answer.status_code == 200 and "items" in answer.text and name in ("status", "definition", "text"):
                    found = answer.json()["items"]
                    harmless = (name == "text" and text.lower() in f"{run_id} buy ada") or not text
                    assert not found or harmless, (path, name, text)
    assert office.view(run_id).row.status == "running"


def test_25_ids_are_looked_up_and_never_paths(desk: Desk) -> None:
    """Every route with ids that mean something elsewhere: refused or not found, never a fault."""
    desk.office.running.save_person("root", roles=("operator", "auditor", "administrator"), password=PASSWORD)
    headers = desk.as_("root")
    for route in sorted(EVERY):
        if "{" not in route:
            continue
        for text in (
            "..",
            ".",
            "%2e%2e",
            "..%2f..%2fsignoff.db",
            "r-1%00",
            "%0d%0aX",
            "a" * 3_000,
            "-1",
            "%F0%9F%98%80",
        ):
            method, path, body = request_of(route)
            head, _, tail = path.partition(re.sub(r"\{.*", "", route.split(" ")[1]))
            spelt = re.sub(r"[^/?]+", text, tail, count=1)
            answer = desk.http.request(
                method, f"{head}{path[: len(path) - len(tail)]}{spelt}", json=body, headers=headers
            )
            assert answer.status_code < 500, (route, text, answer.text)


def test_26_log_lines_are_single_and_say_no_secrets(capfd: pytest.CaptureFixture[str], desk: Desk) -> None:
    root = logging.getLogger()
    before = root.handlers[:], root.level
    try:
        configure_logging()
        logging.getLogger("signoff.test").warning("a name: %s", "x\r\n2026-11-30 00:00:00 CRITICAL forged: line")
        desk.http.post("/session", json={"login": "grace\r\nforged", "password": "hunter2-hunter2"})
        desk.http.get("/me", headers={"Authorization": "Bearer sgn_very-secret-token"})
    finally:
        root.handlers[:], root.level = before[0], before[1]
    said = capfd.readouterr().err
    assert "\\r\\n" in said
    assert not any(line.startswith("2026-11-30 00:00:00 CRITICAL") for line in said.splitlines())
    assert "hunter2" not in said
    assert "sgn_very" not in said


def test_26_and_27_refusals_and_exports_are_in_the_audit(desk: Desk) -> None:
    desk.office.running.save_person("audrey", roles=("auditor",), password=PASSWORD)
    desk.office.publish(chain("buy", ask("manager")))
    run_id = desk.office.start("buy")
    assert desk.get("audrey", f"/runs/{run_id}/evidence").status_code == 200
    assert desk.get("dan", f"/runs/{run_id}/evidence").status_code == 403
    assert desk.post("dan", f"/runs/{run_id}/pause", {"reason": "x"}).status_code == 403
    with desk.office.running.reader.connect() as connection:
        rows: list[Any] = [tuple(r) for r in connection.exec_driver_sql("SELECT actor, action, outcome FROM audit")]
    assert ("audrey", "export_audit", "done") in rows
    assert ("dan", "pause_run", "refused") in rows
    assert {login for login, *_ in rows} & set(PEOPLE)
