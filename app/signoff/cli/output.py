"""How the command line speaks: tables for people, JSON for programs, one sentence for an error."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import wraps
from typing import Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from signoff.api.plain import plain
from signoff.errors import InvalidInput, SignoffError

console = Console(highlight=False, width=None if sys.stdout.isatty() else 180)
problems_to = Console(stderr=True, highlight=False)


def print_json(value: Any) -> None:
    """One JSON document on standard output."""
    sys.stdout.write(json.dumps(plain(value), indent=2, ensure_ascii=False) + "\n")


def print_table(columns: Sequence[str], rows: Iterable[Sequence[Any]], empty: str) -> None:
    """A table; cells are shown as they are, never as markup."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    for number, column in enumerate(columns):
        table.add_column(column, no_wrap=number == 0, overflow="fold")
    count = 0
    for row in rows:
        table.add_row(*(Text(_cell(c)) for c in row))
        count += 1
    if count:
        console.print(table)
    else:
        console.print(Text(empty), soft_wrap=True)


def say(text: str) -> None:
    """One line for people."""
    console.print(Text(text), soft_wrap=True)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:%Y-%m-%d %H:%M:%S}" if isinstance(value, datetime) else str(value)


def explains_errors[**P, R](command: Callable[P, R]) -> Callable[P, R]:
    """Show a SignoffError as its sentence and end with status 1 instead of a traceback."""

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return command(*args, **kwargs)
        except InvalidInput as error:
            problems_to.print(Text(error.message), soft_wrap=True)
            for problem in error.problems if error.code == "not_valid" else ():
                sentence = problem.get("message") if isinstance(problem, dict) else str(problem)
                problems_to.print(Text(f"  - {sentence}"), soft_wrap=True)
            if error.remedy:
                problems_to.print(Text(error.remedy), soft_wrap=True)
        except SignoffError as error:
            problems_to.print(Text(str(error)), soft_wrap=True)
        raise typer.Exit(1)

    return run
