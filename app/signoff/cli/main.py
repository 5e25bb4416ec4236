"""Entry point of the `signoff` command."""

from __future__ import annotations

from typing import Annotated

import typer

from signoff import __version__
from signoff.cli.commands import (
    absences,
    access,
    answering,
    audit,
    bulk,
    definitions,
    doctor,
    importing,
    letters,
    limits,
    migrations,
    moving,
    oidc,
    people,
    runs,
    serve,
    signals,
    verify,
    work,
)
from signoff.cli.demo import command as demo

app = typer.Typer(
    name="signoff",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Durable workflows with human sign-off.",
)
app.command()(serve.up)
app.command()(demo.demo)
app.add_typer(definitions.app, name="definition")
definitions.app.command("import")(importing.import_model)
app.add_typer(runs.app, name="run")
app.add_typer(work.app, name="dead-letter")
app.add_typer(signals.app, name="signal")
app.add_typer(letters.app, name="letters")
app.add_typer(oidc.app, name="oidc")
app.add_typer(people.app, name="person")
app.add_typer(access.app, name="token")
app.add_typer(absences.app, name="absence")
app.command()(access.sessions)
app.add_typer(limits.app, name="limits")
app.add_typer(migrations.app, name="migration")
app.add_typer(audit.app, name="audit")
runs.app.command()(verify.replay)
runs.app.command()(bulk.bulk)
runs.app.command()(bulk.migrate)
app.command()(runs.inbox)
app.command()(answering.approve)
app.command()(answering.reject)
app.command("return")(answering.send_back)
app.command()(answering.withdraw)
app.command()(answering.submit)
app.command()(doctor.doctor)
app.command()(moving.migrate_store)
app.command()(verify.verify)
app.add_typer(serve.process_app, name="process")


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"signoff {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Durable workflows with human sign-off."""


def main() -> None:
    """Run the command line."""
    app()


if __name__ == "__main__":
    main()
