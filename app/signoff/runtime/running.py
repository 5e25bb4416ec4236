"""An engine in this process with its services."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Self

from signoff.core.states import Actor
from signoff.engine.client import Signoff
from signoff.engine.request import unwrap
from signoff.engine.writer import Writer, read_request
from signoff.runtime.feed import LocalFeed
from signoff.runtime.server import WireServer
from signoff.runtime.service import Service
from signoff.runtime.worker import Worker
from signoff.store.database import Database


@dataclass(slots=True)
class Running:
    """An engine in this process with its services; close it when done (or use `with`)."""

    signoff: Signoff
    writer: Writer
    feed: LocalFeed
    reader: Database
    services: tuple[Service, ...]
    workers: list[Worker] = field(default_factory=list)
    server: WireServer | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def save_person(
        self,
        login: str,
        *,
        name: str = "",
        roles: Iterable[str] | None = (),
        groups: Iterable[str] | None = (),
        password: str = "",
        email: str = "",
        active: bool = True,
        kind: str = "",
        tenant: str = "default",
    ) -> None:
        """Create or change an account with the authority of the installation itself (set-up, tests, CLI).

        Roles and groups that are None, and an empty name, email or password, stay as they are.
        """
        args = {
            "login": login,
            "name": name,
            "email": email,
            "roles": None if roles is None else list(roles),
            "groups": None if groups is None else list(groups),
            "active": active,
            "kind": kind,
        }
        install = Actor("system", "installation", "Installation", "cli")
        request = read_request(
            {"do": "save_person", "tenant": tenant, "args": {**args, "password": password}},
            lambda answer: None,
            "engine",
            lambda tenant, login: None,
        )
        request.actor = install
        unwrap(self.writer.ask(request))

    def close(self) -> None:
        """Stop workers, services and the writer, in that order; nothing acknowledged is lost."""
        for worker in self.workers:
            worker.close()
        if self.server is not None:
            self.server.close()
        for service in self.services:
            service.close()
        self.writer.close()
        self.feed.close()
        self.signoff.queries.close()
        self.reader.dispose()
