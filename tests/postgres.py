"""A real, throw-away PostgreSQL server for the tests, started from the programs that are installed.

`python -m tests.postgres` prints where they are; `python -m tests.postgres ensure` also installs Debian's package
where it can, which is what `make test` does. SIGNOFF_POSTGRES names the folder that has `initdb`.
"""

from __future__ import annotations

import glob
import os
import pwd
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
INSTALL_LOG = ROOT / ".build" / "postgresql-install.txt"
FOLDERS = (
    "/usr/lib/postgresql/*/bin",
    "/usr/pgsql-*/bin",
    "/opt/homebrew/opt/postgresql@*/bin",
    "/usr/local/pgsql/bin",
)
OLDEST = 13
MISSING = (
    "no PostgreSQL to test with: install the server (on Debian and Ubuntu: apt-get install postgresql), or name the"
    " folder that has initdb in SIGNOFF_POSTGRES"
)
SUPER = "signoff_tests"


def _version(folder: str) -> int:
    done = subprocess.run([f"{folder}/postgres", "--version"], capture_output=True, text=True, check=False)
    digits = "".join(c if c.isdigit() else " " for c in done.stdout).split()
    return int(digits[0]) if digits else 0


def find_programs() -> Path | None:
    """The folder with the newest `initdb` and `postgres`, or None."""
    named = os.environ.get("SIGNOFF_POSTGRES")
    on_path = shutil.which("initdb")
    found = [named] if named else [f for pattern in FOLDERS for f in glob.glob(pattern)]
    if on_path and not named:
        found.append(str(Path(on_path).resolve().parent))
    able = [f for f in found if f and os.access(f"{f}/initdb", os.X_OK) and os.access(f"{f}/postgres", os.X_OK)]
    best = max(able, key=_version, default=None)
    return Path(best) if best and _version(best) >= OLDEST else None


def _other_user() -> pwd.struct_passwd | None:
    """Who runs the server where we are root, which PostgreSQL refuses to be run by."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    return None


def free_port() -> int:
    """A port nobody listens on just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@dataclass(slots=True)
class Server:
    """A running server; `settings` of postgresql.conf may be given to `start` again after a `stop`."""

    programs: Path
    folder: Path
    port: int

    def url(self, database: str = "postgres") -> str:
        """Where a database of this server is."""
        return f"postgresql://{SUPER}@127.0.0.1:{self.port}/{database}"

    def start(self) -> None:
        """Start it and wait until it answers."""
        options = (
            f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c max_connections=200"
            " -c shared_buffers=64MB -c max_wal_size=256MB"
        )
        log = str(self.folder / "log.txt")
        self._run("pg_ctl", "-D", str(self.folder / "data"), "-l", log, "-w", "-t", "60", "-o", options, "start")

    def stop(self, mode: str = "fast") -> None:
        """Stop it; `immediate` is as good as a crash."""
        self._run("pg_ctl", "-D", str(self.folder / "data"), "-m", mode, "-w", "-t", "60", "stop")

    def query(self, statement: str, database: str = "postgres") -> list[tuple[object, ...]]:
        """Run one statement outside of transactions."""
        import psycopg

        with psycopg.connect(self.url(database), autocommit=True) as connection:
            done = connection.execute(statement)  # type: ignore[call-overload]
            return done.fetchall() if done.description else []

    def _run(self, program: str, *arguments: str) -> None:
        user = _other_user()
        done = subprocess.run(
            [str(self.programs / program), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,  # the server keeps it open
            stderr=subprocess.DEVNULL,
            check=False,
            cwd=self.folder,
            env={**os.environ, "LC_ALL": "C"},
            user=user.pw_uid if user else None,
            group=user.pw_gid if user else None,
            extra_groups=() if user else None,
        )
        if done.returncode:
            log = self.folder / "log.txt"
            raise RuntimeError(f"{program} failed: {log.read_text()[-2000:] if log.exists() else ''}")


@contextmanager
def started_server(programs: Path, *, on_disk: bool = False) -> Iterator[Server]:
    """A new cluster in memory where there is room, on the disk otherwise; `fsync` stays on, as the engine demands."""
    memory = Path("/dev/shm")
    roomy = (
        not on_disk
        and memory.is_dir()
        and os.access(memory, os.W_OK)
        and shutil.disk_usage(memory).free > 1_000_000_000
    )
    folder = Path(tempfile.mkdtemp(prefix="signoff-pg-", dir=memory if roomy else None))
    user = _other_user()
    if user:
        os.chown(folder, user.pw_uid, user.pw_gid)
    server = Server(programs, folder, free_port())
    try:
        server._run("initdb", "-D", str(folder / "data"), "-U", SUPER, "-A", "trust", "-E", "UTF8", "--locale=C")
        server.start()
        try:
            yield server
        finally:
            server.stop("immediate")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def ensure() -> int:
    """Install Debian's package where nothing is there and we may; tests are skipped where that is not possible."""
    if find_programs():
        return 0
    command = ["apt-get", "install", "--yes", "--no-install-recommends", "postgresql"]
    if shutil.which("apt-get") and os.geteuid() == 0:
        INSTALL_LOG.parent.mkdir(exist_ok=True)
        print("setup: installing PostgreSQL for the tests (apt-get install postgresql)", file=sys.stderr)
        with INSTALL_LOG.open("w") as log:
            environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
            for step in (["apt-get", "update"], command):
                subprocess.run(step, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, check=False)
    if not find_programs():
        print(f"setup: {MISSING}; its tests will be skipped", file=sys.stderr)
    return 0


def main(arguments: Sequence[str]) -> int:
    """See the module."""
    if list(arguments) == ["ensure"]:
        return ensure()
    print(find_programs() or MISSING)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
