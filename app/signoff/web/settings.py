"""What the browser application needs to know beyond the engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fastapi import APIRouter

    from signoff.connectors.oidc import Provider


@dataclass(frozen=True, slots=True)
class WebSettings:
    """Settings of the web process.

    Attributes:
        tenant: the tenant whose people sign in here.
        demo: True under `signoff demo`; pages say so and the login page offers the demo people.
        secure_cookies: True behind TLS; cookies are then `Secure` and carry the `__Host-` prefix.
        origins: `host:port` values under which people reach this site; exact, never `*`. Requests under any
            other name are refused, and only pages from here may open the socket. Empty means loopback names.
        routers: further routers, mounted under `/api`.
        provider: where people may sign in beside local accounts.
    """

    tenant: str = "default"
    demo: bool = False
    secure_cookies: bool = False
    origins: tuple[str, ...] = ()
    routers: Sequence[APIRouter] = ()
    provider: Provider | None = None

    @property
    def session_cookie(self) -> str:
        """Name of the cookie that holds the session secret."""
        return "__Host-signoff" if self.secure_cookies else "signoff"

    @property
    def form_cookie(self) -> str:
        """Name of the cookie that protects the login form."""
        return "__Host-signoff-form" if self.secure_cookies else "signoff-form"

    @property
    def link_cookie(self) -> str:
        """Name of the cookie that holds the link a person came with, until they have answered."""
        return "__Host-signoff-link" if self.secure_cookies else "signoff-link"


THEME_COOKIE = "signoff-theme"
"""`dark` or `light`. A script may read it, and `VIEW_COOKIE`; they hold nothing else."""

SCHEME_COOKIE = "signoff-scheme"
"""What the person's system prefers, for those who chose no theme."""

VIEW_COOKIE = "signoff-view"
"""`narrow` on a telephone, else `wide`."""
