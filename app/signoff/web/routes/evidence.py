"""The evidence of a run in the browser: a page to keep and a bundle to check, for those who may export."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import HTMLResponse, PlainTextResponse, RedirectResponse

from signoff.core.states import Actor
from signoff.errors import SignoffError
from signoff.interchange.evidence_page import evidence_page
from signoff.web.plain import answer_page, status_of
from signoff.web.site import Site


def evidence_router(site: Site) -> APIRouter:
    """Routes `GET /evidence/{run_id}` and `GET /evidence/{run_id}/bundle`; both are recorded."""
    router = APIRouter(include_in_schema=False)

    @router.get("/evidence/{run_id}")
    async def page(request: Request, run_id: str) -> Response:
        return await run_in_threadpool(_answer, site, request, run_id, "page")

    @router.get("/evidence/{run_id}/bundle")
    async def bundle(request: Request, run_id: str) -> Response:
        return await run_in_threadpool(_answer, site, request, run_id, "bundle")

    return router


def _answer(site: Site, request: Request, run_id: str, kind: str) -> Response:
    visit = site.gate.find(request.cookies.get(site.settings.session_cookie, ""))
    if visit is None:
        return RedirectResponse("/login", 303)
    person = visit.person
    actor = Actor("person", person.login, person.name, "web")
    try:
        told = site.signoff.do("export_audit", actor, site.tenant, run_id=run_id, format=kind)
        lines = list(site.signoff.queries.evidence.bundle(site.tenant, run_id, by=told["by"], at=told["at"]))
    except SignoffError as error:
        words = [str(error)]
        return answer_page(request, "Not exported", words, [("/runs", "Runs")], status=status_of(error))
    if kind == "page":
        return HTMLResponse(evidence_page(site.signoff.queries, site.tenant, run_id, lines))
    headers = {"Content-Disposition": f'attachment; filename="{run_id}.jsonl"'}
    return PlainTextResponse("".join(lines), media_type="application/jsonl", headers=headers)
