"""What people answer in their inbox: approve, reject, return, withdraw, submit; files are given by their paths."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from signoff.cli.commands.runs import RunId, Step
from signoff.cli.context import DEFAULT_DATA, TENANT, As, Data, Files, Json, actor, connected, read_json, with_files
from signoff.cli.output import explains_errors, print_json, print_table, say
from signoff.core.states import Actor
from signoff.engine.client import Signoff
from signoff.engine.views import InboxItem
from signoff.errors import NotFound


def _decide(
    outcome: str,
    run_id: str,
    step: str,
    comment: str,
    login: str,
    data: Any,
    to: str = "",
    values: str = "",
    files: Sequence[str] | None = None,
) -> None:
    who = actor(login)
    with connected(data) as signoff:
        task = signoff.queries.find_task(TENANT, who.id, run_id, step)
        if task and task.kind == "form" and outcome == "returned":
            signoff.return_form(
                who,
                TENANT,
                run_id,
                step,
                comment,
                generation=task.generation,
                shown_digest=task.shown_digest,
                to=to,
                on_behalf_of=task.on_behalf_of,
            )
            say(signoff.queries.get_run(TENANT, run_id).explanation.sentence)
            return
        signoff.decide(
            who,
            TENANT,
            run_id,
            step,
            outcome,
            generation=task.generation if task else 1,
            comment=comment,
            shown_digest=task.shown_digest if task else "",
            to=to,
            values=_filled_in(signoff, who, values, files),
            on_behalf_of=task.on_behalf_of if task else "",
            password=typer.prompt("Your password", hide_input=True) if task and task.reauthenticate else "",
        )
        say(signoff.queries.get_run(TENANT, run_id).explanation.sentence)


def _filled_in(signoff: Signoff, who: Actor, values: str, files: Sequence[str] | None) -> dict[str, Any] | None:
    if not values and not files:
        return None
    return with_files(signoff, who, read_json(values, "The values") if values else {}, files)


Comment = Annotated[str, typer.Option("--comment", help="Comment for the record.")]


Values = Annotated[
    str, typer.Option("--values", help="Of the fields that the approval asks for: JSON object, @FILE or -.")
]


@explains_errors
def approve(
    run_id: RunId,
    step: Step,
    comment: Comment = "",
    values: Values = "",
    file: Files = None,
    login: As = "",
    data: Data = DEFAULT_DATA,
) -> None:
    """Approve an approval step."""
    _decide("approved", run_id, step, comment, login, data, values=values, files=file)


@explains_errors
def reject(
    run_id: RunId,
    step: Step,
    comment: Comment = "",
    values: Values = "",
    file: Files = None,
    login: As = "",
    data: Data = DEFAULT_DATA,
) -> None:
    """Reject an approval step."""
    _decide("rejected", run_id, step, comment, login, data, values=values, files=file)


@explains_errors
def withdraw(run_id: RunId, step: Step, comment: Comment = "", login: As = "", data: Data = DEFAULT_DATA) -> None:
    """Take your own vote back while the approval is open."""
    who = actor(login)
    with connected(data) as signoff:
        task = signoff.queries.find_task(TENANT, who.id, run_id, step)
        signoff.withdraw_vote(who, TENANT, run_id, step, generation=task.generation if task else 1, comment=comment)
        say(signoff.queries.get_run(TENANT, run_id).explanation.sentence)


@explains_errors
def send_back(
    run_id: RunId,
    step: Step,
    to: Annotated[str, typer.Option("--to", help="Step to return to, where there are several.")] = "",
    comment: Comment = "",
    login: As = "",
    data: Data = DEFAULT_DATA,
) -> None:
    """Send the work back from an approval or a form to an earlier step, for another round."""
    _decide("returned", run_id, step, comment, login, data, to)


@explains_errors
def submit(
    run_id: RunId,
    step: Step,
    values: Annotated[str, typer.Option("--values", help="JSON object, @FILE or - for standard input.")] = "",
    file: Files = None,
    login: As = "",
    data: Data = DEFAULT_DATA,
    as_json: Json = False,
) -> None:
    """Fill in a form; without --values or --file it shows the fields and what is offered for them."""
    who = actor(login)
    with connected(data) as signoff:
        task = signoff.queries.find_task(TENANT, who.id, run_id, step)
        if not values and not file:
            _show_form(task, as_json)
            return
        signoff.submit_form(
            who,
            TENANT,
            run_id,
            step,
            _filled_in(signoff, who, values, file) or {},
            generation=task.generation if task else 1,
            shown_digest=task.shown_digest if task else "",
            on_behalf_of=task.on_behalf_of if task else "",
        )
        say(signoff.queries.get_run(TENANT, run_id).explanation.sentence)


def _show_form(task: InboxItem | None, as_json: bool) -> None:
    if task is None or task.kind != "form":
        raise NotFound("There is no such form for you.", remedy="Look into your inbox.")
    if as_json:
        print_json(task)
        return
    say(f"{task.label}: {task.instructions}" if task.instructions else task.label)
    rows = [
        (f.name, f.label, f.type, "yes" if f.required else "no", ", ".join(f.options), task.prefill.get(f.name, ""))
        for f in task.fields
    ]
    print_table(("field", "label", "type", "required", "options", "offered"), rows, "It has no fields.")
