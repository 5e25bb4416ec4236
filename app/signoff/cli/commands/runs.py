"""`signoff run …`, and what waits for a person."""

from __future__ import annotations

import json
from typing import Annotated, Any

import typer

from signoff.cli.context import DEFAULT_DATA, TENANT, As, Data, Files, Json, actor, connected, read_json, with_files
from signoff.cli.output import explains_errors, print_json, print_table, say
from signoff.engine.views import InboxItem

app = typer.Typer(no_args_is_help=True, help="Start, watch and mend runs.")
RunId = Annotated[str, typer.Argument(help="Id of the run, r-….")]
Step = Annotated[str, typer.Argument(help="Id of the step.")]
Reason = Annotated[str, typer.Option("--reason", help="Why; it goes into the audit trail.")]


@app.command()
@explains_errors
def start(
    definition: Annotated[str, typer.Argument(help="Name of a published definition.")],
    input: Annotated[str, typer.Option("--input", help="JSON object, @FILE or - for standard input.")] = "{}",
    business_key: Annotated[str, typer.Option("--business-key", help="Your own reference.")] = "",
    key: Annotated[str, typer.Option("--key", help="Idempotency key: the same key starts one run.")] = "",
    version: Annotated[int | None, typer.Option("--version", help="Version; the newest by default.")] = None,
    file: Files = None,
    login: As = "",
    data: Data = DEFAULT_DATA,
    as_json: Json = False,
) -> None:
    """Start a run."""
    who = actor(login)
    with connected(data) as signoff:
        answer = signoff.start_run(
            who,
            TENANT,
            definition,
            with_files(signoff, who, read_json(input, "The input"), file),
            version=version,
            business_key=business_key,
            idempotency_key=key,
        )
    if as_json:
        print_json(answer)
    else:
        say(f"{answer['run_id']}" + ("" if answer["created"] else " (it had been started before)"))


@app.command("list")
@explains_errors
def list_runs(
    status: Annotated[str, typer.Option("--status")] = "",
    definition: Annotated[str, typer.Option("--definition")] = "",
    text: Annotated[str, typer.Option("--text", help="Part of an id, business key or login.")] = "",
    limit: Annotated[int, typer.Option("--limit", min=1, max=200)] = 50,
    data: Data = DEFAULT_DATA,
    as_json: Json = False,
) -> None:
    """List runs, the most recently changed first."""
    with connected(data) as signoff:
        page = signoff.queries.list_runs(TENANT, status=status, definition=definition, text=text, limit=limit)
    if as_json:
        print_json(page)
    else:
        rows = [
            (r.run_id, r.title, r.version, r.status, r.business_key, r.started_by, r.changed_at) for r in page.items
        ]
        columns = ("run", "definition", "version", "status", "key", "started by", "changed (UTC)")
        print_table(columns, rows, "There are no such runs.")


@app.command()
@explains_errors
def show(run_id: RunId, data: Data = DEFAULT_DATA, as_json: Json = False) -> None:
    """Explain a run: state, reason, what next, what can be done."""
    with connected(data) as signoff:
        view = signoff.queries.get_run(TENANT, run_id)
    if as_json:
        print_json({"run": view.row, "digest": view.digest, "explanation": view.explanation})
        return
    say(f"{view.row.title} version {view.row.version}, {view.row.status}")
    if view.state.parent:
        say(f"Started by step '{view.state.parent_step}' of the run {view.state.parent}.")
    say(view.explanation.sentence)
    if view.explanation.next:
        say(view.explanation.next)
    rows = [(s.step, s.label, s.status, s.sentence, ", ".join(s.actions)) for s in view.explanation.steps]
    print_table(("step", "label", "status", "explanation", "can be done"), rows, "It has no steps.")


@app.command()
@explains_errors
def history(run_id: RunId, data: Data = DEFAULT_DATA, as_json: Json = False) -> None:
    """Every fact of a run, in order."""
    with connected(data) as signoff:
        signoff.queries.get_run(TENANT, run_id)
        events = signoff.queries.list_events(TENANT, run_id, limit=2000)
    if as_json:
        print_json(events)
    else:
        rows = [(e.sequence, e.at, e.type, e.sentence) for e in events]
        print_table(("#", "at (UTC)", "event", "what happened"), rows, "Nothing happened yet.")


def operate(name: str, run_id: str, login: str, data: Any, reason: str, **args: Any) -> None:
    """Send an operator's command and say where the run is then."""
    with connected(data) as signoff:
        answer = signoff.operate(name, actor(login), TENANT, run_id, reason=reason, **args)
        say(signoff.queries.get_run(TENANT, answer["run_id"]).explanation.sentence)


@app.command()
@explains_errors
def pause(run_id: RunId, reason: Reason = "", login: As = "", data: Data = DEFAULT_DATA) -> None:
    """Stop claims and clocks."""
    operate("pause_run", run_id, login, data, reason)


