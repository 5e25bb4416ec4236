"""A form step as plain markup: typed fields that a browser sends without scripts, problems at their fields."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from typing import Any

from signoff.core.definition import Field, FieldType
from signoff.core.files import is_file
from signoff.engine.views import InboxItem
from signoff.web.escape import esc
from signoff.web.models.values import entered_text
from signoff.web.parts.markup import Safe

KEPT = "kept."
"""Before the name of a field whose file was uploaded with an earlier try."""
PREFIX = "field."
"""Before the name of each field, so that no field can be taken for a part of the form itself."""
MAX_COMMENT_CHARS = 4_000
_NO_PROBLEMS: Mapping[str, str] = {}


def filling_form(
    item: InboxItem,
    token: str,
    *,
    entered: Mapping[str, Any] | None = None,
    problems: Mapping[str, str] = _NO_PROBLEMS,
    comment: str = "",
    by_link: bool = False,
) -> Safe:
    """The whole form of a form step.

    Args:
        item: what waits; its prefill fills the fields where nothing was entered yet.
        token: the session's form token.
        entered: raw values by field name, as a person typed them.
        problems: sentences by field name.
        comment: what was written for sending the work back.
        by_link: the answer uses up the link that the person came with.
    """
    parts = hidden_inputs(item, token, by_link=by_link)
    for f in item.fields:
        value = entered.get(f.name) if entered is not None else entered_text(f, item.prefill.get(f.name))
        parts.append(field_markup(f, value, problems.get(f.name, "")))
    parts.append('<div class="row"><button class="button main" name="do" value="submit">Submit</button></div>')
    if item.returns_to:
        parts.append(_returning(item, comment))
    path = f"/submit/{esc(item.run_id)}/{esc(item.step)}"
    return Safe(f'<form class="card stack" method="post" action="{path}"{encoding(item)}>{"".join(parts)}</form>')


def encoding(item: InboxItem) -> str:
    """The attribute without which a browser sends the names of files only."""
    return ' enctype="multipart/form-data"' if any(f.type is FieldType.FILE for f in item.fields) else ""


def hidden_inputs(item: InboxItem, token: str, *, by_link: bool) -> list[str]:
    """What an answer says besides what a person enters: to what it answers, for whom, and once."""
    hidden = {
        "token": token,
        "generation": item.generation,
        "shown_digest": item.shown_digest,
        "key": secrets.token_urlsafe(18),
        **({"by_link": "yes"} if by_link else {}),
        **({"on_behalf_of": item.on_behalf_of} if item.on_behalf_of else {}),
    }
    return [f'<input type="hidden" name="{n}" value="{esc(v)}">' for n, v in hidden.items()]


def _returning(item: InboxItem, comment: str) -> str:
    buttons = "".join(
        f'<button class="button" name="do" value="return:{esc(step)}" formnovalidate>'
        f"Return to “<bdi>{esc(name)}</bdi>”</button>"
        for step, name in item.returns_to
    )
    return f"""<details{" open" if comment else ""}><summary>Send the work back instead</summary>
<label class="field">Comment <span class="soft">(needed to send it back)</span>
<textarea name="comment" maxlength="{MAX_COMMENT_CHARS}" rows="3">{esc(comment)}</textarea></label>
<div class="row">{buttons}</div></details>"""


def field_markup(f: Field, value: Any, problem: str) -> str:
    """One field with its label, help, problem and control."""
    optional = "" if f.required or f.type is FieldType.BOOLEAN else ' <span class="soft">(optional)</span>'
    name = f"<bdi>{esc(f.label or f.name)}</bdi>{optional}"
    said = [f'<span class="soft small">{esc(f.help or _range(f))}</span>'] if f.help or _range(f) else []
    if problem:
        said.append(f'<span class="wrong small" role="alert" id="wrong-{esc(f.name)}">{esc(problem)}</span>')
    control = _control(f, value, problem)
    if f.type is FieldType.BOOLEAN:
        return f'<label class="field tick">{control} {name} {" ".join(said)}</label>'
    return f'<label class="field">{name} {" ".join(said)}{control}</label>'


def _control(f: Field, value: Any, problem: str) -> str:
    marks = f' name="{PREFIX}{esc(f.name)}"'
    if f.required and f.type is not FieldType.BOOLEAN:
        marks += " required"
    if problem:
        marks += f' aria-invalid="true" aria-describedby="wrong-{esc(f.name)}"'
    text = "" if value is None else value
    match f.type:
        case FieldType.BOOLEAN:
            return f'<input type="checkbox" value="yes"{marks}{" checked" if value else ""}>'
        case FieldType.CHOICE:
            options = "".join(
                f'<option value="{esc(o)}"{" selected" if o == text else ""}>{esc(o)}</option>' for o in f.options
            )
            return f'<select{marks}><option value="">choose …</option>{options}</select>'
        case FieldType.LONG_TEXT | FieldType.LIST | FieldType.OBJECT:
            return f'<textarea{marks} maxlength="20000" rows="4">{esc(text)}</textarea>'
        case FieldType.DATE:
            return f'<input type="date"{marks} value="{esc(text)}">'
        case FieldType.NUMBER | FieldType.INTEGER:
            return f'<input type="text" inputmode="decimal" maxlength="40"{marks} value="{esc(text)}">'
        case FieldType.FILE:
            return _file_control(f, value, marks)
        case FieldType.TEXT:
            return f'<input type="text" maxlength="20000"{marks} value="{esc(text)}">'


def _file_control(f: Field, value: Any, marks: str) -> str:
    accept = f' accept="{esc(",".join(f.options))}"' if f.options else ""
    if not is_file(value):
        return f'<input type="file"{marks}{accept}>'
    kept = f'<input type="hidden" name="{KEPT}{esc(f.name)}" value="{esc(json.dumps(value))}">'
    again = f'<input type="file"{marks.replace(" required", "")}{accept}>'
    words = f"“<bdi>{esc(value['name'])}</bdi>” is kept; choose another one to replace it."
    return f'{kept}<span class="soft small">{words}</span>{again}'


def _range(f: Field) -> str:
    low, high = f.minimum, f.maximum
    if low is not None and high is not None:
        return f"{low:g} to {high:g}"
    return f"at least {low:g}" if low is not None else f"at most {high:g}" if high is not None else ""
