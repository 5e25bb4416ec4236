"""Signing in and out: plain forms, double-submit token before there is a session, server-side sessions after."""

from __future__ import annotations

import hmac
import secrets
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Form, Request, Response
from fastapi.responses import RedirectResponse
from pydantic import BaseModel, Field

from signoff import errors
from signoff.web.escape import esc, label
from signoff.web.plain import answer_page, plain_page
from signoff.web.session import is_form_token, local_path
from signoff.web.settings import WebSettings
from signoff.web.site import Site

DEMO_PASSWORD = "demo"
MAX_FIELD_CHARS = 1_000


class Credentials(BaseModel):
    """What the login form sends."""

    login: str = Field(max_length=MAX_FIELD_CHARS)
    password: str = Field(max_length=MAX_FIELD_CHARS)
    token: str = Field(max_length=MAX_FIELD_CHARS)
    next: str = Field("/", max_length=MAX_FIELD_CHARS)


def login_router(site: Site) -> APIRouter:
    """Routes `/`, `/login` and `/logout`."""
    router = APIRouter(include_in_schema=False)
    settings = site.settings

    @router.get("/")
    def home(request: Request) -> Response:
        """The page a person most likely wants."""
        visit = site.gate.find(request.cookies.get(settings.session_cookie))
        if visit is None:
            return RedirectResponse("/login", 303)
        return RedirectResponse("/inbox" if "approver" in visit.person.roles else "/runs", 303)

    @router.get("/login")
    def ask(request: Request, next: str = "/") -> Response:
        """The login form."""
        return _form(site, request, local_path(next))

    @router.post("/login")
    def sign_in(request: Request, form: Annotated[Credentials, Form()]) -> Response:
        """Check the password and begin a session; one answer for every kind of wrong."""
        return _sign_in(site, request, form)

    @router.post("/logout")
    def sign_out(request: Request, token: Annotated[str, Form(max_length=MAX_FIELD_CHARS)]) -> Response:
        """End the session everywhere and close its pages."""
        secret = request.cookies.get(settings.session_cookie, "")
        if not secret or not is_form_token(secret, token):
            words = ["This form did not come from a page of your session; nothing was done."]
            return answer_page(request, "Not signed out", words, [("/", "Back")], status=403)
        site.signoff.sign_out(site.tenant, secret)
        site.close_pages(secret)
        response = RedirectResponse("/login", 303)
        response.delete_cookie(settings.session_cookie, path="/", secure=settings.secure_cookies, httponly=True)
        return response

    return router


def _sign_in(site: Site, request: Request, form: Credentials) -> Response:
    settings, target = site.settings, local_path(form.next)
    cookie = request.cookies.get(settings.form_cookie, "")
    if not cookie or not hmac.compare_digest(cookie.encode(), form.token.encode("utf-8", "replace")):
        return _form(site, request, target, "This form was too old to use. Please sign in again.", form.login, 403)
    address = request.client.host if request.client else ""
    try:
        answer = site.signoff.sign_in(
            site.tenant, form.login.strip(), form.password, address=address, agent=request.headers.get("user-agent", "")
        )
    except errors.SignoffError as error:
        words = f"{error.message} {error.remedy}".strip()
        return _form(site, request, target, words, form.login, _status(error))
    response = RedirectResponse(target, 303)
    _set(response, settings, settings.session_cookie, answer["session"], "lax")
    response.delete_cookie(settings.form_cookie, path="/", secure=settings.secure_cookies, httponly=True)
    return response


def _status(error: errors.SignoffError) -> int:
    if isinstance(error, errors.NotSignedIn):
        return 401
    return 429 if error.code == "too_many" else 503


def _set(response: Response, settings: WebSettings, name: str, value: str, same_site: str) -> None:
    response.set_cookie(
        name,
        value,
        httponly=True,
        secure=settings.secure_cookies,
        samesite="strict" if same_site == "strict" else "lax",
        path="/",
    )


def _form(site: Site, request: Request, target: str, wrong: str = "", login: str = "", status: int = 200) -> Response:
    token = request.cookies.get(site.settings.form_cookie) or secrets.token_urlsafe(32)
    hidden = f'<input type="hidden" name="token" value="{esc(token)}">'
    hidden += f'<input type="hidden" name="next" value="{esc(target)}">'
    error = f'<p class="error said" role="alert">{esc(wrong)}</p>' if wrong else ""
    people = _demo_people(site, hidden) if site.settings.demo else ""
    body = f"""<div class="card"><h1>Sign in</h1>{error}<form method="post" action="/login">{hidden}
<label>Login <input name="login" autocomplete="username" value="{esc(login)}" required maxlength="200" autofocus>
</label><label>Password <input name="password" type="password" autocomplete="current-password" required
maxlength="1000"></label>
<button>Sign in</button></form>{_elsewhere(site, target)}</div>{people}"""
    page = plain_page(request, "Sign in", body, status=status, nav=False)
    _set(page, site.settings, site.settings.form_cookie, token, "strict")
    return page


def _elsewhere(site: Site, target: str) -> str:
    provider = site.settings.provider
    if provider is None:
        return ""
    path = f"/login/oidc?next={quote(target, safe='/')}"
    return f'<p class="actions"><a class="button second" href="{esc(path)}">{esc(provider.settings.name)}</a></p>'


def _demo_people(site: Site, hidden: str) -> str:
    rows = "".join(
        f"""<li><form method="post" action="/login">{hidden}<input type="hidden" name="login" value="{esc(p.login)}">
<input type="hidden" name="password" value="{DEMO_PASSWORD}"><button>{label(p.name)}
<small>{esc(p.login)} · {esc(", ".join(p.roles))}</small></button></form></li>"""
        for p in site.signoff.queries.list_people(site.tenant)
        if p.active and p.kind == "person"
    )
    return f"""<div class="card"><h2>Demo people</h2><p class="soft">This is a demo on this machine: people and data are
made up. Choose one to sign in; the password of everyone is <b>{DEMO_PASSWORD}</b>.</p>
<ul class="people">{rows}</ul></div>"""
