"""Writes assets/docs/licences.md: under what licence everything is that the lock brings.

    .venv/bin/python -m tests.arch.licences

Read from the packages' own metadata. A package that is not installed on this system (it is for another one) keeps the
line it has, so the page is the same wherever it is written.
"""

from __future__ import annotations

import re
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.arch.sources import ROOT

PAGE = ROOT / "assets" / "docs" / "licences.md"
PRODUCT_EXTRAS = ("postgres", "dask", "otel", "oidc", "parquet", "notebook")

# Written by hand: metadata that says nothing, or says it in prose.
KNOWN = {
    "apsw": "Zlib",
    "appnope": "BSD-2-Clause",
    "colorama": "BSD-3-Clause",
    "httpx2-jsfetch": "BSD-3-Clause",
    "pysqlite3": "Zlib",
}
PROSE = {
    r"apache(?: software)?(?: license)?,?(?: version)? ?2(?:\.0)?|apache software license": "Apache-2.0",
    r"mit(?: license)?": "MIT",
    r"(?:bsd )?3-clause(?: bsd)?(?: license)?|bsd 3-clause(?: license)?|bsd(?: license)?": "BSD-3-Clause",
    r"bsd 2-clause(?: license)?": "BSD-2-Clause",
    r"isc(?: license)?(?: \(iscl\))?": "ISC",
    r"mozilla public license 2\.0 \(mpl 2\.0\)": "MPL-2.0",
}
ALLOWED = {
    *("MIT", "MIT-0", "MIT-CMU", "BSD-2-Clause", "BSD-3-Clause", "0BSD", "ISC", "Apache-2.0", "PSF-2.0", "Zlib"),
    *("CC0-1.0", "MPL-2.0"),
    "LGPL-3.0-only",  # psycopg: called as it is, never changed, replaceable by whoever installs it
}
HEAD = """# Licences of what we use

Signoff itself is under Apache-2.0. Nothing below is copied into it: packages are installed beside it, unchanged.
`python -m tests.arch.licences` writes this page from the packages' own words; a test fails when the lock brings one
that is not here, or a licence that was not allowed on purpose. Exact versions: `.ci/lock.txt` and the bill of materials
(`make sbom`).
"""


def locked() -> list[str]:
    lines = (ROOT / ".ci" / "lock.txt").read_text().splitlines()
    return sorted(canonicalize_name(pin[1]) for line in lines if (pin := re.match(r"([\w.-]+)==", line)))


def licence(name: str) -> str | None:
    """An SPDX expression; None when the package is not installed here."""
    if name in KNOWN:
        return KNOWN[name]
    try:
        says = metadata.metadata(name)
    except metadata.PackageNotFoundError:
        return None
    if expression := says.get("License-Expression"):
        return expression
    classified = [line.split(" :: ")[-1] for line in says.get_all("Classifier") or [] if line.startswith("License ::")]
    prose = (says.get("License") or "").strip().split("\n")[0]
    for words in [prose, *classified]:
        if words and names_in(words) <= ALLOWED:
            return words
        for pattern, spdx in PROSE.items():
            if re.fullmatch(pattern, words, re.IGNORECASE):
                return spdx
    return f"unknown: {prose or classified}"


def names_in(expression: str) -> set[str]:
    """The licences of an SPDX expression."""
    return {name for name in re.split(r"\s+(?:AND|OR)\s+|[()]", expression) if name}


def shipped() -> set[str]:
    """What an installation with every extra brings, through all dependencies, as far as installed here."""
    todo = [(canonicalize_name("signoff"), frozenset(PRODUCT_EXTRAS))]
    seen: set[tuple[str, frozenset[str]]] = set()
    while todo:
        name, extras = found = todo.pop()
        if found in seen:
            continue
        seen.add(found)
        try:
            lines = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue
        for need in map(Requirement, lines):
            wanted = not need.marker or any(need.marker.evaluate({"extra": extra}) for extra in (*extras, ""))
            if wanted:
                todo.append((canonicalize_name(need.name), frozenset(need.extras)))
    return {name for name, _extras in seen} - {"signoff"}


def listed(text: str) -> dict[str, tuple[str, str]]:
    """{package: (licence, what for)} of the page."""
    rows = re.findall(r"^\| `([^`]+)` \| ([^|]+) \| ([^|]+) \|$", text, re.M)
    return {name: (spdx.strip(), use.strip()) for name, spdx, use in rows}


def page(old: str) -> str:
    before, ships = listed(old), shipped()
    lines = [HEAD, "| package | licence | for |", "|---|---|---|"]
    for name in locked():
        spdx = licence(name) or before.get(name, ("unknown", ""))[0]
        lines.append(f"| `{name}` | {spdx} | {'the product' if name in ships else 'development'} |")
    return "\n".join(lines) + "\n"


def write(target: Path = PAGE) -> None:
    target.write_text(page(target.read_text() if target.exists() else ""))


if __name__ == "__main__":
    write()
