"""Files with a run (case C40): bytes and names stay equal, for those who may see the run only, gone when erased."""

from __future__ import annotations

import hashlib
import json
import os
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from signoff.core.definition import Field, FieldType
from signoff.core.files import MAX_FILE_BYTES, check_file, file_references, is_file, is_file_name
from signoff.interchange.downloads import headers_of
from signoff.runtime.sweeper import Sweeper
from signoff.store.files import FileStore
from signoff.store.reads.reader import Reader
from tests.api.test_api import PASSWORD, Desk
from tests.engine.office import PEOPLE, ask, call, chain, open_office, person

NAME = "Angebot Nr. 7 – final.pdf"
PDF = b"%PDF-1.7\n" + os.urandom(9_000_000)
INPUT = [
    {"name": "offer", "type": "file", "options": [".pdf"], "maximum": 10_000_000},
    {"name": "empty", "type": "file", "required": False},
]
BUY = chain("buy", ask("manager", shows={"Offer": "=input.offer", "Note": "=input.empty"}),
            call("order", input={"offer": "=input.offer"}), input=INPUT)  # fmt: skip


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with open_office(tmp_path / "data") as office:
        for login, (roles, groups) in PEOPLE.items():
            office.running.save_person(login, name=login.title(), roles=roles, groups=groups, password=PASSWORD)
        office.running.save_person("audrey", roles=("auditor", "administrator"), password=PASSWORD)
        yield Desk(office)


def put(desk: Desk, who: str, name: str, content: bytes, media: str = "application/pdf") -> Any:
    headers = {**desk.as_(who), "Content-Type": media}
    return desk.http.post(f"/files?name={quote(name)}", content=content, headers=headers)


def fetch(desk: Desk, who: str, file: dict[str, Any]) -> Any:
    return desk.get(who, f"/files/{file['file']}?name={quote(file['name'])}")


def started(desk: Desk) -> tuple[str, dict[str, Any], dict[str, Any]]:
    desk.office.publish(BUY)
    offer = put(desk, "ada", NAME, PDF).json()
    empty = put(desk, "ada", "leer.svg", b"", "image/svg+xml").json()
    answer = desk.post("ada", "/runs", {"definition": "buy", "input": {"offer": offer, "empty": empty}})
    assert answer.status_code == 201, answer.text
    run_id = answer.json()["run_id"]
    desk.office.until_step(run_id, "manager", "waiting")
    return run_id, offer, empty


def test_c40_the_approver_opens_what_was_given(desk: Desk, tmp_path: Path) -> None:
    run_id, offer, empty = started(desk)
    assert offer == {
        "file": f"sha256:{hashlib.sha256(PDF).hexdigest()}",
        "name": NAME,
        "size": len(PDF),
        "type": "application/pdf",
    }
    task = desk.get("grace", f"/inbox/{run_id}/manager").json()
    assert task["shown"] == {"Offer": offer, "Note": empty}
    got = fetch(desk, "grace", task["shown"]["Offer"])
    assert got.content == PDF
    assert f"filename*=UTF-8''{quote(NAME)}" in got.headers["content-disposition"]
    nothing = fetch(desk, "grace", task["shown"]["Note"])
    assert (nothing.content, nothing.headers["content-type"]) == (b"", "application/octet-stream")
    assert nothing.headers["content-disposition"].startswith("attachment; ")
    assert nothing.headers["content-security-policy"].startswith("sandbox; default-src 'none'")
    assert nothing.headers["x-content-type-options"] == "nosniff"
    stranger = fetch(desk, "dan", offer)
    assert (stranger.status_code, stranger.json()["title"]) == (404, "There is no such file.")
    absent = desk.get("grace", f"/files/sha256:{'0' * 64}")
    assert (absent.status_code, absent.json()) == (404, stranger.json())
    body = {"outcome": "approved", "generation": 1, "shown_digest": task["shown_digest"]}
    assert desk.post("grace", f"/inbox/{run_id}/manager/decision", body).status_code == 200
    desk.office.until_status(run_id, "succeeded")
    assert desk.office.connectors.calls[-1].input == {"offer": offer}
    bundle = [json.loads(x) for x in desk.get("audrey", f"/runs/{run_id}/evidence").text.splitlines()]
    files = {x["name"]: b64decode(x["content"]) for x in bundle if x["kind"] == "file"}
    assert files == {NAME: PDF, "leer.svg": b""}
    desk.office.check_replay()


def test_the_offline_verifier_checks_files(desk: Desk, tmp_path: Path) -> None:
    from signoff.interchange import verifier

    run_id, _, _ = started(desk)
    text = desk.get("audrey", f"/runs/{run_id}/evidence").text
    lines = text.splitlines(keepends=True)

    def codes(changed: list[str]) -> set[str]:
        return {code for code, _ in verifier.Bundle(None, ()).read(changed)} & {"file_altered", "file_missing"}

    number = next(i for i, x in enumerate(lines) if '"kind":"file"' in x and NAME in x)
    line = json.loads(lines[number])
    for content, code in ((line["content"][:-8] + "AAAAAAA=", "file_altered"), (None, "file_missing")):
        changed = [*lines[:number], json.dumps({**line, "content": content}) + "\n", *lines[number + 1 :]]
        assert codes(changed) == {code}
    assert codes(lines) == set()


