"""The whole error taxonomy: every fault carries a code, a message and a remedy.

A *refusal* (the rules say no) is a value, `signoff.core.rejection.Rejection`; a *fault* (something is
broken or was called wrongly) is one of the exceptions here. Both are worded the same way: what was
wanted, on what, what stands in the way, what to do.
"""

from __future__ import annotations


class SignoffError(Exception):
    """A fault with a stable `code`, a `message` in whole sentences and a `remedy`."""

    default_code = "error"

    def __init__(self, message: str, *, code: str | None = None, remedy: str = "") -> None:
        self.code = code or self.default_code
        self.message = message
        self.remedy = remedy
        super().__init__(f"{message} {remedy}".strip())


class NotFound(SignoffError):
    """The named thing does not exist, or the caller may not know that it does."""

    default_code = "not_found"


class InvalidInput(SignoffError):
    """A value does not have the form it must have; `problems` lists every one found."""

    default_code = "invalid_input"

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        remedy: str = "",
        problems: tuple[object, ...] = (),
    ) -> None:
        super().__init__(message, code=code, remedy=remedy)
        self.problems = problems


class Conflict(SignoffError):
    """The thing changed since the caller looked at it; nothing was written."""

    default_code = "conflict"


class Forbidden(SignoffError):
    """The signed-in person, token or worker lacks the permission."""

    default_code = "forbidden"


class NotSignedIn(SignoffError):
    """There is no valid session or token."""

    default_code = "not_signed_in"


class Unavailable(SignoffError):
    """The engine or the store cannot answer now; the same request may be sent again."""

    default_code = "unavailable"


class StoreFault(SignoffError):
    """The database does not hold what the engine relies on (wrong schema, unsafe version, damage)."""

    default_code = "store_fault"


class ConfigurationFault(SignoffError):
    """A setting is missing or unsafe; the process refuses to start."""

    default_code = "configuration"


class Refused(SignoffError):
    """The rules said no: a `core.rejection.Rejection` on its way to a caller.

    `known` is True where the same thing had already been done, so that nothing is wrong for the caller.
    """

    default_code = "refused"

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        remedy: str = "",
        known: bool = False,
        details: dict[str, object] | None = None,
    ) -> None:
        super().__init__(message, code=code, remedy=remedy)
        self.known = known
        self.details = details or {}
