"""Plain functions that change a data folder, for the command line.

A server that runs on the folder sees each change at its next request.
"""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from adanalytics_server.accounts.api_keys import ApiKey, ApiKeys
from adanalytics_server.accounts.people import Accounts, Partner, Role, User
from adanalytics_server.clock import Clock
from adanalytics_server.storage.state import open_state

Answer = TypeVar("Answer")


def add_partner(data: Path, partner_id: str, *, name: str, currency: str) -> Partner:
    """Add a partner; see ``Accounts.add_partner``."""
    return _with_accounts(
        data, lambda accounts, _: accounts.add_partner(partner_id, name=name, currency=currency)
    )


def find_partner(data: Path, partner_id: str) -> Partner:
    """Return a partner by its id, or raise ``AccountError`` naming those that exist."""
    return _with_accounts(data, lambda accounts, _: accounts.partner(partner_id))


def list_partners(data: Path) -> list[Partner]:
    """List the partners by id."""
    return _with_accounts(data, lambda accounts, _: accounts.partners())


def add_user(
    data: Path, email: str, *, password: str, role: Role, partners: tuple[str, ...] = ()
) -> User:
    """Add a user; see ``Accounts.add_user``."""
    return _with_accounts(
        data,
        lambda accounts, _: accounts.add_user(
            email, password=password, role=role, partners=partners
        ),
    )


def list_users(data: Path) -> list[User]:
    """List the users by e-mail."""
    return _with_accounts(data, lambda accounts, _: accounts.users())


def delete_user(data: Path, email: str) -> None:
    """Delete a user and the keys it made."""
    _with_accounts(data, lambda accounts, _: accounts.delete_user(email))


def create_key(data: Path, email: str, *, name: str) -> str:
    """Make an API key for an admin and return it; nothing can show it again."""
    return _with_accounts(data, lambda _, keys: keys.create(email, name=name))


def list_keys(data: Path) -> list[ApiKey]:
    """List the keys, oldest first."""
    return _with_accounts(data, lambda _, keys: keys.all())


def delete_key(data: Path, number_or_name: str) -> None:
    """Delete a key by number or name."""
    _with_accounts(data, lambda _, keys: keys.delete(number_or_name))


def _with_accounts(data: Path, work: Callable[[Accounts, ApiKeys], Awaitable[Answer]]) -> Answer:
    async def run() -> Answer:
        clock = Clock()
        async with open_state(data) as state:
            accounts = Accounts(state, clock)
            return await work(accounts, ApiKeys(state, accounts, clock))

    return asyncio.run(run())
