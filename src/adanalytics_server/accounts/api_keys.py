"""API keys: made by an admin, shown once, listed by their last four characters, deleted."""

import re
import secrets
from dataclasses import dataclass
from typing import NamedTuple

from adanalytics_server.clock import Clock
from adanalytics_server.storage.state import State

from .credentials import API_KEY_PREFIX, api_key_digest
from .people import AccountError, Accounts, check_name

LONGEST_KEY_NAME = 100
KEY = re.compile(API_KEY_PREFIX + r"[A-Za-z0-9_-]{8,200}")


class ApiKey(NamedTuple):
    """An API key as listed, without the key itself. Times in ms since 1970."""

    number: int
    name: str
    email: str
    last_four: str
    created_at: int
    last_used_at: int | None


@dataclass
class ApiKeys:
    """Makes, lists and deletes the keys of a server."""

    _state: State
    _clock: Clock

    async def create(self, email: str, *, name: str, key: str | None = None) -> str:
        """Make an API key for an admin and return it; nothing can show it again.

        A test may choose the ``key``, of the form ``KEY``, also one that it made before.

        Raises:
            AccountError: the user does not exist or is not an admin, or the name is empty, longer
                than ``LONGEST_KEY_NAME`` or not printable text.
        """
        user = await Accounts(self._state, self._clock).user_by_email(email)
        if user.role != "admin":
            raise AccountError(f"Only an admin can have API keys, and {email!r} is not an admin.")
        _check_key_name(name)
        key = key or API_KEY_PREFIX + secrets.token_urlsafe(32)
        await self._state.write(
            "INSERT OR IGNORE INTO api_keys (name, digest, last_four, user, created_at)"
            " VALUES (?, ?, ?, ?, ?)",
            name,
            api_key_digest(key),
            key[-4:],
            user.number,
            self._clock.milliseconds(),
        )
        return key

    async def rename(self, number: int, name: str) -> None:
        """Give a key another name, or raise ``AccountError`` as ``create``."""
        _check_key_name(name)
        await self._state.write("UPDATE api_keys SET name = ? WHERE number = ?", name, number)

    async def all(self) -> list[ApiKey]:
        """List the keys, oldest first."""
        rows = await self._state.rows(
            "SELECT api_keys.number, name, email, last_four, api_keys.created_at, last_used_at"
            " FROM api_keys JOIN users ON users.number = api_keys.user ORDER BY api_keys.number"
        )
        return [ApiKey(*row) for row in rows]

    async def delete(self, number_or_name: str) -> None:
        """Delete a key by number or by name.

        Raises:
            AccountError: no key matches, or several have this name.
        """
        keys = await self.all()
        # Numbers first: a key named "2" must not hide key 2.
        matches = [key for key in keys if str(key.number) == number_or_name] or [
            key for key in keys if key.name == number_or_name
        ]
        if not matches:
            names = ", ".join(key.name for key in keys[:10])
            raise AccountError(f"Unknown key {number_or_name!r}. Known keys: {names or 'none'}.")
        if len(matches) > 1:
            numbers = ", ".join(str(key.number) for key in matches)
            raise AccountError(f"Keys {numbers} are all named {number_or_name!r}. Give a number.")
        await self.delete_number(matches[0].number)

    async def delete_number(self, number: int) -> None:
        """Delete the key with this number, if it exists."""
        await self._state.write("DELETE FROM api_keys WHERE number = ?", number)


def _check_key_name(name: str) -> None:
    check_name(name)
    if not any(character.isprintable() and character != " " for character in name):
        raise AccountError("A key needs a name.")
    if len(name) > LONGEST_KEY_NAME:
        raise AccountError(f"The name of a key can have at most {LONGEST_KEY_NAME} characters.")
