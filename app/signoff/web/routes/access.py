"""One's own account (sessions, tokens), and by administrators all accounts: plain pages, protected POSTs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse

from signoff import errors
from signoff.web.escape import esc, label
from signoff.web.parts.absences import absences_card, own_absences_card
from signoff.web.parts.access import people_card, secret_card, sessions_card, tokens_card
from signoff.web.plain import answer_page, plain_page, status_of
from signoff.web.routes.guard import sender_of
from signoff.web.session import Visit
from signoff.web.site import Site

Form = dict[str, list[str]]
Work = Callable[[Site, Request, Visit, Form], Response]


def access_router(site: Site) -> APIRouter:
    """Routes below `/account` and `/people`."""
    router = APIRouter(include_in_schema=False)

    @router.get("/account")
    def account(request: Request) -> Response:
        """One's sessions and tokens."""
        return _look(site, request, _account)

    @router.get("/people")
    def people(request: Request) -> Response:
        """All accounts, for those who may see them."""
        return _look(site, request, _people)

    for path, work in _WORK.items():
        router.add_api_route(path, _poster(site, work), methods=["POST"])
    return router


def _look(site: Site, request: Request, draw: Callable[[Site, Request, Visit], Response]) -> Response:
    visit = site.gate.find(request.cookies.get(site.settings.session_cookie))
    if visit is None:
        return RedirectResponse(f"/login?next={request.url.path}", 303)
    try:
        return draw(site, request, visit)
    except errors.SignoffError as error:
        return answer_page(
            request, "Not possible", [error.message, error.remedy], [("/", "Go on")], status=status_of(error)
        )


def _poster(site: Site, work: Work) -> Any:
    async def post(request: Request) -> Response:
        form = await request.form(max_files=0, max_fields=200)
        given: Form = {}
        for name, value in form.multi_items():
            if isinstance(value, str):
                given.setdefault(name, []).append(value[:2_000])
        return await run_in_threadpool(_send, site, request, work, given)

    return post


def _send(site: Site, request: Request, work: Work, form: Form) -> Response:
    visit = sender_of(site, request, _one(form, "token"), "done", links=[("/", "Go on")])
    if isinstance(visit, Response):
        return visit
    try:
        return work(site, request, visit, form)
    except errors.SignoffError as error:
        words = [error.message, error.remedy]
        return answer_page(request, "Not done", words, [(_page_of(request), "Back")], status=status_of(error))


def _one(form: Form, name: str) -> str:
    return form.get(name, [""])[0].strip()


def _number(form: Form, what: str) -> int:
    number = _one(form, "id")
    if not number.isdecimal() or len(number) > 15:
        raise errors.NotFound(f"There is no such {what}.", remedy="Look into the list.")
    return int(number)


def _page_of(request: Request) -> str:
    """The page that a form was on."""
    return "/people" if request.url.path.startswith("/people") else "/account"


def _account(site: Site, request: Request, visit: Visit, first: str = "") -> Response:
    queries, person, token = site.signoff.queries, visit.person, visit.form_token
    roles = f"{', '.join(person.roles) or 'no roles'} · groups: {', '.join(person.groups) or 'none'}"
    admin = '<p><a href="/people">All accounts</a></p>' if "read_people" in person.may else ""
    tokens = queries.list_tokens(site.tenant, person.login)
    body = f"""<h1>{label(person.name)}</h1><p class="soft">{esc(person.login)} · {esc(roles)}</p>{admin}{first}
{sessions_card(queries.list_sessions(person), token)}
{_absences(site, visit)}
{tokens_card(tokens, [person], token, action="/account/tokens", title="Your tokens for programs")}"""
    return plain_page(request, "Your account", body, wide=True, roomy=True)


