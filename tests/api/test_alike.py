"""Another tenant's object and one that does not exist: the same answer, as long, by the same path (security list, 10).

What is compared is work, not time: every statement in order with the number of rows it gave, and every body that was
decoded. `python -m tests.bench.alike` measures the times.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from signoff.engine.permissions import ROLES
from signoff.store.database import open_database
from signoff.wiring import Settings
from tests.api.every_route import EVERY, request_of
from tests.api.test_api import PASSWORD, Desk
from tests.api.test_every_route import alike
from tests.counted import Work, counted
from tests.engine.office import ask, chain, open_office, person

UNTIL = (datetime.now(UTC) + timedelta(days=9)).isoformat()
NAMED_INSIDE = ("POST /runs", "POST /runs/bulk", "POST /runs/bulk/preview", "POST /migrations")
"""What they are about stands in the body; the answer of a bulk command is about each of its runs."""
OBJECT_ROUTES = sorted(
    r for r in EVERY
    if ("{" in r or r in NAMED_INSIDE) and not r.startswith(("PUT /people", "POST /signals", "DELETE /sessions"))
)  # fmt: skip
"""A login, a signal's name and the id of one's own session name nothing that belongs to somebody else."""


@dataclass
class Two:
    """Names of the same things: in another tenant, and nowhere."""

    desk: Desk
    theirs: dict[str, Any]
    nowhere: dict[str, Any]


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Two]:
    with open_two(tmp_path_factory.mktemp("alike")) as found:
        yield found


@contextmanager
def open_two(folder: Path) -> Iterator[Two]:
    """An office, and another tenant in it that has one of everything."""
    with open_office(folder / "data", services=False) as office:
        everything = list(ROLES)
        office.running.save_person("all", roles=everything, groups=("managers",), password=PASSWORD)
        for login in ("ada", "grace"):
            office.running.save_person(login, roles=everything, groups=("managers",), tenant="other")
        face, ada = office.signoff, person("ada")
        document = chain("theirs", ask("manager"))
        for revision, title in enumerate(("First", "Second")):
            titled = document | {"title": title}
            if revision:
                face.save_draft(ada, "other", "theirs", titled, {}, revision)
            else:
                face.create_draft(ada, "other", titled)
            face.publish(ada, "other", "theirs", revision + 1)
        run_id = face.start_run(ada, "other", "theirs", {}, version=1)["run_id"]
        absence = face.do("set_absence", ada, "other", delegate="grace", ends=UNTIL)["id"]
        token = face.do("create_token", ada, "other", name="x", scopes=["read_runs"])["id"]
        plan = face.do(
            "propose_migration", ada, "other", definition="theirs", version=1, plan={"target": 2}, reason="x"
        )["plan_id"]  # fmt: skip
        kept = face.queries.files.add("other", [b"theirs"])
        digest = face.add_file(ada, "other", kept, "x.txt", "text/plain")["file"]
        theirs = {"run_id": run_id, "name": "theirs", "absence": absence, "token": token, "plan_id": plan}
        theirs |= {"digest": digest, "letter": 1}
        nowhere = {
            "run_id": "r-" + "x" * (len(run_id) - 2), "name": "absent", "absence": absence + 5, "token": token + 5,
            "plan_id": plan[:2] + "x" * (len(plan) - 2), "digest": "sha256:" + "1" * 64, "letter": 6,
        }  # fmt: skip
        engine = open_database(Settings(office.folder).where)
        with engine.begin() as connection:
            connection.exec_driver_sql(
                "INSERT INTO delivery(tenant, notice, run, step, generation, topic, sink, login, message_id, status,"
                " tries, due, error, created_at, changed_at) SELECT 'other', 1, id, 'manager', 1, 'x', 'mail', 'ada',"
                " 'm', 'dead', 1, 1, 'x', 1, 1 FROM run"
            )
        engine.dispose()
        desk = Desk(office)
        found = Two(desk, theirs, nowhere)
        ask_for(found, "POST /runs/{run_id}/pause", nowhere)  # accounts are read once
        yield found


def ask_for(two: Two, route: str, names: dict[str, Any]) -> Any:
    method, path, body = request_of(route, names["run_id"], names["name"])
    if route == "POST /runs":
        body = {"definition": names["name"]}
    for word in ("absence", "token", "letter"):
        if f"/{word}s/" in path:
            path = path.replace("4711", str(names[word]))
    path = path.replace("p-x", names["plan_id"]).replace("sha256:" + "1" * 64, names["digest"])
    return two.desk.http.request(method, path, json=body, headers=two.desk.as_("all"))


@pytest.mark.parametrize("route", OBJECT_ROUTES)
def test_foreign_and_missing_take_the_same_path(two: Two, route: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(2):  # what is cached is cached for both
        answers: list[Any] = []
        works: list[Work] = []
        for names in (two.theirs, two.nowhere):
            with counted(monkeypatch) as work:
                answers.append(ask_for(two, route, names))
            works.append(work)
        foreign, missing = answers
        assert foreign.status_code == missing.status_code, foreign.text
        assert (foreign.status_code in (404, 409)) == ("bulk" not in route), foreign.text
        texts = [
            alike(a.text.replace(n["plan_id"], "PLAN").replace(n["digest"], "DIGEST"), n["run_id"], n["name"])
            for a, n in zip(answers, (two.theirs, two.nowhere), strict=True)
        ]
        assert texts[0] == texts[1]
        assert len(foreign.content) == len(missing.content)
        assert works[0] == works[1]
