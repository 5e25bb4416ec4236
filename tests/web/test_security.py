"""Cookies, forms, headers, sockets: what a stranger or another person cannot do through the browser's doors."""

from __future__ import annotations

import http.client
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlencode, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from signoff.web.pages import PAGES
from signoff.web.session import form_token, is_form_token, local_path
from tests.web.office import TENANT, Office


@dataclass
class Answer:
    status: int
    headers: Mapping[str, str]
    cookies: list[str]
    text: str


@dataclass
class Client:
    """A browser without scripts: keeps cookies, follows nothing."""

    office: Office
    cookies: dict[str, str] = field(default_factory=dict)

    def send(self, method: str, path: str, form: Mapping[str, object] | None = None) -> Answer:
        connection = http.client.HTTPConnection(urlsplit(self.office.address).netloc, timeout=20)
        headers = {"Cookie": "; ".join(f"{k}={v}" for k, v in self.cookies.items())} if self.cookies else {}
        body = None
        if form is not None:
            body = urlencode({k: str(v) for k, v in form.items()})
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        text = response.read().decode()
        cookies = response.headers.get_all("set-cookie") or []
        connection.close()
        for cookie in cookies:
            name, _, value = cookie.split(";")[0].partition("=")
            self.cookies[name] = value.strip('"')
        return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, cookies, text)

    def get(self, path: str) -> Answer:
        return self.send("GET", path)

    def sign_in(self, login: str, password: str = "demo", **more: str) -> Answer:
        token = re.search(r'name="token" value="([^"]+)"', self.get("/login").text)
        assert token
        return self.send("POST", "/login", {"login": login, "password": password, "token": token[1], **more})

    @property
    def secret(self) -> str:
        return self.cookies["signoff"]


@pytest.fixture
def client(office: Office) -> Client:
    return Client(office)


def signed_in(office: Office, login: str) -> Client:
    client = Client(office)
    assert client.sign_in(login).status == 303
    return client


def paths(office: Office, run_id: str) -> list[str]:
    names = {"run_id": run_id, "step": "approve", "name": "purchase"}
    return [path.format(**names) for path in PAGES]


def facts(office: Office, run_id: str) -> tuple[int, int, int]:
    queries = office.signoff.queries
    drafts = queries.find_draft(TENANT, "purchase")
    return len(queries.list_events(TENANT, run_id)), len(queries.list_runs(TENANT).items), drafts.revision


def test_a_stranger_is_sent_to_the_login_page_from_everywhere(client: Client, office: Office) -> None:
    for path in paths(office, "r-1"):
        answer = client.get(path)
        assert answer.status in (302, 303), path
        assert answer.headers["location"].startswith("/login?next=/")
    assert client.get("/").headers["location"] == "/login"


def test_the_session_cookie_is_out_of_reach_of_scripts(client: Client) -> None:
    answer = client.sign_in("ada")
    [cookie] = [c for c in answer.cookies if c.startswith("signoff=")]
    assert "httponly" in cookie.lower()
    assert "samesite=lax" in cookie.lower()


def test_wrong_passwords_and_unknown_people_get_one_answer(office: Office) -> None:
    texts = []
    for login in ("ada", "nobody"):
        answer = Client(office).sign_in(login, "wrong")
        assert answer.status == 401
        texts.append(re.sub(r'(value|nonce)="[^"]*"', "", answer.text))
    assert texts[0] == texts[1]


@pytest.mark.parametrize("target", ["https://evil.example", "//evil.example", "/\\evil.example", "javascript:alert(1)"])
def test_signing_in_leads_to_this_site_only(office: Office, target: str) -> None:
    answer = Client(office).sign_in("ada", next=target)
    assert answer.headers["location"] == "/"


@given(st.text(max_size=40))
def test_a_way_back_is_always_a_path_of_this_site(target: str) -> None:
    path = local_path(target)
    assert path.startswith("/")
    assert not path.startswith(("//", "/\\"))
    assert not urlsplit(path).netloc


def test_forms_of_another_session_are_refused(office: Office) -> None:
    ada, max_ = signed_in(office, "ada"), signed_in(office, "max")
    run_id = office.waiting_run()
    item = office.signoff.queries.find_task(TENANT, "max", run_id, "approve")
    form = {"outcome": "approved", "generation": 1, "shown_digest": item.shown_digest, "key": "k" * 12}
    before = facts(office, run_id)
    for token in ("", "x", form_token(ada.secret)):
        assert max_.send("POST", f"/decide/{run_id}/approve", {**form, "token": token}).status in (403, 422)
    assert (
        Client(office).send("POST", f"/decide/{run_id}/approve", {**form, "token": "x"}).headers["location"] == "/login"
    )
    assert ada.send("POST", "/logout", {"token": form_token(max_.secret)}).status == 403
    assert facts(office, run_id) == before
    assert is_form_token(ada.secret, form_token(ada.secret))
    good = max_.send("POST", f"/decide/{run_id}/approve", {**form, "token": form_token(max_.secret)})
    assert good.status == 200
    again = max_.send(
        "POST", f"/decide/{run_id}/approve", {**form, "key": "other-key-1", "token": form_token(max_.secret)}
    )
    assert again.status in (200, 409)
    assert "Max (manager)" in again.text or "already" in again.text.lower()


