"""`signoff up`, `signoff demo`, and the processes they start."""

from __future__ import annotations

import gc
import logging
import math
import os
import socket
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from signoff.cli.context import (
    DEFAULT_DATA,
    Data,
    Store,
    choose_store,
    is_loopback,
    load_settings,
    machine_name,
    save_settings,
)
from signoff.cli.output import explains_errors, say
from signoff.errors import ConfigurationFault, Unavailable
from signoff.runtime.folder import load_tokens
from signoff.runtime.lock import EngineLock
from signoff.runtime.supervisor import Child, Supervisor, python_child, until_told_to_stop
from signoff.store.database import is_server, shown
from signoff.wiring import Settings, listen, start_engine, start_worker

process_app = typer.Typer(hidden=True, help="One process of an installation; started by the supervisor.")
MODULE = "signoff.cli.main"
Host = Annotated[str, typer.Option("--host", help="Address to listen on.")]
Port = Annotated[int, typer.Option("--port", help="Port to listen on.", min=1, max=65535)]
CLUSTER_SLOTS = 64
"""Calls at once on a cluster; its own scheduler queues what its machines cannot take yet."""
Workers = Annotated[int, typer.Option("--workers", help="Worker processes.", min=0, max=64)]


def configure_logging() -> None:
    """One line per record on standard error, with line breaks escaped."""

    class OneLine(logging.Formatter):
        def format(self, record: logging.LogRecord) -> str:
            return super().format(record).replace("\r", "\\r").replace("\n", "\\n  ")

    handler = logging.StreamHandler()
    handler.setFormatter(OneLine("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    level = os.environ.get("SIGNOFF_LOG", "WARNING").upper()
    logging.basicConfig(level=level, handlers=[handler], force=True)


def collect_rarely() -> None:
    """Let the search for cyclic garbage look at less, and less often: the engine keeps many small frozen objects.

    What was loaded so far is not looked at again. With Python's own thresholds, an eighth of the engine's time went
    into looking; what is garbage without being cyclic is freed at once in any case.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 50)


@process_app.command("engine")
@explains_errors
def engine_process(data: Data = DEFAULT_DATA) -> None:
    """The one writer of a database. On a server it waits until no other engine writes, then takes over."""
    configure_logging()
    stop = until_told_to_stop()
    settings = load_settings(data)
    lock = EngineLock(settings.folder)
    lock.acquire(20.0, stop)
    wait_s = math.inf if is_server(settings.where) else 0.0
    try:
        running = start_engine(settings, wait_s=wait_s, is_stopped=stop.is_set, on_replaced=stop.set)
    except Unavailable:
        if not stop.is_set():
            raise
        return
    collect_rarely()
    try:
        listen(running, settings)
        stop.wait()
    finally:
        running.close()
        lock.release()


@process_app.command("worker")
@explains_errors
def worker_process(
    name: Annotated[str, typer.Option("--name")] = "",
    slots: Annotated[int, typer.Option("--slots", min=1, max=1000)] = 8,
    pools: Annotated[str, typer.Option("--pools", help="Comma-separated.")] = "default",
    on: Annotated[str, typer.Option("--on", help="Cluster: dask://HOST:PORT, processes:N, executor:MODULE:NAME.")] = "",
    data: Data = DEFAULT_DATA,
) -> None:
    """A process that runs user code, or hands it to a cluster."""
    configure_logging()
    stop = until_told_to_stop()
    own = f"{name or machine_name()}-{os.getpid()}"
    worker, client = start_worker(load_settings(data), own, pools=tuple(pools.split(",")), slots=slots, on=on)
    stop.wait()
    worker.close()
    client.close()


@process_app.command("web")
@explains_errors
def web_process(
    host: Host = "127.0.0.1",
    port: Port = 8600,
    origins: Annotated[str, typer.Option("--origins")] = "",
    secure: Annotated[bool, typer.Option("--secure")] = False,
    demo: Annotated[bool, typer.Option("--demo")] = False,
    data: Data = DEFAULT_DATA,
) -> None:
    """Pages, REST and sockets on one port."""
    configure_logging()
    from signoff.cli.webserver import serve  # Panel takes seconds to import; only this process needs it

    serve(load_settings(data), host, port, origins=tuple(o for o in origins.split(",") if o), secure=secure, demo=demo)


@explains_errors
def up(
    data: Data = DEFAULT_DATA,
    store: Store = "",
    host: Host = "127.0.0.1",
    port: Port = 8600,
    workers: Workers = 1,
    module: Annotated[list[str] | None, typer.Option("--module", help="Module that registers activities.")] = None,
    allow_host: Annotated[
        list[str] | None, typer.Option("--allow-host", help="Private host that HTTP activities may call.")
    ] = None,
    pool: Annotated[
        list[str] | None, typer.Option("--pool", help="NAME=CLUSTER: a worker whose calls run on that cluster.")
    ] = None,
    origin: Annotated[list[str] | None, typer.Option("--origin", help="host:port that browsers see.")] = None,
    behind_proxy: Annotated[
        bool, typer.Option("--behind-proxy", help="A proxy in front ends TLS; needed beyond loopback.")
    ] = False,
) -> None:
    """Start an installation: engine, web and workers, supervised."""
    configure_logging()
    if not is_loopback(host) and not (behind_proxy and origin):
        raise ConfigurationFault(
            f"Listening on {host} would offer sign-in without TLS.",
            remedy="Put a proxy that ends TLS in front and say so with --behind-proxy and --origin HOST:PORT.",
        )
    if any("*" in o for o in origin or ()):
        raise ConfigurationFault("An origin must be exact; '*' is not allowed.", remedy="Name host and port.")
    settings = Settings(data, tuple(module or ()), tuple(allow_host or ()))
    choose_store(data, store)
    save_settings(settings)
    load_tokens(data)
    options = ["--host", host, "--port", str(port), "--origins", ",".join(origin or ())]
    if not settings.marker.exists():
        say(
            f"There are no accounts yet. Stop this and run: signoff person add LOGIN --role administrator --data {data}"
        )
    say(f"Signoff on http://{host}:{port} (data in {shown(settings.where)}). Stop it with Ctrl-C.")
    clusters = [_on_cluster(data, text) for text in pool or ()]
    supervise(data, workers, [*options, *(["--secure"] if behind_proxy else [])], clusters)


def _on_cluster(data: Path, text: str) -> Child:
    """The worker of a pool on a cluster, from `NAME=CLUSTER`."""
    name, _, address = text.partition("=")
    if not name or not address:
        raise ConfigurationFault(f"'{text}' is no pool on a cluster.", remedy="Write --pool ml=dask://HOST:PORT.")
    words = ("process", "worker", "--name", f"pool-{name}", "--pools", name, "--slots", str(CLUSTER_SLOTS))
    return python_child(f"pool {name}", MODULE, *words, "--on", address, "--data", str(data))


def supervise(data: Path, workers: int, web_options: Sequence[str], extra: Sequence[Child] = ()) -> None:
    """Run all processes of this machine until told to stop."""
    supervisor = Supervisor(children_of(data, workers, web_options, extra))
    until_told_to_stop(supervisor.stop)
    supervisor.start()
    supervisor.run()


def children_of(data: Path, workers: int, web_options: Sequence[str], extra: Sequence[Child] = ()) -> list[Child]:
    """Engine first, then workers and web."""
    where = ("--data", str(data))
    return [
        python_child("engine", MODULE, "process", "engine", *where),
        *(
            python_child(f"worker {n}", MODULE, "process", "worker", "--name", f"worker{n}", *where)
            for n in range(1, workers + 1)
        ),
        python_child("web", MODULE, "process", "web", *web_options, *where),
        *extra,
    ]


def port_is_free(host: str, port: int) -> bool:
    """Whether one can listen there."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
    return True
