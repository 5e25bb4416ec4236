"""Files of runs: uploads that are announced, and values that refer to them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from signoff.core.definition import Field, FieldType
from signoff.core.files import file_references, is_file
from signoff.engine.request import Request, ok
from signoff.errors import InvalidInput
from signoff.store.files import (
    DAY_US,
    Attachment,
    Secret,
    add_attachment,
    both_digests,
    count_uploads,
    drop_attachments,
    find_usable,
    forget_uploads,
    keyed_digest,
    list_attachments,
    newest_attachment,
    open_secret,
    slot_of,
)
from signoff.store.times import to_micros

if TYPE_CHECKING:
    from signoff.engine.transaction import Transaction
    from signoff.store.journal import Journal

MAX_WAITING = 100


def add_upload(tx: Transaction, r: Request) -> dict[str, Any]:
    """Somebody stored a content and may use it for a day; the bytes are already in their folder."""
    given = {name: r.args.get(name) for name in ("file", "name", "size", "type")}
    if not is_file(given):
        raise InvalidInput("This is no file that can be kept.", remedy="Check its name and size.")
    at, login = to_micros(tx.now), r.actor.id.casefold()
    tx.direct(lambda journal: forget_uploads(journal, at - DAY_US))
    if count_uploads(tx.journal, r.tenant, login) >= MAX_WAITING:
        raise InvalidInput(f"{MAX_WAITING} files wait to be used already.", code="too_many_files", remedy="Use them.")
    secret = Secret(str(given["file"]), bytes.fromhex(str(r.args.get("key") or "")))
    blob, about = str(r.args.get("blob") or ""), (str(given["name"]), int(r.args["size"]), str(given["type"]))

    def add(journal: Journal) -> None:
        cipher = journal.ledger.of_tenant(r.tenant)
        digest, sealed = keyed_digest(cipher, secret.digest), cipher.seal(slot_of(blob), secret.dump())
        add_attachment(journal, r.tenant, Attachment(digest, *about, login, at, blob=blob, sealed=sealed))

    if not blob or not secret.key:
        raise InvalidInput("A file needs an encrypted content.", remedy="Upload it through this system.")
    tx.direct(add)
    return ok(**given)


def usable_files(
    tx: Transaction, r: Request, fields: Iterable[Field], values: Mapping[str, Any], run: int | None
) -> list[Attachment]:
    """The files among the values of a form.

    Raises:
        InvalidInput: one was not uploaded by this person, is none of this run, or is described differently.
    """
    found, problems = [], []
    cipher = tx.journal.bodies.of_tenant(r.tenant)
    for f in fields:
        value = values.get(f.name) if f.type is FieldType.FILE else None
        if not is_file(value):
            continue  # absent, or wrong in a way that the rules of forms name
        assert isinstance(value, dict)
        a = find_usable(
            tx.journal, r.tenant, r.actor.id.casefold(), run, both_digests(cipher, value["file"]), value["name"]
        )
        if a is None or (a.size, a.media) != (value["size"], value["type"]):
            message = f"The file of '{f.label or f.name}' was not uploaded by you, or too long ago."
            problems.append({"field": f.name, "message": message, "remedy": "Upload it again."})
        else:
            found.append(a)
    if problems:
        text = " ".join(p["message"] for p in problems)
        raise InvalidInput(text, code="no_such_file", remedy="Upload it again.", problems=tuple(problems))
    return found


@contextmanager
def kept_files(tx: Transaction, tenant: str, run: int, step: str, files: Sequence[Attachment]) -> Iterator[Refusal]:
    """A run (by its key) has these files while it is decided, so that its children can; not where it is refused.

    The caller sets `refused` of what it gets where the rules said no.
    """
    refusal = Refusal()
    newest = newest_attachment(tx.journal) if files else 0
    for a in files:
        _add(tx, tenant, a, run, step)
    try:
        yield refusal
    except BaseException:
        refusal.refused = True
        raise
    finally:
        if files and refusal.refused:
            tx.direct(lambda journal: drop_attachments(journal, run, newest))


@dataclass(slots=True)
class Refusal:
    """Whether the rules said no."""

    refused: bool = False


def _add(tx: Transaction, tenant: str, a: Attachment, run: int, step: str) -> None:
    """A run has a file; its secret is sealed for that run when the transaction is written."""
    if a.blob:
        known = (s for _, blob, s in tx.rows.file_secrets if blob == a.blob)
        secret = next(known, None) or open_secret(tx.journal.bodies, tenant, a)
        tx.rows.file_secrets.append((run, a.blob, secret))
    tx.direct(lambda journal: add_attachment(journal, tenant, a, run, step))


def hand_down(tx: Transaction, tenant: str, parent: int, child_id: str, values: object) -> None:
    """A child has the files of its parent that its input refers to."""
    cipher = tx.journal.bodies.of_tenant(tenant)
    wanted = {(d, v["name"]) for v in file_references(values) for d in both_digests(cipher, v["file"])}
    if wanted:
        key = tx.run(tenant, child_id)[0]
        for a in list_attachments(tx.journal, parent):
            if (a.digest, a.name) in wanted:
                _add(tx, tenant, a, key.pk, "")


HANDLERS: dict[str, Callable[[Transaction, Request], dict[str, Any]]] = {"upload_file": add_upload}
