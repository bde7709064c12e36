"""The pages: sign in, an overview of the data, and Settings > API Keys. None needs a script."""

import asyncio
import re
from collections.abc import Mapping

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from adanalytics_server.accounts.api_keys import LONGEST_KEY_NAME, ApiKey
from adanalytics_server.accounts.auth import TooManyAttempts
from adanalytics_server.accounts.people import AccountError, Partner, User
from adanalytics_server.accounts.ratelimit import Allowance
from adanalytics_server.context import Context, ContextDep
from adanalytics_server.errors import ApiError
from adanalytics_server.exports.table import ExportJob

from .format import duration
from .month import parse_month, read_month
from .pages import page
from .requests import COOKIE, Admin, PageRoute, Visitor, read_form, redirect, set_cookie

KEYS = "/settings/api-keys"
MOST_EXPORTS = 20
# A path on this site: two slashes, or a slash and a backslash, would name another host.
_OWN_PATH = re.compile(r"/(?:[A-Za-z0-9_.-][A-Za-z0-9_./-]*)?")

pages = APIRouter(route_class=PageRoute, include_in_schema=False)


@pages.get("/login")
async def show_login(request: Request, user: Visitor) -> Response:
    target = _own_path(request.query_params.get("next", ""))
    return redirect(target) if user else _login_page(target)


@pages.post("/login")
async def sign_in(request: Request, context: ContextDep) -> Response:
    """Check e-mail and password, start a session and redirect to the requested page."""
    form = await read_form(request, "email", "password", "next")
    target = _own_path(form["next"])
    email = form["email"].strip()
    try:
        user = await context.sign_ins.sign_in(email, form["password"])
    except TooManyAttempts as error:
        wait = duration(error.seconds)
        text = f"Too many wrong passwords for this e-mail address. Try again in {wait}."
        return _login_page(
            target, email=email, problem=text, status=error.status, headers=error.headers
        )
    if user is None:
        text = "Wrong e-mail address or password."
        return _login_page(target, email=email, problem=text, status=403)
    await context.sessions.end(request.cookies.get(COOKIE))
    response = redirect(target)
    set_cookie(response, request, await context.sessions.begin(user))
    return response


@pages.post("/logout")
async def sign_out(request: Request, context: ContextDep) -> Response:
    """End the session for everyone who has its cookie."""
    await context.sessions.end(request.cookies.get(COOKIE))
    response = redirect("/")
    set_cookie(response, request, "", max_age=0)
    return response


def _login_page(
    target: str,
    *,
    email: str = "",
    problem: str = "",
    status: int = 200,
    headers: Mapping[str, str] | None = None,
) -> Response:
    values = {"target": target, "email": email, "problem": problem}
    return page("login.html", None, values, status=status, headers=headers)


def _own_path(text: str) -> str:
    return text if _OWN_PATH.fullmatch(text) else "/"


@pages.get("/month.csv")
@pages.get("/")
async def overview(request: Request, user: Visitor, context: ContextDep) -> Response:
    if user is None:
        return _login_page("/")
    partners = await context.accounts.partners_of(user)
    partner = _chosen(partners, request.query_params.get("partner"))
    if partner is None:
        return page("no_partner.html", user, {}, section="overview")
    month = parse_month(request.query_params.get("month"))
    store = context.stores.of(partner.number)
    view = await asyncio.to_thread(read_month, store, month, currency=partner.currency)
    values = {
        "partners": partners,
        "partner": partner,
        "view": view,
        "exports": await _exports(request, context, partner),
        "limit": context.settings.rate_limit,
        "quotas": await _quotas(context, user),
    }
    if view is not None and request.url.path == "/month.csv":
        file = f'attachment; filename="days-{view.month:%Y-%m}.csv"'
        headers = {"Content-Type": "text/csv; charset=utf-8", "Content-Disposition": file}
        return page("month.csv", user, values, headers=headers)
    template = "overview_empty.html" if view is None else "overview.html"
    return await asyncio.to_thread(page, template, user, values, section="overview")


