"""What waits for a person, themselves or for those for whom they decide while these are absent."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from signoff.core.answering import closed, must_differ, why_not
from signoff.core.definition import ApprovalConfig, FormConfig
from signoff.core.plan import Plan
from signoff.core.quorum import counted, same_person
from signoff.core.rejection import Rejection
from signoff.engine.absence_queries import AbsenceQueries
from signoff.engine.caches import PlanCache
from signoff.engine.paging import MAX_PAGE, page_size, read_cursor
from signoff.engine.views import InboxItem, Page
from signoff.store.reads import definitions as d
from signoff.store.reads import runs as r
from signoff.store.times import from_micros, from_micros_or_none

MOST_COUNTED = r.MOST_COUNTED
"""So many open items of a person are looked at for the number beside the inbox, the oldest first."""


class InboxQueries(AbsenceQueries):
    """Mixed into `Queries`, which owns the reader, the plans and the clock."""

    _plans: PlanCache

    def _names(self, tenant: str) -> dict[str, str]:
        return {p[0]: p[1] for p in d.list_people(self._reader, tenant)}

    def list_inbox(self, tenant: str, login: str, *, cursor: str | None = None, limit: int = 50) -> Page[InboxItem]:
        """Open approvals and forms that a person is asked to answer, also for others who are absent; oldest first."""
        after = read_cursor(cursor, 1)
        size = page_size(limit)
        absent = [a.person for a in self.absences_now(tenant, login)]
        logins = tuple(dict.fromkeys((login.casefold(), *absent)))
        rows = r.list_inbox(self._reader, tenant, logins, after=after[0] if after else 0, limit=size * len(logins) + 1)
        best: dict[int, InboxItem] = {}
        for x in rows:
            item = self._inbox_item(x, login)
            known = best.get(x.id)
            if known is None or not item.on_behalf_of or (known.on_behalf_of and not known.may_decide):
                best[x.id] = item
        ids = list(best)
        items = tuple(best[i] for i in ids[:size] if not best[i].on_behalf_of or best[i].may_decide)
        return Page(items, str(ids[size - 1]) if len(ids) > size else None)

    def count_inbox(self, tenant: str, login: str) -> int:
        """How many approvals and forms a person can answer now, among their oldest `MOST_COUNTED`."""
        count = 0
        for version_id, own, found in r.count_inbox(self._reader, tenant, login):
            plan = self._plans.get(version_id)
            if not own and not any(must_differ(plan, i) for i in plan.steps):
                count += found
                continue
            for step, state in r.list_inbox_of_version(self._reader, tenant, login, version_id, bool(own)):
                count += step in plan.steps and why_not(plan, state, step, login) is None
        if self.absences_now(tenant, login):
            listed = self.list_inbox(tenant, login, limit=MAX_PAGE).items
            count += sum(i.may_decide and i.on_behalf_of != "" for i in listed)
        return count

    def find_task(self, tenant: str, login: str, run_id: str, step: str, *, on_behalf_of: str = "") -> InboxItem | None:
        """The newest approval or form of a step as this person sees it; None where they are not asked.

        Where they are not asked themselves, it is that of whom they decide for now: of `on_behalf_of`, where given.
        """
        if on_behalf_of:
            asked = r.find_approval(self._reader, tenant, on_behalf_of, run_id, step)
            stands_in = any(same_person(a.person, on_behalf_of) for a in self.absences_now(tenant, login))
            return self._inbox_item(asked, login) if asked and stands_in else None
        own = r.find_approval(self._reader, tenant, login, run_id, step)
        item = self._inbox_item(own, login) if own else None
        if item is not None and (item.may_decide or item.may_withdraw):
            return item
        for a in self.absences_now(tenant, login):
            found = r.find_approval(self._reader, tenant, a.person, run_id, step)
            other = self._inbox_item(found, login) if found else None
            if other is not None and other.may_decide:
                return other
            item = item or other
        return item

    def _closed(self, plan: Plan, x: r.ApprovalRecord) -> bool:
        return closed(plan, x.state, x.step, self._now()) is not None

    def _why_not(self, plan: Plan, x: r.ApprovalRecord, login: str, by: str = "") -> Rejection | None:
        """Why the person may not answer it now, as the core would say when they tried; None where they may."""
        step = x.state.steps.get(x.step)
        if step is None or x.step not in plan.steps or step.generation != x.generation or step.approval is None:
            return Rejection("not_open", f"This is {x.status}.")
        return why_not(plan, x.state, x.step, login, now=self._now(), by=by)

    def _due(self, x: r.ApprovalRecord) -> datetime | None:
        """When it expires: as it is now while it is open (a pause moves it), else as it was."""
        step = x.state.steps.get(x.step)
        now = step is not None and x.status == "open" and step.generation == x.generation
        return step.expires if step is not None and now else from_micros_or_none(x.due)

    def _inbox_item(self, x: r.ApprovalRecord, login: str) -> InboxItem:
        plan = self._plans.get(x.version_id)
        behalf = "" if same_person(x.login, login) else x.login
        refused = self._why_not(plan, x, behalf or login, login if behalf else "")
        open_now = x.status == "open" and x.kind == "approval" and x.step in x.state.steps
        step = plan.steps.get(x.step)
        config = step.config if step else None
        targets = config.returns_to if isinstance(config, ApprovalConfig | FormConfig) else ()
        return InboxItem(
            run_id=x.run_id,
            definition=x.definition,
            title=plan.definition.title,
            step=x.step,
            label=x.label,
            generation=x.generation,
            round=x.round,
            instructions=x.instructions,
            shown=x.opened.get("shown") or {},
            shown_digest=x.shown_digest,
            required=x.required,
            given=x.given,
            started_by=x.started_by,
            business_key=x.business_key,
            returns_to=tuple((t, plan.label(t)) for t in targets),
            comment_required_on=config.comment_required_on if isinstance(config, ApprovalConfig) else (),
            opened_at=from_micros(x.opened_at),
            due=self._due(x),
            status=x.status,
            kind=x.kind,
            fields=config.fields if isinstance(config, ApprovalConfig | FormConfig) else (),
            prefill=x.opened.get("prefill") or {},
            may_decide=not refused,
            why_not=refused.message if refused else "",
            may_withdraw=open_now
            and refused is not None
            and (refused.code == "already_decided" or _gave(x, login))
            and not self._closed(plan, x),
            version=x.version,
            digest=x.digest,
            on_behalf_of=behalf,
            reauthenticate=config.reauthenticate if isinstance(config, ApprovalConfig) else "",
            on_behalf_of_name=self._names(x.state.tenant).get(behalf, behalf) if behalf else "",
            **_quotas(x),
        )


def _gave(x: r.ApprovalRecord, login: str) -> bool:
    """Whether a vote on it was given by this person, for whomever."""
    step = x.state.steps.get(x.step)
    votes = step.approval.votes if step is not None and step.approval is not None else ()
    return any(same_person(v.human, login) for v in votes)


def _quotas(x: r.ApprovalRecord) -> dict[str, Any]:
    """How far each quota is, as the run is now."""
    step = x.state.steps.get(x.step)
    if step is None or step.approval is None or step.generation != x.generation or not step.approval.quotas:
        return {}
    asked = step.approval
    far = tuple((q.name, len(c), q.required) for q, c in zip(asked.quotas, counted(asked), strict=True))
    return {"quotas": far, "in_sequence": asked.in_sequence}
