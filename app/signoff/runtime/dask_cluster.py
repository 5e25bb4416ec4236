"""A Dask cluster as a pool: stopping and reports travel through its scheduler."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from distributed import Client, Event, get_client, get_worker
from distributed.scheduler import KilledWorker

from signoff.connectors.call import Lost
from signoff.core.progress import Progress
from signoff.errors import ConfigurationFault
from signoff.runtime.clusters import RemoteCall, perform

CONNECT_S = 20.0


class DaskCluster:
    """The cluster behind a Dask scheduler.

    Raises:
        ConfigurationFault: nothing answers at the address.
    """

    def __init__(self, address: str) -> None:
        try:
            self._client = Client(address, set_as_default=False, timeout=CONNECT_S)
        except (OSError, TimeoutError) as error:
            raise ConfigurationFault(
                f"No Dask scheduler answers at '{address}'.", remedy="Start it, or correct the address."
            ) from error
        self._executor = self._client.get_executor(pure=False, retries=0)

    def submit(self, call: RemoteCall) -> Future[Any]:
        """Begin a call."""
        mine: Future[Any] = Future()

        def done(theirs: Future[Any]) -> None:
            error = theirs.exception() if not theirs.cancelled() else Lost("The call was taken back.")
            if mine.cancelled():
                return
            if isinstance(error, KilledWorker):
                error = Lost(f"The machine that did it is gone: {error}")
            if error is not None:
                mine.set_exception(error)
            else:
                mine.set_result(theirs.result())

        mine.set_running_or_notify_cancel()
        self._executor.submit(perform_on_dask, call).add_done_callback(done)
        return mine

    def follow(self, name: str, tell: Callable[[Progress], None]) -> Callable[[], None]:
        """Pass on what the call reports."""

        def heard(event: tuple[float, Any]) -> None:
            fraction, note, details = event[1]
            tell(Progress(fraction, note, details))

        self._client.subscribe_topic(name, heard)
        return lambda: self._client.unsubscribe_topic(name)

    def stop(self, name: str) -> None:
        """Ask the call to stop."""
        Event(f"{name}-stop", client=self._client).set()

    def close(self) -> None:
        """Let go of the cluster."""
        self._client.close(timeout=5)


def perform_on_dask(call: RemoteCall) -> Any:
    """Make the call on a worker of the cluster, once: Dask itself would begin it again where a machine was lost.

    Raises:
        Lost: it was begun before.
    """
    worker, client = get_worker(), get_client()
    begun = Event(f"{call.name}-begun", client=client)
    if begun.is_set():
        raise Lost("The machine that did it is gone.")
    begun.set()
    stop, over = threading.Event(), threading.Event()
    asked = Event(f"{call.name}-stop", client=client)

    def watch() -> None:
        while not over.is_set():
            if asked.wait(timeout=1):
                stop.set()
                return

    threading.Thread(target=watch, name="signoff-stop", daemon=True).start()
    try:
        return perform(call, stop, lambda p: worker.log_event(call.name, (p.fraction, p.note, p.details)))
    finally:
        over.set()
