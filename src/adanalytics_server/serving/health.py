"""Is the process alive, can it serve, and what did it do? For supervisors and monitoring."""

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from adanalytics_server.context import context_of
from adanalytics_server.serving.prometheus import CONTENT_TYPE, metrics_text

router = APIRouter(include_in_schema=False)


@router.get("/livez")
async def live() -> JSONResponse:
    """Answer at once while the event loop turns."""
    return JSONResponse({"status": "ok"})


@router.get("/readyz")
async def ready(request: Request) -> JSONResponse:
    """Answer when the database of accounts can be read."""
    partners = await context_of(request).accounts.partners()
    return JSONResponse({"status": "ok", "partners": len(partners)})


@router.get("/metrics")
async def metrics(request: Request) -> Response:
    """Tell a Prometheus what was counted; no partner, user or credential is in it."""
    context = context_of(request)
    exports = await context.exports.table.count_by_status()
    return Response(
        metrics_text(context.metrics, exports=exports), headers={"Content-Type": CONTENT_TYPE}
    )
