"""The frame of every Panel page: header with the person, navigation with the inbox count, light and dark."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import panel as pn
import panel_material_ui as pmui

from signoff.core.definition import Definition
from signoff.core.plan import successors_of
from signoff.engine.inbox_queries import MOST_COUNTED
from signoff.engine.views import FeedEvent
from signoff.errors import SignoffError
from signoff.web.escape import esc, label
from signoff.web.files import address
from signoff.web.live import tenant_topic
from signoff.web.models.layout import layered
from signoff.web.models.sheet import positions_of
from signoff.web.parts.icons import svg
from signoff.web.parts.panes import html
from signoff.web.plain import DEMO_WORDS
from signoff.web.settings import SCHEME_COOKIE, THEME_COOKIE, VIEW_COOKIE
from signoff.web.site import Visitor

FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif'


def _palette(primary: str, paper: str, ground: str, ink: str) -> dict[str, Any]:
    return {
        "primary": {"main": primary},
        "background": {"paper": paper, "default": ground},
        "text": {"primary": ink},
    }


def _theme(primary: str, paper: str, ground: str, ink: str) -> dict[str, Any]:
    return {
        "palette": _palette(primary, paper, ground, ink),
        "typography": {"fontFamily": FONT, "fontSize": 13, "button": {"textTransform": "none", "fontWeight": 600}},
        "shape": {"borderRadius": 8},
        "components": {
            "MuiAppBar": {
                "styleOverrides": {"root": {"backgroundColor": "#26337f", "backgroundImage": "none", "color": "#fff"}}
            }
        },
    }


THEME = {
    "light": _theme("#3448b5", "#ffffff", "#f5f6f9", "#1b2333"),
    "dark": _theme("#9fb0ff", "#171a21", "#101319", "#e7eaf1"),
}
NAV = (
    ("Inbox", "/inbox", "inbox"),
    ("Runs", "/runs", "runs"),
    ("Definitions", "/definitions", "definitions"),
    ("Account", "/account", "account"),
)
COUNT_PAUSE_MS = 700


class Frame(pmui.Page):
    """`pmui.Page` without its leak: it keeps a watcher on a global, and with it every session, for ever."""

    def __init__(self, tab_title: str, **params: Any) -> None:
        super().__init__(**params)
        self._tab_title = tab_title
        if pn.state.curdoc and pn.state.curdoc.session_context:
            pn.state.on_session_destroyed(lambda _: self._let_go())

    def server_doc(self, doc: Any = None, title: str | None = None, location: Any = True) -> Any:
        """The document, under its own title instead of the application's."""
        return super().server_doc(doc, self._tab_title, location)

    def _let_go(self) -> None:
        for watcher in list(pn.state.param.watchers.get("busy", {}).get("value", [])):
            owner = getattr(getattr(watcher.fn, "__self__", None), "self", None)
            if owner is self:
                pn.state.param.unwatch(watcher)

    @classmethod
    def _esm_path(cls, compiled: Any = True) -> Any:
        return pmui.Page._esm_path(compiled)


def arguments(*names: str) -> dict[str, str]:
    """Query arguments of this page by name, "" where absent; longer ones are cut."""
    given = pn.state.session_args or {}
    return {n: given.get(n, [b""])[0].decode("utf-8", "replace")[:300] for n in names}


def is_narrow() -> bool:
    """Whether the page is looked at on a narrow screen, as far as its browser has told."""
    return (pn.state.cookies or {}).get(VIEW_COOKIE) == "narrow"


def is_dark(cookies: Mapping[str, str]) -> bool:
    """Whether pages are dark: as the person chose, else as their system prefers."""
    return (cookies.get(THEME_COOKIE) or cookies.get(SCHEME_COOKIE)) == "dark"


