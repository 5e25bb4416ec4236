"""What a letter says: a mail in text and HTML, or a notice for a chat tool. Pure: the same facts, the same letter.

By default a mail names the request and who asks, and no values. Everything that people typed is put on one line in
headers and escaped in HTML, so that nobody can add a header or markup.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from datetime import datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime, parseaddr
from html import escape
from textwrap import fill
from typing import Any
from zoneinfo import ZoneInfo

import orjson

MAX_WORDS = 160
Facts = Mapping[str, Any]


def one_line(text: object, most: int = MAX_WORDS) -> str:
    """A text without line breaks, control and direction characters, cut to `most` characters."""
    kept = "".join(" " if unicodedata.category(c) in ("Cc", "Zl", "Zp") else c for c in str(text))
    kept = "".join(c for c in kept if unicodedata.category(c) not in ("Cf", "Cs", "Co", "Cn"))
    kept = " ".join(kept.split())
    return kept if len(kept) <= most else f"{kept[: most - 1]}…"


def mail(facts: Facts, sender: str, public_address: str, token: str, now: datetime) -> EmailMessage:
    """The mail of one letter.

    Args:
        facts: the answer of `write_letter`.
        sender: the From address, optionally with a name.
        public_address: base URL of the pages.
        token: of the link; "" where the mail asks for nothing.
        now: for the Date header.

    Raises:
        ValueError: an address is none.
    """
    lines = _asking(facts, public_address, token) if token else _telling(facts, public_address)
    message = EmailMessage(policy=SMTP)
    message["From"] = _address(sender)
    message["To"] = _address(str(facts["email"]), one_line(facts["name"], 80))
    message["Subject"] = _subject(facts)
    message["Date"] = format_datetime(now.replace(microsecond=0))
    message["Message-ID"] = f"<{facts['message_id']}@{message['From'].addresses[0].domain}>"
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(_text(facts, lines), cte="quoted-printable")
    message.add_alternative(_html(facts, lines), subtype="html", cte="quoted-printable")
    return message


def _address(given: str, name: str = "") -> Address:
    own, address = parseaddr(given)
    if any(c in given for c in "\r\n\0") or "@" not in address:
        raise ValueError(f"'{one_line(given, 80)}' is no e-mail address.")
    return Address(name or own, addr_spec=address)


def _subject(facts: Facts) -> str:
    title = one_line(facts["title"], 70)
    if "label" not in facts:
        return f"{title}: {_ended(facts)}"
    label = one_line(facts["label"], 70)
    again = {"reminder": "Reminder: ", "escalated": "Escalated: "}.get(_kind(facts), "")
    return f"{again}{'Please decide' if facts['kind'] == 'approval' else 'Please fill in'}: {label} ({title})"


def _kind(facts: Facts) -> str:
    topic = str(facts["topic"])
    return "reminder" if topic.startswith("reminder") else "escalated" if "escalated" in topic else ""


def _ended(facts: Facts) -> str:
    words = {"succeeded": "done", "rejected": "rejected", "failed": "failed", "cancelled": "cancelled"}
    return words.get(str(facts["status"]), str(facts["status"]))


def _asking(facts: Facts, public_address: str, token: str) -> dict[str, Any]:
    who, label = one_line(facts["requester"]), one_line(facts["label"])
    verb = "decide" if facts["kind"] == "approval" else "fill in"
    about = [("Process", one_line(facts["title"])), ("Requested by", who)]
    if facts.get("due"):
        about.append(("Due", _clock(facts["due"], facts["zone"])))
    about += [(one_line(k), one_line(_plain(v), 500)) for k, v in (facts.get("shown") or {}).items()]
    absent = [f"You decide for {one_line(facts['for'], 80)}, who is absent. "] if facts.get("for") else []
    again = {"reminder": "It still waits for you. ", "escalated": "Nobody answered in time, so you are asked now. "}
    return {
        "first": f"{again.get(_kind(facts), '')}{''.join(absent)}You are asked to {verb}: {label}",
        "about": about,
        "url": f"{public_address}/link#{token}",
        "button": "Open the request",
        "last": (
            f"The link is for you alone and is good once, until {_clock(facts['expires'], facts['zone'])}. Opening it"
            " changes nothing: you sign in, read what waits, and then answer. Please do not pass it on."
        ),
    }


def _telling(facts: Facts, public_address: str) -> dict[str, Any]:
    return {
        "first": f"Your request '{one_line(facts['title'])}' has ended: {_ended(facts)}.",
        "about": [],
        "url": f"{public_address}/runs/{facts['run_id']}",
        "button": "See the request",
        "last": "You get this message because you started it.",
    }


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def _clock(at: str, zone: str) -> str:
    local = datetime.fromisoformat(at).astimezone(ZoneInfo(zone))
    return f"{local:%a %d %b %Y, %H:%M} ({zone})"


def _text(facts: Facts, lines: Mapping[str, Any]) -> str:
    about = "".join(f"{name}: {value}\n" for name, value in lines["about"])
    return (
        f"Hello {one_line(facts['name'], 80)},\n\n{lines['first']}\n\n{about}{chr(10) if about else ''}"
        f"{lines['button']}:\n{lines['url']}\n\n{fill(lines['last'], 76)}\n"
    )


def _html(facts: Facts, lines: Mapping[str, Any]) -> str:
    rows = "".join(
        f'<tr><td style="padding:3px 14px 3px 0;color:#555"><bdi>{escape(name)}</bdi></td>'
        f'<td style="padding:3px 0"><bdi>{escape(value)}</bdi></td></tr>'
        for name, value in lines["about"]
    )
    return f"""<!doctype html><html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>{escape(_subject(facts))}</title></head>
<body style="margin:0;padding:16px;font:16px/1.5 system-ui,Arial,sans-serif;color:#1b2333;background:#ffffff">
<div style="max-width:34em;margin:0 auto">
<p>Hello <bdi>{escape(one_line(facts["name"], 80))}</bdi>,</p>
<p style="font-size:18px"><bdi>{escape(lines["first"])}</bdi></p>
<table role="presentation" style="border-collapse:collapse;margin:0 0 18px">{rows}</table>
<p><a href="{escape(lines["url"])}" style="display:inline-block;padding:11px 20px;border-radius:8px;background:#3448b5;
color:#ffffff;text-decoration:none;font-weight:600">{escape(lines["button"])}</a></p>
<p style="color:#555;font-size:14px">{escape(lines["last"])}</p></div></body></html>"""


def chat(facts: Facts, public_address: str) -> dict[str, Any]:
    """What a chat tool gets. A channel is read by many: the address in it is a plain one, no personal link."""
    title, who = one_line(facts["title"]), one_line(facts["requester"])
    path = f"/inbox/{facts['run_id']}/{facts['step']}" if "label" in facts else f"/runs/{facts['run_id']}"
    if "label" in facts:
        words = f"{one_line(facts['label'])} waits for {'a decision' if facts['kind'] == 'approval' else 'an answer'}"
    elif facts["topic"] == "run.ended":
        words = f"has ended: {_ended(facts)}"
    else:
        words = {"run.stalled": "needs an operator", "run.overdue": "is overdue"}.get(
            str(facts["topic"]), str(facts["topic"]).replace(".", " ")
        )
    url = f"{public_address}{path}"
    return {
        "text": f"{title}: {words} (requested by {who}). {url}",
        "topic": facts["topic"],
        "title": title,
        "label": one_line(facts.get("label", "")),
        "requested_by": who,
        "run_id": facts["run_id"],
        "step": facts["step"],
        "url": url,
    }
