"""What people do about what they are asked: decide, fill in, return, take a vote back; and how any request is sent."""

from __future__ import annotations

from typing import Any, Protocol

from signoff.core.states import Actor


class Port(Protocol):
    """Where requests go. `call` blocks until the engine has committed (or refused) and may be used from any thread."""

    def call(self, request: dict[str, Any]) -> dict[str, Any]:
        """Send one request and return its answer; raises the `SignoffError` the engine answered with."""
        ...


class Answers:
    """The part of `Signoff` that people on a roster use."""

    def __init__(self, port: Port) -> None:
        self.port = port
        self.token = 0

    def do(self, what: str, actor: Actor, tenant: str, /, *, idempotency_key: str = "", **args: Any) -> dict[str, Any]:
        """Send any request by name; the other methods are its typed forms."""
        return self.port.call(
            {
                "do": what,
                "tenant": tenant,
                "actor": {
                    "kind": actor.kind,
                    "id": actor.id,
                    "name": actor.name,
                    "channel": actor.channel,
                    **_given(session=actor.session),
                },
                "key": idempotency_key,
                "args": args,
                **({"token": self.token} if self.token else {}),
            }
        )

    def decide(
        self,
        actor: Actor,
        tenant: str,
        run_id: str,
        step: str,
        outcome: str,
        *,
        generation: int,
        comment: str = "",
        shown_digest: str = "",
        to: str = "",
        link: str = "",
        password: str = "",
        values: dict[str, Any] | None = None,
        on_behalf_of: str = "",
        idempotency_key: str = "",
    ) -> dict[str, Any]:
        """Approve, reject or return; answers {"sequence", "status", "step_status"}.

        Args:
            actor: the person who decides.
            tenant: whose run it is.
            run_id: the run.
            step: the approval.
            outcome: `approved`, `rejected` or `returned`.
            generation: of the approval that was read.
            comment: for the record; needed where the definition says so.
            shown_digest: names exactly what was read; "" for whatever is shown now.
            to: with `returned`, the step to which the work goes back where there is a choice.
            link: the token of the link that is used up by this, "" where there is none.
            password: the actor's, where the approval asks for it again.
            values: of the fields that the approval asks for; InvalidInput names every wrong one.
            on_behalf_of: login of who is absent and for whom it is decided, "" for oneself.
            idempotency_key: the same key gets the same answer.
        """
        return self.do(
            "decide",
            actor,
            tenant,
            idempotency_key=idempotency_key,
            run_id=run_id,
            step=step,
            outcome=outcome,
            generation=generation,
            comment=comment,
            shown_digest=shown_digest,
            to=to,
            **_given(link=link, password=password, values=values, on_behalf_of=on_behalf_of),
        )

    def withdraw_vote(
        self,
        actor: Actor,
        tenant: str,
        run_id: str,
        step: str,
        *,
        generation: int,
        comment: str = "",
        idempotency_key: str = "",
    ) -> dict[str, Any]:
        """Take one's own vote back while the approval is open; answers like `decide`."""
        return self.do(
            "withdraw_vote",
            actor,
            tenant,
            idempotency_key=idempotency_key,
            run_id=run_id,
            step=step,
            generation=generation,
            comment=comment,
        )

    def submit_form(
        self,
        actor: Actor,
        tenant: str,
        run_id: str,
        step: str,
        values: dict[str, Any],
        *,
        generation: int,
        shown_digest: str = "",
        link: str = "",
        on_behalf_of: str = "",
        idempotency_key: str = "",
    ) -> dict[str, Any]:
        """Fill in a form; answers like `decide`. InvalidInput names every wrong field, and nothing is stored then."""
        return self.do(
            "submit_form",
            actor,
            tenant,
            idempotency_key=idempotency_key,
            run_id=run_id,
            step=step,
            values=values,
            generation=generation,
            shown_digest=shown_digest,
            **_given(link=link, on_behalf_of=on_behalf_of),
        )

    def return_form(
        self,
        actor: Actor,
        tenant: str,
        run_id: str,
        step: str,
        comment: str,
        *,
        generation: int,
        shown_digest: str = "",
        to: str = "",
        link: str = "",
        on_behalf_of: str = "",
        idempotency_key: str = "",
    ) -> dict[str, Any]:
        """Send the work back instead of filling in a form; `to` names the step where there is a choice."""
        return self.do(
            "return_form",
            actor,
            tenant,
            idempotency_key=idempotency_key,
            run_id=run_id,
            step=step,
            comment=comment,
            generation=generation,
            shown_digest=shown_digest,
            to=to,
            **_given(link=link, on_behalf_of=on_behalf_of),
        )


def _given(**args: Any) -> dict[str, Any]:
    """Arguments that are not empty; the others are left out of the request."""
    return {name: value for name, value in args.items() if value}
