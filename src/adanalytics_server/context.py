"""The parts of a running server, as a dependency of its endpoints."""

from dataclasses import dataclass
from typing import Annotated, cast

from fastapi import Depends
from starlette.requests import Request

from adanalytics_server.accounts.api_keys import ApiKeys
from adanalytics_server.accounts.auth import Authenticator, SignIns
from adanalytics_server.accounts.credentials import Tokens
from adanalytics_server.accounts.people import Accounts
from adanalytics_server.accounts.ratelimit import RateLimiter
from adanalytics_server.accounts.sessions import Sessions
from adanalytics_server.clock import Clock
from adanalytics_server.exports.download import Signer
from adanalytics_server.exports.jobs import Exports
from adanalytics_server.settings import Settings
from adanalytics_server.storage.store import Stores


@dataclass(frozen=True, slots=True)
class Context:
    """The parts of a running server."""

    settings: Settings
    clock: Clock
    accounts: Accounts
    api_keys: ApiKeys
    sign_ins: SignIns
    tokens: Tokens
    authenticator: Authenticator
    limiter: RateLimiter
    stores: Stores
    exports: Exports
    signer: Signer
    sessions: Sessions


def context_of(request: Request) -> Context:
    return cast("Context", request.app.state.context)


# A coroutine that never waits: FastAPI would run a plain function in a thread.
async def _context(request: Request) -> Context:
    return context_of(request)


ContextDep = Annotated[Context, Depends(_context)]
