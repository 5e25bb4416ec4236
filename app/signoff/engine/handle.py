"""`Engine.process`: many requests, one transaction. The only place where state is written."""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence
from datetime import datetime
from typing import Any

from signoff.core.facts import Directory
from signoff.core.states import Actor
from signoff.engine import (
    absence_requests,
    access_requests,
    audit_requests,
    braking,
    bulk_requests,
    definition_requests,
    file_requests,
    key_requests,
    limit_requests,
    notice_requests,
    oidc_requests,
    people_requests,
    plan_requests,
    retention_requests,
    run_requests,
    signal_requests,
    version_requests,
    worker_requests,
)
from signoff.engine.auditing import audit_alone
from signoff.engine.caches import PlanCache, RunCache
from signoff.engine.dispatch import Dispatcher
from signoff.engine.faults import Faults
from signoff.engine.permissions import MAY, permitted, who_may, words_of
from signoff.engine.request import Outbound, Request, failed
from signoff.engine.transaction import Transaction
from signoff.engine.usage import Usage
from signoff.errors import Conflict, Forbidden, InvalidInput, NotFound, SignoffError, StoreFault
from signoff.store.definitions import get_version
from signoff.store.journal import Journal
from signoff.store.people import Account, add_request, find_request
from signoff.store.times import to_micros

log = logging.getLogger("signoff.engine")

WORKER_REQUESTS = frozenset({"offer", "withdraw", "complete", "fail", "heartbeat"})
ENGINE_REQUESTS = frozenset(
    {"lease", "expire_lease", "fire_timer", "delivered", "seal", "prune_runs", "rotation_done", "write_letter",
     "letter_sent", "letter_failed"}
)  # fmt: skip
OPEN_REQUESTS = frozenset({"sign_in", "sign_in_oidc", "sign_out", "bad_bearer"})
NEVER_KEPT = frozenset({"sign_in", "sign_in_oidc", "create_token"})
"""Their answers hold a secret, so that they are not remembered under an idempotency key."""


