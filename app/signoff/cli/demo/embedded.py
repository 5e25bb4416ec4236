"""The demo inside one process, for notebooks and tests: same people, templates, runs and service."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from signoff.cli.demo.people import PASSWORD, PEOPLE
from signoff.cli.demo.seed import Planter
from signoff.cli.demo.service import make_server
from signoff.connectors.registry import build_registry
from signoff.runtime.running import Running
from signoff.wiring import open_embedded


@contextmanager
def open_demo(folder: str | Path, *, slots: int = 4) -> Iterator[Running]:
    """A filled demo on an embedded engine; everything stops at the end of the `with` block."""
    server = make_server(0)
    threading.Thread(target=server.serve_forever, name="demo-service", daemon=True).start()
    address = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        with open_embedded(folder, connectors=build_registry(demo_address=address), slots=slots) as running:
            for p in PEOPLE:
                running.save_person(p.login, name=p.name, roles=p.roles, groups=p.groups, password=PASSWORD)
            planter = Planter(running.signoff, address)
            planter.publish_templates()
            planter.start_runs()
            yield running
    finally:
        server.shutdown()
        server.server_close()
