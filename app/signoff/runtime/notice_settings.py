"""How an installation tells people: `notices.json` in its data folder. It refers to secrets and never holds one."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from signoff.errors import ConfigurationFault

FILE = "notices.json"
DAY_S = 86_400.0


@dataclass(frozen=True, slots=True)
class MailSettings:
    """Mail to people.

    Attributes:
        host: the mail server; "" where `folder` takes the mails.
        port: of the mail server.
        tls: `starttls`, `implicit` or `none`.
        user: login at the mail server; "" for none.
        password: `env:NAME` or `file:/path`.
        sender: the From address, optionally with a name before it in the usual form.
        folder: writes .eml files there instead of sending.
        values: whether a mail shows what an approver is shown (never of a definition with sensitive fields).
        plain_is_fine: whether mail may travel to another machine without TLS.
    """

    host: str = ""
    port: int = 587
    tls: str = "starttls"
    user: str = ""
    password: str = ""
    sender: str = "Signoff <signoff@localhost>"
    folder: str = ""
    values: bool = False
    plain_is_fine: bool = False


@dataclass(frozen=True, slots=True)
class HookSettings:
    """A chat tool's incoming address; `secret` is a reference, `topics` the notices it gets (empty: all)."""

    name: str
    url: str
    secret: str = ""
    topics: tuple[str, ...] = ()
    allow_host: bool = False


@dataclass(frozen=True, slots=True)
class NoticeSettings:
    """All of it.

    Attributes:
        public_address: base URL under which people reach the pages, without a slash at its end.
        mail: None sends no mail.
        hooks: chat tools.
        tell_requester: mails whoever started a run when it has ended.
        link_s: how long a link in a mail is good, in seconds.
    """

    public_address: str = ""
    mail: MailSettings | None = None
    hooks: tuple[HookSettings, ...] = ()
    tell_requester: bool = True
    link_s: float = field(default=7 * DAY_S)

    def check(self) -> NoticeSettings:
        """The same, where they can work.

        Raises:
            ConfigurationFault: with what is wrong.
        """
        address = urlsplit(self.public_address)
        if (self.mail or self.hooks) and (address.scheme not in ("http", "https") or not address.netloc):
            raise ConfigurationFault(
                "Letters need the public address of the pages.", remedy="Set it, such as https://signoff.example.org."
            )
        if address.query or address.fragment or self.public_address.endswith("/"):
            raise ConfigurationFault("The public address must be a plain base address.", remedy="End it without '/'.")
        if self.mail and self.mail.tls not in ("starttls", "implicit", "none"):
            raise ConfigurationFault(f"'{self.mail.tls}' is no kind of TLS.", remedy="starttls, implicit or none.")
        if self.mail and bool(self.mail.host) == bool(self.mail.folder):
            raise ConfigurationFault("Mail needs a server or a folder, one of them.", remedy="Name one.")
        if len({h.name for h in self.hooks}) != len(self.hooks):
            raise ConfigurationFault("Two chat tools have the same name.", remedy="Rename one.")
        return self


def load_notice_settings(folder: Path) -> NoticeSettings:
    """The settings of a data folder; nothing is sent where it has none.

    Raises:
        ConfigurationFault: the file cannot be read or cannot work.
    """
    path = folder / FILE
    if not path.exists():
        return NoticeSettings()
    try:
        given: dict[str, Any] = json.loads(path.read_text("utf-8"))
        mail = MailSettings(**given["mail"]) if given.get("mail") else None
        hooks = tuple(HookSettings(**{**h, "topics": tuple(h.get("topics", ()))}) for h in given.get("hooks", ()))
        rest = {k: v for k, v in given.items() if k not in ("mail", "hooks")}
        return NoticeSettings(mail=mail, hooks=hooks, **rest).check()
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise ConfigurationFault(f"'{path}' cannot be read: {error}", remedy="Mend it, or set mail up anew.") from None


def save_notice_settings(folder: Path, settings: NoticeSettings) -> None:
    """Write them, readable by the owner only."""
    path = folder / FILE
    settings.check()
    temporary = path.with_suffix(".new")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump(asdict(settings), file, indent=1)
    temporary.replace(path)
