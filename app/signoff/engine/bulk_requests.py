"""One command on many runs that somebody has previewed, and the move of a run to another version."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from signoff.core.rejection import Rejection
from signoff.engine.auditing import audit_alone
from signoff.engine.ids import new_bulk_id
from signoff.engine.moving import move_command, plan_args, target_of
from signoff.engine.permissions import permitted, who_may, words_of
from signoff.engine.request import Request, failed, ok, refused
from signoff.engine.run_requests import HANDLERS as RUN_HANDLERS
from signoff.engine.run_requests import answer_of
from signoff.engine.transaction import Transaction, required
from signoff.errors import Forbidden, InvalidInput, NotFound, SignoffError
from signoff.store.definitions import find_version

Answer = dict[str, Any]
MAX_RUNS = 500
BULK = (
    "pause_run",
    "resume_run",
    "cancel_run",
    "terminate_run",
    "retry_step",
    "skip_step",
    "complete_step",
    "replay_dead_letter",
    "confirm_effect",
    "deny_effect",
    "reassign_step",
    "edit_input",
    "migrate_run",
)
"""Commands that can be sent to many runs at once."""


def migrate_run(tx: Transaction, r: Request) -> Answer:
    """Move one run to another published version of its definition."""
    run_id, plan = required(r.args, "run_id"), plan_args(tx.journal.rows, r.tenant, r.args)
    key, _, _ = tx.run(r.tenant, run_id)
    source = tx.plan(key)
    number = target_of(plan)
    row = find_version(tx.journal, r.tenant, source.definition.name, number)
    if row is None:
        message = (
            f"Expected to move run '{run_id}' to version {number} of '{source.definition.name}', but there is none."
        )
        raise NotFound(message, remedy="Publish it first.")
    target = tx.plan_of_version(row.id)
    command = move_command(tx.journal.rows, r.tenant, r.actor, r.args, plan, source, target)
    command = replace(command, version_id=row.id)
    result = tx.command(r.tenant, run_id, command)
    return refused(result) if isinstance(result, Rejection) else answer_of(result, "")


def bulk(tx: Transaction, r: Request) -> Answer:
    """Send one command to exactly the runs that were previewed, each only where it has not changed since."""
    name, items = required(r.args, "command"), required(r.args, "items", list)
    handler = HANDLERS.get(name) if name == "migrate_run" else RUN_HANDLERS.get(name)
    if name not in BULK or handler is None:
        raise InvalidInput(f"'{name[:40]}' cannot be sent to many runs.", remedy=f"Use one of: {', '.join(BULK)}.")
    if r.origin == "client" and name not in permitted(tx.directory(r.tenant)[1][r.actor.id.casefold()].roles):
        raise Forbidden(f"Expected to {words_of(name)}, but that takes the role {who_may(name)}.", remedy="Ask them.")
    reason = str(r.args.get("reason") or "").strip()
    if not reason:
        raise InvalidInput("Expected a reason for a bulk command.", code="no_reason", remedy="Say why.")
    if not 1 <= len(items) <= MAX_RUNS:
        raise InvalidInput(f"A bulk command is for 1 to {MAX_RUNS} runs.", remedy="Send it in several parts.")
    bulk_id = new_bulk_id(tx.now)
    results = [_one(tx, r, name, handler, item, f"{reason} ({bulk_id})") for item in items]
    done = sum(x["done"] for x in results)
    message = f"{name} on {len(items)} runs, {done} done, {len(items) - done} refused: {reason}"
    audit_alone(tx, r, bulk_id, message, action=f"bulk {name}")
    return ok(bulk_id=bulk_id, done=done, refused=len(items) - done, results=results)


def _one(
    tx: Transaction, r: Request, name: str, handler: Callable[[Transaction, Request], Answer], item: Any, reason: str
) -> dict[str, Any]:
    if not isinstance(item, dict):
        raise InvalidInput("Each item of a bulk command must be an object.", remedy="Correct the request.")
    run_id, seen = required(item, "run_id"), required(item, "sequence", int)
    try:
        if tx.run(r.tenant, run_id)[2].sequence != seen:
            answer = refused(
                Rejection("changed_meanwhile", "The run has changed since the preview.", "Make the preview again.")
            )
        else:
            args = {**(r.args.get("args") or {}), "run_id": run_id, "reason": reason, "seen_sequence": seen}
            args |= {"step": item["step"]} if item.get("step") else {}
            answer = handler(tx, Request(name, r.tenant, r.actor, args, r.reply, origin=r.origin))
    except SignoffError as error:
        answer = failed(error)
    if "ok" in answer:
        return {"run_id": run_id, "done": True, "status": answer["ok"]["status"], "message": ""}
    message = f"{answer['message']} {answer['remedy']}".strip()
    return {"run_id": run_id, "done": False, "status": "", "code": answer["code"], "message": message}


HANDLERS: dict[str, Callable[[Transaction, Request], Answer]] = {"migrate_run": migrate_run, "bulk": bulk}
