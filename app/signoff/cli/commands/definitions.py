"""`signoff definition …`: validate, save, publish, list, show."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from signoff.cli.context import DEFAULT_DATA, TENANT, As, Data, Json, actor, connected, read_json
from signoff.cli.output import explains_errors, print_json, print_table, say
from signoff.core.definition import Definition
from signoff.core.diff import Change, compare
from signoff.core.digest import definition_digest
from signoff.core.document import read_document
from signoff.core.script import read_script
from signoff.core.validate import is_publishable, validate
from signoff.core.wording import clock, span
from signoff.engine.trials import try_out
from signoff.engine.typed import schemas_of
from signoff.errors import InvalidInput, NotFound

app = typer.Typer(no_args_is_help=True, help="Definitions: drafts and published versions.")
Name = Annotated[str, typer.Argument(help="Name of the definition.")]
File = Annotated[Path, typer.Argument(help="JSON file with the definition.")]


@app.command("validate")
@explains_errors
def validate_file(file: File, as_json: Json = False) -> None:
    """Say everything that is wrong with a definition in a file; needs no engine."""
    document = read_json(f"@{file}", "The definition")
    definition, problems = read_document(document.get("document", document))
    if definition is not None:
        problems = (*problems, *validate(definition))
    good = definition is not None and is_publishable(problems)
    if as_json:
        digest = definition_digest(definition) if definition is not None and good else None
        print_json({"valid": good, "digest": digest, "problems": problems})
    else:
        for problem in problems:
            say(f"{problem.severity}: {problem.sentence}")
        if definition is not None and good:
            say(f"It can be published; its digest is {definition_digest(definition)}.")
    if not good:
        raise typer.Exit(1)


@app.command()
@explains_errors
def trial(
    file: File,
    input: Annotated[str, typer.Option("--input", help="JSON object, @FILE or -; made up where absent.")] = "",
    script: Annotated[str, typer.Option("--script", help="JSON object, @FILE or -: answers, choices, messages.")] = "",
    choose: Annotated[
        list[str] | None, typer.Option("--choose", help="STEP=OUTCOME of an approval or form, e.g. manager=rejected.")
    ] = None,
    fail: Annotated[list[str] | None, typer.Option("--fail", help="STEP=CODE: an activity that fails.")] = None,
    by: Annotated[str, typer.Option("--by", help="Login of the person who starts it.")] = "starter",
    as_json: Json = False,
) -> None:
    """Run a definition from a file in memory: path, times, who would be asked. Needs no engine, calls nothing."""
    definition = _read_file(file)
    problems = validate(definition)
    if not is_publishable(problems):
        wrong = " ".join(p.sentence for p in problems if p.severity == "error")
        raise InvalidInput(f"The definition has problems; nothing was tried. {wrong}", remedy="Mend them first.")
    data = read_json(script, "The script") if script else {}
    for name, given in (("choices", choose), ("answers", fail)):
        for step, sep, word in (x.partition("=") for x in given or ()):
            if not sep or definition.find_step(step) is None:
                raise InvalidInput(f"'{step}{sep}{word}' names no step.", remedy="Write STEP=WORD with a step's id.")
            entry = {"outcome": word} if name == "choices" else {"error": word, "retryable": False}
            data = {**data, name: {**data.get(name, {}), step: [entry]}}
    values = read_json(input, "The input") if input else None
    done = try_out(definition, values, by=by, script=read_script(data))
    if as_json:
        print_json(done)
    else:
        rows = [(span(s.at_s), s.label, s.how) for s in done.path]
        print_table(("after", "step", "how it ended"), rows, "No step began.")
        for asked in done.asked:
            until = f" until {clock(asked.due)}" if asked.due else ""
            say(f"'{asked.label}' was put before {', '.join(asked.people)}{until}.")
        say(f"The run is {done.status} after {span(done.took_s)}. {done.stopped}".strip())
    if done.status == "refused":
        raise typer.Exit(1)


@app.command("list")
@explains_errors
def list_definitions(data: Data = DEFAULT_DATA, as_json: Json = False) -> None:
    """List all definitions."""
    with connected(data) as signoff:
        found = signoff.queries.list_definitions(TENANT)
    if as_json:
        print_json(found)
    else:
        rows = [(d.name, d.title, d.draft_revision, d.latest_version, d.latest_digest[:19], d.open_runs) for d in found]
        columns = ("name", "title", "draft revision", "newest version", "digest", "open runs")
        print_table(columns, rows, "There are no definitions.")


@app.command()
@explains_errors
def show(
    name: Name,
    version: Annotated[int | None, typer.Option("--version", help="Published version; the newest by default.")] = None,
    draft: Annotated[bool, typer.Option("--draft", help="Show the draft instead.")] = False,
    data: Data = DEFAULT_DATA,
) -> None:
    """Print a definition as JSON."""
    with connected(data) as signoff:
        found = (
            signoff.queries.find_draft(TENANT, name) if draft else signoff.queries.find_version(TENANT, name, version)
        )
    if found is None:
        raise NotFound(f"There is no such {'draft' if draft else 'version'} of '{name}'.", remedy="Check the name.")
    print_json(found.document)


@app.command()
@explains_errors
def schema(
    name: Name,
    version: Annotated[int | None, typer.Option("--version", help="Published version; the newest by default.")] = None,
    data: Data = DEFAULT_DATA,
) -> None:
    """Print the JSON Schemas of a version's input form and of what its steps give."""
    with connected(data) as signoff:
        found = signoff.queries.find_version(TENANT, name, version)
    if found is None:
        raise NotFound(f"There is no such version of '{name}'.", remedy="Check the name.")
    print_json(schemas_of(found.definition))