class Engine:
    """Decides and writes. Belongs to the writer thread; nothing in it is thread-safe."""

    def __init__(self, journal: Journal, now: Callable[[], datetime], connectors: Collection[str]) -> None:
        self.journal = journal
        self.dispatcher = Dispatcher()
        self._now = now
        self._plans = PlanCache(self._load_plan)
        self._warm = RunCache()
        self._directories: dict[str, tuple[Directory, dict[str, Account]]] = {}
        self._usage = Usage(journal)
        self._faults = Faults()
        self._handlers: dict[str, Callable[[Transaction, Request], dict[str, Any]]] = {
            **run_requests.HANDLERS,
            **absence_requests.HANDLERS,
            **braking.HANDLERS,
            **signal_requests.HANDLERS,
            **worker_requests.handlers(self.dispatcher),
            **notice_requests.HANDLERS,
            **definition_requests.handlers(connectors),
            **version_requests.HANDLERS,
            **bulk_requests.HANDLERS,
            **audit_requests.HANDLERS,
            **retention_requests.HANDLERS,
            **key_requests.HANDLERS,
            **people_requests.HANDLERS,
            **access_requests.HANDLERS,
            **oidc_requests.HANDLERS,
            **file_requests.HANDLERS,
            **limit_requests.HANDLERS,
            **plan_requests.HANDLERS,
        }

    def _load_plan(self, version_id: int) -> tuple[dict[str, object], str, int]:
        row = get_version(self.journal, version_id)
        return row.document, row.digest, row.version

    def process(self, requests: Sequence[Request], *, again: bool = True) -> Outbound:
        """Answer requests, all in one commit.

        Where the commit fails, everything planned is thrown away and the requests are done one by one; a
        request that fails alone is answered as unavailable, and nothing of it is kept. Where the connection to the
        database was lost before the commit, all are done once more together, on a new one.
        """
        try:
            return self._one_commit(requests)
        except Exception as error:
            lost = again and self.journal.is_lost
            if isinstance(error, StoreFault) and error.code == "uncertain":  # doing it again might do it twice
                return Outbound(
                    answers=[(r, failed(self._faults.told(error, r.do))) for r in requests], lease_later=True
                )
            if lost:
                log.warning("the connection to the database was lost (%s); doing %d again", error, len(requests))
                return self.process(requests, again=False)
            if len(requests) > 1:
                log.warning("a commit of %d requests failed (%s); doing them one by one", len(requests), error)
                out = Outbound()
                for request in requests:
                    out.add(self.process([request]))
                return out
            answer = failed(self._faults.told(error, requests[0].do))
            return Outbound(answers=[(requests[0], answer)], lease_later=True)

    def _one_commit(self, requests: Sequence[Request]) -> Outbound:
        caches = self._plans, self._warm
        tx = Transaction(self.journal, *caches, self.dispatcher, self._directories, self._usage, self._now())
        try:
            self._usage.prepare()
            for request in requests:
                tx.out.answers.append((request, self._answer(tx, request)))
            tx.lease_ready()
            tx.commit()
        except BaseException:
            tx.abandon()
            raise
        return tx.out

    def _answer(self, tx: Transaction, r: Request) -> dict[str, Any]:
        try:
            handler = self._handlers.get(r.do)
            if handler is None:
                raise NotFound(f"There is no request '{r.do[:60]}'.", remedy="Check its name.")
            if any(isinstance(text, str) and "\0" in text for text in (r.key, r.tenant, r.actor.id, *r.args.values())):
                raise InvalidInput("A text holds the character NUL.", remedy="Leave it out.")
            r.actor = self._authorise(tx, r)
            if r.key and r.origin == "client" and r.do not in NEVER_KEPT:
                return self._once(tx, r, handler)
            return handler(tx, r)
        except SignoffError as error:
            if isinstance(error, Forbidden):
                self._audit_refusal(tx, r, error)
            return failed(error)
        except (TypeError, KeyError, ValueError, OverflowError) as error:
            log.exception("request %s was malformed", r.do)
            return failed(InvalidInput(f"The request '{r.do}' is malformed: {error}", remedy="Correct it."))

    def _authorise(self, tx: Transaction, r: Request) -> Actor:
        """Who really sends it, by its origin and today's directory.

        Raises:
            Forbidden: this origin, account or role may not send the request.
        """
        allowed_origin = "worker" if r.do in WORKER_REQUESTS else "engine" if r.do in ENGINE_REQUESTS else "client"
        if r.origin not in (allowed_origin, "engine") or (r.origin == "engine" and r.do in OPEN_REQUESTS):
            raise Forbidden(f"A {r.origin} connection may not send '{r.do}'.", remedy="Use another credential.")
        if r.origin != "client" or r.do in OPEN_REQUESTS:
            return r.actor
        account = tx.directory(r.tenant)[1].get(r.actor.id.casefold())
        if account is None or not account.active:
            raise Forbidden(f"'{r.actor.id[:60]}' has no active account.", remedy="Ask an administrator.")
        if r.do in MAY and r.do not in permitted(account.roles):
            raise Forbidden(
                f"Expected to {words_of(r.do)}, but that takes the role {who_may(r.do)}.",
                remedy="Ask someone who has it.",
            )
        if r.token:
            access_requests.check_token(tx, r, account)
        r.session = r.actor.session
        return Actor(account.kind, account.login, account.name, r.actor.channel)

    def _once(
        self, tx: Transaction, r: Request, handler: Callable[[Transaction, Request], dict[str, Any]]
    ) -> dict[str, Any]:
        digest = r.digest()
        key = f"{r.actor.id}:{r.key}"[:400]
        earlier = find_request(tx.journal, r.tenant, key)
        if earlier is not None:
            if earlier[0] != digest:
                raise Conflict(
                    f"The idempotency key '{r.key[:60]}' was used for another request.",
                    code="key_reused",
                    remedy="Use a new key for a new request.",
                )
            known = dict(earlier[1])
            if "created" in known.get("ok", {}):
                known["ok"] = {**known["ok"], "created": False}
            return known
        answer = handler(tx, r)
        if "ok" in answer:
            at = to_micros(tx.now)
            tx.direct(lambda journal: add_request(journal, r.tenant, key, digest, answer, at))
        return answer

    def _audit_refusal(self, tx: Transaction, r: Request, error: SignoffError) -> None:
        subject = str(r.args.get("run_id") or r.args.get("name") or "")[:200]
        audit_alone(tx, r, subject, error.message, outcome="refused")
