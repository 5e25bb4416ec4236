"""Errors as RFC 9457 problem details, with the same sentences as every other face."""

from __future__ import annotations

from typing import Any

from fastapi import Request
from fastapi.responses import JSONResponse

from signoff import errors

STATUS: dict[type[errors.SignoffError], int] = {
    errors.NotFound: 404,
    errors.InvalidInput: 422,
    errors.Conflict: 409,
    errors.Refused: 409,
    errors.Forbidden: 403,
    errors.NotSignedIn: 401,
    errors.Unavailable: 503,
}
TOO_MANY = 429
REFUSED_STATUS = {
    "own_request": 403,
    "not_an_approver": 403,
    "not_a_person": 403,
    "unknown_step": 404,
    "over_quota": TOO_MANY,
}


def status_of(error: errors.SignoffError) -> int:
    """The HTTP status of an error."""
    if isinstance(error, errors.Refused):
        return REFUSED_STATUS.get(error.code, 409)
    if error.code == "too_many":
        return TOO_MANY
    return next((s for cls, s in STATUS.items() if isinstance(error, cls)), 500)


def problem(error: errors.SignoffError) -> JSONResponse:
    """A `application/problem+json` answer."""
    status = status_of(error)
    body: dict[str, Any] = {
        "type": f"urn:signoff:{error.code}",
        "title": error.message,
        "status": status,
        "code": error.code,
        "remedy": error.remedy,
    }
    if isinstance(error, errors.InvalidInput) and error.problems:
        body["problems"] = list(error.problems)
    if isinstance(error, errors.Refused):
        body["known"] = error.known
    headers = {"Cache-Control": "no-store"}
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if status in (503, TOO_MANY):
        told = error.details.get("retry_after_s") if isinstance(error, errors.Refused) else None
        headers["Retry-After"] = str(told or 1)
    return JSONResponse(body, status, headers, media_type="application/problem+json")


async def handle_error(request: Request, error: Exception) -> JSONResponse:
    """FastAPI's exception handler for `SignoffError`."""
    assert isinstance(error, errors.SignoffError)
    return problem(error)
