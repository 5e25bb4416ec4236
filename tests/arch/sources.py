"""The house's own source files, parsed, for the rules to look at."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Source:
    """One Python file: its path from the top of the repository, with `/`, and its text."""

    path: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text, self.path)

    @property
    def module(self) -> str:
        """The dotted name under which the file is imported, e.g. `signoff.core.graph`."""
        return self.path.removeprefix("app/").removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    @property
    def line_count(self) -> int:
        return self.text.count("\n") + (not self.text.endswith("\n") and bool(self.text))

    def inside(self, *modules: str) -> bool:
        """Whether the file is one of the modules or lies below one."""
        return any(self.module == name or self.module.startswith(name + ".") for name in modules)

    def imports(self) -> Iterator[tuple[int, str]]:
        """(line, dotted name) of everything imported anywhere in the file; `from a import b` gives `a.b`."""
        package = self.module.split(".")
        if not self.path.endswith("__init__.py"):
            package = package[:-1]
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from ((node.lineno, alias.name) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                above = package[: len(package) - node.level + 1] if node.level else []
                start = ".".join([*above, *([node.module] if node.module else [])])
                yield from ((node.lineno, f"{start}.{alias.name}") for alias in node.names)

    def calls(self) -> Iterator[tuple[ast.Call, str]]:
        """(call, dotted name of what is called as it is written); parts that are not names come out as `?`."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call):
                yield node, dotted(node.func)


def dotted(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=attribute):
            return f"{dotted(value)}.{attribute}"
        case _:
            return "?"


def sources(*folders: str) -> list[Source]:
    """All Python files below these folders of the repository."""
    return [
        Source(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8"))
        for folder in folders
        for path in sorted((ROOT / folder).rglob("*.py"))
        if ".ipynb_checkpoints" not in path.parts
    ]
