"""The web process: the browser application and the REST routes on uvicorn."""

from __future__ import annotations

import threading

import uvicorn

from signoff.api.app import create_api
from signoff.runtime.supervisor import until_told_to_stop
from signoff.web.app import create_app
from signoff.web.settings import WebSettings
from signoff.wiring import Settings, open_remote

ENGINE_WAIT_S = 30.0
MAX_SOCKET_MESSAGE_BYTES = 2_000_000
GRACE_S = 2


def serve(
    settings: Settings, host: str, port: int, *, origins: tuple[str, ...] = (), secure: bool = False, demo: bool = False
) -> None:
    """Serve until told to stop.

    Raises:
        Unavailable: the engine did not come up in time; the supervisor starts the process again.
    """
    signoff, client = open_remote(settings, wait_s=ENGINE_WAIT_S, with_connectors=True)
    exact = origins or tuple(f"{name}:{port}" for name in ("127.0.0.1", "localhost"))
    app = create_app(signoff, WebSettings(demo=demo, secure_cookies=secure, origins=exact))
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
    stop = until_told_to_stop()

    def end() -> None:
        stop.wait()
        server.should_exit = True

    threading.Thread(target=end, name="signoff-stop", daemon=True).start()
    server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
    server.run()
    client.close()
    signoff.queries.close()