def _chosen(partners: list[Partner], partner_id: str | None) -> Partner | None:
    if not partner_id:
        return partners[0] if partners else None
    for partner in partners:
        if partner.id == partner_id:
            return partner
    # The same text, whether the partner exists or not.
    raise ApiError(404, "This partner does not exist, or you may not see it.")


async def _exports(
    request: Request, context: Context, partner: Partner
) -> list[tuple[ExportJob, str | None]]:
    """List a partner's exports, each with its download URL once it is completed."""
    exports = []
    for job in await context.exports.table.latest(partner.number, limit=MOST_EXPORTS):
        url = None
        if job.status == "completed":
            path = request.url_for("download", export_id=job.id).path
            url = f"{path}?{context.signer.query(path, expires=job.expires_at // 1000)}"
        exports.append((job, url))
    return exports


async def _quotas(context: Context, user: User) -> list[tuple[ApiKey, Allowance]]:
    limit = context.settings.rate_limit
    # Keys are the admins' business.
    if user.role != "admin" or not limit:
        return []
    keys = await context.api_keys.all()
    return await asyncio.to_thread(
        lambda: [(key, context.limiter.look(f"key:{key.number}", limit=limit)) for key in keys]
    )


@pages.get(KEYS)
async def keys(request: Request, user: Admin, context: ContextDep) -> Response:
    notice = "The key was deleted." if "deleted" in request.query_params else ""
    return await _keys_page(context, user, notice=notice)


@pages.post(KEYS)
async def create_key(request: Request, user: Admin, context: ContextDep) -> Response:
    """Create a key and redirect to the page that shows it once."""
    name = (await read_form(request, "name"))["name"].strip()
    try:
        key = await context.api_keys.create(user.email, name=name)
    except AccountError as error:
        return await _keys_page(context, user, name=name, problem=str(error), status=400)
    return redirect(f"{KEYS}/created/{context.sessions.keep_new_key(user, name, key)}")


@pages.get(KEYS + "/created/{ticket}")
async def show_key(user: Admin, context: ContextDep, ticket: str) -> Response:
    """Show a new key once: it is in this response only, never in a URL."""
    new = context.sessions.take_new_key(user, ticket)
    if new is None:
        raise ApiError(
            410,
            "A new key is shown only once. If you did not copy it, delete it and create another.",
        )
    return page("key_created.html", user, {"new": new}, section="keys")


@pages.api_route(KEYS + "/{number}/name", methods=["GET", "POST"])
async def rename_key(request: Request, user: Admin, context: ContextDep, number: str) -> Response:
    """Show a form with the name of a key, and store the name that it sends."""
    key, problem = await _key(context, number), ""
    if request.method == "POST":
        try:
            name = (await read_form(request, "name"))["name"].strip()
            await context.api_keys.rename(key.number, name)
            return redirect(KEYS)
        except AccountError as error:
            problem = str(error)
    values = {"key": key, "problem": problem, "longest_name": LONGEST_KEY_NAME}
    return page("key_name.html", user, values, section="keys", status=400 if problem else 200)


@pages.get(KEYS + "/{number}/delete")
async def ask_delete(user: Admin, context: ContextDep, number: str) -> Response:
    return page("key_delete.html", user, {"key": await _key(context, number)}, section="keys")


@pages.post(KEYS + "/{number}/delete")
async def delete_key(_user: Admin, context: ContextDep, number: str) -> Response:
    """Delete a key; the server refuses its next request."""
    key = await _key(context, number)
    await context.api_keys.delete_number(key.number)
    return redirect(f"{KEYS}?deleted")


async def _key(context: Context, number: str) -> ApiKey:
    for key in await context.api_keys.all():
        if str(key.number) == number:
            return key
    raise ApiError(404, "This key does not exist, or it was deleted.")


async def _keys_page(
    context: Context,
    user: User,
    *,
    notice: str = "",
    name: str = "",
    problem: str = "",
    status: int = 200,
) -> Response:
    values = {
        "keys": await context.api_keys.all(),
        "longest_name": LONGEST_KEY_NAME,
        "notice": notice,
        "name": name,
        "problem": problem,
    }
    return page("keys.html", user, values, section="keys", status=status)
