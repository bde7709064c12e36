"""From an ``Authorization`` header to what its sender may read."""

from dataclasses import dataclass

from adanalytics_server.accounts.credentials import API_KEY_PREFIX, Tokens, api_key_digest
from adanalytics_server.accounts.people import Accounts, Partner, Role, User
from adanalytics_server.clock import Clock
from adanalytics_server.errors import ApiError, unauthorized
from adanalytics_server.storage.state import State

# A key's "last used" is for people, so it is written once a minute at most.
_LAST_USED_RESOLUTION = 60_000


@dataclass(frozen=True, slots=True)
class Caller:
    """Who sent a request: a user, through a key (its number) or through a login (``None``)."""

    user: User
    key: int | None

    @property
    def credential(self) -> str:
        """A name for the credential to count requests by."""
        return f"user:{self.user.number}" if self.key is None else f"key:{self.key}"


class Authenticator:
    """Recognises both kinds of credential; asks the database each time, so deletion is at once."""

    def __init__(self, state: State, accounts: Accounts, tokens: Tokens, clock: Clock) -> None:
        self._state = state
        self._accounts = accounts
        self._tokens = tokens
        self._clock = clock

    async def caller(self, authorization: str | None) -> Caller:
        """Return who sent an ``Authorization`` header, or raise the one 401."""
        scheme, _, credential = (authorization or "").partition(" ")
        credential = credential.strip()
        if scheme.lower() != "bearer" or not credential:
            raise unauthorized()
        if credential.startswith(API_KEY_PREFIX):
            return await self._by_key(credential)
        number = self._tokens.user_of(credential)
        user = None if number is None else await self._accounts.user(number)
        if user is None:
            raise unauthorized()
        return Caller(user, key=None)

    async def partner(self, caller: Caller, partner_id: str) -> Partner:
        """Return the partner a caller asked for.

        Raises:
            ApiError: 404 to an admin when there is none; 403 to others when they are not
                linked to it, whether it exists or not.
        """
        row = await self._state.row("SELECT * FROM partners WHERE id = ?", partner_id)
        if row is None:
            if caller.user.role == "admin":
                raise ApiError(404, "Not Found")
            raise ApiError(403, "Forbidden")
        if not await self._accounts.may_read(caller.user, row["number"]):
            raise ApiError(403, "Forbidden")
        return Partner(row["number"], row["id"], row["name"], row["currency"])

    async def _by_key(self, key: str) -> Caller:
        row = await self._state.row(
            "SELECT api_keys.number, api_keys.last_used_at, users.number AS user,"
            " users.email, users.role FROM api_keys"
            " JOIN users ON users.number = api_keys.user WHERE api_keys.digest = ?",
            api_key_digest(key),
        )
        if row is None:
            raise unauthorized()
        now = self._clock.now()
        if row["last_used_at"] is None or abs(now - row["last_used_at"]) > _LAST_USED_RESOLUTION:
            async with self._state.writing() as connection:
                await connection.execute(
                    "UPDATE api_keys SET last_used_at = ? WHERE number = ?", (now, row["number"])
                )
        role: Role = row["role"]
        return Caller(User(row["user"], row["email"], role), key=row["number"])
