"""The fictional people of the demo. They exist only under `signoff demo`, which listens on loopback only."""

from __future__ import annotations

from dataclasses import dataclass

PASSWORD = "demo"


@dataclass(frozen=True, slots=True)
class DemoPerson:
    """One account of the demo."""

    login: str
    name: str
    roles: tuple[str, ...]
    groups: tuple[str, ...] = ()


PEOPLE: tuple[DemoPerson, ...] = (
    DemoPerson("ada", "Ada (designer)", ("designer", "publisher", "starter")),
    DemoPerson("grace", "Grace (manager)", ("approver", "starter"), ("managers",)),
    DemoPerson("alan", "Alan (finance)", ("approver", "starter"), ("finance",)),
    DemoPerson("barbara", "Barbara (director)", ("approver", "starter"), ("directors",)),
    DemoPerson("edith", "Edith (legal)", ("approver", "starter"), ("legal",)),
    DemoPerson("katherine", "Katherine (operator)", ("operator", "starter", "approver"), ("operators", "it_owners")),
    DemoPerson("mary", "Mary (administrator)", ("administrator", "auditor")),
)
