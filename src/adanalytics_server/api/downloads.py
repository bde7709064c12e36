"""Downloads of export files by signed address, as from an object store: no credential."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from adanalytics_server.answers import answers_of
from adanalytics_server.api.openapi_responses import DOWNLOAD, DOWNLOAD_PARAMETERS
from adanalytics_server.api.parameters import only
from adanalytics_server.context import context_of
from adanalytics_server.errors import ApiError
from adanalytics_server.exports import ExportJob, download_answer

RETRY_SECONDS = 1

router = APIRouter()


@router.get(
    "/exports/{export_id}",
    response_class=Response,
    responses=DOWNLOAD,
    dependencies=[only("expires", "signature")],
    openapi_extra={"parameters": DOWNLOAD_PARAMETERS},
)
async def download(request: Request, export_id: str) -> Response:
    """Send a finished file, whole or in ranges; 202 while it is in work, 403 when expired."""
    context = context_of(request)
    job = await _signed_job(request, export_id)
    if job.is_waiting:
        headers = answers_of(request).retry_after(RETRY_SECONDS, context.clock.now())
        return Response(status_code=202, headers=headers)
    if job.status == "expired":
        raise ApiError(403, "Forbidden")
    if job.status != "completed":
        raise ApiError(410, f"The export {job.status}: {job.error or 'order it again'}")
    return await download_answer(request.headers, job, context.exports.path(job))


async def _signed_job(request: Request, export_id: str) -> ExportJob:
    """Return the export that a signed address opens, or refuse the address."""
    context = context_of(request)
    if "authorization" in request.headers:
        raise ApiError(400, "A signed address takes no Authorization header")
    if not context.signer.opens(
        request.url.path,
        expires=request.query_params.get("expires", ""),
        signature=request.query_params.get("signature", ""),
        now=context.clock.now() // 1000,
    ):
        raise ApiError(403, "Forbidden")
    job = await context.exports.table.job(export_id)
    if job is None:
        raise ApiError(404, "Not Found")
    return job
