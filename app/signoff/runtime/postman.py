"""The postman: sends planned letters one by one, each on its own, so that a bad one holds up no other.

A letter is written when it is sent: whoever answered meanwhile gets none. Sending and "it was sent" are two things,
so that after a crash a letter may go out twice, under the same Message-ID; both links in it are good, once in all.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from email.message import EmailMessage
from pathlib import Path
from typing import Any, Protocol

from signoff.connectors.post import FolderPost, HookPost, NotSent, SmtpPost
from signoff.core.states import Actor
from signoff.engine.request import unwrap
from signoff.engine.writer import Writer
from signoff.errors import SignoffError
from signoff.runtime.letters import chat, mail
from signoff.runtime.notice_settings import NoticeSettings, load_notice_settings
from signoff.runtime.relay import Relay
from signoff.runtime.service import Service
from signoff.runtime.submit import submit_all
from signoff.store.database import Database
from signoff.store.links import TOKEN_BYTES
from signoff.store.notices import Delivery, list_due_deliveries
from signoff.store.times import to_micros
from signoff.store.vault import Vault

log = logging.getLogger("signoff.notices")
BATCH = 50
PAUSE_S = 2.0
REST = timedelta(seconds=30)
_ACTOR = Actor("system", "postman", "Postman", "engine")


class Post(Protocol):
    """Takes mails."""

    def send(self, message: EmailMessage) -> None:
        """Hand one over, or raise `NotSent`."""
        ...


def open_post(settings: NoticeSettings, folder: Path) -> Post | None:
    """What takes the mails of an installation; a relative folder is in the data folder."""
    if settings.mail is None:
        return None
    m = settings.mail
    if m.folder:
        return FolderPost(folder / m.folder)
    return SmtpPost(m.host, m.port, m.tls, m.user, m.password, m.plain_is_fine)


def open_letters(
    reader: Database, writer: Writer, now: Callable[[], datetime], folder: Path, vault: Vault
) -> tuple[Relay, Postman]:
    """The relay that plans the letters of a data folder, and the postman that it wakes (not started yet)."""
    settings = load_notice_settings(folder)
    relay = Relay(reader, writer, vault=vault, settings=settings)
    postman = open_postman(reader, writer, now, settings, folder)
    relay.on_letters = postman.wake
    return relay, postman


def open_postman(
    reader: Database, writer: Writer, now: Callable[[], datetime], settings: NoticeSettings, folder: Path
) -> Postman:
    """The postman of an installation (not started yet); one without mail and chat tools has nothing to do."""
    return Postman(reader, writer, now, settings, open_post(settings, folder), _hooks(settings))


def _hooks(settings: NoticeSettings) -> dict[str, HookPost]:
    """The chat tools by sink name."""
    found = {}
    for h in settings.hooks:
        host = h.url.split("/")[2].split(":")[0] if h.allow_host and "://" in h.url else ""
        found[f"hook:{h.name}"] = HookPost(h.url, h.secret, (host,) if host else ())
    return found


class Postman(Service):
    """Sends what is due; a sink whose way is broken rests, the others go on."""

    name = "postman"

    def __init__(
        self,
        reader: Database,
        writer: Writer,
        now: Callable[[], datetime],
        settings: NoticeSettings,
        post: Post | None,
        hooks: Mapping[str, HookPost],
    ) -> None:
        super().__init__()
        self._reader, self._writer, self._now = reader, writer, now
        self._settings, self._post, self._hooks = settings, post, dict(hooks)
        self._rests: dict[str, datetime] = {}

    @property
    def sinks(self) -> tuple[str, ...]:
        """Names of what letters can go to."""
        return (*(("mail",) if self._post else ()), *self._hooks)

    def work(self) -> float | None:
        """Send what is due."""
        if not self.sinks:
            return None
        now = self._now()
        self._rests = {sink: until for sink, until in self._rests.items() if until > now}
        awake = [s for s in self.sinks if s not in self._rests]
        found = list_due_deliveries(self._reader, to_micros(now), awake, BATCH)
        for letter in found:
            if self._stopping.is_set():
                break
            if letter.sink not in self._rests:
                self._one(letter)
        return 0.0 if len(found) == BATCH else PAUSE_S

    def close(self, timeout_s: float = 5.0) -> None:
        """Stop after the letter that is under way."""
        super().close(timeout_s)
        for hook in self._hooks.values():
            hook.close()

    def _one(self, letter: Delivery) -> None:
        token = secrets.token_urlsafe(TOKEN_BYTES)
        values = bool(self._settings.mail and self._settings.mail.values and letter.sink == "mail")
        try:
            facts = self._ask("write_letter", id=letter.id, token=token, values=values, link_s=self._settings.link_s)
            if facts.get("moot"):
                return
            self._send(letter, facts, token if "expires" in facts else "")
        except NotSent as error:
            self._failed(letter, str(error), final=error.final)
            if error.everything:
                self._rests[letter.sink] = self._now() + REST
        except (SignoffError, ValueError) as error:
            self._failed(letter, str(error), final=isinstance(error, ValueError))
        else:
            self._ask("letter_sent", id=letter.id)

    def _send(self, letter: Delivery, facts: dict[str, Any], token: str) -> None:
        address = self._settings.public_address
        hook = self._hooks.get(letter.sink)
        if hook is not None:
            hook.send(chat(facts, address), letter.message_id, int(self._now().timestamp()))
            return
        assert self._post is not None
        assert self._settings.mail is not None
        self._post.send(mail(facts, self._settings.mail.sender, address, token, self._now()))

    def _failed(self, letter: Delivery, why: str, *, final: bool) -> None:
        log.warning("letter %d to %s could not be sent: %s", letter.id, letter.sink, why)
        self._ask("letter_failed", id=letter.id, error=why, final=final)

    def _ask(self, name: str, **args: Any) -> dict[str, Any]:
        return unwrap(submit_all(self._writer, _ACTOR, [(name, "", args)])[0])
