"""The provider at which people sign in: `oidc.json` in the data folder. It refers to secrets and never holds one."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

from signoff.connectors.oidc import OidcSettings
from signoff.errors import ConfigurationFault

FILE = "oidc.json"


def load_oidc_settings(folder: Path) -> OidcSettings | None:
    """The provider of a data folder, or None.

    Raises:
        ConfigurationFault: the file cannot be read or is not safe.
    """
    path = folder / FILE
    if not path.exists():
        return None
    try:
        given: dict[str, Any] = json.loads(path.read_text("utf-8"))
        given["roles"] = {str(g): tuple(r) for g, r in given.get("roles", {}).items()}
        given["scopes"] = tuple(given.get("scopes", OidcSettings("", "", "").scopes))
        return OidcSettings(**given).check()
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise ConfigurationFault(f"'{path}' cannot be read: {error}", remedy="Mend it.") from None


def save_oidc_settings(folder: Path, settings: OidcSettings) -> None:
    """Write it, readable by the owner only."""
    path, temporary = folder / FILE, folder / f"{FILE}.new"
    settings.check()
    with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        json.dump(asdict(settings), file, indent=1)
    temporary.replace(path)
