"""The house rules that a syntax tree can check. Each rule is a function from a source file to findings.

Where a rule is in the way of something right, change the rule here, with the reason beside it.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from tests.arch.sources import Source, dotted

Rule = Callable[[Source], Iterator[str]]

PURE_MODULES = set(
    "__future__ abc array base64 binascii bisect calendar collections contextlib copy dataclasses datetime decimal "
    "difflib enum fractions functools graphlib hashlib heapq hmac html itertools json keyword math numbers operator re "
    "reprlib statistics string textwrap types typing typing_extensions unicodedata uuid zoneinfo".split()
) | {"cel", "orjson", "rfc8785"}
"""What the core may import: values and algorithms. Everything else is presumed to touch the world."""

WORLDLY_CALLS = set(
    "now utcnow today monotonic perf_counter time_ns getrandbits random randint uuid1 uuid4 uuid6 uuid7 urandom "
    "open print input breakpoint sleep getLogger".split()
)
CLOCK_METHODS = {f"{name}.{method}" for name in ("datetime", "date") for method in ("now", "utcnow", "today")}

SQL_LIBRARIES = {"sqlalchemy", "sqlmodel", "alembic", "sqlite3", "pysqlite3", "psycopg", "asyncpg", "apsw", "aiosqlite"}
SQL_ROOMS = ("signoff.store", "signoff.connectors.sql")  # the connector calls other people's databases, not ours
PANEL_LIBRARIES = {
    "panel",
    "bokeh",
    "bokeh_fastapi",
    "panel_material_ui",
    "panel_reactflow",
    "param",
    "ipywidgets_bokeh",
}
PANEL_ROOMS = ("signoff.web", "signoff.explore")

CODE_MODULES = {"pickle", "cPickle", "marshal", "shelve", "dill", "cloudpickle", "joblib", "jsonpickle"}
CODE_CALLS = {"eval", "exec", "compile", "__import__", "builtins.eval", "builtins.exec", "os.system", "os.popen"}
YAML_CALLS = {"yaml.load", "yaml.load_all", "yaml.unsafe_load", "yaml.full_load", "yaml.unsafe_load_all"}

NAMELESS = {"util", "utils", "helper", "helpers", "common", "manager", "managers", "base", "misc"}
ONE_FILE = "app/signoff/interchange/verifier.py"
"""What an auditor copies is one file, or it would not be copied."""
APP_LINES, TEST_LINES = 400, 500
FUNCTION_LINES, PUBLIC_METHODS = 50, 15


def at(source: Source, line: int, sentence: str) -> str:
    return f"{source.path}:{line}: {sentence}"


def core_imports_are_pure(source: Source) -> Iterator[str]:
    """The core imports no clock, dice, I/O, SQL, web or pydantic module: only what is listed as pure, and itself."""
    if source.inside("signoff.core"):
        for line, name in source.imports():
            root = name.split(".")[0]
            ours = root == "signoff" and name.split(".")[1:2] in (["core"], ["errors"])
            if not ours and root not in PURE_MODULES:
                yield at(source, line, f"the core may not import {name}")


def core_calls_are_pure(source: Source) -> Iterator[str]:
    """The core asks no clock, throws no dice, opens nothing, prints nothing and awaits nothing."""
    if not source.inside("signoff.core"):
        return
    for call, name in source.calls():
        if name.split(".")[-1] in WORLDLY_CALLS:
            yield at(source, call.lineno, f"the core may not call {name}(); let the caller put it into the facts")
    called = {id(call.func) for call, _ in source.calls()}
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Attribute) and id(node) not in called and dotted(node) in CLOCK_METHODS:
            yield at(source, node.lineno, f"the core may not hand out {dotted(node)}")
        if isinstance(node, ast.AsyncFunctionDef | ast.Await | ast.AsyncFor | ast.AsyncWith):
            yield at(source, node.lineno, "the core does not wait: no async, no await")


def core_order_is_stable(source: Source) -> Iterator[str]:
    """hash() and id() differ from process to process, so nothing that must replay may come from them."""
    if not source.inside("signoff.core"):
        return
    own = {
        id(node)
        for method in ast.walk(source.tree)
        if isinstance(method, ast.FunctionDef) and method.name == "__hash__"
        for node in ast.walk(method)
    }
    for call, name in source.calls():
        if name in {"hash", "id"} and id(call) not in own:
            yield at(source, call.lineno, f"the core may not call {name}(): it differs between processes")


def _only_in(source: Source, libraries: set[str], rooms: tuple[str, ...], what: str) -> Iterator[str]:
    if not source.inside(*rooms):
        for line, name in source.imports():
            if name.split(".")[0] in libraries:
                yield at(source, line, f"{name}: {what} belongs in {' and '.join(rooms)} only")


def sql_only_in_the_store(source: Source) -> Iterator[str]:
    """SQL libraries are imported by the store only (and by the connector that calls foreign databases)."""
    yield from _only_in(source, SQL_LIBRARIES, SQL_ROOMS, "SQL")


def panel_only_in_web_and_explore(source: Source) -> Iterator[str]:
    """Panel and Bokeh are imported by the browser pages and the notebook room only."""
    yield from _only_in(source, PANEL_LIBRARIES, PANEL_ROOMS, "Panel")


def web_models_know_no_widgets(source: Source) -> Iterator[str]:
    """`web.models` is positions, undo and sentences: no Panel, nor a neighbour that would bring it."""
    if source.inside("signoff.web.models"):
        for line, name in source.imports():
            room = name.startswith(("signoff.web.", "signoff.explore")) and not name.startswith("signoff.web.models")
            if name.split(".")[0] in PANEL_LIBRARIES or room:
                yield at(source, line, f"web.models may not import {name}")


def _is_literal(node: ast.expr | None) -> bool:
    return node is None or isinstance(node, ast.Constant)


def _keyword(call: ast.Call, name: str) -> ast.expr | None:
    return next((keyword.value for keyword in call.keywords if keyword.arg == name), None)


def _forbids_html(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Dict) and any(
        isinstance(key, ast.Constant)
        and key.value == "html"
        and isinstance(value, ast.Constant)
        and value.value is False
        for key, value in zip(node.keys, node.values, strict=True)
    )


def no_html_sinks(source: Source) -> Iterator[str]:
    """Five widgets of Panel run what they are given as HTML; data must not reach them (ui-notes, trap 13)."""
    for call, name in source.calls():
        first = call.args[0] if call.args else None
        spread = any(keyword.arg is None for keyword in call.keywords)
        problem = None
        match name.split(".")[-1]:
            case "Str":
                problem = "pane.Str runs HTML; use Markdown with html off"
            case "Markdown" if not _forbids_html(_keyword(call, "renderer_options")):
                problem = 'Markdown needs renderer_options={"html": False}'
            case "Alert" if not (_is_literal(first) and _is_literal(_keyword(call, "object"))) or spread:
                problem = "Alert runs HTML; give it literal text only"
            case "Card" if not _is_literal(_keyword(call, "title")) or spread:
                problem = "Card(title=) runs HTML; give it literal text, and data in a header part"
            case "StaticText" if not (_is_literal(first) and _is_literal(_keyword(call, "value"))) or spread:
                problem = "StaticText runs HTML; give it literal text only"
        if problem and not source.inside("signoff.core", "signoff.store", "signoff.engine", "signoff.cli"):
            yield at(source, call.lineno, problem)


def no_code_from_data(source: Source) -> Iterator[str]:
    """Nothing in the product turns data into code: no eval, exec, pickle, yaml.load, no shell."""
    for line, name in source.imports():
        if name.split(".")[0] in CODE_MODULES:
            yield at(source, line, f"{name} turns data into code")
    for call, name in source.calls():
        shell = _keyword(call, "shell")
        if name in CODE_CALLS | YAML_CALLS or (shell is not None and getattr(shell, "value", True) is not False):
            yield at(source, call.lineno, f"{name}() turns data into code")


def no_sleep(source: Source) -> Iterator[str]:
    """Wait on a signal or move the clock. `asyncio.sleep(0)`, which only gives way, is allowed."""
    slept = {name for _, name in source.imports() if name in {"time.sleep", "asyncio.sleep", "anyio.sleep"}}
    for line, name in source.imports():
        if name in slept:
            yield at(source, line, f"no {name}: wait on a signal or move the clock")
    for call, name in source.calls():
        gives_way = name in {"asyncio.sleep", "anyio.sleep"} and [dotted_or_value(a) for a in call.args] == [0]
        waits = name in {"time.sleep", "asyncio.sleep", "anyio.sleep"} or name.endswith(".wait_for_timeout")
        if waits and not gives_way:
            yield at(source, call.lineno, f"no {name}(): wait on a signal or move the clock")


def dotted_or_value(node: ast.expr) -> object:
    return node.value if isinstance(node, ast.Constant) else dotted(node)


def files_are_short(source: Source) -> Iterator[str]:
    """At most 400 lines in the product, 500 in tests: split where a file's sentence needs an "and"."""
    if source.path == ONE_FILE:
        return
    most = APP_LINES if source.path.startswith("app/") else TEST_LINES
    if source.line_count > most:
        yield at(source, source.line_count, f"{source.line_count} lines; at most {most}")


