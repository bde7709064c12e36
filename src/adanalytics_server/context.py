"""The parts of a running server, as a dependency of its endpoints."""

from dataclasses import dataclass
from typing import Annotated, cast

from fastapi import Depends
from starlette.requests import Request

from .accounts.api_keys import ApiKeys
from .accounts.auth import Authenticator, SignIns
from .accounts.credentials import Tokens
from .accounts.people import Accounts
from .accounts.ratelimit import RateLimiter
from .accounts.sessions import Sessions
from .clock import Clock
from .exports.download import Signer
from .exports.jobs import Exports
from .settings import Settings
from .storage.store import Stores


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
