"""The parts of the designer's side panel about further calls: probes of lost ones, polling, compensation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from signoff.core.definition import ActivityConfig, Compensation, ForEach, Poll, Probe
from signoff.core.validate import Surroundings
from signoff.web.parts.forms import NOTHING
from signoff.web.parts.inputs import choice_input, number_input, text_input
from signoff.web.parts.rows import MappingRows


def poll_inputs(c: ActivityConfig, config: Callable[..., None]) -> list[Any]:
    """Editors for asking again until an answer is right; without a condition nothing is polled."""
    poll = c.poll or Poll()

    def change(**changes: Any) -> None:
        nonlocal poll
        poll = replace(poll, **changes)
        config(poll=None if poll == Poll() else poll)

    return [
        text_input(
            "Asked again until",
            poll.until,
            lambda v: change(until=v.strip().removeprefix("=")),
            help="an expression over the answer, such as answer.body.status == 'ready'; empty: asked once",
        ),
        text_input(
            "Pause before asking again", poll.every, lambda v: change(every=v.strip()), help="such as PT1M", limit=40
        ),
        text_input(
            "Gives up after", poll.for_, lambda v: change(for_=v.strip()), help="such as PT6H; then it fails", limit=40
        ),
    ]


def for_each_inputs(c: ActivityConfig, config: Callable[..., None]) -> list[Any]:
    """Editors for calling once per item of a list; without a list it is called once."""
    each = c.for_each or ForEach()

    def change(**changes: Any) -> None:
        nonlocal each
        each = replace(each, **changes)
        config(for_each=None if each == ForEach() else each)

    return [
        text_input(
            "Done for each item of",
            each.items,
            lambda v: change(items=v.strip().removeprefix("=")),
            help="an expression that gives a list, such as input.rows; the input may then use item and index",
        ),
        number_input("Items at once", each.parallel, lambda v: change(parallel=v), whole=True),
        number_input("Items at most", each.max_items, lambda v: change(max_items=v), whole=True),
    ]


def probe_inputs(c: ActivityConfig, around: Surroundings, config: Callable[..., None]) -> list[Any]:
    """Editors for the probe of an activity; when all of it is empty again, there is none."""
    probe = c.probe or Probe()

    def change(**changes: Any) -> None:
        nonlocal probe
        probe = replace(probe, **changes)
        config(probe=None if probe == Probe() else probe)

    calls = {"nothing": NOTHING} | {name: name for name in sorted(around.connectors or ())}
    return [
        choice_input(
            "Asks",
            calls,
            probe.connector or NOTHING,
            lambda v: change(connector=v.strip()),
            help="needed where a lost answer is checked first; it must not change anything",
        ),
        MappingRows("Input of the probe", probe.input, lambda v: change(input=v)),
        text_input(
            "It happened when",
            probe.happened,
            lambda v: change(happened=v.strip().removeprefix("=")),
            help="an expression over the answer, such as answer.body.found; call.key is the idempotency key",
        ),
        text_input(
            "Then the output is",
            probe.output,
            lambda v: change(output=v.strip().removeprefix("=")),
            help="an expression such as answer.body.payment; empty: the whole answer",
        ),
    ]


def undo_inputs(c: ActivityConfig, around: Surroundings, config: Callable[..., None]) -> list[Any]:
    """Editors for the compensation of an activity; when all of it is empty again, there is none."""
    undo = c.compensation or Compensation()

    def change(**changes: Any) -> None:
        nonlocal undo
        undo = replace(undo, **changes)
        config(compensation=None if undo == Compensation() else undo)

    calls = {"nothing": NOTHING} | {name: name for name in sorted(around.connectors or ())}
    return [
        choice_input(
            "Undone by",
            calls,
            undo.connector or NOTHING,
            lambda v: change(connector=v.strip()),
            help="called when its run is stopped with compensation",
        ),
        MappingRows("Input of the compensation", undo.input, lambda v: change(input=v)),
        number_input(
            "Tries",
            undo.retry.max_attempts,
            lambda v: change(retry=replace(undo.retry, max_attempts=v)),
            whole=True,
            help="then a person is asked",
        ),
    ]
