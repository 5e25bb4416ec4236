"""Record a golden history: ``python -m tests.golden.record NAME``.

1. Write a function NAME in `tests/golden/shapes.py` or beside it that brings a run into the wanted shape.
2. Run this module with the name. It writes `tests/golden/histories/NAME.jsonl`: a line with the definition, a
   line per event as the journal holds it, and a line with the snapshot that replaying must give. Beside it goes
   `tests/golden/encrypted/NAME.jsonl`, the same as an encrypted database holds it.
3. Read the file, commit it, and never edit it again. An existing file is never written over: a changed payload
   needs an upcaster, a changed meaning a new event.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from signoff.core.codec import encode_event, encode_snapshot
from signoff.core.document import write_document
from tests.core.kit import World
from tests.golden import shapes_of_people, shapes_of_time, shapes_of_undoing, shapes_of_waiting, shapes_of_work
from tests.golden.encrypted import encrypt
from tests.golden.files import HISTORIES
from tests.golden.shapes import SHAPES

OTHERS = (shapes_of_people, shapes_of_time, shapes_of_undoing, shapes_of_waiting, shapes_of_work)
"""Imported for what they add to `SHAPES`."""


def lines_of(world: World) -> list[dict[str, Any]]:
    """The lines of the file."""
    head, *later = (
        {"definition": write_document(p.definition), "digest": p.digest, "version": p.version}
        for p in world.ledger.plans.values()
    )
    if later:
        head["later"] = later
    body = [
        {
            "sequence": number,
            "at": event.at.isoformat(),
            "type": event.wire,
            "version": event.version,
            "step": getattr(event, "step", ""),
            "data": encode_event(event),
        }
        for number, event in enumerate(world.events, 1)
    ]
    return [head, *body, {"snapshot": encode_snapshot(world.state)}]


def main(names: list[str]) -> int:
    """Record each named shape; refuse what is unknown or already recorded."""
    if not names:
        print(__doc__, "\nKnown shapes:", ", ".join(SHAPES))
        return 2
    for name in names:
        path = HISTORIES / f"{name}.jsonl"
        if name not in SHAPES or path.exists():
            reason = "is recorded already and must not change" if name in SHAPES else "is no function of shapes.py"
            print(f"{name}: {reason}.")
            return 1
        lines = lines_of(SHAPES[name]())
        text = "".join(json.dumps(x, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n" for x in lines)
        path.write_text(text, encoding="utf-8")
        encrypt(name)
        print(f"{name}: {len(lines) - 2} events.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
