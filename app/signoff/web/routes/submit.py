"""Filling in a form: one plain POST like that of decisions; what was entered is never lost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse
from starlette.datastructures import FormData

from signoff import errors
from signoff.engine.views import InboxItem
from signoff.web.escape import esc
from signoff.web.models.values import Filled, fill
from signoff.web.parts.filling import filling_form
from signoff.web.plain import answer_page, plain_page, status_of
from signoff.web.routes.files import MAX_FILES, entered_values, take_files
from signoff.web.routes.guard import sender_of
from signoff.web.routes.link import Came, came_by, forget_link
from signoff.web.site import Site

MAX_FIELDS = 200
MAX_GENERATION = 1_000_000_000


def submit_router(site: Site) -> APIRouter:
    """Route `POST /submit/{run_id}/{step}`; there is deliberately no GET."""
    router = APIRouter(include_in_schema=False)

    @router.post("/submit/{run_id}/{step}")
    async def submit(request: Request, run_id: str, step: str) -> Response:
        """Check and send the values, or send the work back, and say what came of it."""
        if await run_in_threadpool(site.gate.find, request.cookies.get(site.settings.session_cookie)) is None:
            return RedirectResponse("/login", 303)  # before a large body is read
        async with request.form(max_files=MAX_FILES, max_fields=MAX_FIELDS) as form:
            return await run_in_threadpool(_answer, site, request, run_id, step, form)

    return router


def _answer(site: Site, request: Request, run_id: str, step: str, form: FormData) -> Response:
    sent = {name: value for name, value in form.items() if isinstance(value, str)}
    visit, here = sender_of(site, request, sent.get("token", ""), "stored"), f"/inbox/{run_id}/{step}"
    if isinstance(visit, Response):
        return visit
    item = site.signoff.queries.find_task(site.tenant, visit.person.login, run_id, step)
    generation = sent.get("generation", "")
    if item is None or item.kind != "form" or not generation.isdecimal() or int(generation) > MAX_GENERATION:
        return answer_page(request, "Not there", ["No such form waits for you."], [("/inbox", "Inbox")], status=404)
    entered = entered_values(item.fields, sent)
    comment = sent.get("comment", "").replace("\r\n", "\n").strip()
    do, _, to = sent.get("do", "submit").partition(":")
    filled, came = Filled(), Came(visit.actor, visit.form_token)
    try:
        came = came_by(site, request, visit, sent.get("by_link", ""))
        if do == "return":
            _send_back(site, came, item, sent, comment, to)
        else:
            entered |= take_files(site, visit, item.fields, form)
            filled = fill(item.fields, entered, what=f"form '{item.label}'")
            if not filled.is_good:
                return _again(request, came, item, entered, filled.problems, comment)
            _submit(site, came, item, sent, filled)
    except errors.InvalidInput as error:
        problems = {str(p.get("field", "")): f"{p['message']} {p['remedy']}" for p in map(plain, error.problems)}
        return _again(request, came, item, entered, problems or {"": error.message}, comment)
    except errors.SignoffError as error:
        return _refusal(request, error, here, item, entered, comment)
    links = [("/inbox", "Inbox"), (f"/runs/{run_id}", "See the run")]
    title, said = ("Returned", "The work has been sent back.") if do == "return" else _SUBMITTED
    done = answer_page(request, title, [said], links, good=True)
    return forget_link(site, done) if came.link else done


_SUBMITTED = ("Submitted", "Your values have been recorded.")


def plain(problem: object) -> dict[str, Any]:
    """A problem as its members."""
    return problem if isinstance(problem, dict) else {"field": "", "message": str(problem), "remedy": ""}


def _submit(site: Site, came: Came, item: InboxItem, sent: Mapping[str, str], filled: Filled) -> None:
    site.signoff.submit_form(
        came.actor,
        site.tenant,
        item.run_id,
        item.step,
        filled.values,
        generation=int(sent["generation"]),
        shown_digest=sent.get("shown_digest", "")[:200],
        link=came.link,
        on_behalf_of=sent.get("on_behalf_of", "")[:200],
        idempotency_key=_key(came, sent),
    )


def _send_back(site: Site, came: Came, item: InboxItem, sent: Mapping[str, str], comment: str, to: str) -> None:
    site.signoff.return_form(
        came.actor,
        site.tenant,
        item.run_id,
        item.step,
        comment,
        generation=int(sent["generation"]),
        shown_digest=sent.get("shown_digest", "")[:200],
        to=to,
        link=came.link,
        on_behalf_of=sent.get("on_behalf_of", "")[:200],
        idempotency_key=_key(came, sent),
    )


def _key(came: Came, sent: Mapping[str, str]) -> str:
    given = sent.get("key", "")[:200]
    return f"web:{came.actor.id}:{given}:{sent.get('do', '')[:80]}" if given else ""


def _again(
    request: Request,
    came: Came,
    item: InboxItem,
    entered: Mapping[str, Any],
    problems: Mapping[str, str],
    comment: str,
) -> Response:
    """The form once more, with everything that was entered and what is wrong with it."""
    form = filling_form(
        item, came.form_token, entered=entered, problems=problems, comment=comment, by_link=bool(came.link)
    )
    return page_again(request, item, form, problems.get("", ""))


def page_again(request: Request, item: InboxItem, form: str, problem: str, status: int = 422) -> Response:
    """A page with a form that has to be corrected; `problem` is about the whole of it."""
    general = f"<p>{esc(problem)}</p>" if problem else ""
    said = '<div class="error" role="alert"><p>Something has to be corrected; nothing was stored yet.</p>'
    body = f"<h1>{esc(item.label)}</h1>{said}{general}</div>{form}"
    return plain_page(request, item.label, body, status=status, wide=True)


def _refusal(
    request: Request, error: errors.SignoffError, here: str, item: InboxItem, entered: Mapping[str, Any], comment: str
) -> Response:
    known = isinstance(error, errors.Refused) and error.known
    links = [("/inbox", "Inbox"), (here, "Back to the form")]
    kept = [] if known else [f"{f.label or f.name}: {entered[f.name]}" for f in item.fields if entered.get(f.name)]
    kept += [f"Comment: {comment}"] if comment and not known else []
    lost = ["What you entered was not stored:", *kept] if kept else []
    title = "Already handled" if known or "already" in error.code else "Not stored"
    sentences = [error.message, error.remedy, *lost]
    return answer_page(request, title, sentences, links, status=status_of(error), good=known)
