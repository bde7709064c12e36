"""Build the server: an ASGI application on a data folder."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from fastapi import FastAPI
from fastapi.openapi.docs import get_swagger_ui_html
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import HTMLResponse, JSONResponse

from .accounts.api_keys import ApiKeys
from .accounts.auth import Authenticator, SignIns
from .accounts.credentials import Tokens
from .accounts.people import Accounts
from .accounts.ratelimit import RateLimiter
from .accounts.sessions import Sessions
from .api.openapi import DocumentedApp
from .api.requests import answer_api_error
from .api.routes import partner_router, router
from .clock import Clock
from .context import Context, ContextDep
from .control.api import REFUSALS, answer_refusal, control_router
from .control.controls import Controls
from .errors import ApiError
from .exports.download import Signer
from .exports.jobs import Exports
from .faults import FaultLayer
from .serving.middleware import HostCheck, RequestLayer
from .settings import Settings
from .storage.state import folder_lock, open_state
from .storage.store import Stores
from .web import routes as web
from .web.pages import Static
from .web.requests import answer_unrouted


# For supervisors, without partners, users or credentials.
async def live() -> JSONResponse:
    return JSONResponse({"status": "ok"})


async def ready(context: ContextDep) -> JSONResponse:
    return JSONResponse({"status": "ok", "partners": len(await context.accounts.partners())})


async def show_docs() -> HTMLResponse:
    page = get_swagger_ui_html(
        openapi_url="/openapi.json",
        title="Partner API",
        swagger_js_url="/swagger/swagger-ui-bundle.js",
        swagger_css_url="/swagger/swagger-ui.css",
        swagger_favicon_url="/swagger/favicon-32x32.png",
    )
    # A key that is typed into the page stays here, although Swagger UI needs a script of its own.
    page.headers["Content-Security-Policy"] = (
        "default-src 'none'; connect-src 'self'; img-src 'self' data:; "
        "script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'"
    )
    return page


def create_app(
    settings: Settings, *, clock: Clock | None = None, controls: Controls | None = None
) -> FastAPI:
    """Return the server as an ASGI application, which opens its files when its lifespan starts.

    Args:
        settings: the data folder and the options.
        clock: the source of time; a test passes a clock that it can move.
        controls: the test controls to offer; they must use the same clock as the app. By default,
            new ones are created if ``settings.test_controls`` is on.
    """
    clock = clock or Clock()
    if controls is None and settings.test_controls:
        controls = Controls(clock)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            stack.enter_context(folder_lock(settings.data))
            state = await stack.enter_async_context(open_state(settings.data))
            stores = Stores(settings.data)
            stack.callback(stores.close)
            accounts = Accounts(state, clock)
            tokens = Tokens(await state.secret("token"), clock)
            limiter = RateLimiter(settings.data, clock, is_sliding=settings.dialect.is_sliding)
            stack.callback(limiter.close)
            exports = Exports(state, stores, settings, clock)
            context = Context(
                settings=settings,
                clock=clock,
                accounts=accounts,
                api_keys=ApiKeys(state, clock),
                sign_ins=SignIns(accounts, clock),
                tokens=tokens,
                authenticator=Authenticator(state, accounts, tokens, clock),
                limiter=limiter,
                stores=stores,
                exports=exports,
                signer=Signer(await state.secret("download")),
                sessions=Sessions(state, clock),
            )
            app.state.context = context
            if controls is not None:
                await stack.enter_async_context(controls.at_work(context, state))
            await stack.enter_async_context(exports.working())
            yield

    app = DocumentedApp(
        lifespan=lifespan,
        exception_handlers={
            ApiError: answer_api_error,
            HTTPException: answer_unrouted,
        },
    )
    app.state.dialect = settings.dialect
    # include_router would make each route anew for each application: most of a start in a test.
    for routes in (router, partner_router, web.pages):
        app.router.routes += routes.routes
    app.add_api_route("/livez", live, include_in_schema=False)
    app.add_api_route("/readyz", ready, include_in_schema=False)
    app.mount("/static", Static(packages=[("adanalytics_server.web", "static")]))
    if settings.docs:
        app.add_api_route("/docs", show_docs, include_in_schema=False)
        # The package has the files of Swagger UI: the page asks no other host.
        app.mount("/swagger", Static(packages=[("fastapi_swagger", "resources")]))
    if controls is not None:
        app.state.controls = controls
        app.router.routes += control_router.routes
        for refusal in REFUSALS:
            app.add_exception_handler(refusal, answer_refusal)
        app.add_middleware(
            FaultLayer, faults=controls.faults, journal=controls.journal, dialect=settings.dialect
        )
    if settings.cors:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=settings.cors,
            allow_methods=["GET", "POST"],
            allow_headers=["*"],
            expose_headers=["*"],
        )
    app.add_middleware(HostCheck, any_host=settings.any_host)
    app.add_middleware(RequestLayer, clock=clock, request_id=settings.dialect.request_id)
    return app
