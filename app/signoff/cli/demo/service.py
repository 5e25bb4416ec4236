"""The small local service that the demo's activities call. It can be told to fail, to be slow, or to lose its answer.

It honours idempotency keys as a careful service would: the effect of a key happens once, a repeated call
gets the first answer. Its own page (GET /) shows what happened and lets people choose how each path behaves.
"""

from __future__ import annotations

import html
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from signoff.cli.demo.mails import mails_page

MODES = {
    "ok": "works",
    "fail": "says no (503, worth retrying)",
    "refuse": "refuses (422, not worth retrying)",
    "lose": "does it, then loses the answer",
}
MAX_BODY_BYTES = 1_000_000


class Ledger:
    """What the service did, and how each path is to behave."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.modes: dict[str, str] = {}
        self.effects: dict[tuple[str, str], dict[str, Any]] = {}
        self.calls: list[tuple[str, str, str]] = []

    def set_mode(self, path: str, mode: str) -> None:
        """Choose how a path behaves from now on."""
        with self.lock:
            self.modes[path] = mode

    def call(self, path: str, key: str, body: dict[str, Any]) -> tuple[int, dict[str, Any] | None]:
        """Answer a call; None as answer means that it is lost on the way."""
        with self.lock:
            mode = self.modes.setdefault(path, "ok")
            self.calls = [*self.calls[-199:], (path, key, mode)]
            if mode == "fail":
                return 503, {"message": "The service is down for maintenance."}
            if mode == "refuse":
                return 422, {"message": "The service does not accept this order."}
            if (path, key) not in self.effects:
                self.effects[(path, key)] = answer_for(path, body, len(self.effects) + 1)
            return 200, self.effects[(path, key)] if mode == "ok" else None

    def snapshot(self) -> dict[str, Any]:
        """Modes, calls and effects as JSON-ready data."""
        with self.lock:
            done = [{"path": p, "key": k, "answer": a} for (p, k), a in self.effects.items()]
            calls = [{"path": p, "key": k, "mode": m} for p, k, m in self.calls]
            return {"modes": dict(self.modes), "effects": done, "calls": calls}


def answer_for(path: str, body: dict[str, Any], number: int) -> dict[str, Any]:
    """A plausible answer: a reference for every effect, and a budget check that looks at the amount."""
    name = path.strip("/").replace("/", "-") or "call"
    answer: dict[str, Any] = {"ok": True, "reference": f"{name}-{number:04d}"}
    if "budget" in path:
        amount = body.get("amount", 0)
        limit = 50_000
        spent = amount if isinstance(amount, int | float) else 0
        answer |= {"within_budget": spent <= limit, "available": limit - spent}
    return answer


class Handler(BaseHTTPRequestHandler):
    """One request."""

    ledger: Ledger
    mails: Path | None = None
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """The control page, or its data as JSON."""
        path = urlsplit(self.path).path
        if path == "/":
            self._send(200, self._page(), "text/html; charset=utf-8")
        elif path == "/mails" and self.mails is not None:
            self._send(200, mails_page(self.mails), "text/html; charset=utf-8")
        elif path == "/control":
            self._send(200, json.dumps(self.ledger.snapshot()).encode(), "application/json")
        else:
            self._send(404, b'{"message": "There is nothing here."}', "application/json")

    def do_POST(self) -> None:
        """A call of an activity, or a change of mode at /control."""
        path = urlsplit(self.path).path
        size = int(self.headers.get("Content-Length") or 0)
        raw = self.rfile.read(min(size, MAX_BODY_BYTES))
        if path == "/control":
            self._control(raw)
            return
        try:
            body = json.loads(raw or b"{}")
        except ValueError:
            body = {}
        key = self.headers.get("Idempotency-Key") or ""
        status, answer = self.ledger.call(path, key, body if isinstance(body, dict) else {})
        if answer is None:
            self.close_connection = True
            self.connection.shutdown(2)
            return
        self._send(status, json.dumps(answer).encode(), "application/json")

    def _control(self, raw: bytes) -> None:
        form = {k: v[0] for k, v in parse_qs(raw.decode("utf-8", "replace")).items()}
        origin = self.headers.get("Origin")
        if origin is not None and urlsplit(origin).netloc != self.headers.get("Host"):
            self._send(403, b'{"message": "Only from the page itself."}', "application/json")
        elif form.get("mode") not in MODES or not form.get("path", "").startswith("/"):
            known = ", ".join(MODES)
            self._send(400, json.dumps({"message": f"Give a path and one of: {known}."}).encode(), "application/json")
        else:
            self.ledger.set_mode(form["path"], form["mode"])
            self.send_response(303)
            self.send_header("Location", "/")
            self.send_header("Content-Length", "0")
            self.end_headers()

    def _send(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        self.wfile.write(body)

    def _page(self) -> bytes:
        state = self.ledger.snapshot()
        rows = "".join(self._row(path, mode) for path, mode in sorted(state["modes"].items()))
        calls = "".join(
            f"<tr><td>{html.escape(c['path'])}</td><td>{html.escape(c['key'])}</td><td>{html.escape(c['mode'])}</td></tr>"
            for c in reversed(state["calls"][-30:])
        )
        return f"""<!doctype html><html lang="en"><meta charset="utf-8"><title>Demo service</title>
<meta name="viewport" content="width=device-width">
<style>body{{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:60rem;padding:0 1rem}}
:root{{color-scheme:light dark}}
td,th{{text-align:left;padding:.3rem .8rem .3rem 0;overflow-wrap:anywhere}}button{{font:inherit;margin:.1rem}}</style>
<h1>Demo service</h1><p>The activities of the demo call this service. Choose how each path behaves from now on.
{'<a href="/mails">The mails that people would get</a>' if self.mails else ""}</p>
<table><tr><th>Path</th><th>Now</th><th>Change</th></tr>{rows or "<tr><td>No calls yet.</td></tr>"}</table>
<h2>Last calls</h2><p>{len(state["effects"])} effects so far; a key that comes again has no second effect.</p>
<table><tr><th>Path</th><th>Idempotency key</th><th>Behaved</th></tr>{calls}</table></html>""".encode()

    @staticmethod
    def _row(path: str, mode: str) -> str:
        shown = html.escape(path, quote=True)
        buttons = "".join(
            f"<button name=mode value={m}{' disabled' if m == mode else ''}>{html.escape(words)}</button>"
            for m, words in MODES.items()
        )
        return (
            f"<tr><td>{shown}</td><td>{html.escape(MODES[mode])}</td><td><form method=post action=/control>"
            f'<input type=hidden name=path value="{shown}">{buttons}</form></td></tr>'
        )

    def log_message(self, format: str, *args: Any) -> None:
        """Quiet."""


def make_server(port: int, ledger: Ledger | None = None, *, mails: Path | None = None) -> ThreadingHTTPServer:
    """The service on loopback; port 0 takes any free one. `mails` is the folder whose mails it shows."""
    handler = type("BoundHandler", (Handler,), {"ledger": ledger or Ledger(), "mails": mails})
    server = ThreadingHTTPServer(("127.0.0.1", port), handler)
    server.daemon_threads = True
    return server
