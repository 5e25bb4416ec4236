"""One approval or form as plain markup: what is asked, what is shown, and the form that answers it."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime
from typing import Any

from signoff.engine.views import InboxItem
from signoff.web.escape import clock, esc, label, moment
from signoff.web.models.words import until
from signoff.web.parts.deciding import deciding_form
from signoff.web.parts.filling import MAX_COMMENT_CHARS, filling_form
from signoff.web.parts.markup import Safe, digest_text, link, notice, pairs


def task_facts(item: InboxItem, asker: str) -> str:
    """What is asked, what it is about, and what is shown."""
    now = datetime.now(UTC)
    asks = (
        f'<div class="card"><h3>What to do</h3><p class="said own">{esc(item.instructions)}</p></div>'
        if item.instructions
        else ""
    )
    count = f"{item.given} of {item.required} approvals given" if item.required > 1 else ""
    about: dict[str, Any] = {
        "Asked by": asker,
        **({"Reference": item.business_key} if item.business_key else {}),
        "Waiting since": Safe(f"{clock(item.opened_at)} ({moment(item.opened_at, now)})"),
        "Due": Safe(f"{clock(item.due)} ({esc(until(item.due, now))})") if item.due else "no deadline",
        "Run": link(f"/runs/{item.run_id}", item.run_id),
        "Definition": Safe(f"{label(item.title)}, version {item.version} {digest_text(item.digest)}"),
    }
    if item.quotas:
        far = [f"{name}: {given} of {required}" for name, given, required in item.quotas]
        count = ", then ".join(far) if item.in_sequence else ", ".join(far)
    if count:
        about["Approvals"] = count
    shown = pairs(item.shown) if item.shown else "<p>Nothing is shown.</p>"
    title = "What you decide on" if item.kind == "approval" else "What you should know"
    told = f'<div class="card"><h3>{title}</h3>{shown}</div>' if item.shown or item.kind == "approval" else ""
    return f"""{asks}{told}
<div class="card"><h3>About this request</h3>{pairs(about)}</div>"""


def task_form(item: InboxItem, token: str, *, by_link: bool = False, elsewhere: str = "") -> str:
    """The form that answers it, or why that is not possible.

    Args:
        item: what waits.
        token: the session's form token.
        by_link: the answer uses up the link that the person came with.
        elsewhere: see `Site.sign_in_again`.
    """
    if not item.may_decide:
        withdrawing = _withdrawing(item, token) if item.may_withdraw else ""
        return f"{notice(item.why_not or 'You may not answer this.', 'warning')}{withdrawing}"
    if item.kind == "form":
        form = filling_form(item, token, by_link=by_link)
    else:
        form = deciding_form(item, token, by_link=by_link, elsewhere=elsewhere)
    whom = f"You answer on behalf of {item.on_behalf_of_name}, who is absent. Both names go into the history."
    return f"{notice(whom) if item.on_behalf_of else ''}{form}"


def _withdrawing(item: InboxItem, token: str) -> str:
    """Taking one's own vote back while others are still asked."""
    hidden = {"token": token, "generation": item.generation, "key": secrets.token_urlsafe(18)}
    fields = "".join(f'<input type="hidden" name="{n}" value="{esc(v)}">' for n, v in hidden.items())
    return f"""<form class="card stack" method="post" action="/withdraw/{esc(item.run_id)}/{esc(item.step)}">{fields}
<p>It is still open. You may take your vote back and decide again; both stay in the history.</p>
<label class="field">Comment <span class="soft">(if you like)</span>
<textarea name="comment" maxlength="{MAX_COMMENT_CHARS}" rows="2"></textarea></label>
<div class="row"><button class="button">Withdraw your vote</button></div></form>"""
