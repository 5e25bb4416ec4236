"""The house keeps its rules, and every rule can fail: each is shown a bad sample it must find and a good one."""

from __future__ import annotations

import pytest

from tests.arch import rules
from tests.arch.sources import Source, sources

CORE, STORE, WEB = "app/signoff/core/x.py", "app/signoff/store/x.py", "app/signoff/web/parts/x.py"
MODEL, TEST = "app/signoff/web/models/x.py", "tests/core/test_x.py"


@pytest.mark.parametrize("rule", rules.APP_RULES, ids=lambda rule: rule.__name__)
def test_the_product_keeps_the_rule(rule: rules.Rule) -> None:
    files = sources("app")
    assert len(files) > 10, "the product was not found where this test looks"
    assert [finding for file in files for finding in rule(file)] == []


@pytest.mark.parametrize("rule", rules.TEST_RULES, ids=lambda rule: rule.__name__)
def test_the_tests_keep_the_rule(rule: rules.Rule) -> None:
    files = [file for file in sources("tests") if not file.path.startswith("tests/bench/")]
    assert [finding for file in files for finding in rule(file)] == []


BAD = [
    (rules.core_imports_are_pure, CORE, "import time"),
    (rules.core_imports_are_pure, CORE, "import random"),
    (rules.core_imports_are_pure, CORE, "from pathlib import Path"),
    (rules.core_imports_are_pure, CORE, "import sqlalchemy as sa"),
    (rules.core_imports_are_pure, CORE, "from pydantic import BaseModel"),
    (rules.core_imports_are_pure, CORE, "def f():\n    import os"),
    (rules.core_imports_are_pure, CORE, "from signoff.store import journal"),
    (rules.core_imports_are_pure, CORE, "from ..store import journal"),
    (rules.core_imports_are_pure, CORE, "from .. import store"),
    (rules.core_imports_are_pure, "app/signoff/core/__init__.py", "import logging"),
    (rules.core_calls_are_pure, CORE, "datetime.now(UTC)"),
    (rules.core_calls_are_pure, CORE, "x = field(default_factory=datetime.now)"),
    (rules.core_calls_are_pure, CORE, "date.today()"),
    (rules.core_calls_are_pure, CORE, "uuid.uuid4()"),
    (rules.core_calls_are_pure, CORE, "uuid4()"),
    (rules.core_calls_are_pure, CORE, "open('x')"),
    (rules.core_calls_are_pure, CORE, "random()"),
    (rules.core_calls_are_pure, CORE, "print('x')"),
    (rules.core_calls_are_pure, CORE, "async def f(): ..."),
    (rules.core_order_is_stable, CORE, "sorted(xs, key=lambda x: hash(x))"),
    (rules.sql_only_in_the_store, "app/signoff/engine/x.py", "from sqlalchemy import select"),
    (rules.sql_only_in_the_store, "app/signoff/cli/x.py", "import pysqlite3.dbapi2"),
    (rules.sql_only_in_the_store, "app/signoff/connectors/mail.py", "import sqlite3"),
    (rules.panel_only_in_web_and_explore, "app/signoff/api/x.py", "import panel as pn"),
    (rules.panel_only_in_web_and_explore, "app/signoff/wiring.py", "from bokeh.io import curdoc"),
    (rules.web_models_know_no_widgets, MODEL, "import panel as pn"),
    (rules.web_models_know_no_widgets, MODEL, "from signoff.web.parts import inbox"),
    (rules.no_html_sinks, WEB, "pn.pane.Str(comment)"),
    (rules.no_html_sinks, WEB, "pn.pane.Markdown(comment)"),
    (rules.no_html_sinks, WEB, "pn.pane.Markdown(comment, renderer_options={'html': True})"),
    (rules.no_html_sinks, WEB, "pn.pane.Alert(f'{reason}')"),
    (rules.no_html_sinks, WEB, "pmui.Alert(object=reason)"),
    (rules.no_html_sinks, WEB, "pn.Card(body, title=run.name)"),
    (rules.no_html_sinks, WEB, "pn.Card(body, **options)"),
    (rules.no_html_sinks, WEB, "StaticText(value=run.name)"),
    (rules.no_code_from_data, WEB, "eval(text)"),
    (rules.no_code_from_data, WEB, "exec(text)"),
    (rules.no_code_from_data, WEB, "import pickle"),
    (rules.no_code_from_data, WEB, "from pickle import loads"),
    (rules.no_code_from_data, WEB, "yaml.load(text)"),
    (rules.no_code_from_data, WEB, "subprocess.run(text, shell=True)"),
    (rules.no_sleep, TEST, "time.sleep(1)"),
    (rules.no_sleep, TEST, "await asyncio.sleep(0.1)"),
    (rules.no_sleep, TEST, "from time import sleep"),
    (rules.no_sleep, TEST, "page.wait_for_timeout(100)"),
    (rules.files_are_short, CORE, "x = 1\n" * 401),
    (rules.files_are_short, TEST, "x = 1\n" * 501),
    (rules.names_say_something, "app/signoff/core/utils.py", ""),
    (rules.names_say_something, "app/signoff/web/helpers/x.py", ""),
    (rules.names_say_something, "app/signoff/store/run_manager.py", ""),
    (rules.functions_are_short, CORE, "def f():\n" + "    x = 1\n" * 50),
    (rules.functions_are_short, CORE, "class C:\n" + "".join(f"    def m{n}(self): ...\n" for n in range(16))),
]