@app.command()
@explains_errors
def save(file: File, login: As = "", data: Data = DEFAULT_DATA) -> None:
    """Save a definition from a file as a new draft revision."""
    content = read_json(f"@{file}", "The definition")
    document, layout = content.get("document", content), content.get("layout", {})
    with connected(data) as signoff:
        name = str(document.get("name", ""))
        known = signoff.queries.find_draft(TENANT, name)
        if known is None:
            answer = signoff.create_draft(actor(login), TENANT, document, layout)
        else:
            answer = signoff.save_draft(actor(login), TENANT, name, document, layout or known.layout, known.revision)
    say(f"Saved '{name}' as revision {answer['revision']}.")


@app.command()
@explains_errors
def publish(name: Name, login: As = "", data: Data = DEFAULT_DATA, as_json: Json = False) -> None:
    """Freeze the newest draft revision as the next version."""
    with connected(data) as signoff:
        draft = signoff.queries.find_draft(TENANT, name)
        if draft is None:
            raise NotFound(f"There is no draft '{name}'.", remedy="Save it first.")
        answer = signoff.publish(actor(login), TENANT, name, draft.revision)
    if as_json:
        print_json(answer)
    else:
        new = "is published as" if answer["created"] else "has the same content as"
        say(f"'{name}' {new} version {answer['version']} with digest {answer['digest']}.")


@app.command()
@explains_errors
def diff(
    name: Name,
    old: Annotated[int | None, typer.Option("--old", help="Version; the newest by default.")] = None,
    new: Annotated[int | None, typer.Option("--new", help="Version; the draft by default.")] = None,
    data: Data = DEFAULT_DATA,
    as_json: Json = False,
) -> None:
    """Say what differs between two versions, or what publishing the draft would change."""
    with connected(data) as signoff:
        changes = signoff.queries.compare(TENANT, name, old, new)
    _print_changes(changes, as_json)


@app.command("diff-files")
@explains_errors
def diff_files(
    old: Annotated[Path, typer.Argument(help="JSON file with the older definition.")],
    new: Annotated[Path, typer.Argument(help="JSON file with the newer one.")],
    as_json: Json = False,
) -> None:
    """Say what differs between two definitions in files; needs no engine."""
    changes = compare(_read_file(old), _read_file(new))
    _print_changes(changes, as_json)


def _print_changes(changes: Sequence[Change], as_json: bool) -> None:
    if as_json:
        print_json(changes)
        return
    for change in changes:
        say(change.sentence)
    if not changes:
        say("Nothing differs.")


def _read_file(file: Path) -> Definition:
    document = read_json(f"@{file}", "The definition")
    definition, problems = read_document(document.get("document", document))
    if definition is None or problems:
        why = problems[0].sentence if problems else "it is empty"
        raise InvalidInput(f"'{file}' holds no definition: {why}", remedy="Mend it first.")
    return definition


Why = Annotated[str, typer.Option("--reason", help="Why.")]
One = Annotated[int | None, typer.Option("--version", help="Only this version; the whole definition by default.")]
Number = Annotated[int, typer.Argument(help="Number of the version.")]


@app.command()
@explains_errors
def archive(name: Name, reason: Why = "", version: One = None, login: As = "", data: Data = DEFAULT_DATA) -> None:
    """No new runs of a definition or a version; open runs go on."""
    with connected(data) as signoff:
        answer = signoff.archive(actor(login), TENANT, name, reason, version=version)
    say(f"{_what(name, version)} is archived. {_used(answer)}")


@app.command()
@explains_errors
def unarchive(name: Name, reason: Why = "", version: One = None, login: As = "", data: Data = DEFAULT_DATA) -> None:
    """Take archiving back."""
    with connected(data) as signoff:
        answer = signoff.archive(actor(login), TENANT, name, reason, version=version, archived=False)
    say(f"{_what(name, version)} is not archived. {_used(answer)}")


@app.command()
@explains_errors
def restore(name: Name, version: Number, login: As = "", data: Data = DEFAULT_DATA) -> None:
    """Make a version's content the draft, to be changed or published again."""
    with connected(data) as signoff:
        answer = signoff.restore_draft(actor(login), TENANT, name, version)
    say(f"Version {version} of '{name}' is the draft now, as revision {answer['revision']}.")


@app.command("delete-version")
@explains_errors
def delete_version(name: Name, version: Number, reason: Why = "", login: As = "", data: Data = DEFAULT_DATA) -> None:
    """Delete a version that never ran and is not the newest."""
    with connected(data) as signoff:
        signoff.do("delete_version", actor(login), TENANT, name=name, version=version, reason=reason)
    say(f"Version {version} of '{name}' is deleted.")


def _what(name: str, version: int | None) -> str:
    return f"Version {version} of '{name}'" if version else f"'{name}'"


def _used(answer: dict[str, Any]) -> str:
    used = answer["new_runs_use"]
    return f"New runs use version {used}." if used else "No new runs can start."
