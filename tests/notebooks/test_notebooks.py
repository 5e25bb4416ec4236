"""Every notebook runs from top to bottom, offline, and shows what it promises."""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def test_there_is_a_notebook() -> None:
    assert NOTEBOOKS


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_it_is_stored_without_outputs(path: Path) -> None:
    cells = [c for c in nbformat.read(path, as_version=4).cells if c.cell_type == "code"]
    assert [c for c in cells if c.outputs or c.execution_count] == []


def test_where_approvals_wait_shows_tables_a_plot_and_a_graph() -> None:
    notebook = nbformat.read(FOLDER / "where_approvals_wait.ipynb", as_version=4)
    NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
    outputs = [o for c in notebook.cells if c.cell_type == "code" for o in c.outputs]
    errors = [o for o in outputs if o.output_type == "error"]
    html = " ".join(o.data.get("text/html", "") for o in outputs if o.output_type in ("execute_result", "display_data"))
    text = " ".join(o.get("text", "") for o in outputs if o.output_type == "stream")
    assert errors == []
    assert "Manager approves" in html
    assert "Where approvals wait" in html
    assert "ReactFlow" in html
    assert "has waited for a decision" in text
    assert "cdn." not in html
