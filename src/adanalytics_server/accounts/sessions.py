"""Sessions of the web area, and new keys until they are shown.

A session is 256 random bits in a cookie and their digest in ``state.db``. It opens the web area
only: the Partner API ignores cookies, and its tokens and keys are not sessions. Like a token of the
API, it ends after seven days, or when its user is deleted.
"""

import hashlib
import secrets
from dataclasses import dataclass, field

from adanalytics_server.clock import Clock
from adanalytics_server.storage.state import State

from .credentials import TOKEN_LIFETIME
from .people import User

# New keys that were not shown yet; a further one replaces the oldest.
MOST_NEW_KEYS = 100


@dataclass(frozen=True)
class NewKey:
    """An API key between its creation and the one page that shows it."""

    user: int
    name: str
    key: str = field(repr=False)


@dataclass(eq=False, repr=False)
class Sessions:
    """Starts, finds and ends sessions; nothing is cached, so they end at once."""

    _state: State
    _clock: Clock
    _new_keys: dict[str, NewKey] = field(default_factory=dict)

    async def begin(self, user: User) -> str:
        token = secrets.token_urlsafe(32)
        now = self._clock.milliseconds()
        async with self._state.writing() as connection:
            await connection.execute("DELETE FROM web_sessions WHERE expires_at <= ?", (now,))
            await connection.execute(
                "INSERT INTO web_sessions VALUES (?, ?, ?)",
                (_digest(token), user.number, now + TOKEN_LIFETIME * 1000),
            )
        return token

    async def user_of(self, token: str | None) -> User | None:
        """Return the user of a session by its cookie; ``None`` if it is unknown or has ended."""
        if not token:
            return None
        row = await self._state.row(
            "SELECT number, email, role FROM web_sessions"
            " JOIN users ON users.number = web_sessions.user"
            " WHERE web_sessions.digest = ? AND web_sessions.expires_at > ?",
            _digest(token),
            self._clock.milliseconds(),
        )
        return None if row is None else User(*row)

    async def end(self, token: str | None) -> None:
        if not token:
            return
        await self._state.write("DELETE FROM web_sessions WHERE digest = ?", _digest(token))

    def keep_new_key(self, user: User, name: str, key: str) -> str:
        """Keep a new key in memory until its page is shown; return the ticket for it."""
        while len(self._new_keys) >= MOST_NEW_KEYS:
            del self._new_keys[next(iter(self._new_keys))]
        ticket = secrets.token_urlsafe(12)
        self._new_keys[ticket] = NewKey(user.number, name, key)
        return ticket

    def take_new_key(self, user: User, ticket: str) -> NewKey | None:
        """Return and forget a new key; ``None`` if it was shown or another user created it."""
        new = self._new_keys.get(ticket)
        # The address of the page may be passed on; the key is for whoever made it.
        if new is None or new.user != user.number:
            return None
        return self._new_keys.pop(ticket)


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()
