"""Files in the browser: downloads, uploads with a form, and the plain start page of definitions that ask for files."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse, StreamingResponse
from starlette.datastructures import FormData, UploadFile

from signoff import errors
from signoff.core.definition import Field, FieldType
from signoff.core.files import is_file, is_file_name, is_media_type
from signoff.engine.views import VersionView
from signoff.interchange.downloads import headers_of, media_of
from signoff.web.escape import esc, label
from signoff.web.models.values import Filled, fill
from signoff.web.parts.filling import KEPT, PREFIX, field_markup
from signoff.web.plain import answer_page, plain_page, status_of
from signoff.web.routes.guard import sender_of
from signoff.web.session import Visit
from signoff.web.site import Site

MAX_FILES = 20
MAX_FIELDS = 300
CHUNK_BYTES = 262_144


def files_router(site: Site) -> APIRouter:
    """Routes `GET /files/{digest}/{name}` and `/start/{name}`."""
    router = APIRouter(include_in_schema=False)

    @router.get("/files/{digest}/{name}")
    def download(request: Request, digest: str, name: str) -> Response:
        """A file of a run that the visitor may see."""
        visit = site.gate.find(request.cookies.get(site.settings.session_cookie))
        if visit is None:
            return RedirectResponse("/login", 303)
        try:
            found = site.signoff.queries.get_file(visit.person, digest, name)
        except errors.SignoffError as error:
            return answer_page(request, "Not found", [error.message], [("/inbox", "Inbox")], status=status_of(error))
        return StreamingResponse(
            found.chunks, media_type=media_of(found.type), headers=headers_of(found.name, found.size)
        )

    @router.get("/start/{name}")
    def ask(request: Request, name: str) -> Response:
        """The form as a plain page, files included."""
        visit = site.gate.find(request.cookies.get(site.settings.session_cookie))
        if visit is None:
            return RedirectResponse("/login", 303)
        version = _startable(site, visit, name)
        if isinstance(version, errors.SignoffError):
            words = [version.message, version.remedy]
            return answer_page(request, "Not possible", words, [("/runs", "Runs")], status=status_of(version))
        return _page(request, visit, version, {}, {}, secrets.token_urlsafe(18))

    @router.post("/start/{name}")
    async def start(request: Request, name: str) -> Response:
        """Store the files, check the values, start the run."""
        if await run_in_threadpool(site.gate.find, request.cookies.get(site.settings.session_cookie)) is None:
            return RedirectResponse("/login", 303)  # before a large body is read
        async with request.form(max_files=MAX_FILES, max_fields=MAX_FIELDS) as form:
            return await run_in_threadpool(_start, site, request, name, form)

    return router


def take_files(site: Site, visit: Visit, fields: Sequence[Field], form: FormData) -> dict[str, Any]:
    """Store what was uploaded with a form; the references by field name, those kept from an earlier try included.

    Raises:
        InvalidInput: a file is too large, or has a name that cannot be kept.
    """
    found: dict[str, Any] = {}
    for f in fields:
        if f.type is not FieldType.FILE:
            continue
        given = form.get(PREFIX + f.name)
        if isinstance(given, UploadFile) and given.filename:
            found[f.name] = _store(site, visit, f, given)
            continue
        try:
            kept = json.loads(str(form.get(KEPT + f.name) or "null"))
        except ValueError:
            kept = None
        found[f.name] = kept if is_file(kept) else None
    return found


def _store(site: Site, visit: Visit, f: Field, given: UploadFile) -> dict[str, Any]:
    media = (given.content_type or "").split(";")[0].strip().lower()
    media = media if is_media_type(media) else "application/octet-stream"
    name = (given.filename or "").replace("\\", "/").rpartition("/")[2]
    if not is_file_name(name):
        message = f"The file of '{f.label or f.name}' has a name that cannot be kept."
        problem = {"field": f.name, "message": message, "remedy": "Rename it."}
        raise errors.InvalidInput(message, problems=(problem,))
    kept = site.signoff.queries.files.add(site.tenant, _chunks(given))
    return site.signoff.add_file(visit.actor, site.tenant, kept, name, media)


def _chunks(given: UploadFile) -> Iterator[bytes]:
    while chunk := given.file.read(CHUNK_BYTES):
        yield chunk


def _startable(site: Site, visit: Visit, name: str) -> VersionView | errors.SignoffError:
    if "start_run" not in visit.person.may:
        return errors.Forbidden("Your roles do not let you start runs.", remedy="Ask someone who may.")
    version = site.signoff.queries.find_version(site.tenant, name)
    return version or errors.NotFound(f"Nothing of '{name[:60]}' has been published.", remedy="Publish it first.")


def _page(
    request: Request,
    visit: Visit,
    version: VersionView,
    entered: Mapping[str, Any],
    problems: Mapping[str, str],
    key: str,
    business_key: str = "",
) -> Response:
    d = version.definition
    text = f'<p class="said soft">{esc(d.description)}</p>' if d.description else ""
    wrong = "".join(f"<p>{esc(p)}</p>" for name, p in problems.items() if name not in {f.name for f in d.input})
    said = f'<div class="error" role="alert"><p>Nothing was started yet.</p>{wrong}</div>' if problems else ""
    fields = "".join(field_markup(f, entered.get(f.name), problems.get(f.name, "")) for f in d.input)
    body = f"""<h1>{label(d.title)}</h1>{text}{said}
