"""What changes if a draft is published, and what changed between two versions: sentences from the core's comparison."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from signoff import errors
from signoff.core.definition import Definition
from signoff.core.diff import Change, compare
from signoff.web.escape import esc, label
from signoff.web.parts.markup import Safe, empty, heading, link
from signoff.web.parts.panes import html
from signoff.web.shell import arguments, frame
from signoff.web.site import Visitor

_MARKS = {"added": "＋", "removed": "－"}


def change_list(changes: Sequence[Change]) -> Safe:
    """The sentences, one below the other, each with a mark for what was added or removed."""
    rows = "".join(
        f'<li data-change="{esc(c.what)}"><span aria-hidden="true">{_MARKS.get(c.what.rpartition("_")[2], "•")}</span> '
        f"{label(c.sentence)}</li>"
        for c in changes
    )
    return Safe(f'<ul class="changes">{rows}</ul>')


class ChangesPane:
    """Below the canvas: what publishing would change, compared with the newest version."""

    def __init__(self, visitor: Visitor, name: str) -> None:
        self._visitor, self._name = visitor, name
        self.pane = html("", margin=(10, 0, 0, 0))
        self.look_again()

    def look_again(self) -> None:
        """Somebody published: compare with that version from now on."""
        site = self._visitor.site
        self._newest = site.signoff.queries.find_version(site.tenant, self._name)

    def show(self, definition: Definition) -> None:
        """Compare what is on the canvas."""
        if self._newest is None:
            self.pane.object = ""
            return
        changes = compare(self._newest.definition, definition)
        head = f"<summary>What changes against version {self._newest.version} ({len(changes)})</summary>"
        body = change_list(changes) if changes else "<p class='soft'>Nothing differs.</p>"
        self.pane.object = f"<details data-changes>{head}{body}</details>"


def compare_page(visitor: Visitor, params: dict[str, str]) -> Any:
    """What differs between two versions; `old` and `new` are numbers, `new` empty for the draft."""
    queries, tenant, name = visitor.site.signoff.queries, visitor.site.tenant, params["name"]
    asked = arguments("old", "new")
    old, new = (_number(asked[k]) for k in ("old", "new"))
    changes = queries.compare(tenant, name, old, new)
    newer = f"version {new}" if new else "the draft"
    older = f"version {old}" if old else "the newest version"
    crumb = Safe(f"{link('/definitions', 'Definitions')} / {link(f'/definitions/{name}/versions', name)}")
    body = change_list(changes) if changes else empty("Nothing differs.")
    title = f"From {older} to {newer}"
    return frame(visitor, title, html(heading(title, crumb=crumb)), html(body, margin=(12, 0, 0, 0)))


def _number(text: str) -> int | None:
    if not text:
        return None
    if not text.isdigit() or len(text) > 9:
        raise errors.InvalidInput(f"'{text[:20]}' is no number of a version.", remedy="Choose one from the list.")
    return int(text)
