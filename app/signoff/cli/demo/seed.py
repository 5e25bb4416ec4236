"""Fills the demo: publishes the templates and starts runs that finish, wait and stall."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import httpx2

from signoff.core.states import Actor
from signoff.engine.client import Signoff
from signoff.engine.views import RunView
from signoff.errors import Unavailable
from signoff.wiring import Settings, open_remote, templates

TENANT = "default"
WAIT_S = 20.0


def seed(settings: Settings) -> None:
    """Publish all templates and start the example runs.

    Raises:
        SignoffError: the engine refused something or did not get there in time.
    """
    signoff, client = open_remote(settings, wait_s=30.0)
    try:
        planter = Planter(signoff, settings.demo_address)
        planter.publish_templates()
        planter.start_runs()
    finally:
        client.close()
        signoff.queries.close()


def person(login: str) -> Actor:
    """A demo person, acting from the command line."""
    return Actor("person", login, channel="cli")


class Planter:
    """Starts runs and brings them where they are to stand."""

    def __init__(self, signoff: Signoff, service: str) -> None:
        self._signoff = signoff
        self._service = service
        self._count = 0

    def publish_templates(self) -> None:
        """One draft and version per template; a definition that exists is left alone."""
        known = {d.name for d in self._signoff.queries.list_definitions(TENANT)}
        for template in templates():
            document = template["document"]
            if document["name"] not in known:
                self._signoff.create_draft(person("ada"), TENANT, document, template.get("layout") or {})
                self._signoff.publish(person("ada"), TENANT, document["name"], 1)

    def start_runs(self) -> None:
        """A few of each kind: finished, waiting for people, rejected, stalled."""
        small = self._purchase("Office chairs", 480.0, "K-2041")
        self._decide(small, "grace", "approved", "Fine, they are broken.")
        large = self._purchase("Laser cutter", 18_500.0, "K-2042")
        self._decide(large, "grace", "approved", "Needed for the new line.")
        refused = self._purchase("Gold-plated cables", 950.0, "K-2043")
        self._decide(refused, "grace", "rejected", "The plain ones do.")
        self._purchase("Standing desks", 2_900.0, "K-2044")
        self._purchase("Coffee for the workshop", 120.0, "K-2045")
        self._start("business_trip", "K-2050", purpose="Fair", destination="Gdańsk")
        self._planned_trip()
        self._stalled_refund()

    def _planned_trip(self) -> None:
        """A trip whose form is filled in; it waits for a manager on working time."""
        run_id = self._start("business_trip", "K-2051", purpose="Customer workshop", destination="Graz")
        if not run_id:
            return
        self._until(run_id, lambda v: bool(_open_approvals(v)))
        task = self._signoff.queries.find_task(TENANT, "ada", run_id, "plan")
        if task is not None and task.may_decide:
            values = {"journey": "Night train", "hotel": "Station hotel", "estimate": 640.0}
            self._signoff.submit_form(
                person("ada"), TENANT, run_id, "plan", values,
                generation=task.generation, shown_digest=task.shown_digest,
            )  # fmt: skip

    def _stalled_refund(self) -> None:
        definition = self._signoff.queries.find_version(TENANT, "refund")
        if definition is None:
            return
        paths = {p for s in definition.document["steps"] if (p := _path(s))}
        for path in paths:
            self._mode(path, "refuse")
        try:
            run_id = self._start("refund", "R-118")
            self._until(run_id, lambda v: v.row.status != "running" or bool(_open_approvals(v)))
            for login in ("grace", "alan", "barbara"):
                self._decide(run_id, login, "approved", "The parcel never arrived.")
            self._until(run_id, lambda v: v.row.status == "stalled")
        finally:
            for path in paths:
                self._mode(path, "ok")

    def _purchase(self, item: str, amount: float, key: str) -> str:
        return self._start("purchase_approval", key, item=item, amount=amount)

    def _start(self, name: str, key: str, **wanted: Any) -> str:
        version = self._signoff.queries.find_version(TENANT, name)
        if version is None:
            return ""
        values = {f.name: wanted.get(f.name, _example(f)) for f in version.definition.input}
        answer = self._signoff.start_run(
            person("ada"), TENANT, name, values, business_key=key, idempotency_key=f"demo-{key}"
        )
        return str(answer["run_id"])

    def _decide(self, run_id: str, login: str, outcome: str, comment: str) -> None:
        """Decide the approval that is open for this person, once there is one; nothing where there is none."""
        if not run_id:
            return
        view = self._until(run_id, lambda v: v.row.status != "running" or bool(_open_approvals(v)))
        for step in _open_approvals(view):
            task = self._signoff.queries.find_task(TENANT, login, run_id, step)
            if task is not None and task.may_decide:
                self._signoff.decide(
                    person(login),
                    TENANT,
                    run_id,
                    step,
                    outcome,
                    generation=task.generation,
                    comment=comment,
                    shown_digest=task.shown_digest,
                )
                return

    def _until(self, run_id: str, good: Callable[[RunView], bool]) -> RunView:
        """Wait until a run is where it should be; follows the feed instead of asking again and again."""
        changed = threading.Event()
        stop = self._signoff.feed.subscribe(lambda news: changed.set() if news.run_id == run_id else None)
        try:
            for _ in range(int(WAIT_S)):
                view = self._signoff.queries.get_run(TENANT, run_id)
                if good(view):
                    return view
                changed.wait(1.0)
                changed.clear()
        finally:
            stop()
        raise Unavailable(f"The example run {run_id} did not get where it should.", remedy="Look at its page.")

    def _mode(self, path: str, mode: str) -> None:
        httpx2.post(f"{self._service}/control", data={"path": path, "mode": mode}, timeout=5.0, trust_env=False)


def _open_approvals(view: RunView) -> list[str]:
    return [s.step for s in view.explanation.steps if s.waits_for]


def _path(step: dict[str, Any]) -> str:
    url = str((step.get("input") or {}).get("url", ""))
    return "/" + url.removeprefix("demo:").lstrip("/") if url.startswith("demo:") else ""


def _example(field: Any) -> Any:
    """A plausible value for a field of a template's form."""
    match field.type:
        case "number" | "integer":
            return max(field.minimum or 0, min(field.maximum or 1_200, 1_200))
        case "boolean":
            return False
        case "date":
            return "2027-03-31"
        case "choice":
            return field.options[0]
        case "list":
            return []
        case "object":
            return {}
        case _:
            return "Example"