<form class="card" method="post" action="/start/{esc(version.name)}" enctype="multipart/form-data">
<input type="hidden" name="token" value="{esc(visit.form_token)}"><input type="hidden" name="key" value="{esc(key)}">
{fields}<label class="field">Key of your own <span class="soft">(optional)</span>
<input name="business_key" maxlength="200" value="{esc(business_key)}"></label>
<button class="button">Start run</button></form>"""
    return plain_page(request, f"Start {d.title}", body, wide=True, status=422 if problems else 200)


def _start(site: Site, request: Request, name: str, form: FormData) -> Response:
    sent = {n: v for n, v in form.items() if isinstance(v, str)}
    visit = sender_of(site, request, sent.get("token", ""), "started", links=[("/runs", "Runs")])
    if isinstance(visit, Response):
        return visit
    version = _startable(site, visit, name)
    if isinstance(version, errors.SignoffError):
        words = [version.message, version.remedy]
        return answer_page(request, "Not started", words, [("/runs", "Runs")], status=status_of(version))
    fields, key, business_key = (
        version.definition.input,
        sent.get("key", "")[:200],
        sent.get("business_key", "").strip(),
    )
    entered = entered_values(fields, sent)
    problems: dict[str, str] = {}
    try:
        entered |= take_files(site, visit, fields, form)
        filled = fill(fields, entered, what=f"the input of '{version.definition.title}'")
        problems = dict(filled.problems)
        if filled.is_good:
            return _run(site, visit, version, filled, business_key, key)
    except errors.InvalidInput as error:
        problems = {str(p.get("field", "")): str(p["message"]) for p in error.problems if isinstance(p, dict)}
        problems = problems or {"": error.message}
    except errors.SignoffError as error:
        words = [error.message, error.remedy]
        return answer_page(request, "Not started", words, [("/runs", "Runs")], status=status_of(error))
    return _page(request, visit, version, entered, problems, key or secrets.token_urlsafe(18), business_key)


def _run(site: Site, visit: Visit, version: VersionView, filled: Filled, business_key: str, key: str) -> Response:
    answer = site.signoff.start_run(
        visit.actor,
        site.tenant,
        version.name,
        filled.values,
        version=version.version,
        business_key=business_key,
        idempotency_key=f"web:{visit.person.login}:{key}" if key else "",
    )
    return RedirectResponse(f"/runs/{answer['run_id']}", 303)


def entered_values(fields: Sequence[Field], sent: Mapping[str, Any]) -> dict[str, Any]:
    """What a plain form sent for fields that are no files, as it was typed."""
    return {
        f.name: (sent.get(PREFIX + f.name) is not None)
        if f.type is FieldType.BOOLEAN
        else str(sent.get(PREFIX + f.name, "")).replace("\r\n", "\n")
        for f in fields
        if f.type is not FieldType.FILE
    }
