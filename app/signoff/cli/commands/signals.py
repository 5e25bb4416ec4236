"""`signoff signal …`: messages from outside for steps that wait for one."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from signoff.cli.context import DEFAULT_DATA, TENANT, As, Data, Json, actor, connected, read_json
from signoff.cli.output import explains_errors, print_json, print_table, say

app = typer.Typer(no_args_is_help=True, help="Send messages to steps that wait for one, and look at those kept.")
Name = Annotated[str, typer.Argument(help="Name of the signal.")]
Key = Annotated[str, typer.Option("--key", help="Which message of that name: the business key or id of the run.")]
Id = Annotated[str, typer.Option("--id", help="Your own id of the message: the same id is used once.")]


@app.command()
@explains_errors
def send(
    name: Name,
    key: Key,
    payload: Annotated[str, typer.Option("--payload", help="JSON object, @FILE or - for standard input.")] = "{}",
    id: Id = "",
    keep: Annotated[str, typer.Option("--keep", help="How long it is kept if no step waits, such as P30D.")] = "",
    login: As = "",
    data: Data = DEFAULT_DATA,
    as_json: Json = False,
) -> None:
    """Send a message: a waiting step uses it at once, else it is kept."""
    values = read_json(payload, "The payload")
    with connected(data) as signoff:
        answer = signoff.send_signal(actor(login), TENANT, name, key, values, message_id=id, keep=keep)
    if as_json:
        print_json(answer)
        return
    where = f" by step '{answer['step']}' of {answer['run_id']}" if answer["run_id"] else ""
    say(f"{answer['id']} {answer['status']}{where}" + ("" if answer["created"] else " (it had come before)"))


@app.command("list")
@explains_errors
def list_signals(
    name: Annotated[str, typer.Option("--name")] = "",
    key: Annotated[str, typer.Option("--key")] = "",
    status: Annotated[str, typer.Option("--status", help="kept, used, refused, discarded or expired.")] = "",
    limit: Annotated[int, typer.Option("--limit", min=1, max=200)] = 50,
    data: Data = DEFAULT_DATA,
    as_json: Json = False,
) -> None:
    """List messages, the newest first."""
    with connected(data) as signoff:
        page = signoff.queries.list_signals(TENANT, name=name, key=key, status=status, limit=limit)
    if as_json:
        print_json(page)
        return
    rows = [
        (m.name, m.key, m.message_id, m.status, json.dumps(m.payload, ensure_ascii=False), m.sender, m.received_at,
         f"{m.run_id} {m.step}".strip(), m.note)
        for m in page.items
    ]  # fmt: skip
    columns = ("signal", "key", "id", "status", "payload", "sender", "received (UTC)", "used by", "note")
    print_table(columns, rows, "There are no such messages.")


@app.command()
@explains_errors
def discard(
    name: Name,
    key: Key,
    id: Id,
    reason: Annotated[str, typer.Option("--reason", help="Why; it goes into the audit trail.")] = "",
    login: As = "",
    data: Data = DEFAULT_DATA,
) -> None:
    """Take a kept message away, so that no step uses it."""
    with connected(data) as signoff:
        signoff.do("discard_signal", actor(login), TENANT, name=name, key=key, id=id, reason=reason)
    say(f"{id} discarded")
