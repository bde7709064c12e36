"""The Partner API: login, events, summary, dates, bulk export, and downloads of its files."""

import asyncio
from dataclasses import asdict
from functools import cache, partial
from operator import attrgetter
from typing import Annotated

from fastapi import APIRouter, Depends, Path
from fastapi.routing import APIRoute
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match

from adanalytics_server.accounts.people import Partner
from adanalytics_server.clock import rfc3339
from adanalytics_server.context import Context, ContextDep
from adanalytics_server.dialect import Dialect, add_headers, dialect_for, note_credential
from adanalytics_server.errors import ApiError, bad_parameter, json_response, unauthorized
from adanalytics_server.exports.download import download_answer
from adanalytics_server.exports.files import FORMATS
from adanalytics_server.exports.parquet import parquet_is_available
from adanalytics_server.exports.table import ExportJob

from . import openapi
from .events import events_response, read_events
from .requests import (
    BulkExportRequest,
    DownloadQuery,
    EventsQuery,
    LoginRequest,
    NoParameters,
    SummaryQuery,
    query_of,
    read_body,
)
from .responses import DatesAnswer, EventsAnswer, SummaryAnswer
from .summaries import read_dates, read_summary

RETRY_SECONDS = 1

router = APIRouter(generate_unique_id_function=attrgetter("name"))


async def readable_partner(
    request: Request,
    context: ContextDep,
    partner_id: Annotated[
        str, Path(description="Id of a partner that the credential may read.", examples=["acme"])
    ],
) -> Partner:
    """Authenticate, count the request against the limit, and check access, in this order."""
    authorizations = request.headers.getlist("authorization")
    # Two Authorization headers: a proxy may have checked the other one, so accept neither.
    caller = await context.authenticator.caller(
        authorizations[0] if len(authorizations) == 1 else None
    )
    note_credential(request, caller.credential)
    if limit := context.settings.rate_limit:
        take = context.limiter.take
        allowance = await asyncio.to_thread(take, caller.credential, limit=limit)
        now = context.clock.milliseconds()
        add_headers(request, dialect_for(request).rate_headers(allowance, now))
        if not allowance.passes:
            raise ApiError(429)
    return await context.authenticator.partner(caller, partner_id)


ReadablePartner = Annotated[Partner, Depends(readable_partner)]
ExportId = Annotated[
    str,
    Path(
        description="The `export_id` that starting the export returned.",
        examples=["0b6f2c1e-7c3d-4f0a-9a51-2f4f5d1c8e77"],
    ),
]
NoQuery = Annotated[NoParameters, query_of(NoParameters)]

# Listed first, so that the credential is checked before the parameters.
partner_router = APIRouter(
    prefix="/api/partners/{partner_id}/ad-analytics",
    generate_unique_id_function=attrgetter("name"),
    dependencies=[Depends(readable_partner)],
)


@router.post(
    "/api/auth/login",
    tags=["login"],
    responses=openapi.LOGIN,
    openapi_extra=openapi.json_body(LoginRequest),
)
async def login(request: Request, context: ContextDep, _query: NoQuery) -> Response:
    """Exchange an e-mail address and a password for a token that is valid for seven days."""
    body = await read_body(request, LoginRequest)
    user = await context.sign_ins.sign_in(body.email, body.password)
    if user is None:
        raise unauthorized()
    token = context.tokens.issue(user.number)
    return json_response(
        {"token": token, "user": {"id": str(user.number), "email": user.email, "role": user.role}}
    )


@partner_router.get(
    "/events",
    tags=["data"],
    responses=openapi.partner_responses("One page of events.", EventsAnswer),
    openapi_extra=openapi.parameters(EventsQuery),
)
def events(
    request: Request,
    context: ContextDep,
    partner: ReadablePartner,
    query: Annotated[EventsQuery, query_of(EventsQuery)],
) -> Response:
    """Return one page of the events of a range of days."""
    return events_response(
        context.stores.of(partner.number), query, dialect_for(request), request.url
    )


@partner_router.get(
    "/summary",
    tags=["data"],
    responses=openapi.partner_responses("The rows and their total.", SummaryAnswer),
    openapi_extra=openapi.parameters(SummaryQuery),
)
def summary(
    request: Request,
    context: ContextDep,
    partner: ReadablePartner,
    query: Annotated[SummaryQuery, query_of(SummaryQuery)],
) -> Response:
    """Return aggregated metrics of a range of days: one row per group, or a single total."""
    dialect = dialect_for(request)
    query, store = dialect.changed(query), context.stores.of(partner.number)
    days, group_by = query.days(), query.group_by
    facts = read_summary(store, days, group_by=group_by, currency=partner.currency)
    rows = facts.pop("summary")
    if (change := dialect.summary_rows) is not None:
        events = cache(partial(read_events, store, days, dialect))
        rows = change(rows, group_by, events)
        facts["totals"] = change([facts["totals"]], None, events)[0]
    body, headers = dialect.summary(rows, facts, request.query_params, request.url)
    return json_response(body, headers=headers)


@partner_router.get(
    "/dates",
    tags=["data"],
    responses=openapi.partner_responses("The days that have data.", DatesAnswer),
)
def dates(
    request: Request, context: ContextDep, partner: ReadablePartner, _query: NoQuery
) -> Response:
    """List the days that have data."""
    dialect = dialect_for(request)
    days = read_dates(context.stores.of(partner.number), dialect)
    body, headers = dialect.dates(days, request.query_params, request.url)
    return json_response(body, headers=headers)


