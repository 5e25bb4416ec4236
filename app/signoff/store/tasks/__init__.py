"""Durable task graphs: their tables and statements. `open_task_graph` is the way in."""

from signoff.store.tasks.graph import TaskGraphStore, open_task_graph

__all__ = ["TaskGraphStore", "open_task_graph"]
