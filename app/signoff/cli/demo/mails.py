"""The demo's mails as a page: what people would find in their mailboxes, with links that work."""

from __future__ import annotations

import email
import html
import re
from email.message import EmailMessage
from email.policy import default
from pathlib import Path

MOST = 60
_URL = re.compile(r"https?://[^\s<>\"]+")


def mails_page(folder: Path) -> bytes:
    """The newest mails of a folder, as text with their links."""
    files = sorted(folder.glob("*.eml"), reverse=True)[:MOST] if folder.is_dir() else []
    mails = "".join(_mail(path) for path in files)
    return f"""<!doctype html><html lang="en"><meta charset="utf-8"><title>Mails of the demo</title>
<meta name="viewport" content="width=device-width">
<style>body{{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:44rem;padding:0 1rem}}
:root{{color-scheme:light dark}}article{{border:1px solid #8886;border-radius:8px;padding:.6rem 1rem;margin:1rem 0}}
h2{{font-size:1.05rem;margin:.2rem 0}}pre{{white-space:pre-wrap;overflow-wrap:anywhere;font:inherit;margin:.4rem 0}}
p{{margin:.2rem 0}}small{{opacity:.75}}</style>
<h1>Mails of the demo</h1><p>Nothing is really sent: these are the mails that people would get, the newest first. A link
asks for signing in as the person it was sent to; everyone's password is “demo”. <a href="/">Back</a></p>
{mails or "<p>There are no mails yet.</p>"}</html>""".encode()


def _mail(path: Path) -> str:
    try:
        message = email.message_from_bytes(path.read_bytes(), policy=default)
    except OSError:
        return ""  # just replaced
    assert isinstance(message, EmailMessage)
    body = message.get_body(("plain",))
    text = html.escape(body.get_content() if body else "")
    linked = _URL.sub(lambda m: f'<a href="{m[0]}" rel="noreferrer">{m[0]}</a>', text)
    head = f"To {html.escape(str(message['To']))} · {html.escape(str(message['Date']))}"
    return f"<article><small>{head}</small><h2>{html.escape(str(message['Subject']))}</h2><pre>{linked}</pre></article>"
