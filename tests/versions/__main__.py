"""`python -m tests.versions WHERE N`: upgrade that database; this process kills itself before statement N."""

from __future__ import annotations

import sys
from pathlib import Path

from signoff.store.dialects import is_server
from tests.versions.oldest import kill, upgraded

if __name__ == "__main__":
    named = sys.argv[1]
    upgraded(named if is_server(named) else Path(named), int(sys.argv[2]), kill)