def _people(site: Site, request: Request, visit: Visit, first: str = "") -> Response:
    if "read_people" not in visit.person.may:
        raise errors.Forbidden("Only administrators and auditors see all accounts.", remedy="Ask one of them.")
    everybody = site.signoff.queries.list_people(site.tenant)
    services = [p for p in everybody if p.kind == "service" and p.active]
    names = {p.login for p in services}
    tokens = [t for t in site.signoff.queries.list_tokens(site.tenant) if t.login in names or t.status == "good"]
    token = visit.form_token
    every = absences_card(site.signoff.queries.list_absences(site.tenant), everybody, token)
    body = f"""<h1>Accounts</h1>{first}{people_card(everybody, token)}
{every if "save_person" in visit.person.may else ""}
{tokens_card(tokens, services, token, action="/people/tokens", title="Tokens of programs")}"""
    return plain_page(request, "Accounts", body, wide=True, roomy=True)


def _absences(site: Site, visit: Visit) -> str:
    """When oneself is absent and who decides then, and for whom one decides."""
    queries, login = site.signoff.queries, visit.person.login
    own = queries.list_absences(site.tenant, person=login)
    others = queries.list_absences(site.tenant, delegate=login)
    people = [p for p in queries.list_people(site.tenant) if p.active and p.kind == "person" and p.login != login]
    return own_absences_card(own, others, people, visit.form_token)


def _set_absence(site: Site, request: Request, visit: Visit, form: Form) -> Response:
    args = {n: value for n in ("person", "delegate", "reason") if (value := _one(form, n))}
    for name, hour in (("begins", "00:00"), ("ends", "23:59:59")):
        if day := _one(form, name):
            args[name] = f"{day}T{hour}+00:00" if len(day) == 10 else day
    site.signoff.do("set_absence", visit.actor, site.tenant, **args)
    return RedirectResponse(_page_of(request), 303)


def _revoke_absence(site: Site, request: Request, visit: Visit, form: Form) -> Response:
    number = _number(form, "absence")
    site.signoff.do("revoke_absence", visit.actor, site.tenant, id=number, reason=_one(form, "reason"))
    return RedirectResponse(_page_of(request), 303)


def _end_sessions(site: Site, request: Request, visit: Visit, form: Form) -> Response:
    one = _one(form, "id")
    site.signoff.do("end_sessions", visit.actor, site.tenant, id=one)
    if one:
        return RedirectResponse("/account", 303)
    site.close_pages(visit.secret)
    return RedirectResponse("/login", 303)


def _make_token(site: Site, request: Request, visit: Visit, form: Form) -> Response:
    try:
        days = float(_one(form, "days"))
    except ValueError:
        raise errors.InvalidInput("The number of days is no number.", remedy="Correct it.") from None
    login = _one(form, "login")
    made = site.signoff.do(
        "create_token", visit.actor, site.tenant, login=login, name=_one(form, "name"), scopes=form.get("scope", []),
        days=days,
    )  # fmt: skip
    draw = _account if login in ("", visit.person.login) else _people
    return draw(site, request, visit, secret_card(made))


def _revoke_token(site: Site, request: Request, visit: Visit, form: Form) -> Response:
    number = _number(form, "token")
    site.signoff.do("revoke_token", visit.actor, site.tenant, id=number)
    return RedirectResponse(_page_of(request), 303)


def _save_person(site: Site, request: Request, visit: Visit, form: Form) -> Response:
    groups = [g.strip() for g in _one(form, "groups").split(",") if g.strip()]
    args = {n: _one(form, n) for n in ("login", "name", "email", "kind")} | {"password": form.get("password", [""])[0]}
    site.signoff.do("save_person", visit.actor, site.tenant, roles=form.get("role", []), groups=groups, **args)
    return RedirectResponse("/people", 303)


def _open_or_close(site: Site, request: Request, visit: Visit, form: Form) -> Response:
    login, active = _one(form, "login"), _one(form, "active") == "yes"
    site.signoff.do("save_person", visit.actor, site.tenant, login=login, active=active)
    return RedirectResponse("/people", 303)


_WORK: dict[str, Work] = {
    "/account/sessions": _end_sessions,
    "/account/absences": _set_absence,
    "/account/absences/revoke": _revoke_absence,
    "/people/absences": _set_absence,
    "/people/absences/revoke": _revoke_absence,
    "/account/tokens": _make_token,
    "/account/tokens/revoke": _revoke_token,
    "/people": _save_person,
    "/people/active": _open_or_close,
    "/people/tokens": _make_token,
    "/people/tokens/revoke": _revoke_token,
}
