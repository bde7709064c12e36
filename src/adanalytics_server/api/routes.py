"""The Partner API: login, events, summary, dates and bulk export."""

import math
from typing import Annotated, Literal

import msgspec
from fastapi import APIRouter, Depends
from starlette.requests import Request
from starlette.responses import Response

from adanalytics_server.accounts import Partner, TooManyAttempts
from adanalytics_server.answers import add_headers, answers_of, note_credential
from adanalytics_server.api.bodies import read_body
from adanalytics_server.api.models import BulkExportRequest, LoginRequest
from adanalytics_server.api.openapi_responses import (
    DATES,
    EVENTS,
    EXPORT_STATUS,
    LOGIN,
    START_EXPORT,
    SUMMARY,
)
from adanalytics_server.api.parameters import Hour, PageNumber, PerPage, StrictDate, day_range, only
from adanalytics_server.api.parts_answer import PartsResponse
from adanalytics_server.api.summaries import read_dates, read_summary
from adanalytics_server.clock import rfc3339
from adanalytics_server.context import context_of
from adanalytics_server.errors import ApiError, bad_parameter, unauthorized
from adanalytics_server.exports import ExportJob, parquet_is_available
from adanalytics_server.storage.pages import read_page

RETRY_SECONDS = 1

login_router = APIRouter()


async def readable_partner(request: Request, partner_id: str) -> Partner:
    """Authenticate, count the request against the limit, and check the access; in this order."""
    context = context_of(request)
    authorizations = request.headers.getlist("authorization")
    # Of two of them, a proxy in front may have looked at the other one.
    caller = await context.authenticator.caller(
        authorizations[0] if len(authorizations) == 1 else None
    )
    note_credential(request, caller.credential)
    settings = context.settings
    limit = settings.login_rate_limit if caller.key is None else settings.rate_limit
    if limit:
        allowance = context.limiter.take(caller.credential, limit=limit)
        add_headers(request, answers_of(request).rate_headers(allowance, context.clock.now()))
        if not allowance.passes:
            raise ApiError(429, "Too Many Requests")
    return await context.authenticator.partner(caller, partner_id)


ReadablePartner = Annotated[Partner, Depends(readable_partner)]
# Named here too, so that it runs before a route looks at its parameters.
partner_router = APIRouter(
    prefix="/api/partners/{partner_id}/ad-analytics", dependencies=[Depends(readable_partner)]
)


@login_router.post(
    "/api/auth/login",
    responses=LOGIN,
    dependencies=[only()],
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": LoginRequest.model_json_schema()}},
        }
    },
)
async def login(request: Request) -> Response:
    """Exchange an e-mail and a password for a token that is good for seven days."""
    context = context_of(request)
    body = await read_body(request, LoginRequest)
    try:
        user = await context.sign_ins.sign_in(body.email, body.password)
    except TooManyAttempts as error:
        headers = {"Retry-After": str(error.seconds)}
        raise ApiError(429, "Too Many Requests", headers=headers) from error
    if user is None:
        raise unauthorized()
    token = context.tokens.issue(user.number)
    return _json(
        {
            "token": token,
            "user": {"id": str(user.number), "email": user.email, "role": user.role},
        }
    )


@partner_router.get(
    "/events",
    responses=EVENTS,
    dependencies=[only("start_date", "end_date", "hour", "page", "per_page")],
)
def events(
    request: Request,
    partner: ReadablePartner,
    start_date: StrictDate,
    end_date: StrictDate,
    hour: Hour = None,
    page: PageNumber = 1,
    per_page: PerPage = 1000,
) -> Response:
    """Return one page of the events of a range of days, in the order of their storage."""
    days = day_range(start_date, end_date, hour)
    answers = answers_of(request)
    per_page = answers.rows_per_page(per_page)
    store = context_of(request).stores.of(partner.number)
    found = read_page(store, days, page=page, per_page=per_page, shift=answers.moved_rows)
    total = found.total + answers.moved_rows
    total_pages = math.ceil(total / per_page)
    pagination = {
        "page": page,
        "per_page": per_page,
        "total": total,
        "total_pages": total_pages,
        "has_more": page < total_pages,
    }
    body, headers = answers.page(pagination)
    # The events are JSON already: they are put between the brackets of the empty list.
    before, after = msgspec.json.encode(body).split(b"[]")
    events = [part for piece in found.pieces for part in (b",", piece)]
    return PartsResponse([before + b"[", *events[1:], b"]" + after], headers=headers)


