"""`signoff verify` and `signoff run replay`: proofs over a database file, with or without a running engine."""

from __future__ import annotations

from typing import Annotated

import typer

from signoff.cli.context import DEFAULT_DATA, Data, Json, load_settings
from signoff.cli.output import explains_errors, print_json, say
from signoff.wiring import open_verifier


@explains_errors
def verify(
    most: Annotated[int, typer.Option("--most", min=1, help="Stop after so many findings.")] = 1000,
    data: Data = DEFAULT_DATA,
    as_json: Json = False,
) -> None:
    """Check a whole database against its own events; status 1 where anything is not as it must be."""
    found = []
    with open_verifier(load_settings(data)) as verifier:
        for finding in verifier.findings():
            found.append(finding)
            if not as_json:
                where = " ".join(x for x in (finding.run_id, f"#{finding.sequence}" if finding.sequence else "") if x)
                say(f"{finding.code}: {where + ': ' if where else ''}{finding.message}")
            if len(found) >= most:
                break
        counted = f"{verifier.runs} runs with {verifier.events} events"
        result = {"runs": verifier.runs, "events": verifier.events, "findings": found}
    if as_json:
        print_json(result)
    else:
        say(f"{counted}: {'everything is as it must be' if not found else f'{len(found)} findings'}.")
    if found:
        raise typer.Exit(1)


@explains_errors
def replay(
    run_id: Annotated[str, typer.Argument(help="Id of the run, r-….")],
    data: Data = DEFAULT_DATA,
    as_json: Json = False,
) -> None:
    """Prove that a run's snapshot is, byte for byte, what its events say; status 1 where it is not."""
    with open_verifier(load_settings(data)) as verifier:
        done = verifier.replay(run_id)
    good = done.is_equal and not done.findings
    if as_json:
        print_json({"run_id": run_id, "events": done.events, "equal": done.is_equal, "findings": done.findings})
    else:
        for finding in done.findings:
            say(f"{finding.code}: {f'#{finding.sequence}: ' if finding.sequence else ''}{finding.message}")
        words = "equal byte for byte" if done.is_equal else "NOT equal"
        say(f"{done.events} events replayed; the snapshots ({len(done.stored)} bytes of canonical JSON) are {words}.")
    if not good:
        raise typer.Exit(1)
