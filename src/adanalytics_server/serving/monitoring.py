"""Health, for supervisors, without partners, users or credentials."""

from fastapi import APIRouter
from starlette.responses import JSONResponse

from adanalytics_server.context import ContextDep

monitoring_router = APIRouter(include_in_schema=False)


@monitoring_router.get("/livez")
async def live() -> JSONResponse:
    """Answer while the process is alive."""
    return JSONResponse({"status": "ok"})


@monitoring_router.get("/readyz")
async def ready(context: ContextDep) -> JSONResponse:
    """Answer if the account database is readable."""
    partners = await context.accounts.partners()
    return JSONResponse({"status": "ok", "partners": len(partners)})
