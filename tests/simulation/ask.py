"""One request on its way, and what its sender does with the answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from signoff.core.states import Actor

TENANT = "default"
TIMERS = Actor("system", "timers", "Timers", "timer")
RESCUER = Actor("system", "rescuer", "Lease rescuer", "engine")
RELAY = Actor("system", "relay", "Relay", "engine")
SETUP = Actor("system", "setup", "Setup", "engine")


def nothing(answer: dict[str, Any]) -> None:
    """Nobody waits for it."""


def forgotten() -> None:
    """Nobody asks again."""


@dataclass(eq=False)
class Ask:
    """A request before it is sent.

    Attributes:
        heard: called with the answer, when it arrives.
        lost: called instead when none arrives.
        fault: why a good answer would be wrong, worked out beforehand by the auditor; "" where it may be good.
        maybe_done: the engine died over it, so that it may have been carried out.
        renews: (claim, lease time) of each lease that a heartbeat renews.
    """

    do: str
    actor: Actor
    args: dict[str, Any]
    key: str = ""
    origin: str = "client"
    context: Any = None
    heard: Callable[[dict[str, Any]], None] = nothing
    lost: Callable[[], None] = forgotten
    fault: str = ""
    maybe_done: bool = False
    renews: list[Any] = field(default_factory=list)

    def told(self) -> tuple[Any, ...]:
        """What must be equal when the key comes again."""
        return self.do, self.actor.id, repr(self.args)


def person(login: str) -> Actor:
    return Actor("person", login, "", "web")


def is_over(answer: dict[str, Any]) -> bool:
    """Whether sending the same again makes no sense."""
    return answer.get("error") != "Unavailable"
