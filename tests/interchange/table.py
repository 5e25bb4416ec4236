"""The table of all foreign models at hand: which run as definitions, and why the others cannot.

`python -m tests.interchange.table` writes `models.md`; a test compares it where the material is there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from signoff.interchange import asl, bpmn, conductor, kestra
from signoff.interchange.translated import Translated
from tests.interchange.material import CORPUS
from tests.interchange.playing import Played, play_all_ways
from tests.interchange.recorded import play_all

PAGE = Path(__file__).with_name("models.md")
SHOWN_ROWS = 400
INTRODUCTION = """# Foreign models as definitions

Written by `python -m tests.interchange.table` from the example material; a test compares it where that is there.
A model *runs* when its definition is valid and a run as it goes comes to an end in the pure core. The ways are that
run, others with other values, and one for everything that can go wrong (each rejection, expiry, failure, send-back),
by how they ended; `stalled` is an unhandled failure that waits for an operator, as the policy says. Activities,
people and messages answer by script: what conditions compare with is read from the definition itself.
"""
FOLDERS: dict[str, Callable[..., Translated]] = {
    "asl/aws-samples": asl.translate,
    "asl/localstack": asl.translate,
    "bpmn/miwg": bpmn.translate,
    "bpmn/camunda-examples": bpmn.translate,
    "bpmn/spiff-samples": bpmn.translate,
    "bpmn/spiff-arena": bpmn.translate,
    "bpmn/spiffworkflow": bpmn.translate,
    "bpmn/flowable": bpmn.translate,
    "conductor": conductor.translate,
    "kestra": kestra.translate,
}


@dataclass(frozen=True)
class Row:
    """One file."""

    folder: str
    file: str
    translated: Translated
    played: tuple[Played, ...]

    @property
    def verdict(self) -> str:
        if self.translated.document is None:
            return "refused"
        return "runs" if self.played[0].as_drawn else "stalls"


def rows_of(folder: str) -> list[Row]:
    found = []
    for file in sorted(p for p in (CORPUS / folder).rglob("*") if p.is_file()):
        name = file.name.split("__", 1)[1].split(".", 1)[0]
        translated = FOLDERS[folder](file.read_text("utf-8"), name=name)
        played = tuple(play_all_ways(translated.document)) if translated.document else ()
        found.append(Row(folder, file.name, translated, played))
    return found


def _cell(text: str) -> str:
    return text.replace("|", "/").replace("<", "‹").replace(">", "›").strip()


def _why(row: Row) -> str:
    """The first refusal, without its remedy; only its kind for the largest folder."""
    first, *others = row.translated.refusals
    more = f" (and {len(others)} more)" if others else ""
    plain = first.message.removeprefix("The model has ").removesuffix(", which a definition cannot express.")
    return _cell(f"{plain}{more}")


def _ways(row: Row) -> str:
    counted = Counter(p.status for p in row.played)
    return ", ".join(f"{n} {status}" for status, n in sorted(counted.items()))


def recorded_lines() -> list[str]:
    """What became of the recorded histories."""
    matches = play_all()
    by_verdict = Counter(m.verdict for m in matches)
    lines = ["## Recorded histories of Step Functions", ""]
    lines.append(
        f"{len(matches)} histories, of which {by_verdict['no machine'] + by_verdict['another machine']} were recorded"
    )
    lines[-1] += " with machines that are not at hand."
    lines += ["", "| verdict | histories |", "| --- | --- |"]
    words = {
        "matches": "the same states in the same order, the same end, the same error",
        "differs": "something is different",
        "refused": "the machine or its input is refused",
        "no machine": "the machine is not among those at hand",
        "another machine": "a machine of that name is, but it cannot have gone through those states",
    }
    lines += [f"| {verdict}: {what} | {by_verdict[verdict]} |" for verdict, what in words.items()]
    side = sum(not m.order_of_branches for m in matches if m.verdict == "matches")
    same = sum(m.same_output for m in matches if m.verdict == "matches")
    lines += [
        "",
        f"Of the matches {side} have branches side by side, whose states are compared without their order. In {same}",
    ]
    lines[-1] += " the output of the last step is also exactly the recorded one, and was made by its own mapping."
    lines += ["", "| refused because | histories |", "| --- | --- |"]
    reasons = Counter(m.why for m in matches if m.verdict == "refused")
    lines += [f"| {_cell(why)} | {n} |" for why, n in sorted(reasons.items(), key=lambda x: (-x[1], x[0]))]
    lines += ["", "| machine | matches | differs | refused |", "| --- | --- | --- | --- |"]
    for machine in sorted({m.machine for m in matches if m.verdict in ("matches", "differs", "refused")}):
        counted = Counter(m.verdict for m in matches if m.machine == machine)
        lines.append(f"| {machine} | {counted['matches']} | {counted['differs']} | {counted['refused']} |")
    return [*lines, ""]


def page() -> str:
    """The whole page."""
    lines = [*INTRODUCTION.splitlines(), ""]
    tables: list[str] = []
    totals: Counter[str] = Counter()
    lines += ["| folder | models | run | stall | refused | ways tried |", "| --- | --- | --- | --- | --- | --- |"]
    for folder in FOLDERS:
        rows = rows_of(folder)
        counted = Counter(r.verdict for r in rows)
        ways = sum(len(r.played) for r in rows)
        totals += Counter({"models": len(rows), "ways": ways}) + counted
        lines.append(
            f"| {folder} | {len(rows)} | {counted['runs']} | {counted['stalls']} | {counted['refused']} | {ways} |"
        )
        tables += _folder_lines(folder, rows)
    lines.append(
        f"| all | {totals['models']} | {totals['runs']} | {totals['stalls']} | {totals['refused']} | {totals['ways']} |"
    )
    return "\n".join([*lines, "", *recorded_lines(), *tables]).rstrip() + "\n"


def _folder_lines(folder: str, rows: list[Row]) -> list[str]:
    codes = Counter(r.translated.refusals[0].code for r in rows if r.verdict == "refused")
    lines = [f"## {folder}", ""]
    if codes:
        told = ", ".join(f"{code} {n}" for code, n in sorted(codes.items(), key=lambda x: (-x[1], x[0])))
        lines += [f"Refused, by the first reason: {told}.", ""]
    if len(rows) > SHOWN_ROWS:
        return [*lines, "The files of this folder are too many to list.", ""]
    lines += ["| file | verdict | ways, or why not |", "| --- | --- | --- |"]
    for r in rows:
        told = _why(r) if r.verdict == "refused" else _ways(r)
        told += f"; {_cell(r.played[0].stopped)}" if r.verdict == "stalls" and r.played[0].stopped else ""
        lines.append(f"| {_cell(r.file)} | {r.verdict} | {told} |")
    return [*lines, ""]


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
    print(f"{PAGE} is written.")
