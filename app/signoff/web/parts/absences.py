"""Absences as plain markup: one's own, those in which one decides for others, and all for administrators."""

from __future__ import annotations

from collections.abc import Sequence

from signoff.core.wording import clock
from signoff.engine.views import AbsenceView, Person
from signoff.web.escape import esc, label
from signoff.web.parts.access import do_form
from signoff.web.parts.markup import Safe, table

_DAYS = "Days count from midnight to midnight, UTC."


def own_absences_card(
    own: Sequence[AbsenceView], others: Sequence[AbsenceView], people: Sequence[Person], token: str
) -> str:
    """When one is absent, who decides meanwhile, and for whom one decides."""
    names = {p.login: p.name for p in people}
    rows = [
        (
            _when(a),
            Safe(label(names.get(a.delegate, a.delegate))),
            a.reason,
            do_form("/account/absences/revoke", token, "Revoke", id=a.id),
        )
        for a in own
    ]
    head = ("Absent", "Who decides for you", "Reason", "")
    listed = table(head, rows, name="Your absences") if rows else "<p>You have recorded no absence.</p>"
    said = "".join(
        f"<li>for {label(names.get(a.person, a.person))}: {esc(clock(a.begins))} – {esc(clock(a.ends))}</li>"
        for a in others
    )
    deciding = f"<h3>You decide for others</h3><ul>{said}</ul>" if said else ""
    return f"""<section class="card"><h2>Absence</h2>
<p class="soft">While you are absent, one other person decides for you what you are asked, in your name and theirs. They
cannot pass it on, and never decide what they asked for themselves.</p>{listed}{deciding}
<details><summary>Record an absence</summary>{_form("/account/absences", people, token)}</details></section>"""


def absences_card(absences: Sequence[AbsenceView], people: Sequence[Person], token: str) -> str:
    """All absences, and a form with which an administrator records one for somebody else."""
    names = {p.login: p.name for p in people}
    rows = [
        (
            Safe(label(names.get(a.person, a.person))),
            _when(a),
            Safe(label(names.get(a.delegate, a.delegate))),
            a.reason,
            _revoking(a, token),
        )
        for a in absences
    ]
    head = ("Who", "Absent", "Who decides", "Reason", "")
    listed = table(head, rows, name="Absences") if rows else "<p>Nobody has recorded an absence.</p>"
    there = [p for p in people if p.active and p.kind == "person"]
    form = _form("/people/absences", there, token, whose=True)
    return f"""<section class="card"><h2>Absences</h2>{listed}
<details><summary>Record an absence of somebody</summary>{form}</details></section>"""


def _when(a: AbsenceView) -> Safe:
    now = " <b>(now)</b>" if a.status == "now" else ""
    return Safe(f"{esc(clock(a.begins))} – {esc(clock(a.ends))}{now}")


def _revoking(a: AbsenceView, token: str) -> Safe:
    fields = f'<input type="hidden" name="token" value="{esc(token)}"><input type="hidden" name="id" value="{a.id}">'
    return Safe(f"""<form method="post" action="/people/absences/revoke">{fields}
<input name="reason" required maxlength="1000" placeholder="Reason" aria-label="Reason for revoking">
<button class="button second">Revoke</button></form>""")


def _form(action: str, people: Sequence[Person], token: str, *, whose: bool = False) -> str:
    options = "".join(f'<option value="{esc(p.login)}">{esc(p.name)} ({esc(p.login)})</option>' for p in people)
    choose = f'<option value="">choose …</option>{options}'
    who = f'<label>Who is absent <select name="person" required>{choose}</select></label>' if whose else ""
    must = " required" if whose else ""
    soft = "" if whose else ' <span class="soft">(if you like)</span>'
    return f"""<form method="post" action="{action}"><input type="hidden" name="token" value="{esc(token)}">{who}
<label>First day <span class="soft">(empty: from now on)</span> <input type="date" name="begins"></label>
<label>Last day <input type="date" name="ends" required></label>
<label>Who decides meanwhile <select name="delegate" required>{choose}</select></label>
<label>Reason{soft} <input name="reason" maxlength="1000"{must}></label>
<p class="soft small">{_DAYS}</p><button>Record it</button></form>"""
