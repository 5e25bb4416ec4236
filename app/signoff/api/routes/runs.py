"""Runs: start, list, explain, history, and the commands of operators."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Response

from signoff.api.auth import Caller, Face, actor_of, allowed
from signoff.api.limits import Braked
from signoff.api.plain import plain
from signoff.api.schemas import Cancel, Complete, EditInput, NewRun, Operate, Reassign, Replay, Resolve, Retry, Skip
from signoff.engine.views import Person, RunView

router = APIRouter(tags=["runs"])
Key = Annotated[str, Header(alias="Idempotency-Key", max_length=200)]


@router.post("/runs", summary="Start a run", status_code=201)
def start(
    body: NewRun, response: Response, signoff: Face, person: Caller, limits: Braked, key: Key = ""
) -> dict[str, Any]:
    """201 for a new run, 200 with the same id for a repeated idempotency key."""
    limits.starts.take(f"{person.tenant} {person.login}", "starts")
    answer = signoff.start_run(
        actor_of(person),
        person.tenant,
        body.definition,
        body.input,
        version=body.version,
        business_key=body.business_key,
        idempotency_key=key,
    )
    if not answer["created"]:
        response.status_code = 200
    return answer


@router.get("/runs", summary="List runs", dependencies=[allowed("read_runs")])
def list_runs(
    signoff: Face,
    person: Caller,
    limits: Braked,
    status: str = "",
    definition: str = "",
    text: Annotated[str, Query(max_length=200)] = "",
    cursor: str | None = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> dict[str, Any]:
    """The most recently changed first; pass `next_cursor` to go on."""
    if text:
        limits.searches.take(f"{person.tenant} {person.login}", "searches")
    page = signoff.queries.list_runs(
        person.tenant, status=status, definition=definition, text=text, cursor=cursor, limit=limit, reader=person
    )
    answer: dict[str, Any] = plain(page)
    return answer


@router.get("/runs/{run_id}", summary="Read a run", dependencies=[allowed("read_runs")])
def read(run_id: str, signoff: Face, person: Caller) -> dict[str, Any]:
    """State, explanation, outputs, and what the caller may do now."""
    return _shown(signoff.queries.get_run(person.tenant, run_id, reader=person))


def _shown(view: RunView) -> dict[str, Any]:
    return {
        **plain(view.row),
        "digest": view.digest,
        "parent": {"run_id": view.state.parent, "step": view.state.parent_step} if view.state.parent else None,
        "input": dict(view.state.input),
        "outputs": plain(dict(view.state.outputs)),
        "edges": dict(view.state.edges),
        "explanation": plain(view.explanation),
    }


@router.get("/runs/{run_id}/events", summary="Read the history", dependencies=[allowed("read_runs")])
def events(
    run_id: str,
    signoff: Face,
    person: Caller,
    after: Annotated[int, Query(ge=0)] = 0,
    limit: Annotated[int, Query(ge=1, le=2000)] = 500,
) -> list[dict[str, Any]]:
    """Facts in order, from the sequence after `after`."""
    signoff.queries.get_run(person.tenant, run_id, reader=person)
    return [plain(e) for e in signoff.queries.list_events(person.tenant, run_id, after=after, limit=limit)]


@router.get("/runs/{run_id}/attempts", summary="Read the attempts", dependencies=[allowed("read_runs")])
def attempts(run_id: str, signoff: Face, person: Caller) -> list[dict[str, Any]]:
    """Attempts of activities, oldest first."""
    signoff.queries.get_run(person.tenant, run_id, reader=person)
    return [plain(a) for a in signoff.queries.list_attempts(person.tenant, run_id)]


def _operate(
    name: str, run_id: str, body: Operate, signoff: Face, person: Person, key: str, **extra: Any
) -> dict[str, Any]:
    return signoff.operate(
        name,
        actor_of(person),
        person.tenant,
        run_id,
        reason=body.reason,
        seen_sequence=body.seen_sequence,
        idempotency_key=key,
        **extra,
    )


@router.post("/runs/{run_id}/pause", summary="Pause")
def pause(run_id: str, body: Operate, signoff: Face, person: Caller, key: Key = "") -> dict[str, Any]:
    """Stops claims and clocks."""
    return _operate("pause_run", run_id, body, signoff, person, key)


@router.post("/runs/{run_id}/resume", summary="Resume")
def resume(run_id: str, body: Operate, signoff: Face, person: Caller, key: Key = "") -> dict[str, Any]:
    """Claims and clocks go on."""
    return _operate("resume_run", run_id, body, signoff, person, key)


@router.post("/runs/{run_id}/cancel", summary="Cancel")
def cancel(run_id: str, body: Cancel, signoff: Face, person: Caller, key: Key = "") -> dict[str, Any]:
    """Stops what has not started, awaits what is under way, and undoes what was done where `compensate` says so."""
    return _operate("cancel_run", run_id, body, signoff, person, key, compensate=body.compensate)


@router.post("/runs/{run_id}/terminate", summary="Terminate")
def terminate(run_id: str, body: Operate, signoff: Face, person: Caller, key: Key = "") -> dict[str, Any]:
    """Ends at once."""
    return _operate("terminate_run", run_id, body, signoff, person, key)


@router.post("/runs/{run_id}/retry", summary="Retry a step")
def retry(run_id: str, body: Retry, signoff: Face, person: Caller, key: Key = "") -> dict[str, Any]:
    """A new generation of a failed or expired step."""
    extra = {"step": body.step, "new_effect": body.new_effect}
    return _operate("retry_step", run_id, body, signoff, person, key, **extra)


@router.get("/dead-letters", summary="List dead letters", dependencies=[allowed("read_dead_letters")])
def dead_letters(
    signoff: Face,
    person: Caller,
    definition: str = "",
    cursor: str | None = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> dict[str, Any]:
    """Work that failed for good and waits for an operator, the newest first."""
    answer: dict[str, Any] = plain(
        signoff.queries.list_dead_letters(person.tenant, definition=definition, cursor=cursor, limit=limit)
    )
    return answer


@router.post("/runs/{run_id}/replay-dead-letter", summary="Replay a dead letter")
def replay_dead_letter(run_id: str, body: Replay, signoff: Face, person: Caller, key: Key = "") -> dict[str, Any]:
    """A new generation of work that failed for good, with the same idempotency key."""
    return _operate("replay_dead_letter", run_id, body, signoff, person, key, step=body.step)


@router.post("/runs/{run_id}/skip", summary="Skip a step")
def skip(run_id: str, body: Skip, signoff: Face, person: Caller, key: Key = "") -> dict[str, Any]:
    """Goes past a step, with a reason and maybe a substitute output."""
    return _operate("skip_step", run_id, body, signoff, person, key, step=body.step, output=body.output)


@router.post("/runs/{run_id}/resolve-outcome", summary="Say whether a lost call happened")
def resolve_outcome(run_id: str, body: Resolve, signoff: Face, person: Caller, key: Key = "") -> dict[str, Any]:
    """It happened: the step succeeds with the output. It did not: called again with the same idempotency key."""
    if not body.happened:
        return _operate("deny_effect", run_id, body, signoff, person, key, step=body.step)
    return _operate("confirm_effect", run_id, body, signoff, person, key, step=body.step, output=body.output)


@router.post("/runs/{run_id}/complete", summary="Complete an activity by hand")
def complete(run_id: str, body: Complete, signoff: Face, person: Caller, key: Key = "") -> dict[str, Any]:
    """Somebody did it: the step succeeds with the output, and the history says by whom."""
    return _operate("complete_step", run_id, body, signoff, person, key, step=body.step, output=body.output)


@router.post("/runs/{run_id}/reassign", summary="Ask other people")
def reassign(run_id: str, body: Reassign, signoff: Face, person: Caller, key: Key = "") -> dict[str, Any]:
    """Adds people to an open approval or form and takes others off; votes so far count on."""
    extra = {"step": body.step, "add": body.add, "remove": body.remove}
    return _operate("reassign_step", run_id, body, signoff, person, key, **extra)


@router.post("/runs/{run_id}/edit-input", summary="Mend the input")
def edit_input(run_id: str, body: EditInput, signoff: Face, person: Caller, key: Key = "") -> dict[str, Any]:
    """Replaces the run's input; then retry the step that needs it."""
    return _operate("edit_input", run_id, body, signoff, person, key, input=body.input)
