"""The import contracts of pyproject.toml, run by import-linter; a wrong house shows that they can break."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.arch.sources import ROOT

# The program beside this interpreter: contracts are read by import-linter itself, as `make check` does.
LINTER = Path(sys.executable).with_name("lint-imports")
ROOMS = (
    "core scheduler store connectors engine runtime interchange explore web api testing cli".split()  # packages
)


def lint(folder: Path, source_root: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": str(source_root), "NO_COLOR": "1"}
    command = [str(LINTER), "--no-logo", "--no-cache", str(folder / "pyproject.toml")]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_the_house_keeps_its_contracts() -> None:
    done = lint(ROOT, ROOT / "app")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 broken" in done.stdout


@pytest.fixture
def small_house(tmp_path: Path) -> Path:
    """A package of the same shape, empty, under the real contracts."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for room in ROOMS:
        (tmp_path / "signoff" / room).mkdir(parents=True)
        (tmp_path / "signoff" / room / "__init__.py").touch()
    for name in ("__init__", "assets", "errors", "wiring"):
        (tmp_path / "signoff" / f"{name}.py").touch()
    return tmp_path


def test_an_empty_house_keeps_them_too(small_house: Path) -> None:
    assert lint(small_house, small_house).returncode == 0


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("core/graph.py", "import signoff.store"),
        ("core/graph.py", "from signoff import engine"),
        ("errors.py", "import signoff.core"),
        ("store/journal.py", "import signoff.scheduler"),
        ("scheduler/tasks.py", "import signoff.connectors"),
        ("engine/handle.py", "import signoff.runtime"),
        ("runtime/worker.py", "import signoff.explore"),
        ("web/pages.py", "import signoff.api"),
        ("api/app.py", "import signoff.wiring"),
        ("cli/main.py", "import signoff.testing"),
        ("utilities.py", "x = 1"),  # a room without a place
    ],
)
def test_a_wrong_import_breaks_them(small_house: Path, file: str, line: str) -> None:
    (small_house / "signoff" / file).write_text(line + "\n")
    done = lint(small_house, small_house)
    assert done.returncode != 0, done.stdout
    assert "BROKEN" in done.stdout


def test_every_room_of_the_architecture_is_in_the_contract() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(contract for contract in contracts if contract["id"] == "layers")["layers"]
    named = [part.strip("() ") for layer in layers for part in layer.replace(":", "|").split("|")]
    assert sorted(named) == sorted([*ROOMS, "assets", "errors", "wiring"])
    assert not any(layer.startswith(("core", "errors")) and "|" in layer for layer in layers)