def test_files_survive_a_restart_and_go_with_the_run(tmp_path: Path) -> None:
    with open_office(tmp_path / "data") as office:
        office.running.save_person("ada", roles=PEOPLE["ada"][0], password=PASSWORD)
        run_id, offer, _ = started(Desk(office))
    with open_office(tmp_path / "data") as office:
        office.running.save_person("root", roles=("administrator",), password=PASSWORD)
        desk = Desk(office)
        office.running.save_person("ada", roles=None, groups=None, password=PASSWORD)
        assert fetch(desk, "ada", offer).content == PDF
        office.signoff.operate("cancel_run", person("katherine"), "default", run_id, reason="not wanted")
        office.until_status(run_id, "cancelled")
        office.signoff.do("erase_run", person("root", "cli"), "default", run_id=run_id, reason="asked for")
        assert fetch(desk, "root", offer).status_code == 404
        kept = [p for p in (tmp_path / "data" / "files").rglob("*") if p.is_file()]
        assert len(kept) == 2
        for path in kept:
            os.utime(path, (0, 0))
        forget(office)
        Sweeper(Reader(office.running.reader), FileStore(tmp_path / "data" / "files")).work()
        assert [p for p in (tmp_path / "data" / "files").rglob("*") if p.is_file()] == []


def forget(office: Any) -> None:
    """The uploads of the day are over."""
    from signoff.store.database import open_database
    from signoff.wiring import Settings

    database = open_database(Settings(office.folder).where)
    with database.begin() as connection:
        connection.exec_driver_sql("DELETE FROM attachment WHERE run IS NULL")
    database.dispose()


def test_only_ones_own_uploads_can_be_used(desk: Desk) -> None:
    desk.office.publish(BUY)
    offer = put(desk, "ada", NAME, b"x").json()
    for who, value in (
        ("dan", offer),
        ("ada", {**offer, "file": "sha256:" + "0" * 64}),
        ("ada", {**offer, "name": "another.pdf"}),
        ("ada", {**offer, "size": 2}),
        ("ada", {**offer, "type": "text/html"}),
    ):
        refused = desk.post(who, "/runs", {"definition": "buy", "input": {"offer": value}})
        assert refused.status_code == 422, value
        assert refused.json()["problems"][0]["field"] == "offer"
    assert fetch(desk, "dan", offer).status_code == 404, "an upload is its uploader's until a run has it"
    assert fetch(desk, "ada", offer).content == b"x"


def test_wrong_kinds_and_sizes_are_refused(desk: Desk) -> None:
    desk.office.publish(BUY)
    page = put(desk, "ada", "offer.html", b"<script>alert(1)</script>", "text/html").json()
    refused = desk.post("ada", "/runs", {"definition": "buy", "input": {"offer": page}})
    assert refused.status_code == 422
    assert "ending that is allowed" in refused.text
    assert put(desk, "ada", "big.pdf", b"x" * (MAX_FILE_BYTES + 1)).status_code == 422
    for name in ("../../etc/passwd", "a/b.pdf", "a\\b", "\u202egpj.exe", "x\ny", "..", "."):
        assert put(desk, "ada", name, b"x").status_code == 422, name
    assert put(desk, "katherine", "x.pdf", b"x").status_code == 201
    assert put(desk, "audrey", "x.pdf", b"x").status_code == 403, "auditors upload nothing"
    for digest in ("..", "sha256:../../signoff.db", "sha256:" + "g" * 64, "x"):
        assert desk.get("ada", f"/files/{quote(digest, safe='')}").status_code == 404


def test_a_form_step_takes_files_and_passes_on_those_of_the_run(desk: Desk) -> None:
    form = {"id": "check", "kind": "form", "label": "Check", "groups": ["managers"],
            "fields": [{"name": "offer", "type": "file"}, {"name": "report", "type": "file"}],
            "prefill": {"offer": "=input.offer"}}  # fmt: skip
    desk.office.publish(chain("buy", form, input=[{"name": "offer", "type": "file"}]))
    offer = put(desk, "ada", NAME, b"offer").json()
    run_id = desk.post("ada", "/runs", {"definition": "buy", "input": {"offer": offer}}).json()["run_id"]
    desk.office.until_step(run_id, "check", "waiting")
    task = desk.get("grace", f"/inbox/{run_id}/check").json()
    assert task["prefill"]["offer"] == offer
    report = put(desk, "grace", "report.txt", b"fine", "text/plain").json()
    values = {"offer": offer, "report": report}
    body = {"values": values, "generation": 1, "shown_digest": task["shown_digest"]}
    assert desk.post("grace", f"/inbox/{run_id}/check/submission", body).status_code == 200
    desk.office.until_status(run_id, "succeeded")
    assert desk.get("ada", f"/runs/{run_id}").json()["outputs"]["check"] == values
    assert fetch(desk, "ada", report).content == b"fine"