def names_say_something(source: Source) -> Iterator[str]:
    """No module or folder named utils, helpers, common, manager or base, nor with such an ending."""
    for part in source.path.removesuffix(".py").split("/"):
        if part in NAMELESS or part.rsplit("_", 1)[-1] in NAMELESS:
            yield at(source, 1, f"'{part}' does not say what is inside")


def functions_are_short(source: Source) -> Iterator[str]:
    """A function has at most 50 lines, a class at most 15 public methods.

    A migration is a flat list of statements that is never edited again, as long as its tables are.
    """
    if "store/migrations/versions/" in str(source.path):
        return
    functions = ast.FunctionDef | ast.AsyncFunctionDef
    for node in ast.walk(source.tree):
        if isinstance(node, functions):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > FUNCTION_LINES:
                yield at(source, node.lineno, f"{node.name} has {lines} lines; at most {FUNCTION_LINES}")
        elif isinstance(node, ast.ClassDef):
            public = [n for n in node.body if isinstance(n, functions) and not n.name.startswith("_")]
            if len(public) > PUBLIC_METHODS:
                yield at(source, node.lineno, f"{node.name} has {len(public)} public methods; at most {PUBLIC_METHODS}")


APP_RULES: tuple[Rule, ...] = (
    core_imports_are_pure,
    core_calls_are_pure,
    core_order_is_stable,
    sql_only_in_the_store,
    panel_only_in_web_and_explore,
    web_models_know_no_widgets,
    no_html_sinks,
    no_code_from_data,
    no_sleep,
    files_are_short,
    names_say_something,
    functions_are_short,
)
TEST_RULES: tuple[Rule, ...] = (no_sleep, files_are_short, names_say_something)
