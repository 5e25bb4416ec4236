"""Pools on clusters: a worker process hands its calls to an executor and keeps their leases.

Any `concurrent.futures.Executor` will do: a Dask cluster's, a pool of processes, or one that a function of yours
makes (Ray's, MPI's). The worker stays the one that claims, renews and reports, so leases, idempotency keys, time
limits and the meaning of a lost call are those of every other worker.

What a cluster repeats by itself after it lost a machine is not repeated here: the call counts as lost, its lease is
left to run out, and the effect contract of the step says what follows.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context
from typing import Any, Protocol
from uuid import uuid4

from signoff.connectors.call import ActivityError, Call, Connector, Lost
from signoff.connectors.registry import Registry, build_registry
from signoff.core.progress import Progress
from signoff.errors import ConfigurationFault

LOOK_S = 0.25
DASK, PROCESSES, MADE = "dask://", "processes:", "executor:"


@dataclass(frozen=True, slots=True)
class RemoteCall:
    """What travels to the cluster: plain data, and how to find the connector there."""

    modules: tuple[str, ...]
    allowed_hosts: tuple[str, ...]
    connector: str
    name: str
    run_id: str
    step: str
    attempt: int
    key: str
    input: Any
    deadline_s: float
    last: tuple[float | None, str, Any] | None


class Cluster(Protocol):
    """Where calls run."""

    def submit(self, call: RemoteCall) -> Future[Any]:
        """Begin a call; a future that fails with `Lost` says that nobody knows what became of it."""
        ...

    def follow(self, name: str, tell: Callable[[Progress], None]) -> Callable[[], None]:
        """Pass on what the call reports, where this is possible; returns what ends it."""
        ...

    def stop(self, name: str) -> None:
        """Ask the call to stop, where this is possible."""
        ...

    def close(self) -> None:
        """Let go of the cluster; it goes on running."""
        ...


class RemoteRegistry(Mapping[str, Connector]):
    """The connectors of a registry, each of which runs its calls on a cluster."""

    def __init__(
        self, known: Mapping[str, Connector], cluster: Cluster, modules: Iterable[str], allowed_hosts: Iterable[str]
    ) -> None:
        self._known, self._cluster = known, cluster
        self._modules, self._allowed_hosts = tuple(modules), tuple(allowed_hosts)

    def __getitem__(self, name: str) -> Connector:
        self._known[name]  # a KeyError where this installation has none
        return _Remote(name, self._cluster, self._modules, self._allowed_hosts)

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


class _Remote:
    def __init__(self, connector: str, cluster: Cluster, modules: tuple[str, ...], hosts: tuple[str, ...]) -> None:
        self._connector, self._cluster, self._modules, self._hosts = connector, cluster, modules, hosts

    def __call__(self, call: Call) -> Any:
        last = (call.last.fraction, call.last.note, call.last.details) if call.last else None
        name = f"signoff-{uuid4().hex}"
        given = RemoteCall(
            self._modules, self._hosts, self._connector, name, call.run_id, call.step, call.attempt, call.key,
            call.input, call.deadline_s, last,
        )  # fmt: skip
        end = self._cluster.follow(name, call.tell)
        try:
            return self._await(self._cluster.submit(given), call, name)
        finally:
            end()

    def _await(self, future: Future[Any], call: Call, name: str) -> Any:
        told = False
        while True:
            try:
                return future.result(timeout=LOOK_S)
            except NotYet:
                if call.stop.is_set() and not told:
                    told = True
                    self._cluster.stop(name)
                    if future.cancel():
                        raise Lost("The call was taken back before it began.") from None
            except BrokenProcessPool as error:
                raise Lost(f"The process that did it is gone: {error}") from error


def perform(call: RemoteCall, stop: threading.Event, tell: Callable[[Progress], None]) -> Any:
    """Make the call, wherever this runs."""
    connector = _registry(call.modules, call.allowed_hosts).get(call.connector)
    if connector is None:
        message = f"'{call.connector}' is not installed on the machine of the cluster."
        raise ActivityError(message, code="no_connector", retryable=False)
    last = Progress(*call.last) if call.last else None
    return connector(
        Call(call.run_id, call.step, call.attempt, call.key, call.input, call.deadline_s, stop, last, tell)
    )


@cache
def _registry(modules: tuple[str, ...], hosts: tuple[str, ...]) -> Registry:
    return build_registry(modules, allowed_hosts=hosts)


def perform_plainly(call: RemoteCall) -> Any:
    """For executors that know neither stopping nor reports."""
    return perform(call, threading.Event(), lambda progress: None)


class ExecutorCluster:
    """Any executor; it is made anew when its processes are gone."""

    def __init__(self, make: Callable[[], Executor]) -> None:
        self._make, self._lock = make, threading.Lock()
        self._executor = make()

    def submit(self, call: RemoteCall) -> Future[Any]:
        """Begin a call."""
        with self._lock:
            try:
                return self._executor.submit(perform_plainly, call)
            except BrokenProcessPool:
                self._executor = self._make()
                return self._executor.submit(perform_plainly, call)

    def follow(self, name: str, tell: Callable[[Progress], None]) -> Callable[[], None]:
        """Reports do not come back from a plain executor."""
        return lambda: None

    def stop(self, name: str) -> None:
        """A call that has begun cannot be asked to stop; its run time ends it."""

    def close(self) -> None:
        """End the executor; what runs is not awaited."""
        self._executor.shutdown(wait=False, cancel_futures=True)


def open_cluster(address: str) -> Cluster:
    """The cluster behind an address.

    Args:
        address: `dask://HOST:PORT` (a Dask scheduler), `processes:N` (N processes of this machine), or
            `executor:package.module:function` (whatever Executor that function makes).

    Raises:
        ConfigurationFault: the address means nothing, or what it needs is not installed or not there.
    """
    if address.startswith(DASK):
        try:
            from signoff.runtime.dask_cluster import DaskCluster
        except ImportError as error:
            raise ConfigurationFault(
                f"'{address}' needs Dask, which is not installed: {error}",
                remedy="Install Signoff with the extra 'dask'.",
            ) from error
        return DaskCluster(address.removeprefix(DASK))
    if address.startswith(PROCESSES):
        count = address.removeprefix(PROCESSES)
        if not count.isdecimal() or not 1 <= int(count) <= 512:
            raise ConfigurationFault(f"'{address}' names no number of processes.", remedy="Write processes:4.")
        return ExecutorCluster(lambda: ProcessPoolExecutor(int(count), mp_context=get_context("spawn")))
    if address.startswith(MADE):
        return ExecutorCluster(_maker(address.removeprefix(MADE)))
    raise ConfigurationFault(
        f"'{address}' is no address of a cluster.",
        remedy="Use dask://HOST:PORT, processes:N or executor:package.module:function.",
    )


def _maker(path: str) -> Callable[[], Executor]:
    module, _, name = path.partition(":")
    try:
        make: Callable[[], Executor] = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigurationFault(
            f"There is no function '{path}' that makes an executor: {error}", remedy="Write package.module:function."
        ) from error
    return make
