"""Plain HTML pages without scripts: signing in, answers to forms, things that are not there."""

from __future__ import annotations

from fastapi import Request
from fastapi.responses import HTMLResponse

from signoff import errors
from signoff.web.escape import esc
from signoff.web.files import address
from signoff.web.session import form_token
from signoff.web.settings import THEME_COOKIE

NAV = (
    '<nav aria-label="Main"><a href="/inbox">Inbox</a><a href="/runs">Runs</a>'
    '<a href="/definitions">Definitions</a><a href="/account">Account</a></nav>'
)
DEMO_WORDS = "Demo: people, passwords and data are made up, and everything stays on this machine."
"""What every page says under `signoff demo`."""


def plain_page(
    request: Request,
    title: str,
    body: str,
    *,
    status: int = 200,
    nav: bool = True,
    wide: bool = False,
    roomy: bool = False,
) -> HTMLResponse:
    """A whole page around `body`, which must already be safe HTML; `roomy` has space for tables."""
    theme = request.cookies.get(THEME_COOKIE, "")
    chosen = f' data-theme="{theme}"' if theme in ("dark", "light") else ""
    demo = f'<p class="demo-line" role="note">{DEMO_WORDS}</p>' if request.app.state.site.settings.demo else ""
    return HTMLResponse(
        f"""<!doctype html><html lang="en"{chosen}><head><meta charset="utf-8"><title>{esc(title)} · Signoff</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="/assets/icon.svg">
<link rel="stylesheet" href="{address("plain.css")}"><script src="{address("page.js")}"></script></head><body>
<header><a href="/">Signoff</a>{NAV + _sign_out(request) if nav else ""}</header>
<main class="{"roomy" if roomy else "wide" if wide else ""}">{demo}{body}</main></body></html>""",
        status_code=status,
    )


def _sign_out(request: Request) -> str:
    """The way out, for whoever is signed in."""
    secret = request.cookies.get(request.app.state.site.settings.session_cookie)
    if not secret:
        return ""
    return f"""<form method="post" action="/logout"><input type="hidden" name="token" value="{form_token(secret)}">
<button>Sign out</button></form>"""


def answer_page(
    request: Request,
    title: str,
    sentences: list[str],
    links: list[tuple[str, str]],
    *,
    status: int = 200,
    good: bool = False,
) -> HTMLResponse:
    """What came of a form: sentences (any text), then links as (path, words)."""
    said = "".join(f'<p class="said">{esc(s)}</p>' for s in sentences if s)
    ways = "".join(
        f'<a class="button{"" if i == 0 else " second"}" href="{esc(path)}">{esc(words)}</a>'
        for i, (path, words) in enumerate(links)
    )
    role = "status" if good else "alert"
    body = (
        f'<div class="card"><h1>{esc(title)}</h1><div role="{role}">{said}</div><div class="actions">{ways}</div></div>'
    )
    return plain_page(request, title, body, status=status, wide=True)


def status_of(error: errors.SignoffError) -> int:
    """The HTTP status that says the same as an error."""
    match error:
        case errors.NotSignedIn():
            return 401
        case errors.Forbidden():
            return 403
        case errors.NotFound():
            return 404
        case errors.InvalidInput():
            return 422
        case errors.Unavailable():
            return 503
        case _:
            return 409
