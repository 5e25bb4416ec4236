"""What README and docs say is true: links lead somewhere, commands exist, examples are valid."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer

from signoff.cli.main import app
from signoff.core.digest import definition_digest
from signoff.core.document import read_document
from signoff.core.validate import is_publishable, validate

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "assets" / "docs").rglob("*.md"))]


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text("utf-8"), re.S)


def commands() -> list[Any]:
    found = []
    for page in PAGES:
        lines = "\n".join(blocks(page, "sh")).replace("\\\n", " ").splitlines()
        inline = re.findall(r"`(signoff [a-z][^`]*)`", page.read_text("utf-8"))
        for line in [*lines, *inline]:
            if line.strip().startswith("signoff "):
                found.append(
                    pytest.param(line.split(" #")[0].strip().rstrip("…").strip(), id=f"{page.stem}: {line[:50]}")
                )
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text("utf-8")):
        if not target.startswith(("http:", "https:")):
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize("line", commands())
def test_commands_exist_with_their_options(line: str) -> None:
    command: Any = typer.main.get_command(app)
    words = shlex.split(line)[1:]
    while words and words[0] in getattr(command, "commands", {}):
        command = command.commands[words.pop(0)]
    options = {o for p in command.params for o in (*p.opts, *p.secondary_opts)} | {"--help", "--version"}
    unknown = [w for w in words if w.startswith("--") and w not in options]
    assert unknown == [], f"{command.name} has no {unknown}"
    is_group = hasattr(command, "commands")
    assert not is_group or not words or words[0].startswith("-"), f"no command {words[0]}"


def test_make_targets_exist() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for page in PAGES:
        for target in re.findall(r"`make ([a-z-]+)", page.read_text("utf-8")):
            assert re.search(rf"^{target}:", makefile, re.M), f"{page.name}: make {target}"


def test_the_example_of_a_definition_is_valid() -> None:
    for text in blocks(ROOT / "assets" / "docs" / "definitions.md", "json"):
        definition, problems = read_document(json.loads(text))
        assert definition is not None
        assert is_publishable((*problems, *validate(definition)))
        assert definition_digest(definition).startswith("sha256:")


def test_the_activity_of_the_readme_can_be_registered() -> None:
    source = blocks(ROOT / "README.md", "python")[0]
    namespace: dict[str, Any] = {}
    exec(compile(source, "README.md", "exec"), namespace)
    assert namespace["place"].__name__ == "place"


def test_roles_and_limits_that_the_docs_name_are_those_of_the_code() -> None:
    from signoff.engine import braking, people_requests
    from signoff.engine.permissions import ROLES
    from signoff.store.bodies import MAX_BODY_BYTES

    operations = (ROOT / "assets" / "docs" / "operations.md").read_text("utf-8")
    assert set(re.findall(r"--role (?:[a-z]+=)?([a-z]+)\b(?!=)", operations)) <= set(ROLES)
    limits = (
        braking.MAX_FAILURES,
        braking.MAX_FAILURES_PER_LOGIN,
        braking.MAX_FAILURES_PER_ADDRESS,
    )
    assert f"{people_requests.SESSION_HOURS} hours; {limits[0]} failed" in operations
    assert f"({limits[1]} per login, {limits[2]} per address)" in operations
    assert MAX_BODY_BYTES == 1_048_576
