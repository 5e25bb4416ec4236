"""Every layer that breaks Signoff on purpose, one after the other, each for `--minutes`; counts of each at the end.

seeds: simulated worlds · twins: the same requests to SQLite and PostgreSQL · images: power losses and failing disks ·
cuts: commits on PostgreSQL whose answer is dropped, whose connection is cut, whose server crashes ·
processes: real ones, killed (SIGKILL) and stopped past their lease (SIGSTOP) · upgrades: cut off at every statement.
"""

from __future__ import annotations

import argparse
import logging
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from tests.postgres import Server, find_programs, started_server
from tests.server.worlds import run_cut
from tests.simulation.faults import Violation
from tests.simulation.twins import run_twins
from tests.stores import Stores

ROOT = Path(__file__).resolve().parents[2]
PROCESSES = ("tests/runtime/test_processes.py", "tests/scheduler/test_durable_processes.py")
TOLD = (
    "seeds",
    "commits compared",
    "answer dropped",
    "cut before",
    "cut at once",
    "cut in the middle",
    "session ended",
)
Once = Callable[[Server, int], Counter[str]]


def command(*words: str, **more: str) -> int:
    """Another layer's own command."""
    return subprocess.run([sys.executable, "-m", *words], cwd=ROOT, env=os.environ | more, check=False).returncode


def on_server(server: Server, seed: int, run: Callable[[Stores, str], tuple[int, Counter[str]]]) -> Counter[str]:
    """One seed on a database of its own."""
    places = Stores("postgresql", server)
    try:
        compared, counts = run(places, str(places.place(Path(tempfile.gettempdir()) / f"world{seed}")))
        return counts + Counter({"seeds": 1, "commits compared": compared})
    finally:
        places.drop()


def twins(server: Server, seed: int) -> Counter[str]:
    """Operations into both stores."""
    return on_server(server, seed, lambda places, url: run_twins(seed, url, 1000))


def cuts(server: Server, seed: int) -> Counter[str]:
    """Cut connections."""
    return on_server(server, seed, lambda places, url: run_cut(server, url.rpartition("/")[2], seed, 200))


def repeat(name: str, minutes: float, first: int, once: Once) -> int:
    """One seed after the other on one server; a failing one is printed and the next is taken."""
    programs = find_programs()
    if programs is None:
        print(f"{name}: no PostgreSQL here, left out", flush=True)
        return 0
    done: Counter[str] = Counter()
    failed, ends = [], time.monotonic() + minutes * 60
    with started_server(programs) as server:
        while time.monotonic() < ends:
            seed = first + done["seeds"] + len(failed)
            try:
                done += once(server, seed)
            except (Violation, AssertionError) as error:
                failed.append(seed)
                print(f"{name}: FAILED {error}", flush=True)
    kept = {k: done[k] for k in TOLD if done[k]}
    print(f"{name}: {len(failed)} failed {failed or ''}; {kept}", flush=True)
    return int(bool(failed))


def processes(minutes: float) -> int:
    """Tests with real processes, again and again."""
    ends, rounds, bad = time.monotonic() + minutes * 60, 0, 0
    while time.monotonic() < ends:
        rounds += 1
        bad += command("pytest", "-q", "--no-header", *PROCESSES) != 0
    print(f"processes: {rounds} rounds, {bad} with failures", flush=True)
    return int(bool(bad))


def main() -> int:
    """See the module."""
    layers: dict[str, Callable[[], int]] = {
        "seeds": lambda: command(
            "tests.simulation", "--minutes", str(args.minutes), "--first", str(args.first), "--keep-going", "--counts"
        ),
        "twins": lambda: repeat("twins", args.minutes, args.first, twins),
        "images": lambda: command(
            "tests.storage", "--minutes", str(args.minutes), "--state", ".build/storage-campaign.json"
        ),
        "cuts": lambda: repeat("cuts", args.minutes, args.first, cuts),
        "processes": lambda: processes(args.minutes),
        "upgrades": lambda: command("pytest", "-q", "tests/versions", SIGNOFF_CUTS="1000", SIGNOFF_KILLS="20"),
    }
    parser = argparse.ArgumentParser(prog="python -m tests.campaign")
    parser.add_argument("--minutes", type=float, default=30.0, help="for each layer")
    parser.add_argument("--first", type=int, default=int(time.time()) % 1_000_000_000, help="first seed")
    parser.add_argument("--only", default=",".join(layers), help=f"some of {', '.join(layers)}")
    args = parser.parse_args()
    logging.disable(logging.CRITICAL)
    failed = []
    for name in args.only.split(","):
        began = time.monotonic()
        print(f"-- {name}", flush=True)
        if layers[name]():
            failed.append(name)
        print(f"-- {name}: {time.monotonic() - began:.0f} s", flush=True)
    print(f"campaign: {f'failed: {failed}' if failed else 'nothing found'}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
