"""`signoff audit …`: evidence out of the system, its check without the system, erasure, keys."""

from __future__ import annotations

import inspect
import os
import sys
import threading
import time
from pathlib import Path
from typing import Annotated

import typer

from signoff.cli.commands import retention
from signoff.cli.context import DEFAULT_DATA, TENANT, As, Data, Json, actor, connected, load_settings
from signoff.cli.output import explains_errors, print_json, print_table, say
from signoff.engine.key_queries import keys_document
from signoff.errors import InvalidInput
from signoff.interchange import verifier as offline
from signoff.interchange.audit_csv import all_runs, audit_csv
from signoff.interchange.evidence_page import evidence_page
from signoff.wiring import open_signer

app = typer.Typer(no_args_is_help=True, help="Export evidence, check it, erase content, and look after the keys.")
app.add_typer(retention.app, name="retention")
WAIT_S = 60.0
LOOK_S = 0.1
Run = Annotated[str, typer.Argument(help="Id of the run, r-….")]
Reason = Annotated[str, typer.Option("--reason", help="Why; it is kept.")]


@app.command()
@explains_errors
def export(
    run_id: Annotated[str, typer.Argument(help="Id of the run, r-…; none with --all.")] = "",
    everything: Annotated[bool, typer.Option("--all", help="Everything there is.")] = False,
    out: Annotated[Path | None, typer.Option("--out", help="The file to write; standard output where none is.")] = None,
    page: Annotated[bool, typer.Option("--html", help="One run as a page for people instead of a bundle.")] = False,
    login: As = "",
    data: Data = DEFAULT_DATA,
) -> None:
    """Write the evidence of a run, or of all, so that it can be checked without Signoff. Who does so is recorded."""
    if bool(run_id) == everything or (page and everything):
        raise InvalidInput("Expected one run, or --all.", remedy="Name a run; a page (--html) is always of one run.")
    with connected(data) as signoff:
        kind = "page" if page else "bundle"
        told = signoff.do("export_audit", actor(login), TENANT, run_id=run_id, format=kind)
        lines = signoff.queries.evidence.bundle(TENANT, run_id, by=told["by"], at=told["at"])
        if page:
            lines = iter([evidence_page(signoff.queries, TENANT, run_id, list(lines))])
        if out is None:
            sys.stdout.writelines(lines)
            return
        with os.fdopen(os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.writelines(lines)
    say(f"{out} written.")


@app.command("csv")
@explains_errors
def as_csv(
    run_id: Annotated[str, typer.Argument(help="Id of the run, r-…; none with --all.")] = "",
    everything: Annotated[bool, typer.Option("--all", help="All runs.")] = False,
    out: Annotated[Path | None, typer.Option("--out", help="The file to write; standard output where none is.")] = None,
    login: As = "",
    data: Data = DEFAULT_DATA,
) -> None:
    """Write histories for spreadsheets: a row for each event, no cell a formula. Who does so is recorded."""
    if bool(run_id) == everything:
        raise InvalidInput("Expected one run, or --all.", remedy="Name a run.")
    with connected(data) as signoff:
        signoff.do("export_audit", actor(login), TENANT, run_id=run_id, format="csv")
        runs = all_runs(signoff.queries, TENANT) if everything else iter([run_id])
        lines = (line.encode() for line in audit_csv(signoff.queries, TENANT, runs))
        if out is None:
            sys.stdout.buffer.writelines(lines)
            return
        with os.fdopen(os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.writelines(lines)
    say(f"{out} written.")


@app.command()
def verify(
    bundle: Annotated[Path, typer.Argument(help="What `signoff audit export` wrote.")],
    key: Annotated[str, typer.Option("--key", help="The public key that you trust.")] = "",
    checkpoints: Annotated[Path | None, typer.Option("--checkpoints", help="Your own copy of the checkpoints.")] = None,
) -> None:
    """Check a bundle with nothing but itself, a public key and checkpoints; the status tells the kind of finding."""
    more = (["--key", key] if key else []) + (["--checkpoints", str(checkpoints)] if checkpoints else [])
    raise typer.Exit(offline.main([str(bundle), *more]))


@app.command("verifier")
def print_verifier() -> None:
    """Print the program that checks bundles: one Python file that needs nothing else."""
    sys.stdout.write(inspect.getsource(offline))


@app.command("key")
@explains_errors
def show_key(data: Data = DEFAULT_DATA, as_json: Json = False) -> None:
    """Show the public keys that sign checkpoints; give them to your auditor on another way than the bundle."""
    settings = load_settings(data)
    keys = open_signer(settings).public_keys()
    if as_json:
        print_json({"keys": keys, "checkpoints": settings.checkpoint_folder})
        return
    for each in keys:
        say(each)


@app.command("rotate-keys")
@explains_errors
def rotate(
    signing: Annotated[bool, typer.Option("--signing", help="The key that signs checkpoints.")] = False,
    reason: Reason = "",
    login: As = "",
    data: Data = DEFAULT_DATA,
) -> None:
    """Make new keys: the tenant's key, with which every run's secret is wrapped anew, or the signing key."""
    what = "signing" if signing else "tenant"
    with connected(data) as signoff:
        signoff.do("rotate_keys", actor(login), TENANT, what=what, reason=reason)
        until = time.monotonic() + WAIT_S
        while what in signoff.queries.keys.under_way(TENANT):
            if time.monotonic() > until:
                say("It goes on in the background; `signoff audit keys` tells when it is done.")
                return
            threading.Event().wait(LOOK_S)
        found = [k for k in signoff.queries.keys.listed(TENANT) if k.what == what]
    say(f"{found[0].id} is the key now; {sum(k.state == 'retired' for k in found)} old keys were destroyed so far.")


@app.command("keys")
@explains_errors
def show_keys(data: Data = DEFAULT_DATA, as_json: Json = False) -> None:
    """List the keys with their state, age and use; what they are stays in the key file."""
    with connected(data) as signoff:
        told, found = keys_document(signoff.queries.keys, TENANT), signoff.queries.keys.listed(TENANT)
    if as_json:
        print_json(told)
        return
    rows = [(k.what, k.id, k.state, k.made_at, k.age_days, k.used_by) for k in found]
    print_table(("kind", "key", "state", "made (UTC)", "days", "wraps"), rows, "There are no keys.")
    for what in told["under_way"]:
        say(f"The {what} key is being replaced.")


@app.command()
@explains_errors
def erase(run_id: Run, reason: Reason = "", login: As = "", data: Data = DEFAULT_DATA, as_json: Json = False) -> None:
    """Erase the content of an ended run for ever; what happened when stays proved."""
    with connected(data) as signoff:
        done = signoff.do("erase_run", actor(login), TENANT, run_id=run_id, reason=reason)
    if as_json:
        print_json(done)
    else:
        say(f"The content of {', '.join(done['erased'])} is erased.")


@app.command()
@explains_errors
def hold(
    run_id: Run,
    reason: Reason = "",
    end: Annotated[bool, typer.Option("--end", help="End the hold.")] = False,
    login: As = "",
    data: Data = DEFAULT_DATA,
) -> None:
    """Put a legal hold on a run: its content cannot be erased until the hold is ended."""
    with connected(data) as signoff:
        signoff.do("hold_run", actor(login), TENANT, run_id=run_id, reason=reason, hold=not end)
    say(f"{run_id} is {'no longer ' if end else ''}on hold.")
