"""Every route of the API with the request it stands for and a body that is well formed, from its own description."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI

DIGEST = "sha256:" + "0" * 64
WHY: dict[str, Any] = {"reason": "because"}
DOCUMENT = {
    "name": "walked",
    "title": "Walked",
    "steps": [{"id": "a", "kind": "wait", "label": "A", "duration": "PT1S"}],
}
STEP = {"step": "manager", **WHY}
ANSWER = {"generation": 1, "shown_digest": DIGEST}

# Route: (the request in the permission table, "" where everybody who is signed in may; a body that is well formed).
EVERY: dict[str, tuple[str, Any]] = {
    "GET /me": ("", None),
    "DELETE /session": ("", None),
    "GET /definitions": ("read_definitions", None),
    "POST /definitions": ("create_draft", {"document": DOCUMENT}),
    "POST /definitions/validate": ("read_definitions", {"document": DOCUMENT}),
    "POST /definitions/trial": ("read_definitions", {"document": DOCUMENT}),
    "GET /definitions/{name}/draft": ("read_definitions", None),
    "PUT /definitions/{name}/draft": ("save_draft", {"document": DOCUMENT, "based_on": 1}),
    "POST /definitions/{name}/publish": ("publish", {"revision": 1}),
    "POST /definitions/{name}/archive": ("archive", WHY),
    "POST /definitions/{name}/unarchive": ("unarchive", WHY),
    "GET /definitions/{name}/compare": ("read_definitions", None),
    "GET /definitions/{name}/versions": ("read_definitions", None),
    "GET /definitions/{name}/versions/{version}": ("read_definitions", None),
    "DELETE /definitions/{name}/versions/{version}": ("delete_version", None),
    "POST /definitions/{name}/versions/{version}/restore": ("restore_draft", {}),
    "GET /definitions/{name}/versions/{version}/schemas": ("read_definitions", None),
    "GET /runs": ("read_runs", None),
    "POST /runs": ("start_run", {"definition": "theirs"}),
    "POST /runs/bulk": ("bulk", {"command": "pause_run", "items": [{"run_id": "RUN", "sequence": 1}], **WHY}),
    "POST /runs/bulk/preview": ("bulk", {"command": "pause_run", "which": {"run_ids": ["RUN"]}}),
    "GET /runs/{run_id}": ("read_runs", None),
    "GET /runs/{run_id}/attempts": ("read_runs", None),
    "GET /runs/{run_id}/events": ("read_runs", None),
    "GET /runs/{run_id}/events.csv": ("export_audit", None),
    "GET /runs/{run_id}/evidence": ("export_audit", None),
    "GET /runs/{run_id}/evidence.html": ("export_audit", None),
    "GET /audit/events.csv": ("export_audit", None),
    "POST /runs/{run_id}/pause": ("pause_run", WHY),
    "POST /runs/{run_id}/resume": ("resume_run", WHY),
    "POST /runs/{run_id}/cancel": ("cancel_run", WHY),
    "POST /runs/{run_id}/terminate": ("terminate_run", WHY),
    "POST /runs/{run_id}/retry": ("retry_step", STEP),
    "POST /runs/{run_id}/skip": ("skip_step", STEP),
    "POST /runs/{run_id}/complete": ("complete_step", STEP),
    "POST /runs/{run_id}/reassign": ("reassign_step", {**STEP, "add": ["grace"]}),
    "POST /runs/{run_id}/resolve-outcome": ("confirm_effect", {**STEP, "happened": True}),
    "POST /runs/{run_id}/replay-dead-letter": ("replay_dead_letter", STEP),
    "POST /runs/{run_id}/edit-input": ("edit_input", {"input": {}, **WHY}),
    "POST /runs/{run_id}/migrate": ("migrate_run", {"plan": {"target": 1}, **WHY}),
    "POST /runs/{run_id}/hold": ("hold_run", WHY),
    "POST /runs/{run_id}/erase": ("erase_run", WHY),
    "GET /dead-letters": ("read_dead_letters", None),
    "GET /migrations": ("read_migrations", None),
    "POST /migrations": (
        "propose_migration",
        {"definition": "NAME", "version": 1, "plan": {"target": 1}, **WHY},
    ),
    "GET /migrations/{plan_id}": ("read_migrations", None),
    "GET /migrations/{plan_id}/dry-run": ("bulk", None),
    "POST /migrations/{plan_id}/decision": ("decide_migration", {"outcome": "approved"}),
    "POST /migrations/{plan_id}/withdraw": ("withdraw_migration", WHY),
    "GET /limits": ("read_limits", None),
    "PUT /limits": ("set_limits", {"limits": {}, "reason": "x"}),
    "GET /retention": ("read_retention", None),
    "PUT /retention": ("set_retention", {"retention": {"days": 9000}, **WHY}),
    "POST /retention/preview": ("read_retention", {"retention": {"days": 1}}),
    "GET /retention/tombstones": ("read_retention", None),
    "GET /keys": ("read_keys", None),
    "POST /keys/rotate": ("rotate_keys", {"what": "tenant", **WHY}),
    "GET /letters": ("read_deliveries", None),
    "POST /letters/{number}/retry": ("retry_delivery", WHY),
    "GET /inbox": ("read_inbox", None),
    "GET /inbox/{run_id}/{step}": ("read_inbox", None),
    "POST /inbox/{run_id}/{step}/decision": ("decide", {"outcome": "approved", **ANSWER}),
    "POST /inbox/{run_id}/{step}/withdrawal": ("withdraw_vote", {"generation": 1}),
    "POST /inbox/{run_id}/{step}/submission": ("submit_form", {"values": {}, **ANSWER}),
    "POST /inbox/{run_id}/{step}/return": ("return_form", {"comment": "x", **ANSWER}),
    "GET /signals": ("read_signals", None),
    "POST /signals/{name}": ("send_signal", {"key": "k"}),
    "POST /signals/{name}/discard": ("discard_signal", {"key": "k", "id": "i", **WHY}),
    "GET /people": ("read_people", None),
    "PUT /people/{login}": ("save_person", {}),
    "POST /files": ("upload_file", None),
    "GET /files/{digest}": ("read_runs", None),
    "GET /sessions": ("", None),
    "DELETE /sessions": ("end_sessions", None),
    "DELETE /sessions/{session}": ("end_sessions", None),
    "GET /absences": ("", None),
    "POST /absences": ("set_absence", {"delegate": "grace", "ends": "2100-01-01T00:00:00Z"}),
    "DELETE /absences/{number}": ("revoke_absence", None),
    "GET /tokens": ("", None),
    "POST /tokens": ("create_token", {"name": "x", "scopes": ["nothing"]}),
    "DELETE /tokens/{number}": ("revoke_token", None),
}
QUERIES = {
    "POST /files": "?name=x.txt",
    "DELETE /definitions/{name}/versions/{version}": "?reason=x",
    "GET /definitions/{name}/compare": "?old=1&new=2",
}
OPEN = {"POST /session"}
ENDS_THE_CALLER = {"DELETE /session", "DELETE /sessions"}


def routes_of(api: FastAPI) -> set[str]:
    """`METHOD /path` of every route, from the API's own description."""
    return {f"{m.upper()} {path}" for path, methods in api.openapi()["paths"].items() for m in methods}


def request_of(route: str, run_id: str = "r-x", name: str = "theirs") -> tuple[str, str, Any]:
    """Method, path and body of a route, about a run and a definition."""
    method, path = route.split(" ")
    body = EVERY[route][1] if route in EVERY else {}
    if isinstance(body, dict):
        body = _about(body, {"RUN": run_id, "NAME": name})
    names = {
        "run_id": run_id,
        "name": name,
        "step": "manager",
        "version": 1,
        "number": 4_711,
        "plan_id": "p-x",
        "session": "s",
        "login": "x",
        "digest": "sha256:" + "1" * 64,
    }
    query = QUERIES.get(route, "")
    return method, path.format(**names) + query, body


def _about(value: Any, meant: dict[str, str]) -> Any:
    if isinstance(value, dict):
        return {k: _about(v, meant) for k, v in value.items()}
    if isinstance(value, list):
        return [_about(v, meant) for v in value]
    return meant.get(value, value) if isinstance(value, str) else value
