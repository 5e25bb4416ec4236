"""Activities of the plant; each writes the key it was called with into a ledger outside of the engine."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from typing import Any

from signoff.connectors.python import activity


def _note(step: str, key: str) -> None:
    with (Path(os.environ["PLANT_LEDGER"]) / step).open("a") as file:
        file.write(f"{key}\n")


@activity("plant.quick")
def quick(step: str, idempotency_key: str) -> dict[str, Any]:
    """Done at once."""
    _note(step, idempotency_key)
    return {"step": step}


@activity("plant.gated")
def gated(step: str, idempotency_key: str, stop: threading.Event) -> dict[str, Any]:
    """Waits until the gate opens (a file appears) or the worker is told to stop."""
    _note(step, idempotency_key)
    gate = Path(os.environ["PLANT_GATE"])
    while not gate.exists() and not stop.wait(0.02):
        pass
    return {"step": step}


@activity("plant.deadly")
def deadly(step: str, idempotency_key: str) -> dict[str, Any]:
    """Takes its worker down, always."""
    _note(step, idempotency_key)
    os._exit(3)


@activity("plant.hung")
def hung(step: str, idempotency_key: str) -> dict[str, Any]:
    """Never returns and listens to nobody."""
    _note(step, idempotency_key)
    threading.Event().wait()
    return {}


@activity("plant.told")
def told(step: str, idempotency_key: str, report: Any, last: Any) -> dict[str, Any]:
    """Says how far it is; its second attempt goes on from there. Fails once it has said so."""
    _note(step, idempotency_key)
    if last is not None:
        return {"from": last.details["at"]}
    report(0.5, "half way", {"at": 7})
    gate = Path(os.environ["PLANT_GATE"])
    while not gate.exists():
        threading.Event().wait(0.02)
    raise RuntimeError("again, please")


@activity("plant.where")
def where(step: str, idempotency_key: str) -> dict[str, Any]:
    """Says in which process it ran."""
    _note(step, idempotency_key)
    return {"pid": os.getpid()}