def shown_positions(definition: Definition, layout: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    """As their designer placed the steps; on a narrow screen one below the other, so that all of it fits."""
    if is_narrow():
        return layered(successors_of(definition), columns=1)
    return positions_of(definition, layout)


def frame(visitor: Visitor, title: str, *main: Any, on_theme: Callable[[bool], None] | None = None) -> Any:
    """The page: `title` names it in the tab, `main` is what it shows.

    Args:
        visitor: who is looking.
        title: plain text.
        main: viewables, one below the other.
        on_theme: called with True when the page turns dark, False when light.
    """
    dark = is_dark(pn.state.cookies or {})
    content = pn.Column(
        *_demo_line(visitor), *main, sizing_mode="stretch_width", margin=(14, 20, 40, 20), styles={"min-width": "0"}
    )
    page = Frame(
        f"{title} · Signoff",
        title="Signoff",
        sidebar=[_nav(visitor)],
        sidebar_width=196,
        sidebar_open=not is_narrow(),
        sidebar_resizable=False,
        header=[html(_who(visitor), css="shell.css")],
        main=[content],
        theme_config=THEME,
        theme_toggle=True,
        dark_theme=dark,
        busy_indicator=None,
        favicon="/assets/icon.svg",
        js_modules={"page": address("page.js")},
        sx=_scheme(dark),
    )

    def turned(event: Any) -> None:
        page.sx = _scheme(event.new)
        if on_theme:
            on_theme(event.new)

    page.param.watch(turned, "dark_theme")
    if on_theme:
        on_theme(dark)
    return page


def _scheme(dark: bool) -> dict[str, str]:
    return {"colorScheme": "dark" if dark else "light"}


def _demo_line(visitor: Visitor) -> list[Any]:
    if not visitor.site.settings.demo:
        return []
    return [html(f'<div class="demo-line" role="note">{DEMO_WORDS}</div>', css="shell.css", margin=(0, 0, 12, 0))]


def _who(visitor: Visitor) -> str:
    demo = '<span class="demo">Demo</span>' if visitor.site.settings.demo else ""
    roles = esc(", ".join(visitor.person.roles))
    name = f'<a class="name" href="/account" title="Your account: {roles}">{label(visitor.person.name)}</a>'
    return f"""<div class="who">{demo}{name}
<form method="post" action="/logout"><input type="hidden" name="token" value="{visitor.visit.form_token}">
<button>Sign out</button></form></div>"""


def _nav(visitor: Visitor) -> Any:
    queries, tenant, login = visitor.site.signoff.queries, visitor.site.tenant, visitor.person.login
    here = pn.state.curdoc.session_context.request.path

    def draw() -> str:
        count = queries.count_inbox(tenant, login)
        said = f"{count}+" if count >= MOST_COUNTED else str(count)
        items = ""
        for words, path, icon in NAV:
            current = ' aria-current="page"' if here == path or here.startswith(f"{path}/") else ""
            badge = (
                f'<span class="count" aria-label="{said} waiting">{said}</span>' if path == "/inbox" and count else ""
            )
            items += f'<li><a href="{path}"{current}>{svg(icon, size=18)}<span>{words}</span>{badge}</a></li>'
        return f'<nav aria-label="Main"><ul>{items}</ul></nav>'

    pane = html(draw(), css="shell.css")

    def again(_: list[FeedEvent]) -> None:
        pane.object = draw()

    visitor.site.live.follow(tenant_topic(tenant), visitor.document, again, pause_ms=COUNT_PAUSE_MS)
    return pane


def failed_page(visitor: Visitor, error: SignoffError) -> Any:
    """A page that could not be built, in the words of what stood in the way."""
    words = f'<div class="empty" role="alert"><h1>{esc(_TITLES.get(error.code, "Not possible"))}</h1>'
    words += f'<p class="said">{esc(error.message)} {esc(error.remedy)}</p><p><a href="/">Go on</a></p></div>'
    return frame(visitor, "Not possible", html(words))


_TITLES = {"not_found": "Not found", "forbidden": "Not allowed"}
