"""Handing letters over: to a mail server, to a folder, or to a chat tool's address.

A letter is handed over or `NotSent` is raised, which says whether trying again can help and whether the fault is
with the letter or with the way to its receiver (`everything`: other letters would fare the same).
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import smtplib
import socket
import ssl
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from email.message import EmailMessage
from email.policy import SMTP
from pathlib import Path
from typing import Any

import httpx2

from signoff.connectors.call import ActivityError
from signoff.connectors.http import pinned
from signoff.errors import ConfigurationFault

TIMEOUT_S = 20.0
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


class NotSent(Exception):
    """A letter could not be handed over.

    Attributes:
        final: trying again cannot help.
        everything: the way to the receiver is broken, not this letter.
    """

    def __init__(self, message: str, *, final: bool = False, everything: bool = False) -> None:
        super().__init__(message)
        self.final, self.everything = final, everything


def secret_of(reference: str) -> str:
    """The value behind `env:NAME` or `file:/path`; "" for "".

    Raises:
        ConfigurationFault: it is no reference, or there is nothing behind it.
    """
    kind, _, name = reference.partition(":")
    if not reference:
        return ""
    if kind == "env" and name:
        value = os.environ.get(name, "")
    elif kind == "file" and name:
        try:
            value = Path(name).read_text("utf-8").strip()
        except OSError as error:
            raise ConfigurationFault(
                f"The secret in '{name}' cannot be read: {error.strerror}.", remedy="Check the file."
            ) from None
    else:
        raise ConfigurationFault(
            "A secret must be given as env:NAME or file:/path, never itself.", remedy="Write a reference."
        )
    if not value:
        raise ConfigurationFault(f"There is nothing behind the secret '{reference}'.", remedy="Set it.")
    return value


@dataclass(frozen=True, slots=True)
class SmtpPost:
    """A mail server. `tls` is `starttls`, `implicit` or `none` (only to this machine, or with `plain_is_fine`)."""

    host: str
    port: int = 587
    tls: str = "starttls"
    user: str = ""
    password: str = ""
    plain_is_fine: bool = False

    def send(self, message: EmailMessage) -> None:
        """Hand one message over.

        Raises:
            NotSent: see there.
        """
        if self.tls == "none" and self.host not in _LOOPBACK and not self.plain_is_fine:
            raise NotSent(f"Mail to {self.host} would travel without TLS.", everything=True)
        try:
            with self._connect() as server:
                if self.user:
                    server.login(self.user, secret_of(self.password))
                refused = server.send_message(message)
        except smtplib.SMTPRecipientsRefused as error:
            raise _of_recipient(next(iter(error.recipients.values()))) from None
        except (smtplib.SMTPAuthenticationError, smtplib.SMTPNotSupportedError) as error:
            raise NotSent(f"{self.host} did not let us in ({_code(error)}).", everything=True) from None
        except smtplib.SMTPSenderRefused as error:
            raise NotSent(f"{self.host} refuses our sender ({error.smtp_code}).", everything=True) from None
        except smtplib.SMTPResponseException as error:
            raise NotSent(f"{self.host} answered {error.smtp_code}.", final=error.smtp_code >= 550) from None
        except (OSError, smtplib.SMTPException, ssl.SSLError) as error:
            why = getattr(error, "strerror", None) or type(error).__name__
            raise NotSent(f"{self.host}:{self.port} could not be reached: {why}.", everything=True) from None
        except ConfigurationFault as error:
            raise NotSent(error.message, everything=True) from None
        if refused:
            raise _of_recipient(next(iter(refused.values())))

    def _connect(self) -> smtplib.SMTP:
        name = socket.getfqdn() if self.host not in _LOOPBACK else "localhost"
        if self.tls == "implicit":
            context = ssl.create_default_context()
            return smtplib.SMTP_SSL(self.host, self.port, local_hostname=name, timeout=TIMEOUT_S, context=context)
        server = smtplib.SMTP(self.host, self.port, local_hostname=name, timeout=TIMEOUT_S)
        if self.tls == "starttls":
            try:
                server.starttls(context=ssl.create_default_context())
            except BaseException:
                server.close()
                raise
        return server


def _code(error: smtplib.SMTPException) -> str:
    return str(getattr(error, "smtp_code", "")) or type(error).__name__


def _of_recipient(answer: tuple[int, bytes]) -> NotSent:
    code, words = answer
    said = "".join(c for c in words.decode("utf-8", "replace") if c.isprintable())[:200]
    return NotSent(f"The mail server refuses the address: {code} {said}", final=code >= 500)


@dataclass(frozen=True, slots=True)
class FolderPost:
    """A folder that gets one .eml file per message, for demos and for mail systems that collect from folders."""

    folder: Path

    def send(self, message: EmailMessage) -> None:
        """Write one message; sending it again replaces its file."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            name = hashlib.sha256(str(message["Message-ID"]).encode()).hexdigest()[:12]
            when = datetime.strptime(str(message["Date"]), "%a, %d %b %Y %H:%M:%S %z")
            path = self.folder / f"{when:%Y%m%d-%H%M%S}-{name}.eml"
            for old in self.folder.glob(f"*-{name}.eml"):
                old.unlink(missing_ok=True)
            handle = os.open(path.with_suffix(".new"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(handle, "wb") as file:
                file.write(message.as_bytes(policy=SMTP))
            path.with_suffix(".new").replace(path)
        except OSError as error:
            raise NotSent(f"'{self.folder}' cannot be written: {error.strerror}.", everything=True) from None


class HookPost:
    """A chat tool's incoming address: one signed JSON POST per notice, to public addresses only.

    Headers: `X-Signoff-Delivery` (stable, for those who drop repetitions), `X-Signoff-Timestamp` (seconds), and
    `X-Signoff-Signature: sha256=HEX`, the HMAC of `TIMESTAMP.BODY` under the shared secret.
    """

    def __init__(self, url: str, secret: str, allowed_hosts: Collection[str] = ()) -> None:
        self._url, self._secret, self._allowed = url, secret, frozenset(allowed_hosts)
        self._client = httpx2.Client(follow_redirects=False, trust_env=False)

    def send(self, body: Mapping[str, Any], delivery: str, at_s: int) -> None:
        """Send one notice.

        Raises:
            NotSent: see there.
        """
        data = json.dumps(body, ensure_ascii=False).encode()
        try:
            url = secret_of(self._url) if self._url.startswith(("env:", "file:")) else self._url
            target, headers, extensions = pinned(url, self._allowed)
            key = secret_of(self._secret)
        except ActivityError as error:
            raise NotSent(str(error), everything=True) from None
        except ConfigurationFault as error:
            raise NotSent(error.message, everything=True) from None
        headers |= {"Content-Type": "application/json", "X-Signoff-Delivery": delivery}
        headers["X-Signoff-Timestamp"] = str(at_s)
        if key:
            headers["X-Signoff-Signature"] = f"sha256={signature(key, at_s, data)}"
        try:
            answer = self._client.post(
                target, content=data, headers=headers, timeout=TIMEOUT_S, extensions=extensions or None
            )
        except httpx2.HTTPError as error:
            raise NotSent(f"The chat tool could not be reached ({type(error).__name__}).", everything=True) from None
        if not 200 <= answer.status_code < 300:
            gone = answer.status_code in (400, 404, 410)
            raise NotSent(f"The chat tool answered {answer.status_code}.", final=gone, everything=not gone)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


def signature(key: str, at_s: int, body: bytes) -> str:
    """What a receiver computes to check where a notice came from."""
    return hmac.new(key.encode(), str(at_s).encode() + b"." + body, hashlib.sha256).hexdigest()