GOOD = [
    (
        rules.core_imports_are_pure,
        CORE,
        "from signoff.core import graph\nfrom signoff.errors import Conflict\nimport re",
    ),
    (rules.core_imports_are_pure, CORE, "from . import graph"),
    (rules.core_imports_are_pure, STORE, "import time"),
    (rules.core_calls_are_pure, CORE, "x = facts.now\ny = datetime(2026, 1, 1, tzinfo=UTC)"),
    (rules.core_order_is_stable, CORE, "class C:\n    def __hash__(self):\n        return hash(self.key)"),
    (rules.sql_only_in_the_store, STORE, "import sqlalchemy"),
    (rules.sql_only_in_the_store, "app/signoff/connectors/sql.py", "import sqlalchemy"),
    (rules.panel_only_in_web_and_explore, WEB, "import panel as pn"),
    (rules.web_models_know_no_widgets, MODEL, "from signoff.web.models import layout\nimport signoff.core.graph"),
    (rules.no_html_sinks, WEB, "pn.pane.Markdown(comment, renderer_options={'html': False})"),
    (rules.no_html_sinks, WEB, "pn.Card(body, title='Runs')\npmui.Alert('Saved.')\nStaticText(value='x')"),
    (rules.no_code_from_data, WEB, "re.compile('x')\nsubprocess.run(['x'], shell=False)\nyaml.safe_load(text)"),
    (rules.no_sleep, TEST, "await asyncio.sleep(0)\nevent.wait(5)"),
    (rules.files_are_short, CORE, "x = 1\n" * 400),
    (rules.names_say_something, "app/signoff/store/database.py", ""),
    (rules.functions_are_short, CORE, "def f():\n" + "    x = 1\n" * 49),
]


@pytest.mark.parametrize(("rule", "path", "text"), BAD)
def test_the_rule_finds_a_bad_sample(rule: rules.Rule, path: str, text: str) -> None:
    findings = list(rule(Source(path, text)))
    assert findings
    assert all(finding.startswith(f"{path}:") for finding in findings)


@pytest.mark.parametrize(("rule", "path", "text"), GOOD)
def test_the_rule_leaves_a_good_sample_alone(rule: rules.Rule, path: str, text: str) -> None:
    assert list(rule(Source(path, text))) == []


def test_every_rule_has_samples() -> None:
    every = {*rules.APP_RULES, *rules.TEST_RULES}
    assert {rule for rule, *_ in BAD} == every
    assert {rule for rule, *_ in GOOD} == every
