"""One module per page: read through `signoff.queries`, lay out parts, send commands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from signoff.web.pages.bulk import bulk_page
from signoff.web.pages.changes import compare_page
from signoff.web.pages.dead_letters import dead_letters_page
from signoff.web.pages.definitions import definitions_page, new_page
from signoff.web.pages.designer import designer_page
from signoff.web.pages.inbox import inbox_page, task_page
from signoff.web.pages.letters import letters_page
from signoff.web.pages.limits import limits_page
from signoff.web.pages.plans import plans_page
from signoff.web.pages.records import records_page
from signoff.web.pages.run import run_page
from signoff.web.pages.runs import runs_page
from signoff.web.pages.start import start_page
from signoff.web.pages.versions import versions_page
from signoff.web.site import Visitor

PAGES: dict[str, Callable[[Visitor, dict[str, str]], Any]] = {
    "/inbox": inbox_page,
    "/inbox/{run_id}/{step}": task_page,
    "/runs": runs_page,
    "/runs/{run_id}": run_page,
    "/dead-letters": dead_letters_page,
    "/letters": letters_page,
    "/definitions": definitions_page,
    "/definitions/{name}/versions": versions_page,
    "/definitions/{name}/compare": compare_page,
    "/definitions/{name}/migrations": plans_page,
    "/definitions/{name}/draft": designer_page,
    "/definitions/{name}/start": start_page,
    "/new": new_page,
    "/operations": bulk_page,
    "/limits": limits_page,
    "/records": records_page,
}
"""Path to page. Nothing of ours may be called `ws` directly below a path that is a page itself."""
