"""The peer: DBOS on a WAL-tuned SQLite file or on PostgreSQL, the same work. Run with the Python of the peers.

Prints one JSON line. Usage: peer_dbos.py {FOLDER|URL} {1|64} RUN_COUNT
"""

import json
import logging
import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pysqlite3
import pysqlite3.dbapi2

sys.modules["sqlite3"] = pysqlite3
sys.modules["sqlite3.dbapi2"] = pysqlite3.dbapi2

from dbos import DBOS  # noqa: E402 - the library must see the newer SQLite

STEPS = 10
latencies = []
last = threading.local()


@DBOS.step()
def one_step(number, run):
    now = time.perf_counter()
    before = getattr(last, "at", None)
    if before is not None:
        latencies.append(now - before)
    last.at = now
    return {"i": number, "x": run}


@DBOS.workflow()
def ten_steps(run):
    last.at = None
    output = None
    for number in range(STEPS):
        output = one_step(number, run)
    return output


def main(where, concurrency, count):
    url = where
    if not where.startswith("postgresql://"):
        file = os.path.join(where, "peer.sqlite")
        connection = pysqlite3.connect(file)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.close()
        url = f"sqlite:///{file}"
    logging.disable(logging.ERROR)
    DBOS(config={"name": "bench", "system_database_url": url, "max_executor_threads": 64})
    DBOS.launch()
    for i in range(5):
        ten_steps(-1 - i)
    latencies.clear()
    began = time.perf_counter()
    if concurrency == 1:
        for i in range(count):
            ten_steps(i)
    else:
        with ThreadPoolExecutor(concurrency) as pool:
            list(pool.map(ten_steps, range(count)))
    seconds = time.perf_counter() - began
    ordered = sorted(latencies)
    print(
        json.dumps(
            {
                "steps_per_s": STEPS * count / seconds,
                "p50_ms": 1e3 * ordered[len(ordered) // 2],
                "p95_ms": 1e3 * ordered[int(len(ordered) * 0.95)],
            }
        ),
        flush=True,
    )
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
