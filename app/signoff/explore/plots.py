"""Bokeh plots over the frames; they render in a notebook cell without any network."""

from __future__ import annotations

from typing import Any

import pandas as pd
from bokeh.models import ColumnDataSource, DataRange1d, FactorRange
from bokeh.plotting import figure

OPEN_COLOUR, SETTLED_COLOUR = "#b45309", "#15803d"


def plot_waiting(approvals: pd.DataFrame, *, width: int = 760) -> Any:
    """Where approvals wait: one bar per approval step, median hours, open ones apart from settled ones.

    Args:
        approvals: `Frames.approvals()`; may be empty.
        width: pixels.
    """
    frame = approvals.assign(hours=approvals["waited"].map(lambda w: w.total_seconds() / 3600))
    grouped = frame.groupby(["label", "open"], as_index=False)["hours"].median()
    order = list(frame.groupby("label")["hours"].median().sort_values().index) or ["no approvals yet"]
    plot = figure(
        y_range=FactorRange(factors=order),
        x_range=DataRange1d(start=0),
        width=width,
        height=120 + 44 * len(order),
        title="Where approvals wait (median hours)",
        x_axis_label="hours",
        toolbar_location=None,
    )
    for is_open, colour, words, shift in (
        (True, OPEN_COLOUR, "still open", 0.15),
        (False, SETTLED_COLOUR, "settled", -0.15),
    ):
        part = grouped[grouped["open"] == is_open]
        source = ColumnDataSource({"y": [(label, shift) for label in part["label"]], "hours": list(part["hours"])})
        if len(part):
            plot.hbar(y="y", right="hours", height=0.26, source=source, color=colour, legend_label=words)
    return plot


def plot_run_times(runs: pd.DataFrame, *, width: int = 760) -> Any:
    """Every run as a line from its start to its last change, by status.

    Args:
        runs: `Frames.runs()`; may be empty.
        width: pixels.
    """
    colours = {"succeeded": "#15803d", "rejected": "#7c2d12", "failed": "#b91c1c", "stalled": "#b91c1c"}
    frame = runs.sort_values("started_at", ignore_index=True)
    plot = figure(
        x_axis_type="datetime", width=width, height=120 + 18 * max(1, len(frame)), title="Runs", toolbar_location=None
    )
    for status, part in frame.groupby("status"):
        plot.hbar(
            y=list(part.index),
            left=list(part["started_at"]),
            right=list(part["changed_at"]),
            height=0.6,
            color=colours.get(str(status), "#2563eb"),
            legend_label=str(status),
        )
    plot.yaxis.visible = False
    return plot
