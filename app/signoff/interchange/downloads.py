"""How a file leaves: to be saved and never shown, with its name as it was."""

from __future__ import annotations

from urllib.parse import quote

AS_THEY_ARE = frozenset({"application/pdf", "image/png", "image/jpeg", "text/plain", "application/zip"})
POLICY = "sandbox; default-src 'none'; frame-ancestors 'none'"


def media_of(given: str) -> str:
    """The type to send a file with: what browsers could run is called bytes."""
    return given if given in AS_THEY_ARE else "application/octet-stream"


def headers_of(name: str, size: int | None = None) -> dict[str, str]:
    """Attachment, no sniffing, nothing allowed, not kept."""
    length = {} if size is None else {"Content-Length": str(size)}
    plain = "".join(c if c.isascii() and (c.isalnum() or c in ".-_ ") else "_" for c in name)
    return {
        "Content-Disposition": f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}",
        "Content-Security-Policy": POLICY,
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "no-store",
        **length,
    }
