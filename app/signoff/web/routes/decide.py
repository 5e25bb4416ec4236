"""Deciding an approval: one plain POST, protected by the session's form token, answered truthfully."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Form, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.exceptions import RequestValidationError
from fastapi.responses import RedirectResponse
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.datastructures import FormData

from signoff import errors
from signoff.engine.views import InboxItem
from signoff.web.models.values import Filled, fill
from signoff.web.parts.deciding import deciding_form
from signoff.web.plain import answer_page, status_of
from signoff.web.routes.files import MAX_FILES, entered_values, take_files
from signoff.web.routes.guard import sender_of
from signoff.web.routes.link import TASK, Came, came_by, forget_link
from signoff.web.routes.submit import MAX_FIELDS, page_again, plain
from signoff.web.site import Site

CREDENTIAL = ("confirm_identity", "wrong_password")
"""Refusals that the same form answers, with a password or a fresh sign-in."""
TITLES = {"approved": "Approved", "rejected": "Rejected", "returned": "Returned"}


class Decision(BaseModel):
    """What the form of an approval sends; a return names its step as `returned:STEP`. Fields come as `field.NAME`."""

    model_config = ConfigDict(extra="allow")

    outcome: str = Field(max_length=100)
    token: str = Field(max_length=200)
    generation: int = Field(ge=0, le=1_000_000_000)
    shown_digest: str = Field(max_length=200)
    key: str = Field(min_length=8, max_length=200)
    comment: str = Field("", max_length=8_000)  # the page allows 4,000; browsers send two characters per new line
    by_link: str = Field("", max_length=10)
    on_behalf_of: str = Field("", max_length=200)
    password: str = Field("", max_length=1_000)


class Withdrawal(BaseModel):
    """What the form that takes a vote back sends."""

    token: str = Field(max_length=200)
    generation: int = Field(ge=0, le=1_000_000_000)
    key: str = Field(min_length=8, max_length=200)
    comment: str = Field("", max_length=8_000)


def decide_router(site: Site) -> APIRouter:
    """Route `POST /decide/{run_id}/{step}`; there is deliberately no GET."""
    router = APIRouter(include_in_schema=False)

    @router.post("/decide/{run_id}/{step}")
    async def decide(request: Request, run_id: str, step: str) -> Response:
        """Send the decision and say what came of it."""
        if await run_in_threadpool(site.gate.find, request.cookies.get(site.settings.session_cookie)) is None:
            return RedirectResponse("/login", 303)  # before a large body is read
        async with request.form(max_files=MAX_FILES, max_fields=MAX_FIELDS) as sent:
            try:
                form = Decision.model_validate({n: v for n, v in sent.items() if isinstance(v, str)})
            except ValidationError as error:
                raise RequestValidationError(error.errors()) from None
            return await run_in_threadpool(_answer, site, request, run_id, step, form, sent)

    return router


def _answer(site: Site, request: Request, run_id: str, step: str, form: Decision, sent: FormData) -> Response:
    visit, here = sender_of(site, request, form.token, "decided"), f"/inbox/{run_id}/{step}"
    if isinstance(visit, Response):
        return visit
    outcome, _, to = form.outcome.partition(":")
    if outcome not in TITLES:
        return answer_page(
            request, "Not decided", ["Choose to approve, reject or return."], [(here, "Back")], status=400
        )
    item = site.signoff.queries.find_task(site.tenant, visit.person.login, run_id, step)
    entered = entered_values(item.fields, form.model_extra or {}) if item else {}
    came, elsewhere = Came(visit.actor, visit.form_token), site.sign_in_again(visit, TASK if form.by_link else here)
    try:
        came = came_by(site, request, visit, form.by_link)
        if item and item.may_decide:
            entered |= take_files(site, visit, item.fields, sent)
        filled = filled_for(item, entered, outcome)
        if item and not filled.is_good:
            return _again(request, came, item, entered, filled.problems, form.comment, elsewhere)
        _send(site, came, run_id, step, form, outcome, to, filled.values)
    except errors.InvalidInput as error:
        problems = {str(p.get("field", "")): f"{p['message']} {p['remedy']}" for p in map(plain, error.problems)}
        if item is None:
            return _refusal(request, error, here, form.comment)
        told = problems or {"": error.message}
        return _again(request, came, item, entered, told, form.comment, elsewhere)
    except errors.SignoffError as error:
        if item and error.code in CREDENTIAL:
            told = {"": f"{error.message} {error.remedy}"}
            return _again(request, came, item, entered, told, form.comment, elsewhere, status_of(error))
        return _refusal(request, error, here, form.comment)
    links = [("/inbox", "Inbox"), (f"/runs/{run_id}", "See the run")]
    done = answer_page(request, TITLES[outcome], ["Your decision has been recorded."], links, good=True)
    return forget_link(site, done) if came.link else done


def filled_for(item: InboxItem | None, entered: dict[str, Any], outcome: str) -> Filled:
    """What was filled in, checked: all that is required to approve, what is given otherwise."""
    if item is None or not item.fields:
        return Filled()
    approves = outcome == "approved"
    fields = item.fields if approves else tuple(replace(f, required=False) for f in item.fields)
    filled = fill(fields, entered, what=f"the decision on '{item.label}'")
    return Filled({n: v for n, v in filled.values.items() if v is not None}, filled.problems)


def _again(
    request: Request,
    came: Came,
    item: InboxItem,
    entered: dict[str, Any],
    problems: Mapping[str, str],
    comment: str,
    elsewhere: str,
    status: int = 422,
) -> Response:
    """The form once more, with everything that was entered and what is wrong with it."""
    said, by_link = comment.strip(), bool(came.link)
    form = deciding_form(
        item, came.form_token, entered=entered, problems=problems, comment=said, by_link=by_link, elsewhere=elsewhere
    )
    return page_again(request, item, form, problems.get("", ""), status)


def _send(
    site: Site,
    came: Came,
    run_id: str,
    step: str,
    form: Decision,
    outcome: str,
    to: str,
    values: dict[str, Any],
) -> None:
    site.signoff.decide(
        came.actor,
        site.tenant,
        run_id,
        step,
        outcome,
        generation=form.generation,
        comment=form.comment.replace("\r\n", "\n").strip(),
        shown_digest=form.shown_digest,
        to=to,
        values=values,
        on_behalf_of=form.on_behalf_of,
        link=came.link,
        password=form.password,
        idempotency_key=f"web:{came.actor.id}:{form.key}",
    )


def _refusal(request: Request, error: errors.SignoffError, here: str, comment: str) -> Response:
    known = isinstance(error, errors.Refused) and error.known
    links = [("/inbox", "Inbox"), (here, "Back to the request")]
    kept = f"Your comment was not stored: “{comment.strip()}”" if comment.strip() and not known else ""
    title = "Already handled" if known or "already" in error.code else "Not decided"
    return answer_page(request, title, [error.message, error.remedy, kept], links, status=status_of(error), good=known)


def withdraw_router(site: Site) -> APIRouter:
    """Route `POST /withdraw/{run_id}/{step}`, with the same protection."""
    router = APIRouter(include_in_schema=False)

    @router.post("/withdraw/{run_id}/{step}")
    def withdraw(request: Request, run_id: str, step: str, form: Annotated[Withdrawal, Form()]) -> Response:
        """Take the vote back and say what came of it."""
        visit = sender_of(site, request, form.token, "changed", title="Not withdrawn")
        here = f"/inbox/{run_id}/{step}"
        if isinstance(visit, Response):
            return visit
        try:
            site.signoff.withdraw_vote(
                visit.actor,
                site.tenant,
                run_id,
                step,
                generation=form.generation,
                comment=form.comment.replace("\r\n", "\n").strip(),
                idempotency_key=f"web:{visit.person.login}:{form.key}",
            )
        except errors.SignoffError as error:
            return _refusal(request, error, here, form.comment)
        links = [(here, "Decide again"), ("/inbox", "Inbox")]
        return answer_page(request, "Vote withdrawn", ["Your vote no longer counts."], links, good=True)

    return router
