"""Authentication: sign-in by password, with a limit on guessing, and ``Authorization`` headers.

Five wrong passwords within 15 minutes lock an account. The JSON login and the login page both go
through ``SignIns``, so that neither is a way around the other. Unknown e-mail addresses count like
known ones.
"""

import asyncio
import hashlib
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

from adanalytics_server.clock import Clock
from adanalytics_server.errors import ApiError, unauthorized
from adanalytics_server.storage.damage import DiskFull
from adanalytics_server.storage.state import State

from .credentials import API_KEY_PREFIX, Tokens, api_key_digest
from .people import Accounts, Partner, Role, User

MOST_WRONG = 5
SIGN_IN_WINDOW_SECONDS = 15 * 60
# Accounts remembered. To evict one, an attacker must wait for this many password hashes.
MOST_ACCOUNTS = 10_000
_WINDOW = SIGN_IN_WINDOW_SECONDS * 1000
# A key's "last used" is for people, so it is written at most once a minute.
_LAST_USED_RESOLUTION = 60_000


class Caller(NamedTuple):
    """The sender of a request: a user, and the number of the key; ``None`` for a login token."""

    user: User
    key: int | None

    @property
    def credential(self) -> str:
        """The name that counts the requests of this credential, and stands for it in the log."""
        return f"user:{self.user.number}" if self.key is None else f"key:{self.key}"


@dataclass
class Authenticator:
    """Recognises both kinds of credential; deletions apply at once, because nothing is cached."""

    _state: State
    _accounts: Accounts
    _tokens: Tokens
    _clock: Clock

    async def caller(self, authorization: str | None) -> Caller:
        """Return the sender of an ``Authorization`` header, or raise ``ApiError`` 401."""
        scheme, _, credential = (authorization or "").partition(" ")
        credential = credential.strip()
        if scheme.lower() != "bearer" or not credential:
            raise unauthorized()
        # The prefix tells a key from a token, so only one of the two is looked up.
        if credential.startswith(API_KEY_PREFIX):
            return await self._by_key(credential)
        number = self._tokens.user_of(credential)
        user = None if number is None else await self._accounts.user(number)
        if user is None:
            raise unauthorized()
        return Caller(user, key=None)

    async def partner(self, caller: Caller, partner_id: str) -> Partner:
        """Return the partner that a caller asked for.

        Raises:
            ApiError: 404 for an admin if it does not exist; 403 for others if they are not linked
                to it, whether it exists or not.
        """
        for partner in await self._accounts.partners_of(caller.user):
            if partner.id == partner_id:
                return partner
        # Others must not learn which partners exist.
        is_admin = caller.user.role == "admin"
        raise ApiError(404 if is_admin else 403)

    async def _by_key(self, key: str) -> Caller:
        row = await self._state.row(
            "SELECT api_keys.number, api_keys.last_used_at, users.number AS user,"
            " users.email, users.role FROM api_keys"
            " JOIN users ON users.number = api_keys.user WHERE api_keys.digest = ?",
            api_key_digest(key),
        )
        if row is None:
            raise unauthorized()
        now = self._clock.milliseconds()
        if row["last_used_at"] is None or abs(now - row["last_used_at"]) > _LAST_USED_RESOLUTION:
            # A full disk must not refuse a request that only reads.
            with suppress(DiskFull):
                await self._state.write(
                    "UPDATE api_keys SET last_used_at = ? WHERE number = ?", now, row["number"]
                )
        role: Role = row["role"]
        return Caller(User(row["user"], row["email"], role), key=row["number"])


class TooManyAttempts(ApiError):
    """An account is locked for ``seconds``, even with the right password."""

    def __init__(self, seconds: int) -> None:
        super().__init__(429, headers={"Retry-After": str(seconds)})
        self.seconds = seconds


@dataclass(eq=False, repr=False)
class SignIns:
    """Checks passwords, one at a time, so that parallel guesses count exactly."""

    _accounts: Accounts
    _clock: Clock
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    # The times of wrong passwords by account, in ms since 1970.
    _failures: dict[bytes, list[int]] = field(default_factory=dict)

    async def sign_in(self, email: str, password: str) -> User | None:
        """Return the user that an e-mail and a password belong to, or ``None``.

        Raises:
            TooManyAttempts: the account is locked.
        """
        # A digest, so that a long e-mail takes no more memory.
        account = hashlib.sha256(email.lower().encode(errors="replace")).digest()
        async with self._turn:
            begin = self._clock.milliseconds() - _WINDOW
            failures = [time for time in self._failures.get(account, ()) if time > begin]
            if len(failures) >= MOST_WRONG:
                raise TooManyAttempts(-((begin - failures[0]) // 1000))
            self._failures.pop(account, None)
            user = await self._accounts.sign_in(email, password)
            if user is None:
                self._failures[account] = [*failures, self._clock.milliseconds()]
            if len(self._failures) > MOST_ACCOUNTS:
                self._failures.pop(next(iter(self._failures)))
            return user

    def capture(self) -> dict[bytes, list[int]]:
        return self._failures.copy()

    def restore(self, state: dict[bytes, list[int]]) -> None:
        self._failures = state.copy()
