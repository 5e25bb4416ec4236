"""Our own static files: `assets/web` in the checkout, `signoff/_assets/web` in an installed wheel."""

from __future__ import annotations

import hashlib
import re
from functools import cache
from importlib.resources import files
from pathlib import Path

from signoff.errors import ConfigurationFault

_IMPORT = re.compile(r'@import "([a-z-]+\.css)";')
TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}


@cache
def folder() -> Path:
    """Where the files lie.

    Raises:
        ConfigurationFault: the installation is incomplete.
    """
    package = Path(str(files("signoff")))
    for place in (package.parent.parent / "assets" / "web", package / "_assets" / "web"):
        if (place / "plain.css").is_file():
            return place
    raise ConfigurationFault("The browser pages' own files are missing.", remedy="Install Signoff again.")


@cache
def text(name: str) -> str:
    """The text of one file, read once; `@import` of a neighbour is replaced by its text."""
    own = (folder() / name).read_text(encoding="utf-8")
    return _IMPORT.sub(lambda m: text(m[1]), own)


def served() -> dict[str, tuple[str, str]]:
    """File name to (media type, text) of everything that is served under `/assets`."""
    return {p.name: (TYPES[p.suffix], text(p.name)) for p in sorted(folder().iterdir()) if p.suffix in TYPES}


def address(name: str) -> str:
    """The address of one file, with its content's digest, so that browsers may keep it for good."""
    return f"/assets/{name}?v={hashlib.sha256(text(name).encode()).hexdigest()[:12]}"
