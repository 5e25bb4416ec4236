"""Which connectors are installed, by the name that definitions use."""

from __future__ import annotations

import importlib
from collections.abc import Collection, Iterable, Iterator, Mapping

from signoff.connectors.call import Connector
from signoff.connectors.http import HttpConnector
from signoff.connectors.plain import fail, pass_on
from signoff.connectors.python import PythonConnector, registered
from signoff.errors import ConfigurationFault


class Registry(Mapping[str, Connector]):
    """Connectors by name: `http`, `pass`, `fail`, and `python:NAME` for every registered function."""

    def __init__(self, connectors: Mapping[str, Connector]) -> None:
        self._connectors = dict(connectors)

    def __getitem__(self, name: str) -> Connector:
        return self._connectors[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._connectors)

    def __len__(self) -> int:
        return len(self._connectors)


def build_registry(
    modules: Iterable[str] = (), *, allowed_hosts: Collection[str] = (), demo_address: str = ""
) -> Registry:
    """Import the modules that register functions and collect everything that is installed.

    Raises:
        ConfigurationFault: a module cannot be imported.
    """
    for module in modules:
        try:
            importlib.import_module(module)
        except ImportError as error:
            raise ConfigurationFault(
                f"The module '{module}' with activities cannot be imported: {error}",
                remedy="Install it or remove it from the settings.",
            ) from error
    functions = {f"python:{name}": PythonConnector(name, function) for name, function in registered().items()}
    http = HttpConnector(allowed_hosts, demo_address)
    return Registry({"http": http, "pass": pass_on, "fail": fail, **functions})
