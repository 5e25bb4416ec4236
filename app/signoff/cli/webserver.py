"""The web process: the browser application and the REST routes on uvicorn."""

from __future__ import annotations

import threading

import uvicorn

from signoff.api.app import create_api
from signoff.connectors.oidc import Provider
from signoff.engine.client import Signoff
from signoff.errors import Unavailable
from signoff.runtime.client import WireClient
from signoff.runtime.oidc_settings import load_oidc_settings
from signoff.runtime.supervisor import until_told_to_stop
from signoff.store.database import is_server
from signoff.web.app import create_app
from signoff.web.settings import WebSettings
from signoff.wiring import Settings, open_remote

ENGINE_WAIT_S = 30.0
LOOK_S = 1.0
MAX_SOCKET_MESSAGE_BYTES = 2_000_000
GRACE_S = 2


def serve(
    settings: Settings, host: str, port: int, *, origins: tuple[str, ...] = (), secure: bool = False, demo: bool = False
) -> None:
    """Serve until told to stop. Beside an engine that waits for the one of another machine, wait with it.

    Raises:
        Unavailable: the engine did not come up in time; the supervisor starts the process again.
    """
    stop = until_told_to_stop()
    found = _connect(settings, stop)
    if found is None:
        return
    signoff, client = found
    exact = origins or tuple(f"{name}:{port}" for name in ("127.0.0.1", "localhost"))
    known = load_oidc_settings(settings.folder)
    provider = Provider(known) if known else None
    app = create_app(signoff, WebSettings(demo=demo, secure_cookies=secure, origins=exact, provider=provider))
    app.mount("/api", create_api(signoff))
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        log_level="warning",
        ws="websockets-sansio",
        server_header=False,
        proxy_headers=secure,
        ws_max_size=MAX_SOCKET_MESSAGE_BYTES,
        timeout_graceful_shutdown=GRACE_S,
    )
    server = uvicorn.Server(config)

    def end() -> None:
        stop.wait()
        server.should_exit = True

    threading.Thread(target=end, name="signoff-stop", daemon=True).start()
    server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
    server.run()
    client.close()
    signoff.queries.close()


def _connect(settings: Settings, stop: threading.Event) -> tuple[Signoff, WireClient] | None:
    """The engine of this machine, once it answers; None where we are told to stop before."""
    waited = 0.0
    while True:
        try:
            return open_remote(settings, wait_s=LOOK_S, with_connectors=True)
        except Unavailable:
            waited += LOOK_S
            if stop.is_set():
                return None
            if waited >= ENGINE_WAIT_S and not is_server(settings.where):
                raise
