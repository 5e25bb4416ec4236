"""Files of runs: uploading one to use it, and getting those of runs that one may see."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import StreamingResponse

from signoff.api.auth import Caller, Face, actor_of, allowed
from signoff.core.files import is_file_name, is_media_type
from signoff.errors import InvalidInput
from signoff.interchange.downloads import headers_of, media_of

router = APIRouter(tags=["files"])


@router.post("/files", summary="Upload a file", status_code=201, dependencies=[allowed("upload_file")])
async def upload(
    request: Request, signoff: Face, person: Caller, name: Annotated[str, Query(min_length=1, max_length=200)]
) -> dict[str, Any]:
    """The body is the content. Use the whole answer as the value of a file field within a day."""
    media = request.headers.get("content-type", "").split(";")[0].strip().lower() or "application/octet-stream"
    if not is_file_name(name) or not is_media_type(media):
        raise InvalidInput("The name or the type of the file is not usable.", remedy="Give a plain file name.")
    new = await run_in_threadpool(signoff.queries.files.begin, person.tenant)
    try:
        async for chunk in request.stream():
            await run_in_threadpool(new.write, chunk)
        kept = await run_in_threadpool(new.done)
    except BaseException:
        new.drop()
        raise
    return await run_in_threadpool(signoff.add_file, actor_of(person), person.tenant, kept, name, media)


@router.get("/files/{digest}", summary="Get a file", dependencies=[allowed("read_runs")])
def get(
    digest: Annotated[str, Path(max_length=100)],
    signoff: Face,
    person: Caller,
    name: Annotated[str, Query(max_length=200)] = "",
) -> Response:
    """The content of a file of a run that the caller may see; 404 otherwise."""
    found = signoff.queries.get_file(person, digest, name)
    return StreamingResponse(found.chunks, media_type=media_of(found.type), headers=headers_of(found.name, found.size))
