"""The shape of the repository: what lies at the top, what no file may say, and that the locks fit pyproject.toml."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.arch.sources import ROOT

TOP = {
    *("pyproject.toml", "app", "notebooks", "tests", "assets"),
    *("README.md", "CHANGELOG.md", "LICENSE", "Makefile"),
}
LOCKED_EXTRAS = ("build", "dev", "notebook", "postgres", "dask", "otel", "oidc")

# Written so that this file does not say itself what no file may say.
REGISTRIES = re.compile(
    "|".join(rf"\b{host}\b" for host in (r"pypi\W?\.org", r"pythonhosted\W?\.org", r"npmjs\W?\.org"))
)
MACHINE = re.compile(r"(?<![\w.])/(?:work|root|home/\w+|Users/\w+|opt/(?:wheels|pypi))/")


def tracked() -> list[str]:
    """Files that git knows, and those it would take."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip("not a git checkout")
    return [name for name in done.stdout.split("\0") if name and (ROOT / name).is_file()]


def forbidden_text(text: str) -> list[str]:
    return [found.group() for pattern in (REGISTRIES, MACHINE) for found in pattern.finditer(text)]


def test_the_top_level_holds_nothing_else() -> None:
    tops = {name.split("/")[0] for name in tracked()}
    assert {top for top in tops if not top.startswith(".")} - TOP == set()


def test_no_file_names_a_registry_or_this_machine() -> None:
    found = {}
    for name in tracked():
        try:
            text = (ROOT / name).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        if (bad := forbidden_text(text)) and name != Path(__file__).relative_to(ROOT).as_posix():
            found[name] = bad
    assert found == {}


@pytest.mark.parametrize("text", ["https://pypi" + ".org/simple", "cd /work/" + "main", "/root/" + ".pyenv/x"])
def test_forbidden_text_is_found(text: str) -> None:
    assert forbidden_text(text)


def project() -> dict[str, list[str]]:
    table = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return {"": table["dependencies"]} | table["optional-dependencies"]


def locked(name: str) -> dict[str, str]:
    lines = (ROOT / ".ci" / name).read_text().splitlines()
    pins = (re.match(r"([\w.-]+)==([\w.!+]+)", line) for line in lines)
    return {canonicalize_name(pin[1]): pin[2] for pin in pins if pin}


@pytest.mark.parametrize(
    ("lock", "extras"),
    [("lock.txt", ("", *LOCKED_EXTRAS)), ("lock-bench.txt", ("bench",)), ("lock-audit.txt", ("audit",))],
    ids=["main", "bench", "audit"],
)
def test_the_lock_fits_the_project(lock: str, extras: tuple[str, ...]) -> None:
    """Run `make lock` when this fails."""
    pins = locked(lock)
    for extra in extras:
        for line in project()[extra]:
            need = Requirement(line)
            assert need.specifier.contains(pins[canonicalize_name(need.name)]), f"{lock} does not fit '{line}'"


@pytest.mark.parametrize("lock", ["lock.txt", "lock-bench.txt", "lock-audit.txt"])
def test_the_lock_is_hashed_and_names_no_place(lock: str) -> None:
    text = (ROOT / ".ci" / lock).read_text()
    pins, hashed = re.findall(r"^[\w.-]+==", text, re.M), re.findall(r"^[\w.-]+==[^\n]*\\\n\s+--hash=", text, re.M)
    assert len(pins) == len(hashed) > 0
    assert not re.search(r"file:|://|^-|@ ", text, re.M)


def test_every_dependency_has_a_lower_and_an_upper_bound() -> None:
    for lines in project().values():
        for line in lines:
            assert {spec.operator for spec in Requirement(line).specifier} == {">=", "<"}, line
