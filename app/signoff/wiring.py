"""Settings to a running system; the only file that names implementations."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from signoff.assets import asset_folder
from signoff.connectors.call import Connector
from signoff.connectors.registry import build_registry
from signoff.engine.client import Signoff
from signoff.engine.handle import Engine
from signoff.engine.queries import Queries
from signoff.engine.verify import Verifier
from signoff.engine.writer import LocalPort, Writer
from signoff.errors import Unavailable
from signoff.runtime.client import WireClient, WireLink
from signoff.runtime.clusters import RemoteRegistry, open_cluster
from signoff.runtime.feed import LocalFeed
from signoff.runtime.folder import load_store, load_tokens, own_folder, refuse_a_lost_database
from signoff.runtime.local import LocalLink
from signoff.runtime.postman import open_letters
from signoff.runtime.rescuer import Rescuer
from signoff.runtime.running import Running
from signoff.runtime.sealer import Sealer
from signoff.runtime.server import WireServer
from signoff.runtime.serverwatch import ServerWatch
from signoff.runtime.service import Service
from signoff.runtime.storewatch import StoreWatch
from signoff.runtime.sweeper import Sweeper
from signoff.runtime.timers import TimerPump
from signoff.runtime.wire import socket_address
from signoff.runtime.worker import Worker
from signoff.scheduler import DurableTaskScheduler
from signoff.store.checkpoints import CheckpointFiles, Signer
from signoff.store.clock import ServerClock, clock_of, utc_now
from signoff.store.database import Database, Where, is_server, open_database, open_newest
from signoff.store.files import FileStore
from signoff.store.journal import Journal
from signoff.store.keyring import Keyring
from signoff.store.reads.audit import WholeDatabase
from signoff.store.reads.reader import Reader
from signoff.store.tasks import open_task_graph
from signoff.store.vault import Vault


@dataclass(frozen=True, slots=True)
class Settings:
    """What an installation is made of.

    Attributes:
        folder: data folder; holds `signoff.db`, secrets and the engine's socket.
        modules: Python modules that register activities.
        allowed_hosts: hosts inside private networks that HTTP activities may call.
        demo_address: base URL of the demo service; "" outside of `signoff demo`.
        keys: the file with the keys; `keys.json` in the data folder where none is named.
        checkpoints: the folder that signed checkpoints are appended in; beside the data folder where none is named.
        store: URL of the PostgreSQL database that has the data; where none is given, the one that `signoff up --store`
            left in the folder, and else the SQLite file `signoff.db` in it.
    """

    folder: Path
    modules: tuple[str, ...] = ()
    allowed_hosts: tuple[str, ...] = ()
    demo_address: str = ""
    keys: Path | None = None
    checkpoints: Path | None = None
    store: str = ""

    @property
    def where(self) -> Where:
        """Where the data are: a URL or a file."""
        return self.store or load_store(self.folder) or self.database

    @property
    def key_file(self) -> Path:
        """Keys are never in the database."""
        return self.keys or self.folder / "keys.json"

    @property
    def checkpoint_folder(self) -> Path:
        """Where the proofs stand that are outside of the database."""
        folder = self.folder.absolute()
        return self.checkpoints or folder.with_name(f"{folder.name}-checkpoints")

    @property
    def database(self) -> Path:
        """The database file, where the data are in one."""
        return self.folder / "signoff.db"

    @property
    def marker(self) -> Path:
        """Exists since the database was made; tells a new folder from one whose database is gone."""
        return self.folder / "database.made"

    @property
    def address_file(self) -> Path:
        """Where the engine writes the address it listens on."""
        return self.folder / "engine.address"


def templates() -> list[dict[str, Any]]:
    """The ready-made definitions that ship with the product."""
    return [json.loads(f.read_text("utf-8")) for f in sorted(asset_folder("templates").glob("*.json"))]


def start_engine(
    settings: Settings,
    *,
    connectors: Mapping[str, Connector] | None = None,
    now: Callable[[], datetime] | None = None,
    services: bool = True,
    wait_s: float = 10.0,
    is_stopped: Callable[[], bool] = bool,
    on_replaced: Callable[[], object] = bool,
) -> Running:
    """Open the store (creating and migrating it) and start the writer and its services.

    Args:
        settings: of the installation.
        connectors: what activities may call; everything registered where none are given.
        now: the clock, for tests; else this machine's, or on a server the server's (`signoff.store.clock`).
        services: whether timers, the rescuer, the relay and the sealer run.
        wait_s: on a server, how long to wait for another engine that writes to the same database.
        is_stopped: ends that waiting.
        on_replaced: called when another engine has taken over, because the server lost sight of this one.

    Raises:
        StoreFault: the library or the database is not safe to use.
        Unavailable: another engine writes to the database.
    """
    own_folder(settings.folder)
    where = settings.where
    if not is_server(where):
        refuse_a_lost_database(settings.marker, settings.database)
    installed = connectors if connectors is not None else _registry(settings)
    database, writing = open_newest(where, is_known=settings.marker.exists(), wait_s=wait_s, is_stopped=is_stopped)
    settings.marker.touch()
    feed = LocalFeed()
    vault = open_vault(settings)
    reader = open_database(where, read_only=True)
    clock = now or clock_of(reader, database)
    writer = Writer(lambda: Engine(Journal(database, vault, writing), clock, installed), feed.publish)
    writer.start()
    feed.start()
    queries = Queries(Reader(reader, vault), clock, installed, templates(), *_files(settings))
    port = LocalPort(writer, queries.find_password_hash)
    background: tuple[Service, ...] = ()
    if services:
        background = _services(settings, reader, writer, vault, clock, on_replaced)
        for service in background:
            service.start()
    return Running(Signoff(port, queries, feed), writer, feed, reader, background)


def _services(
    settings: Settings,
    reader: Database,
    writer: Writer,
    vault: Vault,
    now: Callable[[], datetime],
    on_replaced: Callable[[], object],
) -> tuple[Service, ...]:
    """What works in the background beside the writer."""
    pump = TimerPump(reader, writer, now)
    keep_clock = now.keep if isinstance(now, ServerClock) else bool
    on_server = is_server(settings.where)
    watch = ServerWatch(writer, on_replaced, keep_clock) if on_server else StoreWatch(settings.database, writer)
    sealer = open_sealer(settings, Reader(reader, vault), writer, now)
    relay, postman = open_letters(reader, writer, now, settings.folder, vault)
    sweeper = Sweeper(Reader(reader, vault), _files(settings)[1])
    return pump, Rescuer(reader, writer, now), relay, sealer, watch, postman, sweeper


def _files(settings: Settings) -> tuple[CheckpointFiles, FileStore]:
    return CheckpointFiles(settings.checkpoint_folder), FileStore(settings.folder / "files")


def open_vault(settings: Settings) -> Vault:
    """The vault on the key file of a data folder."""
    return Vault(open_keyring(settings))


def open_keyring(settings: Settings) -> Keyring:
    """The key file of a data folder."""
    return Keyring(settings.key_file)


def open_sealer(settings: Settings, reader: Reader, writer: Writer, now: Callable[[], datetime] = utc_now) -> Sealer:
    """The sealer of a data folder (not started yet)."""
    return Sealer(reader, writer, open_signer(settings, now), _files(settings)[0], now)


def open_signer(settings: Settings, now: Callable[[], datetime] = utc_now) -> Signer:
    """What signs the checkpoints of a data folder."""
    return Signer(open_keyring(settings), settings.checkpoint_folder, now)


def _registry(settings: Settings) -> Mapping[str, Connector]:
    return build_registry(settings.modules, allowed_hosts=settings.allowed_hosts, demo_address=settings.demo_address)


def open_embedded(
    folder: str | Path,
    *,
    connectors: Mapping[str, Connector] | None = None,
    modules: Iterable[str] = (),
    slots: int = 4,
    now: Callable[[], datetime] | None = None,
    services: bool = True,
) -> Running:
    """The engine inside this process, for notebooks, scripts and tests: same interface, one file.

    What it costs: user functions and pages share the interpreter with the writer, so that a busy function
    slows every run (the separate processes of `signoff up` do not have this).

    Args:
        folder: data folder, created where it does not exist.
        connectors: what activities may call; by default everything registered plus `http`.
        modules: modules to import because they register activities.
        slots: how many activities run at once; 0 starts no worker.
        now: the clock, for tests.
        services: whether timers, the rescuer and the relay run by themselves.
    """
    settings = Settings(Path(folder), modules=tuple(modules))
    installed = connectors if connectors is not None else _registry(settings)
    running = start_engine(settings, connectors=installed, now=now, services=services)
    if slots:
        worker = Worker("embedded", LocalLink(running.writer), installed, slots=slots)
        worker.start()
        running.workers.append(worker)
    return running


def open_durable_scheduler(path: str | Path, name: str = "default", **settings: Any) -> DurableTaskScheduler:
    """The durable form of `TaskScheduler` in a database: several processes may open the same graph.

    Args:
        path: an SQLite file, created where it does not exist, or the URL of a PostgreSQL database.
        name: of the task graph in it.
        settings: see `DurableTaskScheduler`.
    """
    store = open_task_graph(path, name)
    return DurableTaskScheduler(store, **{"now": store.now, **settings})


@contextmanager
def open_verifier(settings: Settings) -> Iterator[Verifier]:
    """The verifier of a data folder: reads the database only, whether or not an engine runs."""
    database = WholeDatabase(
        open_database(settings.where, read_only=True),
        open_vault(settings),
        *_files(settings),
        open_signer(settings).fits if settings.key_file.exists() else None,
    )
    try:
        yield Verifier(database)
    finally:
        database.close()


def listen(running: Running, settings: Settings) -> str:
    """Let other processes in: serve the wire protocol and write its address beside the database."""
    server = WireServer(
        socket_address(settings.folder),
        load_tokens(settings.folder),
        running.writer,
        running.signoff.queries.find_password_hash,
    )
    running.server = server
    running.feed.subscribe(server.publish)
    address = server.start()
    (temporary := settings.address_file.with_suffix(".new")).write_text(address, "utf-8")
    temporary.replace(settings.address_file)
    return address


def wire_client(settings: Settings, role: str, name: str = "") -> WireClient:
    """A connection to the engine of a data folder (not started yet)."""
    token = load_tokens(settings.folder)[role]
    return WireClient(lambda: settings.address_file.read_text("utf-8"), role, token, name)


def open_remote(
    settings: Settings,
    *,
    now: Callable[[], datetime] | None = None,
    wait_s: float = 5.0,
    with_connectors: bool = False,
) -> tuple[Signoff, WireClient]:
    """The same `Signoff` over the wire: commands and feed through the engine process, reads from the file.

    Args:
        settings: of the installation.
        now: the clock; else the one that the engine goes by.
        wait_s: how long to wait for the engine.
        with_connectors: import the modules that register activities, so that definitions can be checked
            against them (the web process does).

    Raises:
        Unavailable: no engine answers within `wait_s`.
    """
    client = wire_client(settings, "client")
    if not client.start(wait_s):
        client.close()
        raise Unavailable(
            f"No engine answers for '{settings.folder}'.", remedy="Start it with `signoff up`, or check --data."
        )
    reader = open_database(settings.where, read_only=True)
    connectors = _registry(settings) if with_connectors else None
    queries = Queries(
        Reader(reader, open_vault(settings)), now or clock_of(reader), connectors, templates(), *_files(settings)
    )
    return Signoff(client, queries, client), client


def start_worker(
    settings: Settings, name: str, *, pools: tuple[str, ...] = ("default",), slots: int = 8, on: str = ""
) -> tuple[Worker, WireClient]:
    """A worker of this process, connected over the wire; it offers its slots again after each reconnect.

    Args:
        settings: of the installation.
        name: of the worker, as people see it.
        pools: that it serves.
        slots: calls at once.
        on: address of a cluster on which its calls run; empty: in this process.
    """
    known = _registry(settings)
    remote = RemoteRegistry(known, open_cluster(on), settings.modules, settings.allowed_hosts) if on else None
    client = wire_client(settings, "worker", name)
    worker = Worker(name, WireLink(client), remote or known, pools=pools, slots=slots)
    client.on_connect = worker.offer_soon
    worker.start_pulse()
    client.start()
    return worker, client
