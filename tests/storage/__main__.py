"""Power losses and failing disks from the command line, until so many images were looked at or the time is over.

`--images N --minutes M` goes on from `--first` (a seed), or where an earlier call with the same `--state` file ended.
Each seed: one recording, an image after every operation, one in 250 brought to its end; and two seeds on a failing
disk. `--every-operation SEED` fails one operation of a short world after the other, until none is left. Exit code 1
where anything is found; the message names the seed.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
import time
from collections import Counter
from pathlib import Path
from random import Random

import apsw

from tests.simulation.faults import Violation
from tests.storage.checking import Found, check
from tests.storage.images import MOODS, Plate
from tests.storage.worlds import fail_at, folder_in_memory, record, run_on_failing_disk

RESUMED_OF = 250
FAILURES = [(error, sticky) for error in (apsw.FullError, apsw.IOError) for sticky in (False, True)]


def look_at(seed: int, found: Found, *, every: int = 1, until: float = float("inf"), most: int = sys.maxsize) -> None:
    """Images of one recorded world, after every so many operations."""
    recording = record(seed)
    dice = Random(seed)
    plate = Plate(recording.before, recording.ops)
    with folder_in_memory() as folder:
        for at in plate.moments():
            if at % every:
                continue
            resume = found.images % RESUMED_OF == RESUMED_OF - 1
            check(recording, plate.image(at, dice.choice(MOODS), dice), folder, found, resume=resume)
            if time.monotonic() > until or found.images >= most:
                return


def every_operation(seed: int, until: float = float("inf")) -> tuple[int, bool]:
    """(how often an operation was failed, whether all were)."""
    tried = 0
    for error, sticky in FAILURES:
        at = 1
        while time.monotonic() < until:
            if not fail_at(seed, at, error, sticky=sticky).total():
                break
            tried, at = tried + 1, at + 1
        else:
            return tried, False
    return tried, True


def main() -> int:
    """See the module."""
    parser = argparse.ArgumentParser(prog="python -m tests.storage")
    parser.add_argument("--images", type=int, default=50_000, help="so many images in all")
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--first", type=int, default=1, help="first seed")
    parser.add_argument("--state", type=Path, help="a file that remembers how far it came")
    parser.add_argument("--every-operation", type=int, metavar="SEED", help="fail each operation of this seed")
    args = parser.parse_args()
    logging.disable(logging.CRITICAL)
    began = time.monotonic()
    until = began + args.minutes * 60
    if args.every_operation is not None:
        tried, all_of_them = every_operation(args.every_operation, until)
        print(f"{tried} operations failed, {'all' if all_of_them else 'not all'} of seed {args.every_operation}")
        return 0
    done: Counter[str] = Counter({"next": args.first})
    if args.state and args.state.exists():
        done = Counter(json.loads(args.state.read_text()))
    problems = 0
    while done["images"] < args.images and time.monotonic() < until:
        seed, found = done["next"], Found()
        try:
            look_at(seed, found, until=until, most=args.images - done["images"])
            for number in (2 * seed, 2 * seed + 1):
                done += Counter({f"disk: {what}": n for what, n in run_on_failing_disk(number).items()})
                done["worlds on failing disks"] += 1
        except Violation as violation:
            problems += 1
            print(
                f"FOUND at seed {seed}: {violation}\n  again: python -m tests.storage --first {seed} --images 1",
                flush=True,
            )
        done["images"] += found.images
        done["different images"] += len(found.distinct)
        done["kept a commit in flight"] += found.kept_in_flight
        done["states verified"] += len(found.verified)
        done["brought to their ends"] += found.resumed
        done["recordings"] += 1
        done["next"] += 1
        if args.state:
            args.state.write_text(json.dumps(done))
    print(f"{time.monotonic() - began:.0f} s; {problems} found; {json.dumps(done)}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
