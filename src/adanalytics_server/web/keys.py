"""Settings > API Keys: list them, make one and show it once, delete one after a question."""

from starlette.requests import Request
from starlette.responses import Response

from adanalytics_server.accounts import LONGEST_KEY_NAME, AccountError, ApiKey, User
from adanalytics_server.context import context_of
from adanalytics_server.web.errors import PageError
from adanalytics_server.web.forms import read_form
from adanalytics_server.web.pages import page
from adanalytics_server.web.route import page_router, redirect, signed_in_admin

KEYS = "/settings/api-keys"

router = page_router()


@router.get("/settings")
async def settings(request: Request) -> Response:
    """Go to the one page there is below."""
    await signed_in_admin(request)
    return redirect(KEYS)


@router.get(KEYS)
async def keys(request: Request) -> Response:
    """List the keys, with a form to make another."""
    user = await signed_in_admin(request)
    notice = "The key was deleted." if "deleted" in request.query_params else ""
    return await _keys_page(request, user, notice=notice)


@router.post(KEYS)
async def create_key(request: Request) -> Response:
    """Make a key and show it in this one answer; it is in no address and kept nowhere."""
    user = await signed_in_admin(request)
    name = (await read_form(request, "name"))["name"].strip()
    try:
        key = await context_of(request).api_keys.create(user.email, name=name)
    except AccountError as error:
        problem = f"{str(error)[:1].upper()}{str(error)[1:]}."
        return await _keys_page(request, user, name=name, problem=problem, status=400)
    return page("key_created.html", {"user": user, "section": "keys", "name": name, "key": key})


@router.get(KEYS + "/{number}/delete")
async def ask_delete(request: Request, number: str) -> Response:
    """Ask whether a key is really to be deleted."""
    user = await signed_in_admin(request)
    key = await _key(request, number)
    return page("key_delete.html", {"user": user, "section": "keys", "key": key})


@router.post(KEYS + "/{number}/delete")
async def delete_key(request: Request, number: str) -> Response:
    """Delete a key; its next request is refused."""
    await signed_in_admin(request)
    key = await _key(request, number)
    await context_of(request).api_keys.delete_number(key.number)
    return redirect(f"{KEYS}?deleted")


async def _key(request: Request, number: str) -> ApiKey:
    for key in await context_of(request).api_keys.all():
        if str(key.number) == number:
            return key
    raise PageError(404, "There is no such key (any more).")


async def _keys_page(
    request: Request,
    user: User,
    *,
    notice: str = "",
    name: str = "",
    problem: str = "",
    status: int = 200,
) -> Response:
    values = {
        "user": user,
        "section": "keys",
        "keys": await context_of(request).api_keys.all(),
        "longest_name": LONGEST_KEY_NAME,
        "notice": notice,
        "name": name,
        "problem": problem,
    }
    return page("keys.html", values, status=status)
