"""Evidence of runs: the bundle for programs and the page for people. Reading it is recorded."""

from __future__ import annotations

from fastapi import APIRouter, Response
from fastapi.responses import HTMLResponse, PlainTextResponse, StreamingResponse

from signoff.api.auth import Caller, Face, actor_of, allowed
from signoff.api.schemas import Confirmed, Hold
from signoff.interchange.audit_csv import all_runs, audit_csv
from signoff.interchange.evidence_page import evidence_page

router = APIRouter(tags=["audit"])


@router.get("/runs/{run_id}/evidence", summary="The evidence bundle of a run", dependencies=[allowed("export_audit")])
def bundle(run_id: str, signoff: Face, person: Caller) -> Response:
    """JSON lines that `signoff audit verify` checks without this system."""
    told = signoff.do("export_audit", actor_of(person), person.tenant, run_id=run_id, format="bundle")
    lines = signoff.queries.evidence.bundle(person.tenant, run_id, by=told["by"], at=told["at"])
    name = f'attachment; filename="{run_id}.jsonl"'
    return PlainTextResponse(
        "".join(lines),
        media_type="application/jsonl",
        headers={"Content-Disposition": name, "Cache-Control": "no-store"},
    )


@router.get("/runs/{run_id}/evidence.html", summary="The evidence of a run as a page",
            dependencies=[allowed("export_audit")])  # fmt: skip
def page(run_id: str, signoff: Face, person: Caller) -> Response:
    """One page without scripts that can be kept or printed."""
    told = signoff.do("export_audit", actor_of(person), person.tenant, run_id=run_id, format="page")
    lines = signoff.queries.evidence.bundle(person.tenant, run_id, by=told["by"], at=told["at"])
    text = evidence_page(signoff.queries, person.tenant, run_id, list(lines))
    return HTMLResponse(text, headers={"Cache-Control": "no-store", "Content-Security-Policy": POLICY})


@router.get("/runs/{run_id}/events.csv", summary="The history of a run for spreadsheets",
            dependencies=[allowed("export_audit")])  # fmt: skip
def run_csv(run_id: str, signoff: Face, person: Caller) -> Response:
    """One row for each event; UTF-8 with a byte order mark, times with their offset, no cell a formula."""
    signoff.do("export_audit", actor_of(person), person.tenant, run_id=run_id, format="csv")
    text = "".join(audit_csv(signoff.queries, person.tenant, [run_id]))
    return Response(text, media_type="text/csv; charset=utf-8", headers=_as_file(f"{run_id}.csv"))


@router.get("/audit/events.csv", summary="All histories for spreadsheets", dependencies=[allowed("export_audit")])
def whole_csv(signoff: Face, person: Caller, definition: str = "") -> Response:
    """The same of all runs, or of those of one definition, as a stream."""
    signoff.do("export_audit", actor_of(person), person.tenant, run_id="", format="csv")
    lines = audit_csv(signoff.queries, person.tenant, all_runs(signoff.queries, person.tenant, definition))
    return StreamingResponse(lines, media_type="text/csv; charset=utf-8", headers=_as_file("audit.csv"))


def _as_file(name: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}


POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"


@router.post("/runs/{run_id}/hold", summary="Put a legal hold on a run, or end it", dependencies=[allowed("hold_run")])
def hold(run_id: str, body: Hold, signoff: Face, person: Caller) -> dict[str, object]:
    """A run on hold is not erased; who put it there, who ended it and why are recorded."""
    return signoff.do("hold_run", actor_of(person), person.tenant, run_id=run_id, reason=body.reason, hold=body.hold)


@router.post("/runs/{run_id}/erase", summary="Erase the content of an ended run", dependencies=[allowed("erase_run")])
def erase(run_id: str, body: Confirmed, signoff: Face, person: Caller) -> dict[str, object]:
    """The secret of the run is destroyed; its chain stays."""
    do, who = signoff.do, actor_of(person)
    return do("erase_run", who, person.tenant, run_id=run_id, reason=body.reason, password=body.password)
