"""An approval as plain markup: its typed fields, a comment, a button for each way to decide; without scripts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from signoff.engine.views import InboxItem
from signoff.web.escape import esc
from signoff.web.models.values import entered_text
from signoff.web.parts.filling import MAX_COMMENT_CHARS, encoding, field_markup, hidden_inputs
from signoff.web.parts.markup import Safe

_NO_PROBLEMS: Mapping[str, str] = {}


def deciding_form(
    item: InboxItem,
    token: str,
    *,
    entered: Mapping[str, Any] | None = None,
    problems: Mapping[str, str] = _NO_PROBLEMS,
    comment: str = "",
    by_link: bool = False,
    elsewhere: str = "",
) -> Safe:
    """The whole form of an approval.

    Args:
        item: what waits.
        token: the session's form token.
        entered: raw values by field name, as a person typed them.
        problems: sentences by field name.
        comment: what was written.
        by_link: the answer uses up the link that the person came with.
        elsewhere: where the person signs in again at a provider to sign; "" where a password does.
    """
    parts = hidden_inputs(item, token, by_link=by_link)
    for f in item.fields:
        value = entered.get(f.name) if entered is not None else entered_text(f, None)
        parts.append(field_markup(f, value, problems.get(f.name, "")))
    needs = item.comment_required_on
    words = {"approved": "approve", "rejected": "reject", "returned": "return it"}
    verbs = [verb for outcome, verb in words.items() if outcome in needs]
    free = any(f.required for f in item.fields)
    must = " required" if "approved" in needs or (needs and not free) else ""
    when = f"(needed when you {' or '.join(verbs)})" if verbs else "(if you like)"
    parts.append(f'''<label class="field">Comment <span class="soft">{when}</span>
<textarea name="comment" maxlength="{MAX_COMMENT_CHARS}" rows="3"{must}>{esc(comment)}</textarea></label>''')
    buttons = _button("approved", "Approve", "good", checked="approved" in needs or free)
    buttons += _button("rejected", "Reject", "bad", checked="rejected" in needs and not free)
    buttons += "".join(_return_button(step, name, "returned" in needs and not free) for step, name in item.returns_to)
    if item.reauthenticate:
        parts.append(_sign_in_again(elsewhere) if elsewhere else _CONFIRM)
    parts.append(f'<div class="row">{buttons}</div>')
    path = f"/decide/{esc(item.run_id)}/{esc(item.step)}"
    return Safe(f'<form class="card stack" method="post" action="{path}"{encoding(item)}>{"".join(parts)}</form>')


_CONFIRM = """<label class="field">Your password <span class="soft">(to sign; not needed when you have just signed
in)</span><input type="password" name="password" autocomplete="current-password" maxlength="1000"></label>"""


def _sign_in_again(path: str) -> str:
    """Who signed in at a provider has no password here: they sign in there again, and come back to this page."""
    return f"""<p class="field">Signing this needs that you signed in a short while ago. If that is longer ago, sign in
again before you decide; you come back to this page. <a href="{esc(path)}">Sign in again</a></p>"""


def _button(outcome: str, words: str, css: str, *, checked: bool) -> str:
    """A button that decides; the browser asks for what is missing where this outcome needs it."""
    free = "" if checked else " formnovalidate"
    return f'<button class="button {css}" name="outcome" value="{outcome}"{free}>{words}</button>'


def _return_button(step: str, name: str, checked: bool) -> str:
    words = f"Return to “<bdi>{esc(name)}</bdi>”"
    return _button(f"returned:{esc(step)}", words, "", checked=checked)
