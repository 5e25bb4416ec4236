"""The writer thread: drains requests, lets the engine commit them together, then lets everything leave."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable
from typing import Any

from signoff.core.states import Actor
from signoff.engine.handle import Engine
from signoff.engine.links import Proofs
from signoff.engine.people_requests import hash_password, password_fits
from signoff.engine.request import Outbound, Request, failed, unwrap
from signoff.errors import Unavailable

log = logging.getLogger("signoff.engine")

MAX_BATCH = 256
PROVED = frozenset({"decide", "submit_form", "return_form", "open_link", "rotate_keys", "erase_run", "set_retention"})
"""What may come with a link's token or with the password of its sender."""
AFTER_FAILURE_S = 1.0


class Writer:
    """Owns the engine's thread. `submit` may be called from anywhere; answers come on the writer's thread.

    A lone request commits at once; while a commit is under way others gather and share the next one.
    """

    def __init__(self, make_engine: Callable[[], Engine], publish: Callable[[Any], None]) -> None:
        self._make_engine = make_engine
        self._publish = publish
        self._queue: queue.SimpleQueue[Request | None] = queue.SimpleQueue()
        self._started = threading.Event()
        self._closed = False
        self._why_closed = "The engine is shutting down."
        self._fault: BaseException | None = None
        self._lease_later = False
        self._thread = threading.Thread(target=self._run, name="signoff-writer", daemon=True)
        self.engine: Engine | None = None
        self.on_timer: Callable[[int], None] = lambda due: None

    def start(self) -> None:
        """Open the journal on the writer's thread; raises what went wrong there."""
        self._thread.start()
        self._started.wait()
        if self._fault is not None:
            raise self._fault

    def submit(self, request: Request) -> None:
        """Queue a request; its `reply` is called after the commit."""
        if self._closed:
            request.reply(failed(Unavailable(self._why_closed, remedy="Send it again when the engine is back.")))
        else:
            self._queue.put(request)

    def ask(self, request: Request, timeout_s: float = 30.0) -> dict[str, Any]:
        """Submit and wait for the raw answer, replacing the request's `reply`.

        Raises:
            Unavailable: no answer came in time.
        """
        answered: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        request.reply = answered.put
        self.submit(request)
        try:
            return answered.get(timeout=timeout_s)
        except queue.Empty:
            raise Unavailable(
                "The engine did not answer in time.", remedy="Look whether it was done, then repeat."
            ) from None

    def refuse(self, why: str) -> None:
        """Take no more requests, because what the engine relies on is gone; `why` is a sentence."""
        self._why_closed = why
        self._closed = True

    def close(self, timeout_s: float = 10.0) -> None:
        """Finish what was submitted, then close the journal."""
        self._closed = True
        self._queue.put(None)
        if self._thread.is_alive():
            self._thread.join(timeout_s)

    def _run(self) -> None:
        try:
            engine = self.engine = self._make_engine()
        except BaseException as error:  # handed to `start`
            self._fault = error
            self._started.set()
            return
        self._started.set()
        ended = False
        while not ended:
            batch, ended = self._drain()
            if batch:
                self._release(engine.process(batch))
        engine.journal.close()

    def _drain(self) -> tuple[list[Request], bool]:
        try:
            first = self._queue.get(timeout=AFTER_FAILURE_S if self._lease_later else None)
        except queue.Empty:
            return [_lease(everywhere=True)], False
        if first is None:
            return [], True
        batch = [first]
        while len(batch) < MAX_BATCH:
            try:
                following = self._queue.get_nowait()
            except queue.Empty:
                break
            if following is None:
                return batch, True
            batch.append(following)
        return batch, False

    def _release(self, out: Outbound) -> None:
        for slot, task in out.tasks:
            self._safely(slot.send, task)
        for request, answer in out.answers:
            self._safely(request.reply, answer)
        for news in out.news:
            self._safely(self._publish, news)
        if out.next_timer is not None:
            self._safely(self.on_timer, out.next_timer)
        if out.lease_again:
            self._queue.put(_lease())
        self._lease_later = out.lease_later

    @staticmethod
    def _safely(call: Callable[..., Any], *args: Any) -> None:
        try:
            call(*args)
        except Exception:
            log.exception("a receiver of the engine's output failed")


def _lease(*, everywhere: bool = False) -> Request:
    """The writer's own request to look for claimable attempts."""
    actor = Actor("system", "writer", channel="engine")
    return Request("lease", "", actor, {"everywhere": everywhere}, lambda answer: None, origin="engine")


class LocalPort:
    """The engine in this process, behind the same interface as the one behind a socket."""

    def __init__(self, writer: Writer, find_hash: Callable[[str, str], str | None], timeout_s: float = 30.0) -> None:
        self._writer = writer
        self._find_hash = find_hash
        self._timeout_s = timeout_s

    def call(self, request: dict[str, Any]) -> dict[str, Any]:
        """Send one request and wait for the commit that answers it."""
        read = read_request(request, lambda answer: None, "client", self._find_hash)
        return unwrap(self._writer.ask(read, self._timeout_s))


def read_request(
    message: dict[str, Any],
    reply: Callable[[dict[str, Any]], None],
    origin: str,
    find_hash: Callable[[str, str], str | None],
) -> Request:
    """A request from its JSON form. Passwords are hashed or checked here, off the writer's thread."""
    actor = message.get("actor") or {}
    args = dict(message.get("args") or {})
    request = Request(
        do=str(message.get("do") or ""),
        tenant=str(message.get("tenant") or "default"),
        actor=Actor(
            str(actor.get("kind") or "person"),
            str(actor.get("id") or "")[:200],
            str(actor.get("name") or "")[:200],
            str(actor.get("channel") or ""),
            str(actor.get("session") or "")[:100],
        ),
        args=args,
        reply=reply,
        key=str(message.get("key") or ""),
        origin=origin,
        token=message["token"] if isinstance(message.get("token"), int) else 0,
    )
    password, link = args.pop("password", None), args.pop("link", None)
    if request.do in PROVED:
        request.context = Proofs(str(link or "")[:400], _hash_of(request, password, find_hash))
    elif request.do == "sign_in":
        known = find_hash(request.tenant, request.actor.id)
        request.context = known if password_fits(known, str(password or "")) else ""
    elif request.do == "save_person" and password:
        request.context = hash_password(str(password))
    return request


def _hash_of(request: Request, password: object, find_hash: Callable[[str, str], str | None]) -> str | None:
    """The hash that a given password fits, "" where it fits none, None where none was given."""
    if not password:
        return None
    known = find_hash(request.tenant, request.actor.id)
    return known if password_fits(known, str(password)) else ""
