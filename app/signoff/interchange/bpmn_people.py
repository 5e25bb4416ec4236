"""Who does a user task, what it asks for, and whether it is a decision."""

from __future__ import annotations

import re
from typing import Any

from signoff.interchange.naming import free_name, name_of
from signoff.interchange.xml_text import Element

_TYPES = {
    "string": "text", "long": "integer", "int": "integer", "integer": "integer", "double": "number",
    "boolean": "boolean", "date": "date", "enum": "choice", "number": "number", "float": "number",
}  # fmt: skip


def people_of(task: Element, lane: str) -> dict[str, Any]:
    """`groups`, `people` and `requester` of a task; the lane where it says nothing usable, else `staff`."""
    groups = [g.strip() for g in task.get("candidateGroups").split(",") if g.strip()]
    people = [p.strip() for p in task.get("candidateUsers").split(",") if p.strip()]
    if task.get("assignee"):
        people.append(task.get("assignee"))
    for told in task.inside("potentialOwner", "humanPerformer", "performer"):
        for x in told.inside("formalExpression"):
            for part in x.text.split(","):
                match = re.fullmatch(r"\s*(user|group)\((.+)\)\s*", part)
                named = match[2] if match else part.strip()
                (people if match and match[1] == "user" else groups).append(named)
    computed = [p for p in people if _computed(p)]
    found: dict[str, Any] = {}
    if names := [name_of(g, "group") for g in groups if g and not _computed(g)]:
        found["groups"] = list(dict.fromkeys(names))
    if logins := [name_of(p, "person") for p in people if not _computed(p)]:
        found["people"] = list(dict.fromkeys(logins))
    if not found and any(re.search(r"initiator|starter|employee|requester", p, re.I) for p in computed):
        found["requester"] = True
    if not found:
        found["groups"] = [name_of(lane, "group") if lane else "staff"]
    return found


def _computed(text: str) -> bool:
    return "{" in text or "(" in text


def fields_of(task: Element) -> dict[str, dict[str, Any]]:
    """Fields that a task declares, by their name in the model."""
    found: dict[str, dict[str, Any]] = {}
    names: list[str] = []
    for given in task.inside("formProperty", "formField"):
        foreign = given.get("id") or given.get("name")
        if not foreign or given.get("writable") == "false":
            continue
        kind = _TYPES.get(given.get("type", "string").lower(), "text")
        options = [v.get("id") or v.get("name") for v in given.all("value") if v.get("id") or v.get("name")]
        name = free_name(foreign, names, "field")
        names.append(name)
        told: dict[str, Any] = {"name": name, "label": (given.get("label") or given.get("name") or foreign)[:200]}
        told["type"] = "text" if kind == "choice" and not options else kind
        if told["type"] == "choice":
            told["options"] = list(dict.fromkeys(options))
        if given.get("required") != "true":
            told["required"] = False
        found[foreign] = told
    return found
