"""What arrives at the writer and what leaves it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import orjson

from signoff import errors
from signoff.core.rejection import Rejection
from signoff.core.states import Actor
from signoff.errors import SignoffError

Reply = Callable[[dict[str, Any]], None]


@dataclass(slots=True)
class Request:
    """One request with the way to answer it. `origin` is `client`, `worker` or `engine`, set by the receiver.

    `token` is the number of the program's token that was given, 0 where a person signed in; `session` is the public id
    of the session they came with, where there is one.
    """

    do: str
    tenant: str
    actor: Actor
    args: dict[str, Any]
    reply: Reply
    key: str = ""
    origin: str = "client"
    token: int = 0
    session: str = ""
    context: Any = None

    def digest(self) -> str:
        """What must be equal when the same idempotency key comes again."""
        body = [self.do, self.actor.id, self.args]
        return hashlib.sha256(orjson.dumps(body, option=orjson.OPT_SORT_KEYS)).hexdigest()


@dataclass(slots=True)
class Outbound:
    """What leaves only after the commit: answers, tasks for workers, news for the feed.

    `lease_again` asks for one more transaction, because attempts became claimable whose rows were not
    written yet when this one looked for them. `lease_later` asks for one in a while, because a commit failed
    and with it the look for claimable attempts.
    """

    answers: list[tuple[Request, dict[str, Any]]] = field(default_factory=list)
    tasks: list[tuple[Any, dict[str, Any]]] = field(default_factory=list)
    news: list[Any] = field(default_factory=list)
    next_timer: int | None = None
    lease_again: bool = False
    lease_later: bool = False

    def add(self, other: Outbound) -> None:
        """Take over what another commit lets out."""
        self.answers += other.answers
        self.tasks += other.tasks
        self.news += other.news
        self.heed_timer(other.next_timer)
        self.lease_again = self.lease_again or other.lease_again
        self.lease_later = other.lease_later

    def heed_timer(self, due: int | None) -> None:
        """Remember the earliest due time (microseconds) of the timers that were set."""
        if due is not None and (self.next_timer is None or due < self.next_timer):
            self.next_timer = due


def ok(**result: Any) -> dict[str, Any]:
    """A good answer."""
    return {"ok": result}


def failed(error: SignoffError) -> dict[str, Any]:
    """An error as an answer."""
    answer: dict[str, Any] = {
        "error": type(error).__name__,
        "code": error.code,
        "message": error.message,
        "remedy": error.remedy,
    }
    if isinstance(error, errors.Refused):
        answer["known"] = error.known
        answer["details"] = error.details
    if isinstance(error, errors.InvalidInput) and error.problems:
        answer["problems"] = [p if isinstance(p, dict) else _plain(p) for p in error.problems]
    return answer


def _plain(problem: Any) -> dict[str, Any]:
    return {name: getattr(problem, name) for name in problem.__dataclass_fields__}


def refused(rejection: Rejection) -> dict[str, Any]:
    """A rejection as an answer."""
    return failed(
        errors.Refused(
            rejection.message,
            code=rejection.code,
            remedy=rejection.remedy,
            known=rejection.known,
            details=rejection.details,
        )
    )


def unwrap(answer: dict[str, Any]) -> dict[str, Any]:
    """The result of an answer.

    Raises:
        SignoffError: the one the engine answered with.
    """
    if "ok" in answer:
        result: dict[str, Any] = answer["ok"]
        return result
    cls = getattr(errors, answer["error"], SignoffError)
    extra: dict[str, Any] = {}
    if cls is errors.Refused:
        extra = {"known": answer.get("known", False), "details": answer.get("details", {})}
    elif cls is errors.InvalidInput:
        extra = {"problems": tuple(answer.get("problems", ()))}
    raise cls(answer["message"], code=answer["code"], remedy=answer["remedy"], **extra)