@app.command()
@explains_errors
def resume(run_id: RunId, reason: Reason = "", login: As = "", data: Data = DEFAULT_DATA) -> None:
    """Let claims and clocks go on."""
    operate("resume_run", run_id, login, data, reason)


@app.command()
@explains_errors
def cancel(
    run_id: RunId,
    reason: Reason = "",
    compensate: Annotated[bool, typer.Option(help="Undo completed steps, the last one first.")] = False,
    login: As = "",
    data: Data = DEFAULT_DATA,
) -> None:
    """Stop what has not started, await what is under way."""
    operate("cancel_run", run_id, login, data, reason, compensate=compensate)


@app.command()
@explains_errors
def terminate(run_id: RunId, reason: Reason = "", login: As = "", data: Data = DEFAULT_DATA) -> None:
    """End at once."""
    operate("terminate_run", run_id, login, data, reason)


@app.command()
@explains_errors
def retry(
    run_id: RunId,
    step: Step,
    reason: Reason = "",
    new_effect: Annotated[bool, typer.Option("--new-effect", help="Use a new idempotency key.")] = False,
    login: As = "",
    data: Data = DEFAULT_DATA,
) -> None:
    """Try a failed or expired step again."""
    operate("retry_step", run_id, login, data, reason, step=step, new_effect=new_effect)


@app.command()
@explains_errors
def skip(
    run_id: RunId,
    step: Step,
    reason: Reason = "",
    output: Annotated[str, typer.Option("--output", help="Substitute output as JSON.")] = "",
    login: As = "",
    data: Data = DEFAULT_DATA,
) -> None:
    """Go past a step, with a substitute output if it needs one."""
    substitute = read_json(output, "The substitute output") if output else None
    operate("skip_step", run_id, login, data, reason, step=step, output=substitute)


@app.command()
@explains_errors
def resolve(
    run_id: RunId,
    step: Step,
    happened: Annotated[bool, typer.Option("--happened/--did-not-happen", help="Whether the call took effect.")],
    reason: Reason = "",
    output: Annotated[str, typer.Option("--output", help="What the call gave, as JSON, where it happened.")] = "",
    login: As = "",
    data: Data = DEFAULT_DATA,
) -> None:
    """Say what became of a call whose outcome is unknown."""
    if not happened:
        operate("deny_effect", run_id, login, data, reason, step=step)
        return
    given = read_json(output, "The output") if output else None
    operate("confirm_effect", run_id, login, data, reason, step=step, output=given)


@app.command()
@explains_errors
def complete(
    run_id: RunId,
    step: Step,
    reason: Reason = "",
    output: Annotated[str, typer.Option("--output", help="What came of it, as JSON.")] = "",
    login: As = "",
    data: Data = DEFAULT_DATA,
) -> None:
    """Say that an activity was done by hand; it counts as succeeded, and the history says by whom."""
    given = read_json(output, "The output") if output else None
    operate("complete_step", run_id, login, data, reason, step=step, output=given)


@app.command()
@explains_errors
def reassign(
    run_id: RunId,
    step: Step,
    add: Annotated[list[str] | None, typer.Option("--add", help="Login to ask as well; may be repeated.")] = None,
    remove: Annotated[list[str] | None, typer.Option("--remove", help="Login to ask no more; may be repeated.")] = None,
    reason: Reason = "",
    login: As = "",
    data: Data = DEFAULT_DATA,
) -> None:
    """Ask other people at an open approval or form; votes so far count on."""
    operate("reassign_step", run_id, login, data, reason, step=step, add=add or [], remove=remove or [])


@app.command("edit-input")
@explains_errors
def edit_input(
    run_id: RunId,
    input: Annotated[str, typer.Option("--input", help="The whole new input as JSON.")],
    reason: Reason = "",
    login: As = "",
    data: Data = DEFAULT_DATA,
) -> None:
    """Mend a run's input; then retry the step that needs it."""
    operate("edit_input", run_id, login, data, reason, input=read_json(input, "The input"))


def _note(item: InboxItem) -> str:
    return item.why_not or (f"for {item.on_behalf_of_name}, who is absent" if item.on_behalf_of else "")


@explains_errors
def inbox(login: As = "", data: Data = DEFAULT_DATA, as_json: Json = False) -> None:
    """List the approvals and forms that wait for a person."""
    with connected(data) as signoff:
        page = signoff.queries.list_inbox(TENANT, actor(login).id)
    if as_json:
        print_json(page)
    else:
        rows = [
            (i.run_id, i.step, i.kind, i.label, json.dumps(i.shown, ensure_ascii=False), i.started_by, _note(i))
            for i in page.items
        ]
        print_table(("run", "step", "kind", "label", "shown", "asked by", "note"), rows, "Nothing waits for you.")
