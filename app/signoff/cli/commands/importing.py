"""`signoff definition import`: a model of another system as a draft."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from signoff.cli.context import DEFAULT_DATA, TENANT, As, Data, Json, actor, connected
from signoff.cli.output import explains_errors, print_json, say
from signoff.errors import InvalidInput
from signoff.interchange.formats import TRANSLATORS, translate
from signoff.interchange.translated import MAX_CHARS, Translated


@explains_errors
def import_model(
    file: Annotated[Path, typer.Argument(help="BPMN 2.0, Step Functions, Conductor or Kestra.")],
    format: Annotated[str, typer.Option("--format", help=f"{', '.join(TRANSLATORS)}; seen from the text.")] = "",
    name: Annotated[str, typer.Option("--name", help="Name of the definition; the model's own by default.")] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the definition, save nothing.")] = False,
    login: As = "",
    data: Data = DEFAULT_DATA,
    as_json: Json = False,
) -> None:
    """Translate a model of another system and save it as a draft; what cannot be expressed is refused by name."""
    if format and format not in TRANSLATORS:
        raise InvalidInput(f"The format '{format[:40]}' is not known.", remedy=f"Use {', '.join(TRANSLATORS)}.")
    made = translate(_read(file), format=format, name=name)
    if as_json:
        print_json({"document": made.document, "refusals": made.refusals, "notes": made.notes, "origin": made.origin})
    else:
        _tell(made, dry_run)
    if made.document is None:
        raise typer.Exit(1)
    if dry_run:
        return
    with connected(data) as signoff:
        answer = signoff.create_draft(actor(login), TENANT, made.document, {})
    if not as_json:
        say(f"Saved '{made.document['name']}' as revision {answer['revision']}. Read the notes, then publish it.")


def _read(file: Path) -> str:
    try:
        if file.stat().st_size > 4 * MAX_CHARS:
            raise InvalidInput(f"'{file}' is too large.", remedy="Import one model at a time.")
        return file.read_text("utf-8")
    except (OSError, UnicodeError) as error:
        raise InvalidInput(f"'{file}' cannot be read: {error}.", remedy="Check the file.") from None


def _tell(made: Translated, dry_run: bool) -> None:
    for refusal in made.refusals:
        say(f"refused: {refusal.sentence}")
    for note in made.notes:
        say(f"note: {note}")
    if made.document is not None and dry_run:
        print_json(made.document)
