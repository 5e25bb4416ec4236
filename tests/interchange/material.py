"""Where the foreign models lie."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import shared_folder

_SHARED = shared_folder()
CORPUS = _SHARED / "corpus" if _SHARED else Path("absent")