def test_who_is_not_asked_sees_and_decides_nothing(office: Office) -> None:
    """Case C07."""
    run_id = office.waiting_run(item="Secret machine", amount=1.0)
    dan = signed_in(office, "dan")
    assert office.signoff.queries.find_task(TENANT, "dan", run_id, "approve") is None
    hidden, missing = dan.get(f"/inbox/{run_id}/approve"), dan.get("/inbox/r-none/approve")
    assert (hidden.status, missing.status) == (404, 404)
    assert "Secret machine" not in hidden.text
    assert dan.get("/new").status == 403
    item = office.signoff.queries.find_task(TENANT, "max", run_id, "approve")
    form = {"outcome": "approved", "generation": 1, "shown_digest": item.shown_digest, "key": "k" * 12}
    answer = dan.send("POST", f"/decide/{run_id}/approve", {**form, "token": form_token(dan.secret)})
    assert answer.status in (403, 404, 409)
    assert office.status(run_id)["approve"] == "waiting"


def test_looking_changes_nothing(office: Office) -> None:
    """Case C08: a scanner with the approver's own cookie fetches every address that the product shows."""
    run_id = office.waiting_run()
    max_ = signed_in(office, "max")
    before = facts(office, run_id)
    for path in (*paths(office, run_id), f"/decide/{run_id}/approve", "/logout"):
        for method in ("GET", "HEAD", "OPTIONS"):
            assert max_.send(method, path).status < 500, (method, path)
    assert facts(office, run_id) == before
    assert office.signoff.queries.find_session(max_.secret) is not None


def test_every_answer_carries_the_headers(office: Office) -> None:
    ada = signed_in(office, "ada")
    for path in ("/login", "/runs", "/definitions/purchase/draft", "/nothing", "/assets/page.js"):
        headers = ada.get(path).headers
        policy = headers["content-security-policy"]
        assert "frame-ancestors 'none'" in policy
        assert "unsafe-eval" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        if not path.startswith("/assets"):
            assert headers["cache-control"] == "no-store"


def test_library_files_are_compressed_and_kept(office: Office) -> None:
    connection = http.client.HTTPConnection(urlsplit(office.address).netloc, timeout=20)
    connection.request("GET", "/static/js/bokeh.min.js", headers={"Accept-Encoding": "gzip"})
    first = connection.getresponse()
    assert len(first.read()) < 500_000
    assert first.headers["content-encoding"] == "gzip"
    assert "max-age" in first.headers["cache-control"]
    connection.request("GET", "/static/js/bokeh.min.js", headers={"If-None-Match": first.headers["etag"]})
    assert connection.getresponse().status == 304
    connection.close()


def test_the_embedding_routes_of_panel_are_closed(office: Office) -> None:
    ada = signed_in(office, "ada")
    for path in ("/runs/autoload.js", "/runs/metadata", "/definitions/purchase/draft/autoload.js"):
        assert ada.get(path).status == 404


def token_of(client: Client, path: str) -> str:
    found = re.search(r'"token":\s*"([^"]+)"', client.get(path).text)
    assert found
    return found[1]


def socket(office: Office, path: str, token: str, cookie: str, origin: str | None) -> ClientConnection:
    address = office.address.replace("http", "ws") + path + "/ws"
    headers = {"Cookie": f"signoff={cookie}"} if cookie else {}
    return connect(address, subprotocols=["bokeh", token], additional_headers=headers, origin=origin, close_timeout=1)  # type: ignore[arg-type, list-item]


def is_refused(office: Office, path: str, token: str, cookie: str, origin: str | None) -> bool:
    try:
        with socket(office, path, token, cookie, origin) as opened:
            opened.recv(timeout=5)
    except (InvalidStatus, ConnectionClosed):
        return True
    return False


def test_a_socket_needs_its_own_origin_session_and_page(office: Office) -> None:
    ada, max_ = signed_in(office, "ada"), signed_in(office, "max")
    token = token_of(ada, "/runs")
    assert not is_refused(office, "/runs", token, ada.secret, office.address)
    for origin in ("https://evil.example", "http://localhost:1", None):
        assert is_refused(office, "/runs", token_of(ada, "/runs"), ada.secret, origin), origin
    assert is_refused(office, "/runs", token_of(ada, "/runs"), "", office.address)
    assert is_refused(office, "/runs", token_of(ada, "/runs"), max_.secret, office.address), "another person's page"


def test_no_secret_is_in_a_page(office: Office) -> None:
    import base64
    import json

    ada = signed_in(office, "ada")
    text = ada.get("/runs").text
    assert ada.secret not in text
    payload = token_of(ada, "/runs").split(".")[0]
    session = base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)).decode()
    assert ada.secret not in session
    assert "cookie" not in {k.lower() for k in json.loads(session).get("headers", {})}


def drain(opened: ClientConnection) -> None:
    """Receive until the other side closes; five seconds of silence are too long."""
    for _ in range(100):
        opened.recv(timeout=5)


@pytest.fixture
def ended(office: Office) -> Iterator[None]:
    yield
    office.running.save_person(
        "mia", name="Mia (manager)", roles=("approver",), groups=("managers", "finance"), password="demo"
    )


def test_the_socket_of_an_ended_session_is_closed(office: Office) -> None:
    ada = signed_in(office, "ada")
    with socket(office, "/runs", token_of(ada, "/runs"), ada.secret, office.address) as opened:
        opened.recv(timeout=5)
        assert ada.send("POST", "/logout", {"token": form_token(ada.secret)}).status == 303
        with pytest.raises(ConnectionClosed):
            drain(opened)


def test_the_socket_of_a_disabled_person_is_closed_within_seconds(office: Office, ended: None) -> None:
    mia = signed_in(office, "mia")
    with socket(office, "/runs", token_of(mia, "/runs"), mia.secret, office.address) as opened:
        opened.recv(timeout=5)
        office.running.save_person("mia", name="Mia (manager)", roles=("approver",), groups=("managers",), active=False)
        with pytest.raises(ConnectionClosed):
            drain(opened)