@partner_router.get(
    "/summary",
    responses=SUMMARY,
    dependencies=[only("start_date", "end_date", "group_by")],
)
def summary(
    request: Request,
    partner: ReadablePartner,
    start_date: StrictDate,
    end_date: StrictDate,
    group_by: Literal["day", "campaign", "demand_tag"] | None = None,
) -> Response:
    """Return aggregated metrics of a range of days; one row in all without ``group_by``."""
    days = day_range(start_date, end_date)
    store = context_of(request).stores.of(partner.number)
    found = read_summary(store, days, group_by=group_by, currency=partner.currency)
    return _json(answers_of(request).summary(found))


@partner_router.get("/dates", responses=DATES, dependencies=[only()])
def dates(request: Request, partner: ReadablePartner) -> Response:
    """List the days that have data."""
    return _json({"dates": read_dates(context_of(request).stores.of(partner.number))})


@partner_router.post(
    "/bulk-export",
    responses=START_EXPORT,
    dependencies=[only()],
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": BulkExportRequest.model_json_schema()}},
        }
    },
)
async def start_export(request: Request, partner: ReadablePartner) -> Response:
    """Order a file with all events of a range; asking again for the same data is the same job."""
    body = await read_body(request, BulkExportRequest)
    days = day_range(body.start_date, body.end_date)
    if body.format == "parquet" and not parquet_is_available():
        message = 'needs pyarrow on the server, install it with: pip install "adanalytics[arrow]"'
        raise bad_parameter("format", message)
    job = await context_of(request).exports.order(
        partner.number,
        days,
        form=body.format,
        compression=body.compression,
        outcome=answers_of(request).outcome,
    )
    return _export_answer(request, partner, job)


@partner_router.get(
    "/bulk-export/{export_id}",
    responses=EXPORT_STATUS,
    dependencies=[only()],
)
async def export_status(request: Request, partner: ReadablePartner, export_id: str) -> Response:
    """Tell how far an export is."""
    job = await context_of(request).exports.table.job(export_id)
    if job is None or job.partner != partner.number:
        raise ApiError(404, "Not Found")
    return _export_answer(request, partner, job, status=200)


def _export_answer(
    request: Request, partner: Partner, job: ExportJob, *, status: int | None = None
) -> Response:
    status_url = str(request.url_for("export_status", partner_id=partner.id, export_id=job.id))
    answers = answers_of(request)
    export = {
        "export_id": job.id,
        "status": job.status,
        "format": job.format,
        "start_date": job.start_date,
        "end_date": job.end_date,
        "download_url": _download_url(request, job),
        "status_url": status_url,
        "created_at": rfc3339(job.created_at),
        "expires_at": rfc3339(job.expires_at),
        "row_count": job.row_count,
        "size_bytes": job.size_bytes,
        "sha256": job.sha256,
        "error": job.error,
    }
    body, headers = answers.export(export, status_url if job.is_waiting else None)
    if job.is_waiting:
        headers |= answers.retry_after(RETRY_SECONDS, context_of(request).clock.now())
    return _json(body, status=status or (202 if job.is_waiting else 200), headers=headers)


def _download_url(request: Request, job: ExportJob) -> str:
    url = request.url_for("download", export_id=job.id)
    context = context_of(request)
    expires = context.clock.now() if answers_of(request).is_expired else job.expires_at
    query = context.signer.query(url.path, expires=expires // 1000)
    return f"{url}?{query}"


def _json(body: object, *, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    return Response(
        msgspec.json.encode(body), status, headers=headers, media_type="application/json"
    )
