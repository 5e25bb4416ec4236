"""Everything a reader can ask. Thread-safe; answers are frozen views; unknown and foreign look the same."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

from signoff.core.explain import ALL_ACTIONS, explain
from signoff.core.facts import Directory
from signoff.core.states import RunState, RunStatus, waits_for_child
from signoff.core.validate import KnownVersion, Surroundings
from signoff.engine.access_queries import AccessQueries
from signoff.engine.bulk_queries import BulkQueries
from signoff.engine.caches import PlanCache
from signoff.engine.definition_queries import DefinitionQueries
from signoff.engine.evidence import Evidence
from signoff.engine.file_queries import FileQueries
from signoff.engine.inbox_queries import InboxQueries
from signoff.engine.key_queries import KeyQueries
from signoff.engine.limit_queries import LimitQueries
from signoff.engine.notice_queries import NoticeQueries
from signoff.engine.paging import page_size, read_cursor
from signoff.engine.plan_queries import PlanQueries
from signoff.engine.retention_queries import RetentionQueries, not_there
from signoff.engine.sentences import actor_of, sentence_of
from signoff.engine.views import AttemptView, EventView, Page, Person, RunRow, RunView, SignalView
from signoff.engine.work_queries import WorkQueries, attempt_of
from signoff.errors import InvalidInput
from signoff.store.bodies import load
from signoff.store.checkpoints import CheckpointFiles
from signoff.store.files import FileStore
from signoff.store.known import load_known
from signoff.store.reads import definitions as d
from signoff.store.reads import runs as r
from signoff.store.reads.reader import Reader
from signoff.store.reads.signals import list_messages
from signoff.store.times import from_micros, to_micros


class Queries(InboxQueries, DefinitionQueries, WorkQueries, NoticeQueries, AccessQueries, FileQueries):
    """Reads of one installation."""

    def __init__(
        self,
        reader: Reader,
        now: Callable[[], datetime],
        connectors: Collection[str] | None,
        templates: Sequence[dict[str, Any]] = (),
        files: CheckpointFiles | None = None,
        attachments: FileStore | None = None,
    ) -> None:
        super().__init__(reader)
        self.files = attachments or FileStore(Path("/nonexistent"))
        self.evidence = Evidence(reader, files or CheckpointFiles(Path("/nonexistent")), self.files)
        self._now = now
        self._connectors = connectors
        self._templates = tuple(templates)
        self._plans = PlanCache(self._load_plan)
        self.limits = LimitQueries(reader)
        self.keys = KeyQueries(reader, now)
        self.retention = RetentionQueries(reader, now)
        self.plans = PlanQueries(reader)
        self.bulk = BulkQueries(reader, self._plans, now, self._directory)
        self._known: dict[int, KnownVersion] = {}

    def _load_plan(self, version_id: int) -> tuple[dict[str, object], str, int]:
        row = d.get_version(self._reader, version_id)
        return load(row[3]), row[2], row[1]

    # People

    def list_people(self, tenant: str) -> list[Person]:
        """All accounts."""
        groups = self.list_groups(tenant)
        return [
            Person(
                tenant,
                p[0],
                p[1],
                p[2],
                tuple(p[3].split()),
                tuple(g for g, m in groups.items() if p[0] in m),
                bool(p[4]),
                kind=p[5],
            )
            for p in d.list_people(self._reader, tenant)
        ]

    def list_groups(self, tenant: str) -> dict[str, tuple[str, ...]]:
        """Groups and their active members."""
        groups: dict[str, tuple[str, ...]] = {}
        for group, login, active in d.list_memberships(self._reader, tenant):
            groups[group] = groups.get(group, ()) + ((login,) if active else ())
        return groups

    def close(self) -> None:
        """Close all connections."""
        self._reader.close()

    def _directory(self, tenant: str) -> Directory:
        """Active people and groups, as decisions see them."""
        people = {p.login: p.name for p in self.list_people(tenant) if p.active}
        return Directory(0, self.list_groups(tenant), people)

    # Surroundings of definitions

    def surroundings(self, tenant: str) -> Surroundings:
        """What definitions of this tenant may refer to."""
        groups = self.list_groups(tenant)
        return Surroundings(
            connectors=self._connectors,
            groups=set(groups),
            group_sizes={g: len(m) for g, m in groups.items()},
            people={p.login for p in self.list_people(tenant) if p.active},
            definitions=load_known(self._reader.rows, tenant, self._known),
            limits=self.limits.of(tenant),
        )

    def list_templates(self) -> list[dict[str, Any]]:
        """Ready-made definitions: "summary", "document", "layout"."""
        return list(self._templates)

    # Runs

    def list_runs(
        self,
        tenant: str,
        *,
        status: str = "",
        definition: str = "",
        text: str = "",
        cursor: str | None = None,
        limit: int = 50,
        reader: Person | None = None,
    ) -> Page[RunRow]:
        """Runs, the most recently changed first; `reader` sees only what their roles and relations allow.

        Raises:
            InvalidInput: there is no such status, or the cursor is not one of ours.
        """
        if status and status not in set(RunStatus):
            raise InvalidInput(f"There is no status '{status[:40]}'.", remedy=f"Use one of: {', '.join(RunStatus)}.")
        after = read_cursor(cursor, 2)
        size = page_size(limit)
        found = r.list_runs(
            self._reader,
            tenant,
            status=status,
            definition=definition,
            text=text[:200],
            after=(after[0], after[1]) if after else None,
            limit=size + 1,
            only_for=only_for(reader),
        )
        rows = tuple(self._run_row(x) for x in found[:size])
        more = found[size - 1] if len(found) > size else None
        return Page(rows, f"{more.changed_at}.{more.pk}" if more else None)

    def get_run(self, tenant: str, run_id: str, *, reader: Person | None = None) -> RunView:
        """Everything about one run; `reader` decides which actions its explanation offers.

        Raises:
            NotFound: there is no such run in the tenant, or none that the reader may see.
        """
        found = r.find_run(self._reader, tenant, run_id, only_for(reader))
        away = self.absences_now(tenant, reader.login) if reader else ()
        for a in away if found is None else ():  # who decides for somebody may see what they are asked
            if found is None and r.is_asked(self._reader, tenant, run_id, a.person):
                found = r.find_run(self._reader, tenant, run_id)
        if found is None:
            raise not_there(self._reader, tenant, run_id)
        record, state = found
        plan = self._plans.get(record.version_id)
        may = reader.may if reader else ALL_ACTIONS
        layout = load(d.get_version(self._reader, record.version_id)[4]) or {}
        explanation = explain(
            plan,
            state,
            may=may,
            reader=reader.login if reader else "",
            names=self._names(tenant),
            progress=self._reported(record.pk, state),
            children=self._children(tenant, state),
            held_back=self.limits.held_back(tenant, plan, state),
            acts_for=[a.person for a in away],
        )
        row = replace(self._run_row(record), reason=state.reason)  # that of an encrypted run is in no column
        return RunView(row, record.digest, state, plan, layout, explanation)

    def _children(self, tenant: str, state: RunState) -> dict[str, str]:
        """What the children say for whom steps wait, by run id; each speaks for its own children too."""
        said: dict[str, str] = {}
        for step in state.steps.values():
            found = r.find_run(self._reader, tenant, step.child) if waits_for_child(step) else None
            if found is not None:
                plan, child = self._plans.get(found[0].version_id), found[1]
                below = self._children(tenant, child)
                said[step.child] = explain(plan, child, names=self._names(tenant), children=below).sentence
        return said

    def list_events(self, tenant: str, run_id: str, *, after: int = 0, limit: int = 500) -> list[EventView]:
        """The history of a run, oldest first."""
        found = r.find_run(self._reader, tenant, run_id)
        if found is None:
            return []
        plan = self._plans.get(found[0].version_id)
        return [
            EventView(
                seq,
                from_micros(at),
                event.wire,
                getattr(event, "step", ""),
                actor_of(event),
                sentence_of(event, plan),
                data,
            )
            for seq, at, event, data in r.list_events(self._reader, tenant, run_id, after, min(limit, 2000))
        ]

    def list_attempts(self, tenant: str, run_id: str) -> list[AttemptView]:
        """Attempts of a run's activities, oldest first."""
        return [attempt_of(a) for a in r.list_attempts(self._reader, tenant, run_id)]

    def _run_row(self, x: r.RunRecord) -> RunRow:
        return RunRow(
            run_id=x.public_id,
            definition=x.definition,
            title=self._plans.get(x.version_id).definition.title,
            version=x.version,
            status=x.status,
            business_key=x.business_key,
            started_by=x.started_by,
            started_at=from_micros(x.started_at),
            changed_at=from_micros(x.changed_at),
            reason=x.reason,
            sequence=x.sequence,
        )

    # Signals

    def list_signals(
        self,
        tenant: str,
        *,
        name: str = "",
        key: str = "",
        status: str = "",
        cursor: str | None = None,
        limit: int = 50,
    ) -> Page[SignalView]:
        """Messages from outside, the newest first."""
        before, size = read_cursor(cursor, 1), page_size(limit)
        found = list_messages(
            self._reader,
            tenant,
            name=name,
            key=key,
            status=status,
            now=to_micros(self._now()),
            before=before[0] if before else 0,
            limit=size + 1,
        )
        items = tuple(_signal_view(m) for m in found[:size])
        return Page(items, str(found[size - 1][0]) if len(found) > size else None)


def _signal_view(row: tuple[Any, ...]) -> SignalView:
    values: list[Any] = list(row[1:])
    values[6], values[7] = from_micros(values[6]), from_micros(values[7])
    return SignalView(*values)


def only_for(reader: Person | None) -> str | None:
    """The login to whose own runs (started, or asked in) a reader is limited; None for those who see all."""
    return None if reader is None or "read_all_runs" in reader.may else reader.login