def signed(desk: Desk, **more: Any) -> tuple[str, dict[str, Any]]:
    """A run whose approval asks for a signed copy, and the task."""
    field = {"name": "copy", "type": "file", "options": [".pdf"], "maximum": 100, **more}
    desk.office.publish(chain("sign", ask("manager", fields=[field])))
    run_id = desk.post("ada", "/runs", {"definition": "sign", "input": {}}).json()["run_id"]
    desk.office.until_step(run_id, "manager", "waiting")
    return run_id, desk.get("grace", f"/inbox/{run_id}/manager").json()


def test_a_decision_takes_files(desk: Desk) -> None:
    run_id, task = signed(desk)
    path = f"/inbox/{run_id}/manager/decision"

    def decide(value: Any, outcome: str = "approved") -> Any:
        values = {} if value is None else {"copy": value}
        body = {"outcome": outcome, "generation": 1, "shown_digest": task["shown_digest"], "comment": "seen"}
        return desk.post("grace", path, {**body, "values": values})

    others, too_large = put(desk, "ada", "copy.pdf", b"ada's").json(), put(desk, "grace", "a.pdf", b"x" * 101).json()
    for wrong in (None, others, too_large, put(desk, "grace", "copy.exe", b"x").json(), "copy.pdf"):
        refused = decide(wrong)
        assert (refused.status_code, refused.json()["problems"][0]["field"]) == (422, "copy"), wrong
    assert decide(others, "rejected").status_code == 422, "what is given must fit, also where it is not needed"
    assert fetch(desk, "ada", too_large).status_code == 404, "a refused decision brings no file into the run"
    copy = put(desk, "grace", "copy.pdf", b"signed").json()
    assert decide(copy).status_code == 200
    desk.office.until_status(run_id, "succeeded")
    assert desk.get("ada", f"/runs/{run_id}").json()["outputs"]["manager"]["values"] == {"copy": copy}
    assert fetch(desk, "ada", copy).content == b"signed"
    assert fetch(desk, "dan", copy).status_code == 404
    lines = [json.loads(x) for x in desk.get("audrey", f"/runs/{run_id}/evidence").text.splitlines()]
    assert {x["name"]: b64decode(x["content"]) for x in lines if x["kind"] == "file"} == {"copy.pdf": b"signed"}
    assert "file “copy.pdf”" in str(desk.get("ada", f"/runs/{run_id}/events").json())
    desk.office.check_replay()


def test_a_rejection_may_bring_a_file_and_needs_none(desk: Desk) -> None:
    run_id, task = signed(desk)
    report = put(desk, "grace", "why.pdf", b"because").json()
    body = {"outcome": "rejected", "generation": 1, "shown_digest": task["shown_digest"], "comment": "see file"}
    answer = desk.post("grace", f"/inbox/{run_id}/manager/decision", {**body, "values": {"copy": report}})
    assert answer.status_code == 200, answer.text
    assert fetch(desk, "ada", report).content == b"because"


def test_a_child_run_has_the_files_it_was_given(desk: Desk) -> None:
    office = desk.office
    office.publish(chain("part", ask("manager", groups=[], people=["grace"]), input=[{"name": "doc", "type": "file"}]))
    sub = {"id": "sub", "kind": "subflow", "definition": "part", "version": 1, "input": {"doc": "=input.offer"}}
    office.publish(chain("whole", sub, input=[{"name": "offer", "type": "file"}]))
    offer = put(desk, "ada", NAME, b"offer").json()
    run_id = desk.post("ada", "/runs", {"definition": "whole", "input": {"offer": offer}}).json()["run_id"]
    child = office.until(run_id, lambda v: bool(v.state.steps["sub"].child)).state.steps["sub"].child
    office.until_step(child, "manager", "waiting")
    assert fetch(desk, "grace", offer).content == b"offer"
    assert fetch(desk, "alan", offer).status_code == 404


@pytest.mark.parametrize("name", [NAME, "x.pdf", "ÄÖ 'quote\" %.txt", "李.pdf"])
def test_names_are_kept_and_headers_stay_one_line(name: str) -> None:
    assert is_file_name(name)
    header = headers_of(name)["Content-Disposition"]
    assert header.isascii()
    assert len(header.splitlines()) == 1
    assert header.count('"') == 2


def test_a_reference_is_exactly_that() -> None:
    good = {"file": "sha256:" + "a" * 64, "name": "x", "size": 0, "type": "text/plain"}
    assert is_file(good)
    assert check_file(Field("f", type=FieldType.FILE), good) == (good, None)
    for change in (
        {"size": -1},
        {"size": True},
        {"size": MAX_FILE_BYTES + 1},
        {"type": "x"},
        {"name": ""},
        {"more": 1},
        {"file": "x"},
    ):
        assert not is_file({**good, **change}), change
    assert list(file_references({"a": [good, {"b": good}], "c": 1})) == [good, good]


def test_an_output_cannot_be_a_file(desk: Desk) -> None:
    document = chain("x", call("a", output=[{"name": "f", "type": "file"}]))
    found = desk.post("ada", "/definitions/validate", {"document": document}).json()
    assert "file_not_here" in str(found)
