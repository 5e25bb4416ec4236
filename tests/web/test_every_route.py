"""Every page and form of the browser × every role × a foreign tenant (security list, 10)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from signoff.core.states import Actor
from signoff.engine.permissions import ROLES
from signoff.web.pages import PAGES
from signoff.web.session import form_token
from tests.web.office import Office, Server, open_office
from tests.web.test_security import Client, signed_in

SECRET = "Their secret purchase"
LOGINS = [*(f"only-{r}" for r in ROLES), "nobody"]
GETS = [
    *PAGES,
    "/evidence/{run_id}",
    "/evidence/{run_id}/bundle",
    "/files/sha256:1/x",
    "/start/{name}",
    "/account",
    "/people",
    "/link",
    "/link/task",
]
FORM = {"generation": 1, "shown_digest": "sha256:" + "0" * 64, "key": "k" * 12}
POSTS: dict[str, dict[str, Any]] = {
    "/decide/{run_id}/{step}": {"outcome": "approved", **FORM},
    "/withdraw/{run_id}/{step}": {"generation": 1, "key": "k" * 12},
    "/submit/{run_id}/{step}": {"do": "submit", **FORM},
    "/link": {"token": "x" * 43},
    "/start/{name}": {"key": "k" * 12},
    "/people": {"login": "intruder", "role": "administrator"},
    "/people/active": {"login": "only-operator", "active": ""},
    "/people/tokens": {"login": "ada", "name": "x", "days": 1, "scope": "read_runs"},
    "/people/tokens/revoke": {"id": 4711},
    "/account/tokens": {"name": "x", "days": 1, "scope": "erase_run"},
    "/account/tokens/revoke": {"id": 4711},
    "/account/absences": {"delegate": "ghost", "ends": "2100-01-01"},
    "/account/absences/revoke": {"id": 4711},
    "/people/absences": {"person": "ada", "delegate": "ghost", "ends": "2100-01-01", "reason": "x"},
    "/people/absences/revoke": {"id": 4711, "reason": "x"},
}
ADMINISTER = {"/people", "/people/active"}


@pytest.fixture(scope="module")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Office, str]]:
    office = open_office(tmp_path_factory.mktemp("office"))
    run = office.running
    for role in ROLES:
        run.save_person(f"only-{role}", roles=(role,), groups=("managers",), password="demo")
    run.save_person("nobody", roles=(), password="demo")
    run.save_person("ada", roles=("designer", "publisher", "starter"), groups=("managers",), tenant="other")
    run.save_person("grace", roles=("approver",), groups=("managers",), tenant="other")
    ask = {"id": "approve", "kind": "approval", "label": "Manager", "groups": ["managers"]}
    document = {"format": "signoff/1", "name": "theirs", "title": SECRET, "steps": [ask], "edges": []}
    ada = Actor("person", "ada", channel="api")
    made = office.signoff.create_draft(ada, "other", document)
    office.signoff.publish(ada, "other", "theirs", made["revision"])
    run_id = office.signoff.start_run(ada, "other", "theirs", {})["run_id"]
    for service in run.services:
        service.close()  # nothing goes on beside what a test asks for: `test_alike` counts it
    with office.running, Server(office):
        yield office, run_id


def path_of(template: str, run_id: str, name: str) -> str:
    return template.format(run_id=run_id, step="approve", name=name)


def routes_of(office: Office, app: Any) -> set[str]:
    """Every address of ours that takes a form."""
    return {
        r.path
        for router in app.router.routes
        for r in getattr(getattr(router, "original_router", None), "routes", [router])
        if "POST" in (getattr(r, "methods", None) or ())
    }


def test_the_lists_of_this_test_are_the_site(theirs: tuple[Office, str]) -> None:
    from signoff.web.app import create_app
    from signoff.web.settings import WebSettings

    found = routes_of(theirs[0], create_app(theirs[0].signoff, WebSettings()))
    assert found == set(POSTS) | {"/login", "/logout", "/account/sessions"}


@pytest.mark.parametrize("login", LOGINS)
def test_no_page_shows_another_tenant_and_missing_looks_the_same(theirs: tuple[Office, str], login: str) -> None:
    office, run_id = theirs
    client = signed_in(office, login)
    absent = "r-" + "x" * (len(run_id) - 2)
    for template in GETS:
        answers = [client.get(path_of(template, *who)) for who in ((run_id, "theirs"), (absent, "absent"))]
        assert answers[0].status == answers[1].status, template
        assert not any(SECRET in a.text for a in answers), template
        if "{" in template and "draft" not in template:
            assert answers[0].status in (403, 404), template
        if template == "/people":
            assert answers[0].status == (200 if login in ("only-administrator", "only-auditor") else 403)


@pytest.mark.parametrize("login", LOGINS)
def test_no_form_reaches_another_tenant_or_another_role(theirs: tuple[Office, str], login: str) -> None:
    office, run_id = theirs
    for template, form in POSTS.items():
        client = signed_in(office, login)
        sent = {"token": form_token(client.secret), **form}
        answer = client.send("POST", path_of(template, run_id, "theirs"), sent)
        assert SECRET not in answer.text, template
        if template in ADMINISTER:
            assert (answer.status == 303) == (login == "only-administrator"), (template, answer.status)
            office.running.save_person("only-operator", roles=None, groups=None)
        else:
            assert answer.status in (403, 404, 409, 422), (template, answer.status)
    assert office.signoff.queries.get_run("other", run_id).state.steps["approve"].status == "waiting"
    intruder = [p for p in office.signoff.queries.list_people("default") if p.login == "intruder" and p.active]
    assert bool(intruder) == (login == "only-administrator")
    office.running.save_person("intruder", roles=(), active=False)


@pytest.mark.parametrize("path", [*POSTS, "/account/sessions"])
def test_no_form_is_taken_without_a_session_or_its_token(theirs: tuple[Office, str], path: str) -> None:
    office, run_id = theirs
    where = path_of(path, run_id, "theirs")
    stranger = Client(office).send("POST", where, {"token": "x", **POSTS.get(path, {})})
    assert stranger.status in (303, 403)
    if path != "/link":
        assert stranger.headers["location"] == "/login"
        wrong = signed_in(office, "only-operator").send("POST", where, {"token": "x", **POSTS.get(path, {})})
        assert wrong.status == 403
        assert "did not come from a page of your session" in wrong.text
