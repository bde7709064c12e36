"""Sign in and out of the web area."""

import re

from starlette.requests import Request
from starlette.responses import Response

from adanalytics_server.accounts import TooManyAttempts
from adanalytics_server.context import context_of
from adanalytics_server.web.format import duration
from adanalytics_server.web.forms import read_form
from adanalytics_server.web.pages import page
from adanalytics_server.web.route import page_router, redirect, signed_in
from adanalytics_server.web.session import COOKIE, drop_cookie, set_cookie

# A path of this site. Two slashes, or one of each kind, would name another host.
_OWN_PATH = re.compile(r"/(?:[A-Za-z0-9_.-][A-Za-z0-9_./-]*)?")

router = page_router()


@router.get("/login")
async def show_login(request: Request) -> Response:
    """Show the login form, or go on when there is nothing to do."""
    target = _own_path(request.query_params.get("next", ""))
    if await signed_in(request):
        return redirect(target)
    return login_page(target)


@router.post("/login")
async def sign_in(request: Request) -> Response:
    """Check e-mail and password, begin a session and go on to the page that was asked for."""
    context = context_of(request)
    form = await read_form(request, "email", "password", "next")
    target = _own_path(form["next"])
    email = form["email"].strip()
    try:
        user = await context.sign_ins.sign_in(email, form["password"])
    except TooManyAttempts as error:
        wait = duration(error.seconds)
        text = f"Too many wrong passwords for this e-mail address. Try again in {wait}."
        headers = {"Retry-After": str(error.seconds)}
        return login_page(target, email=email, problem=text, status=429, headers=headers)
    if user is None:
        text = "This e-mail address and this password do not belong together."
        return login_page(target, email=email, problem=text, status=403)
    await context.sessions.end(request.cookies.get(COOKIE))
    response = redirect(target)
    set_cookie(response, request, await context.sessions.begin(user))
    return response


@router.post("/logout")
async def sign_out(request: Request) -> Response:
    """End the session, here and for whoever else has its cookie."""
    await context_of(request).sessions.end(request.cookies.get(COOKIE))
    response = redirect("/")
    drop_cookie(response, request)
    return response


def login_page(
    target: str,
    *,
    email: str = "",
    problem: str = "",
    status: int = 200,
    headers: dict[str, str] | None = None,
) -> Response:
    """Show the login form; ``target`` is where it leads, ``problem`` why it is shown again."""
    values = {"user": None, "target": target, "email": email, "problem": problem}
    return page("login.html", values, status=status, headers=headers)


def _own_path(text: str) -> str:
    return text if _OWN_PATH.fullmatch(text) else "/"
