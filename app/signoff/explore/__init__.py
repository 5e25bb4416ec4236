"""Runs as data frames and plots, for notebooks. Reads only.

from signoff import explore
frames = explore.frames_of(running.signoff)
frames.runs()
"""

from signoff.explore.frames import Frames, frames_of
from signoff.explore.plots import plot_run_times, plot_waiting

__all__ = ["Frames", "frames_of", "plot_run_times", "plot_waiting"]
