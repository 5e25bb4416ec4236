"""Signoff: durable workflows with human sign-off.

The public names are loaded on first use, so that `import signoff` stays light.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

_LAZY = {
    "DurableTaskScheduler": "signoff.scheduler",
    "Signoff": "signoff.engine.client",
    "TaskScheduler": "signoff.scheduler",
    "fields_from_schema": "signoff.engine.typed",
    "fields_of": "signoff.engine.typed",
    "json_schema_of": "signoff.engine.typed",
    "open_durable_scheduler": "signoff.wiring",
    "open_embedded": "signoff.wiring",
}

__all__ = [
    "DurableTaskScheduler",
    "Signoff",
    "TaskScheduler",
    "__version__",
    "fields_from_schema",
    "fields_of",
    "json_schema_of",
    "open_durable_scheduler",
    "open_embedded",
]


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'signoff' has no attribute {name!r}")
