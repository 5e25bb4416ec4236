"""Accounts, sessions and tokens as plain markup: lists, and the forms that change them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from signoff.engine.permissions import NOT_BY_TOKEN, ROLES, permitted
from signoff.engine.views import Person, SessionView, TokenView
from signoff.web.escape import clock, esc, label
from signoff.web.parts.markup import Safe, table


def do_form(action: str, token: str, words: str, *, css: str = "second", **hidden: object) -> Safe:
    """A form of one button."""
    fields = "".join(
        f'<input type="hidden" name="{n}" value="{esc(v)}">' for n, v in {"token": token, **hidden}.items()
    )
    return Safe(
        f'<form method="post" action="{esc(action)}">{fields}<button class="button {css}">{esc(words)}</button></form>'
    )


def sessions_card(sessions: Sequence[SessionView], token: str) -> str:
    """Where one is signed in, and how to end it."""
    rows = [
        (
            Safe(f"{label(_browser(s.agent))}{' <b>(this one)</b>' if s.is_this else ''}"),
            s.address or "–",
            Safe(clock(s.created_at)),
            Safe(clock(s.expires_at)),
            "" if s.is_this else do_form("/account/sessions", token, "End", id=s.id),
        )
        for s in sessions
    ]
    listed = table(("Where", "Address", "Since", "Until", ""), rows, name="Sessions")
    return f"""<section class="card"><h2>Where you are signed in</h2>{listed}
{do_form("/account/sessions", token, "Sign out everywhere", css="bad")}</section>"""


def _browser(agent: str) -> str:
    for mark, name in (("Edg/", "Edge"), ("Firefox/", "Firefox"), ("Chrome/", "Chrome"), ("Safari/", "Safari")):
        if mark in agent:
            system = next((s for s in ("Windows", "Android", "iPhone", "Mac OS", "Linux") if s in agent), "")
            return f"{name}{f' on {system}' if system else ''}"
    return agent[:60] or "unknown"


def tokens_card(tokens: Sequence[TokenView], whose: Iterable[Person], token: str, *, action: str, title: str) -> str:
    """Tokens of programs, and a form for a new one per account."""
    rows = [
        (
            Safe(f"<b>{label(t.name)}</b>"),
            t.login,
            Safe(f'<span class="small mono">{esc(" ".join(t.scopes))}</span>'),
            t.status,
            Safe(clock(t.used_at)) if t.used_at else "never",
            Safe(clock(t.expires_at)),
            do_form(f"{action}/revoke", token, "Revoke", id=t.id) if t.status == "good" else "",
        )
        for t in tokens
    ]
    names = ("Name", "Account", "May", "State", "Last used", "Until", "")
    listed = table(names, rows, name="Tokens") if rows else '<p class="soft">There are none.</p>'
    forms = "".join(_new_token(p, token, action) for p in whose)
    return f'<section class="card"><h2>{esc(title)}</h2>{listed}{forms}</section>'


def _new_token(person: Person, token: str, action: str) -> str:
    scopes = sorted(permitted(person.roles) - NOT_BY_TOKEN)
    ticks = "".join(
        f'<label class="field tick"><input type="checkbox" name="scope" value="{s}"> <code>{s}</code></label>'
        for s in scopes
    )
    return f"""<details><summary>New token for {label(person.name)}</summary>
<form method="post" action="{esc(action)}"><input type="hidden" name="token" value="{esc(token)}">
<input type="hidden" name="login" value="{esc(person.login)}">
<label>What it is for <input name="name" required maxlength="100"></label>
<label>Good for (days) <input name="days" value="90" inputmode="numeric" required maxlength="6"></label>
<fieldset class="scopes"><legend>What it may do</legend>{ticks}</fieldset>
<button class="button">Make the token</button></form></details>"""


def people_card(people: Sequence[Person], token: str) -> str:
    """All accounts, closing and opening them, and forms for new ones."""
    rows = [
        (
            Safe(f'<b>{label(p.name)}</b><div class="soft small">{label(p.login)}</div>'),
            p.kind,
            ", ".join(p.roles) or "–",
            ", ".join(p.groups) or "–",
            "open" if p.active else "closed",
            do_form(
                "/people/active",
                token,
                "Close" if p.active else "Open",
                login=p.login,
                active="" if p.active else "yes",
            ),
        )
        for p in people
    ]
    names = ("Account", "Kind", "Roles", "Groups", "State", "")
    return f"""<section class="card"><h2>Accounts</h2>{table(names, rows, name="Accounts")}
<details><summary>New or changed account</summary>{_account_form(token)}</details></section>"""


def _account_form(token: str) -> str:
    ticks = "".join(
        f'<label class="field tick"><input type="checkbox" name="role" value="{r}"> {r}</label>' for r in ROLES
    )
    return f"""<form method="post" action="/people"><input type="hidden" name="token" value="{esc(token)}">
<label>Login <input name="login" required maxlength="200" autocomplete="off"></label>
<label>Name <input name="name" maxlength="200" autocomplete="off"></label>
<label>E-mail <input name="email" type="email" maxlength="200" autocomplete="off"></label>
<label>Groups, separated by commas <input name="groups" maxlength="500" autocomplete="off"></label>
<label>Password (empty: none, or the old one) <input name="password" type="password" maxlength="1000"
autocomplete="new-password"></label>
<label>Kind <select name="kind"><option value="person">person</option>
<option value="service">service (a program)</option></select></label>
<fieldset class="scopes"><legend>Roles</legend>{ticks}</fieldset>
<p class="soft">Roles and groups given here replace those of an account that exists, and end its sessions.</p>
<button class="button">Save</button></form>"""


def secret_card(made: dict[str, object]) -> str:
    """A new token's secret, once."""
    return f"""<section class="card" role="status"><h2>The token</h2><p>Copy it now: it is not shown again.</p>
<p><input readonly value="{esc(made["token"])}" aria-label="Token" class="mono"></p>
<p class="soft">“{esc(made["name"])}” of {esc(made["login"])}, good until {esc(made["expires_at"])}.</p></section>"""
