"""Definitions: drafts with revisions, validation, published versions."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query

from signoff.api.auth import Caller, Face, actor_of, allowed
from signoff.api.plain import plain
from signoff.api.schemas import Check, NewDraft, Publish, Retire, SaveDraft, TrialRun
from signoff.core.digest import definition_digest
from signoff.core.document import read_document
from signoff.core.script import read_script
from signoff.core.validate import is_publishable, validate
from signoff.engine.trials import try_out
from signoff.engine.typed import schemas_of
from signoff.errors import InvalidInput, NotFound

router = APIRouter(tags=["definitions"])
_COMPILED = frozenset({"definition"})


@router.get("/definitions", summary="List definitions", dependencies=[allowed("read_definitions")])
def list_definitions(signoff: Face, person: Caller) -> list[dict[str, Any]]:
    """Every definition with its newest draft revision and version."""
    return [plain(d) for d in signoff.queries.list_definitions(person.tenant)]


@router.post("/definitions", summary="Create a definition", status_code=201)
def create(body: NewDraft, signoff: Face, person: Caller) -> dict[str, Any]:
    """Stores revision 1 of a new draft."""
    return signoff.create_draft(actor_of(person), person.tenant, body.document, body.layout)


@router.post("/definitions/validate", summary="Check a definition", dependencies=[allowed("read_definitions")])
def check(body: Check, signoff: Face, person: Caller) -> dict[str, Any]:
    """All problems at once and, where there is no error, the digest it would be published with. Stores nothing."""
    definition, problems = read_document(body.document)
    if definition is not None:
        problems = (*problems, *validate(definition, signoff.queries.surroundings(person.tenant)))
    good = definition is not None and is_publishable(problems)
    digest = definition_digest(definition) if definition is not None and good else None
    return {"valid": good, "digest": digest, "problems": plain(problems)}


@router.post("/definitions/trial", summary="Run a definition in memory", dependencies=[allowed("read_definitions")])
def trial(body: TrialRun, signoff: Face, person: Caller) -> dict[str, Any]:
    """Path, times, who would be asked, outputs: under a virtual clock, nothing is called or stored."""
    definition, problems = read_document(body.document)
    if definition is not None:
        problems = (*problems, *validate(definition))
    if definition is None or not is_publishable(problems):
        raise InvalidInput(
            "The definition has problems; nothing was tried.", code="not_valid", problems=plain(problems)
        )
    directory = signoff.queries.bulk.directory(person.tenant)
    answer: dict[str, Any] = plain(
        try_out(definition, body.input, by=person.login, script=read_script(body.script), directory=directory)
    )
    return answer


@router.get("/definitions/{name}/draft", summary="Read a draft", dependencies=[allowed("read_definitions")])
def read_draft(name: str, signoff: Face, person: Caller) -> dict[str, Any]:
    """The newest revision with everything that is wrong with it."""
    found = signoff.queries.find_draft(person.tenant, name)
    if found is None:
        raise NotFound(f"There is no draft '{name[:60]}'.", remedy="Check the name.")
    answer: dict[str, Any] = plain(found, _COMPILED)
    return answer


@router.put("/definitions/{name}/draft", summary="Save a draft")
def save_draft(name: str, body: SaveDraft, signoff: Face, person: Caller) -> dict[str, Any]:
    """Appends a revision; 409 where somebody saved in between."""
    return signoff.save_draft(actor_of(person), person.tenant, name, body.document, body.layout, body.based_on)


@router.post("/definitions/{name}/publish", summary="Publish a draft")
def publish(name: str, body: Publish, signoff: Face, person: Caller) -> dict[str, Any]:
    """Freezes a revision; the same content gives the same version back (`created` is false then)."""
    return signoff.publish(actor_of(person), person.tenant, name, body.revision)


@router.post("/definitions/{name}/archive", summary="Archive a definition or a version")
def archive(name: str, body: Retire, signoff: Face, person: Caller) -> dict[str, Any]:
    """No new runs; open runs go on. New runs use the newest version that is not archived."""
    return signoff.archive(actor_of(person), person.tenant, name, body.reason, version=body.version)


@router.post("/definitions/{name}/unarchive", summary="Take archiving back")
def unarchive(name: str, body: Retire, signoff: Face, person: Caller) -> dict[str, Any]:
    """New runs may start again."""
    return signoff.archive(actor_of(person), person.tenant, name, body.reason, version=body.version, archived=False)


@router.post("/definitions/{name}/versions/{version}/restore", summary="Make a version the draft")
def restore(name: str, version: int, signoff: Face, person: Caller) -> dict[str, Any]:
    """The version's content becomes the next draft revision."""
    return signoff.restore_draft(actor_of(person), person.tenant, name, version)


@router.delete("/definitions/{name}/versions/{version}", summary="Delete a version that never ran")
def delete_version(name: str, version: int, reason: str, signoff: Face, person: Caller) -> dict[str, Any]:
    """Refused where runs of it exist or it is the newest."""
    return signoff.do("delete_version", actor_of(person), person.tenant, name=name, version=version, reason=reason)


@router.get("/definitions/{name}/compare", summary="Compare two versions", dependencies=[allowed("read_definitions")])
def compare(
    name: str,
    signoff: Face,
    person: Caller,
    old: Annotated[int | None, Query(ge=1)] = None,
    new: Annotated[int | None, Query(ge=1)] = None,
) -> list[dict[str, Any]]:
    """What differs, in sentences: from `old` (the newest version by default) to `new` (the draft by default)."""
    return [plain(c) for c in signoff.queries.compare(person.tenant, name, old, new)]


@router.get("/definitions/{name}/versions", summary="List versions", dependencies=[allowed("read_definitions")])
def list_versions(name: str, signoff: Face, person: Caller) -> list[dict[str, Any]]:
    """All published versions, newest first, without their content."""
    found = signoff.queries.list_versions(person.tenant, name)
    if not found and signoff.queries.find_draft(person.tenant, name) is None:
        raise NotFound(f"There is no definition '{name[:60]}'.", remedy="Check the name.")
    return [plain(v, _COMPILED | {"document", "layout"}) for v in found]


@router.get(
    "/definitions/{name}/versions/{version}/schemas",
    summary="Read the types of a version",
    dependencies=[allowed("read_definitions")],
)
def read_schemas(name: str, version: int, signoff: Face, person: Caller) -> dict[str, Any]:
    """JSON Schemas of the input form and of what steps declare that they give."""
    found = signoff.queries.find_version(person.tenant, name, version)
    if found is None:
        raise NotFound(f"There is no version {version} of '{name[:60]}'.", remedy="Check name and number.")
    return schemas_of(found.definition)


@router.get(
    "/definitions/{name}/versions/{version}", summary="Read a version", dependencies=[allowed("read_definitions")]
)
def read_version(name: str, version: int, signoff: Face, person: Caller) -> dict[str, Any]:
    """A frozen version with its digest."""
    found = signoff.queries.find_version(person.tenant, name, version)
    if found is None:
        raise NotFound(f"There is no version {version} of '{name[:60]}'.", remedy="Check name and number.")
    answer: dict[str, Any] = plain(found, _COMPILED)
    return answer
