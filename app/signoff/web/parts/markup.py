"""Small pieces of markup: badges, notices, tables, name-value lists. Everything given to them is escaped here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from signoff.core.files import is_file
from signoff.web.escape import esc, label
from signoff.web.models.words import run_word, short_digest, step_word, value_text
from signoff.web.parts.icons import PATHS, svg


class Safe(str):
    """Markup that is already safe; every other text is escaped."""

    __slots__ = ()


def safe(value: object) -> str:
    """Markup as it is, anything else escaped."""
    return value if isinstance(value, Safe) else esc(value)


def step_badge(status: str, kind: str = "") -> Safe:
    """The state of a step: icon, word and colour."""
    return badge(status, step_word(status, kind))


def run_badge(status: str) -> Safe:
    """The state of a run: icon, word and colour."""
    return badge(status, run_word(status))


def badge(status: str, words: str) -> Safe:
    """A word in the colour of a state, with its icon."""
    icon = status if status in PATHS else "pending"
    return Safe(
        f'<span class="badge" style="--c:var(--s-{esc(icon)})" data-status="{esc(status)}">'
        f"{svg(icon, size=13)}{esc(words)}</span>"
    )


def notice(words: str, kind: str = "info") -> Safe:
    """A sentence that stands out; errors are announced at once, the rest politely."""
    role = "alert" if kind == "error" else "status"
    return Safe(f'<div class="notice {esc(kind)}" role="{role}"><span class="said">{esc(words)}</span></div>')


def link(path: str, words: object, *, css: str = "") -> Safe:
    """A link inside this site; `words` is text or safe markup."""
    return Safe(f'<a href="{esc(path)}"{f" class={chr(34)}{esc(css)}{chr(34)}" if css else ""}>{safe(words)}</a>')


def digest_text(digest: str) -> Safe:
    """The beginning of a digest; all of it as title."""
    return Safe(f'<span class="mono" title="{esc(digest)}">{esc(short_digest(digest))}</span>')


def value_markup(value: Any) -> Safe:
    """A JSON value: text as text, lists and objects as JSON."""
    if is_file(value):
        return file_link(value)
    if isinstance(value, dict) and any(is_file(v) for v in value.values()):
        return pairs(value)
    if isinstance(value, dict | list):
        return Safe(f"<pre>{esc(value_text(value))}</pre>")
    return Safe(label(value_text(value)))


def file_link(value: Mapping[str, Any]) -> Safe:
    """A file that can be downloaded, with its size."""
    size = value["size"]
    words = (
        f"{size} bytes"
        if size < 10_000
        else f"{size / 1_000_000:.1f} MB"
        if size >= 1_000_000
        else f"{size // 1000} kB"
    )
    path = f"/files/{value['file']}/{quote(value['name'], safe='')}"
    return Safe(
        f'<a href="{esc(path)}" download><bdi>{esc(value["name"])}</bdi></a> <span class="soft small">{words}</span>'
    )


def pairs(values: Mapping[str, Any]) -> Safe:
    """Names with their values."""
    rows = "".join(
        f"<div><dt>{label(name)}</dt><dd>{v if isinstance(v, Safe) else value_markup(v)}</dd></div>"
        for name, v in values.items()
    )
    return Safe(f'<dl class="pairs">{rows}</dl>')


def table(head: Sequence[str], rows: Iterable[Sequence[object]], *, name: str) -> Safe:
    """A table that turns into a list of cards on a narrow screen.

    Args:
        head: names of the columns; the first column is the heading of its card.
        rows: text (escaped here) or safe markup, one per column.
        name: what the table holds, for screen readers.
    """
    top = "".join(f'<th scope="col">{esc(h)}</th>' for h in head)
    body = "".join(
        "<tr>"
        + "".join(
            f"<td{f' data-name={chr(34)}{esc(h)}{chr(34)}' if i and h else ''}>{safe(cell)}</td>"
            for i, (h, cell) in enumerate(zip(head, row, strict=True))
        )
        + "</tr>"
        for row in rows
    )
    return Safe(
        f'<table class="list" aria-label="{esc(name)}"><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>'
    )


def heading(title: object, *, crumb: object = "", side: object = "") -> Safe:
    """The head of a page: where it stands, its title, and what belongs at the right."""
    above = f'<div class="crumb">{safe(crumb)}</div>' if crumb else ""
    return Safe(f'<div class="head"><div>{above}<h1>{safe(title)}</h1></div><div class="row">{safe(side)}</div></div>')


def empty(words: str, *, more: Safe | str = "") -> Safe:
    """What a list says when there is nothing in it."""
    return Safe(f'<div class="empty"><p>{esc(words)}</p>{safe(more)}</div>')
