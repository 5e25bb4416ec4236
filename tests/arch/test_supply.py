"""Where what we use comes from: imports are declared, licences listed, and not looked is never clean."""

from __future__ import annotations

import functools
import importlib.util
import sys
from importlib import metadata
from types import ModuleType
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.arch import licences
from tests.arch.sources import ROOT, Source, sources
from tests.arch.test_layout import project

# Declared and never imported by name: what calls them, or what they are for.
USED_WITHOUT_IMPORT = {
    "bokeh-fastapi",  # Panel's server inside FastAPI asks for it
    "websockets",  # uvicorn's protocol for sockets
    "python-multipart",  # FastAPI's forms
    "tzdata",  # zoneinfo's data where the system has none
    "jupyter-bokeh",  # widgets in notebooks
    "ipykernel",  # the notebooks' kernel
    "opentelemetry-sdk",  # the extra `otel` has no code yet (traces are not written)
    "opentelemetry-exporter-otlp-proto-http",
    "pyarrow",  # pandas writes Parquet with it
}
# Imported where the declared package that brings them is the one whose types they are.
BROUGHT_BY = {"starlette": "fastapi", "param": "panel", "dask": "distributed", "numpy": "pandas"}


distributions = functools.cache(metadata.packages_distributions)


def distributions_of(module: str) -> set[str]:
    """The canonical names of the packages that bring a top-level module."""
    return {canonicalize_name(name) for name in distributions().get(module, [])}


def declared(*extras: str) -> set[str]:
    return {canonicalize_name(Requirement(line).name) for extra in extras for line in project()[extra]}


def undeclared(files: list[Source], allowed: set[str]) -> list[str]:
    """Imports of our files, anywhere in them, that belong to no allowed package."""
    found = []
    for file in files:
        for line, name in file.imports():
            top = name.split(".")[0]
            if top in sys.stdlib_module_names or top in ("signoff", "__future__"):
                continue
            owners = {BROUGHT_BY.get(owner, owner) for owner in distributions_of(top) or {top}}
            if not owners & allowed:
                found.append(f"{file.path}:{line} {name}")
    return found


def test_every_import_belongs_to_a_declared_dependency() -> None:
    assert undeclared(sources("app/signoff"), declared("", *licences.PRODUCT_EXTRAS)) == []


def test_an_undeclared_import_is_found() -> None:
    text = "import attrs\nfrom nowhere_at_all import x\nimport orjson\ndef f():\n    import pytest\n"
    found = undeclared([Source("app/signoff/core/x.py", text)], declared(""))
    assert [line.split(":")[1] for line in found] == ["1 attrs", "2 nowhere_at_all.x", "5 pytest"]


def test_every_declared_dependency_is_used() -> None:
    used: set[str] = set()
    for file in sources("app/signoff"):
        for _line, name in file.imports():
            used |= distributions_of(name.split(".")[0])
            if name.startswith(("opentelemetry.sdk", "opentelemetry.exporter")):  # one namespace of many packages
                used |= {"opentelemetry-sdk", "opentelemetry-exporter-otlp-proto-http"}
    unused = declared("", *licences.PRODUCT_EXTRAS) - used - USED_WITHOUT_IMPORT
    assert unused == set(), "declared and used nowhere"


def test_the_list_of_licences_is_complete() -> None:
    """Run `python -m tests.arch.licences` when this fails, and read what it wrote."""
    listed = licences.listed(licences.PAGE.read_text())
    assert set(listed) == set(licences.locked())
    for name, (spdx, _use) in listed.items():
        here = licences.licence(name)
        assert here in (None, spdx), f"{name} says {here}, the list {spdx}"
        assert licences.names_in(spdx) <= licences.ALLOWED, f"{name}: {spdx} was not allowed on purpose"
    assert licences.page(licences.PAGE.read_text()) == licences.PAGE.read_text()


def test_prose_of_packages_is_read_and_what_is_not_understood_is_not_allowed() -> None:
    assert licences.names_in("MPL-2.0 AND (Apache-2.0 OR MIT)") == {"MPL-2.0", "Apache-2.0", "MIT"}
    assert not licences.names_in("unknown: all rights reserved") <= licences.ALLOWED
    assert not licences.names_in("GPL-3.0-only OR MIT AND AGPL-3.0") <= licences.ALLOWED


@pytest.fixture(scope="module")
def chain() -> ModuleType:
    spec = importlib.util.spec_from_file_location("supply_chain", ROOT / ".ci" / "supply_chain.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CLEAN = {"name": "a", "version": "1", "vulns": []}
SKIPPED = {"name": "b", "skip_reason": "not found"}
HIT = {"name": "c", "version": "2", "vulns": [{"id": "X-1", "fix_versions": ["2.1"]}]}


@pytest.mark.parametrize(
    ("answer", "code", "says"),
    [
        ({"dependencies": [CLEAN]}, 0, "1 of 1 packages looked at, 0 with advisories"),
        ({"dependencies": [CLEAN, HIT]}, 1, "c 2: X-1; mended in: 2.1"),
        ({"dependencies": [SKIPPED, HIT]}, 1, "1 of 2 packages looked at"),
        ({"dependencies": [CLEAN, SKIPPED]}, 75, "NOT LOOKED at 1 packages, first: not found"),
        ({"dependencies": []}, 75, "NOT LOOKED"),
        (None, 75, "NOT LOOKED, the advisory service could not be asked about lock: no way there"),
    ],
)
def test_what_was_not_looked_at_is_not_clean(
    chain: ModuleType, capsys: pytest.CaptureFixture[str], answer: dict[str, Any] | None, code: int, says: str
) -> None:
    assert chain.judged("lock", answer, "one\nno way there\n") == code
    assert says in capsys.readouterr().out


def test_a_bill_that_does_not_fit_the_lock_is_told(chain: ModuleType) -> None:
    locked, listed = {"a": "1", "b": "2", "windows-only": "3"}, {"a": "1", "b": "2.1", "c": "9", "signoff": "0.1.0"}
    assert list(chain.differences(locked, listed)) == [
        "b is installed as 2.1 and locked as 2",
        "c 9 is installed and in no line of the lock",
    ]
    assert len(chain.pins(".ci/lock.txt")) == len(licences.locked())
