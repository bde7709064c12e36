"""Own data of a test: partners, users and events that it puts on a running server."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from adanalytics_server.accounts.people import Role
from adanalytics_server.context import Context
from adanalytics_server.loading.load import load_file
from adanalytics_server.loading.mapping import Mapping
from adanalytics_server.loading.rows import GivenRows
from adanalytics_server.seed.generate import Sample, generate

ADMIN_EMAIL = "admin@example.com"
PASSWORD = "correct-horse-battery"  # noqa: S105  # of servers that live for a test
# Precomputed: hashing is slow on purpose, and this password is not a secret.
HASHED = (
    "$argon2id$v=19$m=19456,t=2,p=1$bG9jYWwtc2VydmVyLWtleQ"
    "$pC/SlKJ+3hPzQcQO5AqqjG2HOemVmF+1nQjiYyptX5E"
)


async def give_access(context: Context, id: str, currency: str = "USD") -> dict[str, object]:  # noqa: A002  # the field
    """Return a new API key and more, after adding the partner and an admin if they are missing."""
    # Several tests may ask for the same access.
    if id not in {partner.id for partner in await context.accounts.partners()}:
        await add_partner(context, id, currency)
    if ADMIN_EMAIL not in {user.email for user in await context.accounts.users()}:
        await add_user(context, ADMIN_EMAIL, "admin")
    return {
        "api_key": await context.api_keys.create(ADMIN_EMAIL, name="local server"),
        "email": ADMIN_EMAIL,
        "password": PASSWORD,
        "rate_limit": context.settings.rate_limit,
    }


async def add_partner(context: Context, id: str, currency: str = "USD") -> dict[str, object]:  # noqa: A002  # the field
    """Add a partner, named after its id."""
    partner = await context.accounts.add_partner(id, name=id.title(), currency=currency)
    return {"id": partner.id, "currency": partner.currency}


async def add_user(
    context: Context,
    email: str,
    role: Role = "analyst",
    partners: tuple[str, ...] = (),
    password: str | None = None,
) -> dict[str, object]:
    """Add a user, by default with ``PASSWORD``."""
    if password is None:
        add = context.accounts.add_user_with_hash
        user = await add(email, password_hash=HASHED, role=role, partners=partners)
    else:
        add_user = context.accounts.add_user
        user = await add_user(email, password=password, role=role, partners=partners)
    return {"email": user.email, "role": user.role}


async def add_events(
    context: Context,
    partner: str,
    events: list[dict[str, Any]],
    replace_hours: bool = False,  # a field
) -> dict[str, object]:
    """Load events like the rows of a file, all or none."""
    load = partial(load_file, mapping=Mapping.parse(), replace_hours=replace_hours)
    return await _store(context, partner, load, GivenRows(events))


async def add_sample(context: Context, partner: str, sample: Sample) -> dict[str, object]:
    return await _store(context, partner, generate, sample)


async def _store(
    context: Context, partner: str, function: Callable[..., Any], source: object
) -> dict[str, object]:
    account = await context.accounts.partner(partner)
    store = context.stores.of(account.number)
    report = await asyncio.to_thread(
        function, store, source, partner_id=account.id, currency=account.currency
    )
    return {"stored": report.stored, "duplicates": report.duplicates}


# By the last part of their path.
ADDITIONS: dict[str, Callable[..., Awaitable[dict[str, object]]]] = {
    "access": give_access,
    "events": add_events,
    "partners": add_partner,
    "sample": add_sample,
    "users": add_user,
}
