"""The overview: which data there is, what it sums up to, exports, and what is left of quotas."""

import asyncio
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import Response

from adanalytics_server.accounts import Allowance, ApiKey, Partner, User
from adanalytics_server.context import Context, context_of
from adanalytics_server.exports import ExportJob
from adanalytics_server.web.errors import PageError
from adanalytics_server.web.login import login_page
from adanalytics_server.web.month import MonthView, parse_month, read_month
from adanalytics_server.web.pages import page
from adanalytics_server.web.route import page_router, signed_in

MOST_EXPORTS = 20

router = page_router()


@dataclass(frozen=True, slots=True)
class ListedExport:
    """An export and, once it is completed, the address of its file."""

    job: ExportJob
    url: str | None


@dataclass(frozen=True, slots=True)
class KeyQuota:
    """What a key has left of its hour."""

    key: ApiKey
    allowance: Allowance

    @property
    def used(self) -> int:
        """Requests of the last hour."""
        return self.allowance.limit - self.allowance.remaining


@router.get("/")
async def overview(request: Request) -> Response:
    """Show a month of a partner; the newest one with data unless another is asked for."""
    user = await signed_in(request)
    if user is None:
        return login_page("/")
    context = context_of(request)
    partners = await context.accounts.partners_of(user)
    partner = _chosen(partners, request.query_params.get("partner"))
    if partner is None:
        return page("no_partner.html", {"user": user, "section": "overview"})
    month = parse_month(request.query_params.get("month"))
    store = context.stores.of(partner.number)
    view = await asyncio.to_thread(read_month, store, month, currency=partner.currency)
    values = {
        "user": user,
        "section": "overview",
        "partners": partners,
        "partner": partner,
        "view": view,
        "exports": await _exports(request, partner),
        "limit": context.settings.rate_limit,
        "quotas": await _quotas(context, user),
    }
    return await asyncio.to_thread(page, _template(view), values)


def _template(view: MonthView | None) -> str:
    return "overview_empty.html" if view is None else "overview.html"


def _chosen(partners: list[Partner], wanted: str | None) -> Partner | None:
    if not wanted:
        return partners[0] if partners else None
    for partner in partners:
        if partner.id == wanted:
            return partner
    # The same for a partner of others as for one that does not exist.
    raise PageError(404, "There is no such partner, or it is not one of yours.")


async def _exports(request: Request, partner: Partner) -> list[ListedExport]:
    context = context_of(request)
    listed = []
    for job in await context.exports.table.latest(partner.number, most=MOST_EXPORTS):
        url = None
        if job.status == "completed":
            path = request.url_for("download", export_id=job.id).path
            url = f"{path}?{context.signer.query(path, expires=job.expires_at // 1000)}"
        listed.append(ListedExport(job, url))
    return listed


async def _quotas(context: Context, user: User) -> list[KeyQuota]:
    """Return what the keys have left; to admins, whose keys they are, and when there is a limit."""
    limit = context.settings.rate_limit
    if user.role != "admin" or not limit:
        return []
    keys = await context.api_keys.all()
    return await asyncio.to_thread(
        lambda: [
            KeyQuota(key, context.limiter.look(f"key:{key.number}", limit=limit)) for key in keys
        ]
    )
