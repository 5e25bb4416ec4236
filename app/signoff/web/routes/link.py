"""Links in mails. The token stands in the address's fragment, which no server or scanner sees; our script posts it.

`GET /link` shows a page and changes nothing. `POST /link` moves the token into a cookie that only this site can read
and leads to signing in and to `GET /link/task`, which shows what waits. Deciding is the same protected POST as from
the inbox, with the token from the cookie beside it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

from fastapi import APIRouter, Form, Request, Response
from fastapi.responses import RedirectResponse

from signoff import errors
from signoff.core.states import Actor
from signoff.engine.views import LinkView
from signoff.web.escape import label
from signoff.web.files import address
from signoff.web.parts.answering import task_facts, task_form
from signoff.web.plain import answer_page, plain_page, status_of
from signoff.web.session import Visit
from signoff.web.site import Site

COOKIE_S = 900
TASK = "/link/task"
_INBOX = [("/inbox", "Inbox")]
_GONE = "The link was opened too long ago. Open it again from the mail, or answer from your inbox."


@dataclass(frozen=True, slots=True)
class Came:
    """Who answers a form, and the token of the link they came with ("" where they came from the inbox)."""

    actor: Actor
    form_token: str
    link: str = ""


def came_by(site: Site, request: Request, visit: Visit, by_link: str) -> Came:
    """Who sent a form, and how they came.

    Raises:
        Conflict: it says that a link brought them, but there is none any more.
    """
    if not by_link:
        return Came(visit.actor, visit.form_token)
    token = request.cookies.get(site.settings.link_cookie, "")
    if not token:
        raise errors.Conflict(_GONE, code="link_gone", remedy="")
    return Came(replace(visit.actor, channel="link"), visit.form_token, token)


def forget_link(site: Site, response: Response) -> Response:
    """Take the cookie away after its link was used."""
    settings = site.settings
    response.delete_cookie(settings.link_cookie, path="/", secure=settings.secure_cookies, httponly=True)
    return response


def link_router(site: Site) -> APIRouter:
    """Routes `/link` and `/link/task`."""
    router = APIRouter(include_in_schema=False)
    settings = site.settings

    @router.get("/link")
    def land(request: Request) -> Response:
        """A page whose script posts the fragment; without scripts a person pastes it."""
        waiting = bool(request.cookies.get(settings.link_cookie))
        body = f"""<div class="card"><h1>Open a request</h1>
<form method="post" action="/link" id="link" data-waiting="{"yes" if waiting else ""}">
<p>Opening a link changes nothing: you read what waits for you, and then you answer.</p>
<label>What follows “#” in the link <input name="token" maxlength="200" autocomplete="off" spellcheck="false"></label>
<button>Go on</button></form></div><script src="{address("link.js")}"></script>"""
        return plain_page(request, "Open a request", body, nav=False)

    @router.post("/link")
    def keep(request: Request, token: Annotated[str, Form(max_length=200)] = "") -> Response:
        """Remember the link in a cookie; whoever is signed in learns at once where it cannot be used."""
        token = token.strip().lstrip("#") or request.cookies.get(settings.link_cookie, "")
        if not token:
            return RedirectResponse("/inbox", 303)
        visit = site.gate.find(request.cookies.get(settings.session_cookie))
        if visit is None:
            response: Response = RedirectResponse("/login?next=/link", 303)
        else:
            response, good = _follow(site, request, visit, token)
            if not good:
                return forget_link(site, response)
        response.set_cookie(
            settings.link_cookie, token, max_age=COOKIE_S, path="/", httponly=True, secure=settings.secure_cookies,
            samesite="lax",
        )  # fmt: skip
        return response

    @router.get(TASK)
    def show(request: Request) -> Response:
        """What waits, for the person whom the link names."""
        visit = site.gate.find(request.cookies.get(settings.session_cookie))
        if visit is None:
            return RedirectResponse("/login?next=/link", 303)
        return _show(site, request, visit, request.cookies.get(settings.link_cookie, ""))

    return router


def _follow(site: Site, request: Request, visit: Visit, token: str) -> tuple[Response, bool]:
    """Where a link leads, and whether it should be remembered: also when only the wrong person is signed in."""
    try:
        site.signoff.do("open_link", replace(visit.actor, channel="link"), site.tenant, link=token)
    except errors.SignoffError as error:
        return _refusal(request, error, visit), error.code == "link_of_another"
    return RedirectResponse(TASK, 303), True


def _refusal(request: Request, error: errors.SignoffError, visit: Visit) -> Response:
    handled = error.code in ("already_handled", "already_decided")
    links = _INBOX
    if error.code == "link_of_another":
        words = f"You are signed in as {visit.person.name}. Sign out, then open the link again as the person it is for."
        return answer_page(request, "Not your link", [error.message, words], links, status=403)
    title = "Already handled" if handled else "This link is not good"
    return answer_page(request, title, [error.message, error.remedy], links, status=status_of(error), good=handled)


def _show(site: Site, request: Request, visit: Visit, token: str) -> Response:
    queries = site.signoff.queries
    link = queries.find_link(site.tenant, token) if token else None
    if link is None or link.login != visit.person.login:
        words = [_GONE if not token else "This link does not lead to anything that waits for you."]
        return answer_page(request, "Nothing here", words, _INBOX, status=404)
    item = queries.find_task(site.tenant, visit.person.login, link.run_id, link.step, on_behalf_of=link.on_behalf_of)
    if link.status != "open" or item is None:
        return answer_page(request, _title(link), [_what_became(link, visit)], _INBOX, good=link.status == "used")
    if (item.generation, item.shown_digest) != (link.generation, link.shown_digest):
        words = ["What this link was sent for has changed since. Your inbox shows what waits now."]
        return answer_page(request, "This changed", words, _INBOX, status=409)
    asker = next((p.name for p in queries.list_people(site.tenant) if p.login == item.started_by), item.started_by)
    crumb = f'<p class="soft">{label(item.title)} · signed in as {label(visit.person.name)}</p>'
    form = task_form(item, visit.form_token, by_link=True, elsewhere=site.sign_in_again(visit, TASK))
    body = f'{crumb}<h1>{label(item.label)}</h1><div class="stack task">{task_facts(item, asker)}{form}</div>'
    return plain_page(request, item.label, body, wide=True)


def _title(link: LinkView) -> str:
    return "Already handled" if link.status == "used" else "This link is not good any more"


def _what_became(link: LinkView, visit: Visit) -> str:
    if link.status == "used":
        return f"You have already answered this: {link.outcome} on {_plain_clock(link)}."
    if link.status == "expired":
        return "This link is too old. If the request still waits for you, it is in your inbox."
    return "This request is not open in this form any more: it was handled, changed, or given to others."


def _plain_clock(link: LinkView) -> str:
    return f"{link.used_at:%Y-%m-%d %H:%M} UTC" if link.used_at else "an earlier day"
