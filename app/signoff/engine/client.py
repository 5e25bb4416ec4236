"""The one face of the engine that web, API, CLI, notebooks and tests use.

`Signoff` builds requests and hands them to a `Port`: either the writer in this process (embedded) or the
engine process behind a socket. Reads go through `queries`, live changes through `feed`.

A refusal by the rules raises `errors.Refused` (with the sentence to show); bad input raises
`errors.InvalidInput`; a missing permission `errors.Forbidden`; a stale revision `errors.Conflict`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from signoff.core.states import Actor
from signoff.engine.answers import Answers
from signoff.engine.answers import Port as Port
from signoff.engine.views import FeedEvent

if TYPE_CHECKING:
    from signoff.engine.queries import Queries
    from signoff.store.blobs import Blob


class Feed(Protocol):
    """Live changes, after commit."""

    def subscribe(self, listener: Callable[[FeedEvent], None]) -> Callable[[], None]:
        """Call `listener` (from any thread, quickly) for every change; returns the function that stops it."""
        ...


class Signoff(Answers):
    """Everything a person, a program or a page can do."""

    def __init__(self, port: Port, queries: Queries, feed: Feed) -> None:
        super().__init__(port)
        self.queries = queries
        self.feed = feed

    def with_token(self, number: int) -> Signoff:
        """The same, for a program that came with a token: every request is checked against its scopes too."""
        other = Signoff(self.port, self.queries, self.feed)
        other.token = number
        return other

    def add_file(self, actor: Actor, tenant: str, kept: Blob, name: str, media: str) -> dict[str, Any]:
        """Announce a content that was kept, to be used within a day; answers the value of a file field."""
        about: dict[str, Any] = {"file": kept.digest, "name": name, "size": kept.size, "type": media}
        return self.do("upload_file", actor, tenant, **about, blob=kept.name, key=kept.key.hex())

    # Definitions

    def create_draft(
        self, actor: Actor, tenant: str, document: dict[str, Any], layout: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Store a new draft under `document["name"]`; answers {"name", "revision": 1}. Conflict if the name exists."""
        return self.do("create_draft", actor, tenant, document=document, layout=layout or {})

    def save_draft(
        self,
        actor: Actor,
        tenant: str,
        name: str,
        document: dict[str, Any],
        layout: dict[str, Any],
        based_on: int,
    ) -> dict[str, Any]:
        """Store revision `based_on + 1`; Conflict names who saved in between. Answers {"revision"}."""
        return self.do("save_draft", actor, tenant, name=name, document=document, layout=layout, based_on=based_on)

    def publish(self, actor: Actor, tenant: str, name: str, revision: int) -> dict[str, Any]:
        """Freeze a revision; answers {"version", "digest", "created"}; the same content gives the same version back."""
        return self.do("publish", actor, tenant, name=name, revision=revision)

    def archive(
        self, actor: Actor, tenant: str, name: str, reason: str, *, version: int | None = None, archived: bool = True
    ) -> dict[str, Any]:
        """No new runs of this definition, or of one version; open runs go on. `archived=False` takes it back.

        New runs use the newest version that is not archived; answers its number as "new_runs_use".
        """
        return self.do("archive" if archived else "unarchive", actor, tenant, name=name, reason=reason, version=version)

    def restore_draft(
        self, actor: Actor, tenant: str, name: str, version: int, *, based_on: int | None = None
    ) -> dict[str, Any]:
        """Make a version's content the next draft revision; answers {"revision"}."""
        return self.do("restore_draft", actor, tenant, name=name, version=version, based_on=based_on)

    # Runs

    def start_run(
        self,
        actor: Actor,
        tenant: str,
        definition: str,
        input: dict[str, Any],
        *,
        version: int | None = None,
        business_key: str = "",
        idempotency_key: str = "",
    ) -> dict[str, Any]:
        """Start the newest (or a given) version; answers {"run_id", "created"}."""
        return self.do(
            "start_run",
            actor,
            tenant,
            idempotency_key=idempotency_key,
            definition=definition,
            version=version,
            input=input,
            business_key=business_key,
        )

    def send_signal(
        self,
        actor: Actor,
        tenant: str,
        name: str,
        key: str,
        payload: dict[str, Any] | None = None,
        *,
        message_id: str = "",
        keep: str = "",
        idempotency_key: str = "",
    ) -> dict[str, Any]:
        """Send a message to the step that has waited longest for it, or keep it until one does.

        Args:
            actor: who sends it.
            tenant: whose runs may get it.
            name: of the signal.
            key: the correlation key, by default of the step its run's business key or id.
            payload: an object; checked against what the waiting step declares.
            message_id: the sender's own id; the same id and payload again get the known answer.
            keep: ISO 8601 duration for which it is kept (30 days by default).
            idempotency_key: the same key gets the same answer.

        Returns:
            {"id", "status": "used" or "kept", "run_id", "step", "created"}.
        """
        return self.do(
            "send_signal",
            actor,
            tenant,
            idempotency_key=idempotency_key,
            name=name,
            key=key,
            payload=payload or {},
            id=message_id,
            keep=keep,
        )

    def operate(
        self,
        name: str,
        actor: Actor,
        tenant: str,
        run_id: str,
        *,
        reason: str,
        seen_sequence: int | None = None,
        idempotency_key: str = "",
        **args: Any,
    ) -> dict[str, Any]:
        """An operator command: `pause_run`, `resume_run`, `cancel_run`, `terminate_run`, `retry_step`
        (step=, new_effect=), `skip_step` (step=, output=), `replay_dead_letter` (step=),
        `confirm_effect` (step=, output=), `deny_effect` (step=), `complete_step` (step=, output=),
        `reassign_step` (step=, add=, remove=),
        `edit_input` (input=), `migrate_run` (plan=)."""  # noqa: D205, D209
        return self.do(
            name,
            actor,
            tenant,
            idempotency_key=idempotency_key,
            run_id=run_id,
            reason=reason,
            seen_sequence=seen_sequence,
            **args,
        )

    def bulk(
        self,
        actor: Actor,
        tenant: str,
        command: str,
        items: list[dict[str, Any]],
        *,
        reason: str,
        args: dict[str, Any] | None = None,
        idempotency_key: str = "",
    ) -> dict[str, Any]:
        """Send one operator command to exactly the runs of a preview (`queries.bulk.preview(…).sendable`).

        Each item is {"run_id", "sequence", "step"}; a run that changed since is refused. `args` are further
        arguments of the command, for example {"plan": …} of `migrate_run`.
        Answers {"bulk_id", "done", "refused", "results"}.
        """
        return self.do(
            "bulk",
            actor,
            tenant,
            idempotency_key=idempotency_key,
            command=command,
            items=items,
            reason=reason,
            args=args or {},
        )

    # People

    def sign_in(self, tenant: str, login: str, password: str, *, address: str = "", agent: str = "") -> dict[str, Any]:
        """Check a password; answers {"session": secret, "expires_at", "login"}. NotSignedIn when it is wrong."""
        who = Actor("person", login, channel="web")
        return self.do("sign_in", who, tenant, password=password, address=address, agent=agent[:200])

    def sign_out(self, tenant: str, session: str) -> None:
        """End a session everywhere."""
        self.do("sign_out", Actor("system", "web"), tenant, session=session)
