"""Sign-in with a limit on guessing: five wrong passwords an account in a quarter of an hour.

The JSON login and the login page both go through here, so that neither is a way around the
other. An e-mail that nobody has is counted like one that somebody has.
"""

import asyncio
import hashlib
from collections import OrderedDict, deque
from dataclasses import dataclass, field

from adanalytics_server.accounts.people import Accounts, User
from adanalytics_server.clock import Clock

MOST_WRONG = 5
WINDOW_SECONDS = 15 * 60
# Accounts remembered. Whoever wants to push one out has to pay for as many password hashes.
MOST_ACCOUNTS = 10_000
_WINDOW = WINDOW_SECONDS * 1000


class TooManyAttempts(Exception):
    """An account is closed to sign-ins, right passwords too, for ``seconds``."""

    def __init__(self, seconds: int) -> None:
        super().__init__(f"too many wrong passwords: try again in {seconds} s")
        self.seconds = seconds


@dataclass(slots=True)
class _Attempts:
    """The wrong passwords of one account (ms since 1970), and who is at it now."""

    wrong: deque[int] = field(default_factory=deque)
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    visitors: int = 0


class SignIns:
    """Checks passwords, one at a time per account, so that parallel guesses count exactly."""

    def __init__(self, accounts: Accounts, clock: Clock) -> None:
        self._accounts = accounts
        self._clock = clock
        self._attempts: OrderedDict[bytes, _Attempts] = OrderedDict()

    async def sign_in(self, email: str, password: str) -> User | None:
        """Return the user that an e-mail and a password belong to, or ``None``.

        Raises:
            TooManyAttempts: the account had too many wrong passwords lately.
        """
        # A digest, so that the memory does not depend on how long an e-mail is.
        account = hashlib.sha256(email.lower().encode(errors="replace")).digest()
        attempts = self._attempts.setdefault(account, _Attempts())
        attempts.visitors += 1
        try:
            async with attempts.turn:
                return await self._one_at_a_time(attempts, email, password)
        finally:
            attempts.visitors -= 1
            self._forget(account, attempts)

    def capture(self) -> dict[bytes, tuple[int, ...]]:
        """Return what :meth:`restore` needs to come back to this state."""
        return {account: tuple(attempts.wrong) for account, attempts in self._attempts.items()}

    def restore(self, captured: dict[bytes, tuple[int, ...]]) -> None:
        """Go back to a captured state."""
        self._attempts = OrderedDict(
            (account, _Attempts(deque(wrong))) for account, wrong in captured.items()
        )

    async def _one_at_a_time(self, attempts: _Attempts, email: str, password: str) -> User | None:
        now = self._clock.now()
        while attempts.wrong and attempts.wrong[0] <= now - _WINDOW:
            attempts.wrong.popleft()
        if len(attempts.wrong) >= MOST_WRONG:
            raise TooManyAttempts(-((now - _WINDOW - attempts.wrong[0]) // 1000))
        user = await self._accounts.sign_in(email, password)
        if user is None:
            attempts.wrong.append(self._clock.now())
        else:
            attempts.wrong.clear()
        return user

    def _forget(self, account: bytes, attempts: _Attempts) -> None:
        """Keep what matters, the latest last, and no more than :data:`MOST_ACCOUNTS`."""
        if attempts.visitors:
            return
        if not attempts.wrong:
            self._attempts.pop(account, None)
            return
        self._attempts[account] = attempts
        self._attempts.move_to_end(account)
        while len(self._attempts) > MOST_ACCOUNTS:
            self._attempts.popitem(last=False)
