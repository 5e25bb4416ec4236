"""Who sends a plain form: somebody whose session stands, from a page of that session. Else it is answered here."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import Request, Response
from fastapi.responses import RedirectResponse

from signoff.web.plain import answer_page
from signoff.web.session import Visit, is_form_token
from signoff.web.site import Site

_INBOX = (("/inbox", "Inbox"),)


def sender_of(
    site: Site, request: Request, token: str, done: str, *, title: str = "", links: Sequence[tuple[str, str]] = _INBOX
) -> Visit | Response:
    """The visit that a form belongs to, or what to answer instead.

    Args:
        site: of the pages.
        request: that brings the form.
        token: the form's own, of the session whose page it was on.
        done: what the form was for, as a participle: "decided".
        title: of the answer to a form of no session; "Not decided" where none is given.
        links: where one may go on from there.
    """
    secret = request.cookies.get(site.settings.session_cookie, "")
    visit = site.gate.find(secret)
    if visit is None:
        return RedirectResponse("/login", 303)
    if not is_form_token(secret, token):
        words = [f"This form did not come from a page of your session; nothing was {done}."]
        return answer_page(request, title or f"Not {done}", words, list(links), status=403)
    return visit
