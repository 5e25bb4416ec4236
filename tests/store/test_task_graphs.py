"""The statements of durable task graphs: conditional writes, writers in turn, use of indexes."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy.exc import DatabaseError

from signoff.errors import Conflict
from signoff.store.dialects.sqlite import sqlite_module
from signoff.store.tasks import TaskGraphStore, open_task_graph
from signoff.store.tasks.versions import COLUMNS
from tests.stores import place

BROKEN = (sqlite_module().IntegrityError, psycopg.IntegrityError)
ROW = (1, "ready", 0, "x", "p", "kind", 0, 0, None)


@pytest.fixture
def graph(tmp_path: Path) -> Iterator[TaskGraphStore]:
    opened = open_task_graph(place(tmp_path / "g.db"))
    opened.ensure(False, False, None)
    yield opened
    opened.close()


def test_a_version_is_written_only_as_it_was_read(graph: TaskGraphStore) -> None:
    with graph.write() as tables:
        version = tables.versions.add(tables.versions.add_node("a"), ROW, None)
    changed = ("running", 0, 1, "w", 9, 0, 0, 0, 5, 0, None, "", "", version, 1)
    with graph.write() as tables:
        tables.versions.save([(*changed, "ready", 0)])
    for was_state, was_fence in (("ready", 0), ("running", 0), ("ready", 1)):
        with pytest.raises(Conflict, match="Nothing was written"), graph.write() as tables:
            tables.versions.save([(*changed, was_state, was_fence)])
    with graph.read() as tables:
        assert tables.pages.by_id(version)[4:9] == ("running", 0, 1, "w", 9)


def test_rows_have_the_order_the_scheduler_reads(graph: TaskGraphStore) -> None:
    order = [column.split(".")[1] for column in COLUMNS.split(", ")]
    assert (
        order
        == (
            "id node name generation state unmet fence worker lease_until expiries stop tenant part kind ready_at"
            " claimed_at cause_at via reason actor"
        ).split()
    )


def test_an_exception_takes_the_whole_transaction_back(graph: TaskGraphStore) -> None:
    with pytest.raises(ZeroDivisionError), graph.write() as tables:
        tables.versions.add(tables.versions.add_node("a"), ROW, None) / 0
    with graph.read() as tables:
        assert tables.versions.find(["a"]) == {}


@pytest.mark.parametrize("state", ["waiting", "nonsense"])
def test_only_stored_states_can_be_written(graph: TaskGraphStore, state: str) -> None:
    errors = (DatabaseError, *BROKEN)
    with pytest.raises(errors), graph.write() as tables:
        tables.versions.add(tables.versions.add_node("a"), (1, state, *ROW[2:]), None)


def test_a_generation_exists_once(graph: TaskGraphStore) -> None:
    with graph.write() as tables:
        node = tables.versions.add_node("a")
        tables.versions.add(node, ROW, None)
    with pytest.raises(BROKEN), graph.write() as tables:
        tables.versions.add(node, ROW, None)


def test_writers_take_turns(tmp_path: Path) -> None:
    """Each of four stores (as four processes would) gets its share; none fails with a busy database."""
    stores = [open_task_graph(place(tmp_path / "g.db"), busy_s=0.01) for _ in range(4)]
    for opened in stores:
        opened.ensure(False, False, None)
    failures: list[BaseException] = []

    def write(number: int) -> None:
        try:
            for turn in range(50):
                with stores[number].write() as tables:
                    tables.versions.add(tables.versions.add_node(f"{number}-{turn}"), ROW, None)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failures == []
    with stores[0].read() as tables:
        assert len(tables.pages.page(0, 1000, {})) == 200
    for opened in stores:
        opened.close()


@pytest.mark.sqlite
@pytest.mark.parametrize(
    ("statement", "index"),
    [
        ("SELECT id FROM task_version WHERE graph=1 AND state='ready' ORDER BY id LIMIT 5", "task_version_by_state"),
        (
            "SELECT id FROM task_version WHERE graph=1 AND state='ready' AND tenant='x' AND part='p' ORDER BY id",
            "task_version_ready",
        ),
        (
            "SELECT id FROM task_version WHERE graph=1 AND state='running' AND lease_until<5 ORDER BY lease_until",
            "task_version_leased",
        ),
        ("SELECT id FROM task_frontier WHERE graph=1 ORDER BY id LIMIT 1", "task_frontier_by_graph"),
        ("SELECT target FROM task_edge WHERE source=1 AND target>7 AND open=1 ORDER BY target LIMIT 5", "PRIMARY KEY"),
        ("SELECT source FROM task_edge WHERE target=1", "task_edge_into"),
    ],
)
def test_hot_questions_are_answered_from_an_index_in_order(tmp_path: Path, statement: str, index: str) -> None:
    open_task_graph(tmp_path / "g.db").close()
    connection: Any = sqlite_module().connect(tmp_path / "g.db")
    plan = " ".join(str(row[3]) for row in connection.execute(f"EXPLAIN QUERY PLAN {statement}"))
    connection.close()
    assert index in plan
    assert "TEMP B-TREE" not in plan


@pytest.mark.sqlite
def test_no_page_sorts_the_whole_graph(graph: TaskGraphStore) -> None:
    statements: list[str] = []
    with graph.read() as tables:
        tables.pages._cursor.connection.set_trace_callback(statements.append)
        tables.pages.page(7, 5, {})
        tables.pages.page(7, 5, {"state": "failed", "tenant": "x"})
        tables.pages.page(7, 5, {"state": "waiting"})
        tables.pages.audited(7, 5)
        tables.versions.ready(5, None, None)
        tables.versions.ready(5, "x", None)
        tables.versions.ready(5, "x", "p")
        tables.versions.queued(5)
        tables.versions.expired(7, 5)
        tables.edges.open_targets(1, 7, 5)
        tables.pages._cursor.connection.set_trace_callback(None)
        asked = [s for s in statements if s.startswith("SELECT")]
        assert len(asked) >= 10
        for statement in asked:
            plan = " ".join(str(row[3]) for row in tables.pages._all(f"EXPLAIN QUERY PLAN {statement}"))
            assert "TEMP B-TREE" not in plan, statement
            assert "SCAN" not in plan, statement
