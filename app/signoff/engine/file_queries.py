"""Reading files of runs: by those who may see the run, and nobody else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from signoff.engine.absence_queries import AbsenceQueries
from signoff.engine.views import Person
from signoff.errors import NotFound
from signoff.store.files import FileStore, both_digests, list_holders, open_secret
from signoff.store.reads import runs as r


@dataclass(frozen=True, slots=True)
class FileView:
    """A file that a reader may have; `chunks` gives its content, once."""

    digest: str
    name: str
    size: int
    type: str
    chunks: Iterator[bytes]


class FileQueries(AbsenceQueries):
    """Mixed into `Queries`, which owns the reader."""

    files: FileStore

    def get_file(self, person: Person, digest: str, name: str = "") -> FileView:
        """A file of a run that the person may see, or one that they uploaded themselves.

        Raises:
            NotFound: there is none; foreign ones look the same.
        """
        only = None if "read_all_runs" in person.may else person.login
        away = self.absences_now(person.tenant, person.login)
        digests = both_digests(self._reader.bodies.of_tenant(person.tenant), digest)
        holders = list_holders(self._reader, person.tenant, digests)
        holders.sort(key=lambda a: a.name != name)
        for a in holders:
            if a.run_id:
                seen = r.find_run(self._reader, person.tenant, a.run_id, only) is not None
                seen = seen or any(r.is_asked(self._reader, person.tenant, a.run_id, x.person) for x in away)
            else:
                seen = a.uploaded_by == person.login
            if seen and "read_runs" in person.may:
                secret = open_secret(self._reader.bodies, person.tenant, a)
                chunks = self.files.read(person.tenant, secret.digest, a.blob, secret.key)
                first = next(chunks, b"")  # what is gone or altered is said before anything is sent
                return FileView(secret.digest, a.name, a.size, a.media, chain((first,), chunks))
        raise NotFound("There is no such file.", remedy="Check the address.")
