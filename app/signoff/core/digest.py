"""Content digests: SHA-256 of RFC 8785 canonical JSON."""

from __future__ import annotations

import hashlib
from typing import Any

import rfc8785

from signoff.core.definition import Definition
from signoff.core.document import write_document
from signoff.errors import InvalidInput


def canonical_json(value: Any) -> bytes:
    """RFC 8785 canonical bytes.

    Raises:
        InvalidInput: for numbers that JSON readers do not agree on (2^53 and above, NaN, infinities) and
            for values that are not JSON.
    """
    try:
        return rfc8785.dumps(value)
    except rfc8785.CanonicalizationError as error:
        raise InvalidInput(
            f"Expected JSON that every machine reads alike, but {error}.",
            code="not_canonical",
            remedy="Use numbers below 2^53 and plain JSON values.",
        ) from error


def digest_of(value: Any) -> str:
    """`sha256:` and 64 hex digits over the canonical JSON of `value`."""
    return "sha256:" + hashlib.sha256(canonical_json(value)).hexdigest()


def definition_digest(definition: Definition) -> str:
    """The digest of all that affects execution or what a person is shown when deciding."""
    return digest_of(write_document(definition))
