"""Where the files that are not Python lie: `assets` in a checkout, `signoff/_assets` in an installed wheel."""

from __future__ import annotations

from pathlib import Path

from signoff.errors import ConfigurationFault


def asset_folder(name: str) -> Path:
    """The folder `web` or `templates`.

    Raises:
        ConfigurationFault: the installation is incomplete.
    """
    package = Path(__file__).resolve().parent
    for place in (package / "_assets" / name, package.parents[1] / "assets" / name):
        if place.is_dir():
            return place
    raise ConfigurationFault(f"The folder '{name}' of the installation is missing.", remedy="Install Signoff again.")
