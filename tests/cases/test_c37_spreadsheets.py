"""C37: the audit as CSV in a spreadsheet, through REST and the command line."""

from __future__ import annotations

import csv
import io
from datetime import datetime
from pathlib import Path

import pytest

from signoff.interchange.audit_csv import COLUMNS, safe_cell
from tests.api.test_api import Desk, desk
from tests.cli.test_cli import Shell, office, shell
from tests.engine.office import Office, ask, chain

__all__ = ["desk", "office", "shell"]

COMMENTS = (
    '=HYPERLINK("http://x")',
    "+1",
    "-2",
    "@a",
    "\tfirst a tab",
    'with "quotes", commas,\r\nand lines',
    "Müller, Łódź, 李",
    "  =1+1",
    "＝1",
)
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝")


def rows_of(data: bytes) -> list[list[str]]:
    assert data.startswith(b"\xef\xbb\xbf"), "without the mark spreadsheets guess the encoding"
    return list(csv.reader(io.StringIO(data.decode("utf-8-sig"), newline="")))


def run_with(office: Office, comment: str) -> str:
    run_id = office.start("buy")
    office.until_step(run_id, "manager", "waiting")
    office.decide(run_id, "manager", "grace", "rejected", comment=comment)
    return run_id


def test_c37_over_rest(desk: Desk) -> None:
    """C37: row count = event count, no cell is a formula, umlauts are right, times carry an offset."""
    desk.office.running.save_person("audrey", roles=("auditor",), password="one for all")
    desk.office.publish(chain("buy", ask("manager"), title="=Buy"))
    runs = [run_with(desk.office, c) for c in COMMENTS]
    events = sum(len(desk.office.types(r)) for r in runs)
    assert desk.get("ada", "/audit/events.csv").status_code == 403
    answer = desk.get("audrey", "/audit/events.csv")
    assert "attachment" in answer.headers["content-disposition"]
    head, *rows = rows_of(answer.content)
    assert tuple(head) == COLUMNS
    assert len(rows) == events
    assert all(len(r) == len(COLUMNS) for r in rows)
    for cell in (c for row in rows for c in row):
        assert not cell.lstrip(" ").startswith(FORMULA), cell
    column = COLUMNS.index("comment or reason")
    said = {r[column] for r in rows if r[6] == "approval.decision_recorded"}
    assert {c.removeprefix("'") for c in said} == set(COMMENTS)
    for row in rows:
        assert datetime.fromisoformat(row[5]).utcoffset() is not None
    one = rows_of(desk.get("audrey", f"/runs/{runs[0]}/events.csv").content)
    assert len(one) == len(desk.office.types(runs[0])) + 1


def test_c37_on_the_command_line(office: Office, shell: Shell, tmp_path: Path) -> None:
    """C37 with the CLI; taking it out is recorded and takes a role."""
    office.running.save_person("audrey", roles=("auditor",))
    office.publish(chain("buy", ask("manager")))
    run_id = run_with(office, COMMENTS[0])
    file = tmp_path / "audit.csv"
    shell.run("audit", "csv", "--all", "--out", str(file), login="dan", status=1)
    assert "Expected one run, or --all" in shell.run("audit", "csv", login="audrey", status=1)
    shell.run("audit", "csv", "--all", "--out", str(file), login="audrey")
    rows = rows_of(file.read_bytes())
    assert len(rows) == len(office.types(run_id)) + 1
    assert any(c == "'" + COMMENTS[0] for r in rows for c in r)


@pytest.mark.parametrize("text", ["plain", "a=b", "2027-01-01T00:00:00+00:00", "", "3", "x-1"])
def test_what_is_no_formula_stays_as_it_is(text: str) -> None:
    assert safe_cell(text) == text
