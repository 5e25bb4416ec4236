"""The REST application: a sub-application under `/api` with an OpenAPI document of its own."""

from __future__ import annotations

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from signoff import __version__
from signoff.api.limits import Limits
from signoff.api.problems import handle_error, problem
from signoff.api.routes import (
    absences,
    access,
    audit,
    bulk,
    definitions,
    files,
    inbox,
    letters,
    migrations,
    records,
    runs,
    session,
    signals,
    tenant_limits,
)
from signoff.engine.client import Signoff
from signoff.errors import InvalidInput, SignoffError


def create_api(signoff: Signoff, limits: Limits | None = None) -> FastAPI:
    """The API, to be mounted at `/api`; its description is at `/api/openapi.json`."""
    api = FastAPI(
        title="Signoff",
        version=__version__,
        description="Durable workflows with human sign-off.",
        docs_url=None,
        redoc_url=None,
        openapi_url="/openapi.json",
    )
    api.state.signoff_api = signoff
    api.state.limits = limits or Limits()
    people = (session, access, absences, tenant_limits)
    for module in (*people, definitions, bulk, migrations, runs, inbox, signals, audit, records, letters, files):
        api.include_router(module.router)
    api.add_exception_handler(SignoffError, handle_error)
    api.add_exception_handler(RequestValidationError, _malformed)
    api.add_exception_handler(HTTPException, _other)
    return api


async def _other(request: Request, error: Exception) -> JSONResponse:
    """What the framework itself refuses: unknown paths, methods, unreadable bodies."""
    assert isinstance(error, HTTPException)
    code = {404: "not_found", 405: "bad_method"}.get(error.status_code, "malformed")
    body = {"type": f"urn:signoff:{code}", "title": f"{error.detail}.", "status": error.status_code, "code": code}
    headers = {"Cache-Control": "no-store", **(error.headers or {})}
    return JSONResponse(body, error.status_code, headers, media_type="application/problem+json")


async def _malformed(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    problems = tuple(
        {
            "field": ".".join(str(p) for p in e["loc"][1:]),
            "message": f"{'.'.join(str(p) for p in e['loc'])}: {e['msg']}.",
        }
        for e in error.errors()
    )
    message = " ".join(p["message"] for p in problems)
    return problem(InvalidInput(message, code="malformed", remedy="Correct the request.", problems=problems))
