"""Our own static files: `assets/web` in the checkout, `signoff/_assets/web` in an installed wheel."""

from __future__ import annotations

import hashlib
import re
from functools import cache

from signoff.assets import asset_folder

_IMPORT = re.compile(r'@import "([a-z-]+\.css)";')
TYPES = {".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}


@cache
def text(name: str) -> str:
    """The text of one file, read once; `@import` of a neighbour is replaced by its text."""
    own = (asset_folder("web") / name).read_text(encoding="utf-8")
    return _IMPORT.sub(lambda m: text(m[1]), own)


def served() -> dict[str, tuple[str, str]]:
    """File name to (media type, text) of everything that is served under `/assets`."""
    return {p.name: (TYPES[p.suffix], text(p.name)) for p in sorted(asset_folder("web").iterdir()) if p.suffix in TYPES}


def address(name: str) -> str:
    """The address of one file, with its content's digest, so that browsers may keep it for good."""
    return f"/assets/{name}?v={hashlib.sha256(text(name).encode()).hexdigest()[:12]}"
