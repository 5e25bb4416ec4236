"""`make bench`: Signoff beside DBOS on the same work, and its share of what raw SQLite can write.

One run, interleaved, medians; prints ratios and writes them to assets/docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from signoff.runtime.folder import save_store
from tests.bench import fairness, proofs
from tests.bench.figures import machine, median, table, versions
from tests.bench.load import Outcome, drive, prepare, processes
from tests.bench.raw import raw_share
from tests.postgres import MISSING, Server, find_programs, started_server

ROOT = Path(__file__).parents[2]
SLOW_FSYNC = Path(__file__).with_name("slow_fsync.c")


LIMIT = """\
The goals are 20× for 64 at a time and 2.5× for one at a time. What limits 64 at a time is less the database
than the one thread that decides, evaluates, encodes and chains, as on SQLite; on two cores the server, the
worker and the client want theirs as well. Rows leave by COPY and in one pipelined round trip per commit. One at
a time, a step is one commit of two round trips, and each waits for a core. Two engines on one database do not
write at the same time (see ADR 0006), so there is no row for them."""


def environment(slow_us: int, build: Path) -> dict[str, str]:
    """The environment of measured processes; with `slow_us`, every fsync takes that much longer."""
    found = {**os.environ, "PYTHONPATH": str(ROOT), "SIGNOFF_LOG": "ERROR"}
    if slow_us:
        library = build / "slow_fsync.so"
        if not library.exists():
            subprocess.run(["gcc", "-shared", "-fPIC", "-O2", "-o", library, SLOW_FSYNC, "-ldl"], check=True)
        found |= {"LD_PRELOAD": str(library), "SLOW_FSYNC_US": str(slow_us)}
    return found


def ours(folder: Path, env: dict[str, str], concurrency: int, count: int, url: str = "") -> Outcome:
    """One measurement of Signoff in a fresh data folder, with its data on a server where a URL is given."""
    if url:
        save_store(folder, url)
    settings = prepare(folder)
    with processes(settings, env) as (signoff, client):
        drive(signoff, client, concurrency=min(concurrency, 8), count=20)
        return drive(signoff, client, concurrency=concurrency, count=count)


def peer(folder: Path, env: dict[str, str], concurrency: int, count: int, url: str = "") -> dict[str, float]:
    """One measurement of DBOS in a fresh folder, or on a server."""
    folder.mkdir(parents=True)
    command = [
        os.environ.get("SIGNOFF_BENCH_PEER_PY", sys.executable),
        str(Path(__file__).with_name("peer_dbos.py")),
        url or str(folder),
        str(concurrency),
        str(count),
    ]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True, timeout=600)
    found: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def compare(work: Path, slow_us: int, rounds: int, size: float, server: Server | None = None) -> list[list[str]]:
    """Rows of the table for one kind of disk, or for a PostgreSQL server on this disk."""
    env = environment(slow_us, work)
    disk = "PostgreSQL" if server else f"+{slow_us / 1000:g} ms per fsync" if slow_us else "this disk"

    def fresh(name: str) -> str:
        if server is None:
            return ""
        server.query(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        server.query(f"CREATE DATABASE {name}")
        return server.url(name)

    found: dict[tuple[str, int], list[dict[str, float]]] = {}
    for round_number in range(rounds):
        for concurrency, mine, theirs in ((64, int(400 * size), int(40 * size)), (1, int(60 * size), int(20 * size))):
            where = work / f"{slow_us}-{concurrency}-{round_number}"
            o = ours(where / "ours", env, concurrency, max(mine, 8), fresh("ours"))
            found.setdefault(("ours", concurrency), []).append(
                {"steps_per_s": o.steps_per_s, "p50_ms": o.p50_ms, "p95_ms": o.p95_ms, "commits": o.commits_per_step}
            )
            other = peer(where / "peer", env, concurrency, max(theirs, 4), fresh("peer"))
            found.setdefault(("peer", concurrency), []).append(other)
            shutil.rmtree(where)

    def mid(who: str, concurrency: int, what: str) -> float:
        return median([x[what] for x in found[(who, concurrency)]])

    rows = []
    for concurrency in (64, 1):
        mine, theirs = mid("ours", concurrency, "steps_per_s"), mid("peer", concurrency, "steps_per_s")
        name = f"{concurrency} at a time, {disk}"
        commits = mid("ours", concurrency, "commits")
        rows.append([f"steps/s, {name}", f"{mine:,.0f}", f"{theirs:,.0f}", f"{mine / theirs:.1f}×"])
        rows.append([f"commits per step, {name}", f"{commits:.3f}", "", ""])
    for what in ("p50_ms", "p95_ms"):
        mine, theirs = mid("ours", 1, what), mid("peer", 1, what)
        name = f"latency per step {what[:3]}, 1 at a time, {disk}"
        rows.append([name, f"{mine:.2f} ms", f"{theirs:.2f} ms", f"{mine / theirs:.2f}×"])
    return rows


def on_a_server(work: Path, options: argparse.Namespace) -> None:
    """The same work with PostgreSQL under both, on a page of its own."""
    programs = find_programs()
    if programs is None:
        print(MISSING)
        return
    with started_server(programs, on_disk=True) as server:
        (version,) = server.query("SHOW server_version")[0]
        before = os.getloadavg()[0]
        rows = compare(work, 0, options.rounds, options.size, server)
        after = os.getloadavg()[0]
    page = "\n".join(
        [
            "# Benchmarks on PostgreSQL",
            "",
            "Written by `make bench` (alone: `make bench ARGS=--only-postgres`); do not edit. Runs of 10 trivial",
            "activities; engine, worker and client as processes of their own, against DBOS in one process, each with a",
            "new database on the same server, which shares the machine and its disk with both. `fsync`,",
            "`full_page_writes` and `synchronous_commit` are on.",
            f"Medians of {options.rounds} interleaved rounds. Only the ratios mean something: the cores are shared,",
            f"and {before:.1f} processes wanted the {os.cpu_count()} cores before this began, {after:.1f} at its end.",
            "",
            f"Machine: {machine()}. PostgreSQL {version}. {versions('signoff', 'psycopg', 'sqlalchemy')}.",
            "",
            table(["", "Signoff", "DBOS", "ratio"], rows),
            "",
            LIMIT,
            "",
        ]
    )
    print(page)
    if not options.no_write:
        (ROOT / "assets" / "docs" / "benchmarks-postgresql.md").write_text(page, "utf-8")


def main() -> None:
    """Measure and write the page."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of which the median is taken")
    parser.add_argument("--size", type=float, default=1.0, help="factor on the number of runs")
    parser.add_argument("--slow-us", type=int, default=2000, help="delay of the slow disk; 0 leaves it out")
    parser.add_argument("--no-postgres", action="store_true", help="leave out PostgreSQL")
    parser.add_argument("--only-postgres", action="store_true", help="PostgreSQL only")
    parser.add_argument("--no-write", action="store_true", help="do not write the page")
    options = parser.parse_args()
    work = Path(tempfile.mkdtemp(prefix="signoff-bench-"))
    if options.only_postgres:
        on_a_server(work, options)
        shutil.rmtree(work, ignore_errors=True)
        return
    try:
        rows = compare(work, 0, options.rounds, options.size)
        if options.slow_us:
            rows += compare(work, options.slow_us, max(1, options.rounds - 2), options.size / 2)
        if not options.no_postgres:
            on_a_server(work, options)
        shares = []
        for n in range(options.rounds):
            (work / f"raw{n}").mkdir()
            count = int(400 * options.size)
            shares.append(raw_share(work / f"raw{n}", concurrency=64, count=count))
        rows.append(
            [
                "share of raw SQLite, same rows and batches, 64 at a time",
                f"{median([s[2] for s in shares]):.0%}",
                "",
                "",
            ]
        )
        (work / "proofs").mkdir()
        rows += proofs.told(proofs.overhead(work / "proofs", rounds=options.rounds, count=int(200 * options.size)))
    finally:
        shutil.rmtree(work, ignore_errors=True)
    short, long, ratio = fairness.measure()
    page = "\n".join(
        [
            "# Benchmarks",
            "",
            "Written by `make bench`; do not edit. Runs of 10 trivial activities, SQLite `synchronous=FULL`,",
            "engine, worker and client as processes of their own, against DBOS on a WAL-tuned SQLite in one process.",
            f"Medians of {options.rounds} interleaved rounds. Only the ratios mean something: the cores are shared.",
            "",
            f"Machine: {machine()}. {versions('signoff', 'sqlalchemy', 'orjson')}.",
            "",
            table(["", "Signoff", "DBOS", "ratio"], rows),
            "",
            f"Fairness: beside a tenant with {fairness.LONG:,} queued calls, the p95 of another's wait for a worker is",
            f"{long:.2f} ms of processor time, beside one with {fairness.SHORT:,} {short:.2f} ms: {ratio:.2f}×",
            "(goal: at most 2×).",
            "",
        ]
    )
    print(page)
    if not options.no_write:
        (ROOT / "assets" / "docs" / "benchmarks.md").write_text(page, "utf-8")


if __name__ == "__main__":
    main()
