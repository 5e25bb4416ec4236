"""Loops of Kestra flows over lists."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from signoff.interchange.cel import literal
from signoff.interchange.translated import CannotExpress, Unreadable
from signoff.interchange.weaving import Weaver
from signoff.interchange.yaml_text import read_yaml


def draw_each(
    weaver: Weaver,
    name: str,
    task: dict[str, Any],
    call: Callable[[dict[str, Any]], dict[str, Any]],
    resolve: Callable[[str], str],
) -> None:
    """A loop over a list with one call in it: an activity for each item."""
    listed = task.get("tasks") or []
    inner = listed[0] if len(listed) == 1 and isinstance(listed[0], dict) else {}
    kind = str(inner.get("type", "")).rsplit(".", 1)[-1]
    nested = {
        "ForEach",
        "EachSequential",
        "EachParallel",
        "Parallel",
        "Sequential",
        "If",
        "Switch",
        "Pause",
        "Subflow",
    }
    if not inner or kind in nested or "errors" in inner:
        what = f"{len(listed)} tasks" if len(listed) != 1 else f"a {kind} task"
        weaver.sketch.refuse("loop", f"the loop '{name}' with {what} in it", "Move its inside into an activity.")
        return
    values = task.get("values", task.get("value"))
    try:
        items = _items(weaver, values, resolve)
    except CannotExpress as error:
        weaver.sketch.refuse("loop", f"the loop '{name}' over {error}")
        return
    document = call(inner)
    limit = task.get("concurrencyLimit", 1 if task["type"].endswith(("ForEach", "Sequential")) else 0)
    parallel = limit if isinstance(limit, int) and 1 <= limit <= 100 else 20
    weaver.add(name, {**document, "for_each": {"items": items, "parallel": parallel, "max_items": 1000}})


def _items(weaver: Weaver, values: Any, resolve: Callable[[str], str]) -> str:
    if isinstance(values, str) and not weaver.pattern.search(values):
        try:
            values = read_yaml(values)
        except Unreadable:
            raise CannotExpress("something that is no list") from None
    if isinstance(values, list):
        return (
            "[" + ", ".join(weaver.text(v, resolve) if isinstance(v, str) and v else literal(v) for v in values) + "]"
        )
    match = weaver.pattern.fullmatch(str(values).strip())
    if not match:
        raise CannotExpress("something that is no list")
    items = resolve(match[1])
    parts = items.split(".")
    if parts[0] == "input" and len(parts) == 2 and weaver.sketch.inputs[parts[1]]["type"] not in ("list", "object"):
        weaver.sketch.inputs[parts[1]]["type"] = "list"
    return items
