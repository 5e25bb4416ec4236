"""Events and snapshots to plain JSON data and back. Values equal to their default are left out.

`at` and the step of an event travel in columns of their own; `data` holds the rest. Snapshots hold
everything but the input and the outputs, which are read from the events that carry them.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import datetime
from enum import StrEnum
from operator import attrgetter
from typing import Any

from signoff.core import events as e
from signoff.core.items import with_items
from signoff.core.migration_events import outputs_after
from signoff.core.states import ApprovalState, ItemsData, RunState, StepState
from signoff.core.upcast import upcast

Encode = Callable[[Any], Any]


class _Shape:
    """How to write and read the members of one dataclass, worked out once."""

    def __init__(self, cls: type, leave_out: frozenset[str] = frozenset()) -> None:
        hints = typing.get_type_hints(cls)
        self.cls: Any = cls
        self.members: list[tuple[str, Any, Encode | None, Encode | None]] = []
        for f in fields(cls):
            if f.name in leave_out:
                continue
            default: Any = f.default_factory() if f.default_factory is not MISSING else f.default
            self.members.append((f.name, default, *_converters(hints[f.name])))
        names = [name for name, *_ in self.members]
        self._values: Callable[[Any], Iterable[Any]] = attrgetter(*names) if len(names) > 1 else _one(names[0])

    def encode(self, value: Any) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for v, (name, default, write, _) in zip(self._values(value), self.members, strict=True):
            if v is default or (v == default and type(v) is type(default)):
                continue
            out[name] = write(v) if write and v is not None else v
        return out

    def decode(self, data: Mapping[str, Any], **extra: Any) -> Any:
        for name, _, _, read in self.members:
            if name in data:
                v = data[name]
                extra[name] = read(v) if read and v is not None else v
        return self.cls(**extra)


def _one(name: str) -> Callable[[Any], Iterable[Any]]:
    return lambda value: (getattr(value, name),)


def _converters(hint: Any) -> tuple[Encode | None, Encode | None]:
    origin = typing.get_origin(hint)
    if origin in (types.UnionType, typing.Union):
        inner = [a for a in typing.get_args(hint) if a is not type(None)]
        return _converters(inner[0])
    if hint is datetime:
        return _write_at, datetime.fromisoformat
    if origin is tuple:
        item, *rest = typing.get_args(hint)
        if rest != [...]:  # a row of plain values of a fixed length
            return list, tuple
        write, read = _converters(item)
        if write and read:
            return (lambda vs: [write(v) for v in vs]), (lambda vs: tuple(read(v) for v in vs))
        return list, tuple
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return str, hint
    if is_dataclass(hint):
        shape = _Shape(typing.cast(type, hint))
        return shape.encode, shape.decode
    return None, None


def _write_at(at: datetime) -> str:
    return at.isoformat()


_EVENTS = {cls.wire: _Shape(cls, frozenset({"at", "step"})) for cls in e.ALL_EVENTS}
_HAS_STEP = {cls.wire: "step" in {f.name for f in fields(cls)} for cls in e.ALL_EVENTS}
_STEP = _Shape(StepState, frozenset({"approval"}))
_APPROVAL = _Shape(ApprovalState)
_RUN = _Shape(RunState, frozenset({"steps", "outputs", "input", "retired", "partial"}))

DATA_EVENTS: tuple[str, ...] = (
    e.RunStarted.wire,
    e.InputEdited.wire,
    e.RunMigrated.wire,
    e.ActivitySucceeded.wire,
    e.ItemsOpened.wire,
    e.ItemSucceeded.wire,
    e.ItemsSucceeded.wire,
    e.EffectConfirmed.wire,
    e.StepCompletedByHand.wire,
    e.ApprovalSettled.wire,
    e.FormSubmitted.wire,
    e.SignalReceived.wire,
    e.SubflowEnded.wire,
    e.StepSkipped.wire,
)
"""Wire names of the events that carry the input and the outputs."""


def encode_event(event: e.Event) -> dict[str, Any]:
    """The event's data without `at` and `step`."""
    return _EVENTS[event.wire].encode(event)


def decode_event(wire: str, version: int, at: datetime, step: str, data: Mapping[str, Any]) -> e.Event:
    """The event again, through upcasters where `version` is an old one.

    Raises:
        ValueError: this release does not know the event.
    """
    shape = _EVENTS.get(wire)
    if shape is None:
        raise ValueError(f"Unknown event '{wire}': the database was written by a newer release.")
    data, version = upcast(wire, version, data)
    if version != shape.cls.version:
        raise ValueError(f"Event '{wire}' has version {version}: the database was written by a newer release.")
    extra: dict[str, Any] = {"step": step} if _HAS_STEP[wire] else {}
    event: e.Event = shape.decode(data, at=at, **extra)
    return event


StepMemo = dict[str, tuple[StepState, dict[str, Any]]]


def encode_snapshot(state: RunState, memo: StepMemo | None = None) -> dict[str, Any]:
    """The state without input and outputs.

    Args:
        state: the run.
        memo: kept by the caller beside a run; steps that have not changed since are not encoded again.
    """
    data = _RUN.encode(state)
    steps = data["steps"] = {}
    for i, s in state.steps.items():
        known = memo.get(i) if memo is not None else None
        if known is not None and known[0] is s:
            steps[i] = known[1]
            continue
        steps[i] = _write_step(s)
        if memo is not None:
            memo[i] = (s, steps[i])
    if state.retired:
        data["retired"] = {i: _write_step(s) for i, s in state.retired.items()}
    return data


def _write_step(step: StepState) -> dict[str, Any]:
    written = _STEP.encode(step)
    if step.approval:
        written["approval"] = _APPROVAL.encode(step.approval)
    return written


def _read_step(data: Mapping[str, Any]) -> StepState:
    approval = _APPROVAL.decode(data["approval"]) if "approval" in data else None
    step: StepState = _STEP.decode(data, approval=approval)
    return step


def decode_snapshot(data: Mapping[str, Any], data_events: Iterable[e.Event]) -> RunState:
    """A state from its snapshot and the events named by `DATA_EVENTS`, in order."""
    steps, retired = ({i: _read_step(s) for i, s in data.get(name, {}).items()} for name in ("steps", "retired"))
    run_input: dict[str, Any] = {}
    outputs: dict[str, Any] = {}
    partial: dict[str, ItemsData] = {}
    for event in data_events:
        if isinstance(event, e.RunStarted | e.InputEdited):
            run_input = event.input
        elif isinstance(event, e.RunMigrated):
            run_input = run_input if event.input is None else event.input
            outputs = outputs_after(outputs, event)
            partial = outputs_after(partial, event)
        elif isinstance(event, e.ItemsOpened | e.ItemSucceeded):
            partial = with_items(partial, event)
        else:
            partial.pop(getattr(event, "step", ""), None)
            outputs[getattr(event, "step", "")] = getattr(event, "output", None)
    state: RunState = _RUN.decode(data, steps=steps, outputs=outputs, input=run_input, retired=retired, partial=partial)
    return state