@partner_router.post(
    "/bulk-export",
    tags=["export"],
    responses=openapi.START_EXPORT,
    openapi_extra=openapi.json_body(BulkExportRequest),
)
async def start_export(
    request: Request, context: ContextDep, partner: ReadablePartner, _query: NoQuery
) -> Response:
    """Start the export of all events of a range to a file.

    Repeating the request returns the same export while the data is unchanged.
    """
    body = await read_body(request, BulkExportRequest)
    has_types = FORMATS[body.format].has_types
    # A dialect has other columns than those with types.
    if has_types and dialect_for(request).changes_rows:
        raise bad_parameter("format", "should be 'csv' or 'jsonl' in this dialect")
    if has_types and not parquet_is_available():
        raise bad_parameter(
            "format",
            'needs pyarrow on the server; install it with: pip install "adanalytics[arrow]"',
        )
    job = await context.exports.order(
        partner.number,
        body.days(),
        form=body.format,
        compression=body.compression,
        outcome=dialect_for(request).outcome,
    )
    return _export_answer(request, context, partner, job)


@partner_router.get("/bulk-export/{export_id}", tags=["export"], responses=openapi.EXPORT_STATUS)
async def export_status(
    request: Request,
    context: ContextDep,
    partner: ReadablePartner,
    export_id: ExportId,
    _query: NoQuery,
) -> Response:
    """Return the state of an export."""
    job = await context.exports.table.job(export_id)
    if job is None or job.partner != partner.number:
        raise ApiError(404)
    return _export_answer(request, context, partner, job, status=200)


@router.get(
    "/exports/{export_id}",
    tags=["export"],
    response_class=Response,
    responses=openapi.DOWNLOAD,
    openapi_extra=openapi.parameters(DownloadQuery),
)
async def download(
    request: Request,
    context: ContextDep,
    export_id: ExportId,
    query: Annotated[DownloadQuery, query_of(DownloadQuery)],
) -> Response:
    """Send the file of an export, complete or in ranges: 202 until it is ready, 403 once expired.

    As with an object store, the signed URL is the credential: send no `Authorization` header.
    """
    # As object stores do: two credentials for one request are a mistake of the client.
    if "authorization" in request.headers:
        raise ApiError(400, "A signed URL takes no Authorization header")
    now = context.clock.milliseconds()
    if not context.signer.opens(
        request.url.path, expires=query.expires, signature=query.signature, now=now // 1000
    ):
        raise ApiError(403)
    # After the signature: who has none does not learn which exports exist.
    job = await context.exports.table.job(export_id)
    if job is None:
        raise ApiError(404)
    dialect = dialect_for(request)
    is_early = dialect.wait == "file" and _state_of(context, dialect, job) != "completed"
    if job.is_waiting or (job.status == "completed" and is_early):
        return Response(status_code=202, headers=dialect.retry_after(RETRY_SECONDS, now))
    if job.status == "expired":
        raise ApiError(403)
    if job.status != "completed":
        raise ApiError(410, f"The export {job.status}: {job.error or 'order it again'}")
    return await download_answer(request.headers, job, context.exports.path(job))


_ROUTES = [
    route for route in (*router.routes, *partner_router.routes) if isinstance(route, APIRoute)
]
OPERATIONS = tuple(route.name for route in _ROUTES)


def operation_of(method: str, path: str) -> str | None:
    """Name the API operation of a request, such as ``events``; ``None`` for any other request."""
    scope = {"type": "http", "method": method, "path": path, "root_path": "", "headers": []}
    for route in _ROUTES:
        if route.matches(scope)[0] is Match.FULL:
            return route.name
    return None


def _export_answer(
    request: Request,
    context: Context,
    partner: Partner,
    job: ExportJob,
    *,
    status: int | None = None,
) -> Response:
    dialect, now = dialect_for(request), context.clock.milliseconds()
    status_url = str(request.url_for("export_status", partner_id=partner.id, export_id=job.id))
    url = request.url_for("download", export_id=job.id)
    expires = now if dialect.is_expired else job.expires_at
    state = _state_of(context, dialect, job, is_order=status is None)
    is_waiting = state in ("pending", "processing")
    # A dialect that states an earlier phase must not give the result away.
    is_hidden = state != job.status
    export = {
        **asdict(job),
        **({"row_count": None, "size_bytes": None, "sha256": None} if is_hidden else {}),
        "export_id": job.id,
        "status": state,
        "download_url": f"{url}?{context.signer.query(url.path, expires=expires // 1000)}",
        "status_url": status_url,
        "created_at": rfc3339(job.created_at),
        "expires_at": rfc3339(job.expires_at),
        "location": status_url if is_waiting else None,
    }
    body, headers = dialect.export(export, is_order=status is None)
    if is_waiting:
        headers |= dialect.retry_after(RETRY_SECONDS, now)
    return json_response(body, status=status or (202 if is_waiting else 200), headers=headers)


def _state_of(context: Context, dialect: Dialect, job: ExportJob, *, is_order: bool = False) -> str:
    """Return the state of an export that this response states, and count the response."""
    responses = context.exports.responses
    state, responses[job.id] = dialect.export_state(
        job.status, responses.get(job.id, 0), is_order=is_order
    )
    return state
