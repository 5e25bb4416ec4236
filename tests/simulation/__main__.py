"""Simulated worlds from the command line.

`--minutes N` runs new seeds for so long, `--seeds A-B` a range, `--seed S` one, `--mutants` the mutants.
Exit code 1 where a seed fails; each failing seed prints the command that replays it.
"""

from __future__ import annotations

import argparse
import logging
import sys
import time
from collections import Counter
from collections.abc import Iterator

from tests.simulation.faults import Violation
from tests.simulation.simulate import run_seed


def seeds(args: argparse.Namespace) -> Iterator[int]:
    if args.seed is not None:
        yield args.seed
    elif args.seeds:
        first, _, last = args.seeds.partition("-")
        yield from range(int(first), int(last or first) + 1)
    else:
        ends = time.monotonic() + args.minutes * 60
        seed = args.first
        while time.monotonic() < ends:
            yield seed
            seed += 1


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation")
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seeds", default="", help="a range, such as 1-500")
    parser.add_argument("--seed", type=int, help="one seed, exactly as it was")
    parser.add_argument("--first", type=int, default=int(time.time()) % 1_000_000_000, help="first seed of --minutes")
    parser.add_argument("--keep-going", action="store_true", help="do not stop at the first failing seed")
    parser.add_argument("--counts", action="store_true", help="how often everything happened")
    parser.add_argument(
        "--mutants", nargs="?", const="", help="remove guards one by one (those named); all must be caught"
    )
    args = parser.parse_args()
    logging.disable(logging.CRITICAL)
    if args.mutants is not None:
        from tests.simulation.mutants import report

        return report(args.mutants)
    counts: Counter[str] = Counter()
    began, done, commits, failed = time.monotonic(), 0, 0, []
    for seed in seeds(args):
        try:
            result = run_seed(seed)
        except KeyboardInterrupt:
            break  # and say how far it came
        except Violation as error:
            failed.append(seed)
            print(f"FAILED {error}", flush=True)
            if not args.keep_going:
                break
            continue
        done += 1
        commits += result.commits
        counts += result.counts
        if args.seed is not None:
            print(f"seed {seed}: {result.runs} runs, {result.commits} commits, events {result.digest}")
    took = time.monotonic() - began
    print(f"{done} seeds passed, {len(failed)} failed {failed or ''}; {commits} commits in {took:.0f} s")
    if args.counts:
        for name, count in sorted(counts.items()):
            print(f"  {count:8d} {name}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
