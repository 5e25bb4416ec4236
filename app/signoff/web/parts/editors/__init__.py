"""Editors of the designer's side panel, one file per family of step kinds. Each calls `config` with changes."""
