"""Pages, files, forms and links: another tenant's object and a missing one take the same path (security list, 10).

`api/test_alike.py` has the reasons and does the same for REST.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from signoff.web.session import form_token
from tests.counted import Work, counted
from tests.web.office import Office
from tests.web.test_every_route import GETS, POSTS, path_of, theirs
from tests.web.test_security import Client, signed_in

__all__ = ["theirs"]
PACKED = re.compile(r'"token": ?"[^"]*"|\bp\d{3,}\b')
"""What Bokeh puts into a page: what it packs, its own address among it (how long that is depends on how often a letter
repeats), and the numbers of its models, counted in the whole process (p9999 is followed by p10000)."""
LOGINS = ("only-operator", "only-approver", "only-auditor", "only-designer")
NAMED = [*(("GET", t) for t in GETS if "{" in t or "files" in t), *(("POST", t) for t in POSTS if "{" in t)]


def absent_of(run_id: str) -> str:
    return "r-" + "x" * (len(run_id) - 2)


@pytest.mark.parametrize("login", LOGINS)
def test_foreign_and_missing_pages_take_the_same_path(
    theirs: tuple[Office, str], login: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    office, run_id = theirs
    client = signed_in(office, login)
    for method, template in NAMED:
        works: list[Work] = []
        sizes: list[tuple[int, int]] = []
        for who in ((absent_of(run_id), "absent"), (run_id, "theirs"), (absent_of(run_id), "absent")):
            with counted(monkeypatch, about=(*who, "sha256:1")) as work:
                answer = send(client, method, path_of(template, *who))
            works.append(work)
            sizes.append((answer.status, len(PACKED.sub("", answer.text))))
        assert sizes[1] == sizes[2], template
        assert works[1] == works[2], template
        assert works[1] or sizes[1][0] == 403, template


def send(client: Client, method: str, path: str) -> Any:
    if method == "GET":
        return client.get(path)
    template = next(t for t in POSTS if path.startswith(t.split("{")[0]))
    return client.send(method, path, {"token": form_token(client.secret), **POSTS[template]})
