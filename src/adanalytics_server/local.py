"""A real server inside the process, for tests and demonstrations.

It listens on a free port of the loopback interface and runs in a thread. Requests go through the
complete server: routing, authentication, limits, storage.
"""

import asyncio
import tempfile
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any, Self

try:
    from adanalytics_server.app import create_app
except ModuleNotFoundError as error:
    text = f"{error.name} is missing: pip install 'adanalytics[server]'"
    raise ModuleNotFoundError(text, name=error.name) from error
from adanalytics_server.accounts.api_keys import ApiKeys
from adanalytics_server.accounts.people import AccountError, Accounts, Partner
from adanalytics_server.clock import Clock
from adanalytics_server.control.controls import Controls
from adanalytics_server.faults import Fault, Faults, Journal, dialect_of
from adanalytics_server.seed.generate import generate
from adanalytics_server.serving.running import LocalServerError, ServerThread
from adanalytics_server.settings import Settings
from adanalytics_server.storage.state import open_state
from adanalytics_server.storage.store import Stores

__all__ = ["FIRST_DAY", "LocalServer", "LocalServerError", "Sample"]

ADMIN_EMAIL = "admin@example.com"
ADMIN_PASSWORD = "correct-horse-battery"  # noqa: S105  # for a server that lives for one test
# Precomputed: hashing is slow on purpose, and this password is not a secret.
ADMIN_HASH = (
    "$argon2id$v=19$m=19456,t=2,p=1$bG9jYWwtc2VydmVyLWtleQ"
    "$pC/SlKJ+3hPzQcQO5AqqjG2HOemVmF+1nQjiYyptX5E"
)
FIRST_DAY = date(2026, 1, 15)
CONTROL_SECONDS = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Data to generate before the start.

    Attributes:
        start: the first day, in UTC.
        days: the number of days.
        events_per_day: events on each day.
        seed: the same seed generates the same events.
    """

    start: date = FIRST_DAY
    days: int = 1
    events_per_day: int = 2_000
    seed: int = 0


class LocalServer:
    """A reference server on a free loopback port, with one partner, one admin and one key.

    Args:
        partner: id of the partner to create.
        currency: ISO 4217 code of the partner's currency.
        sample: events to generate first; ``None`` starts empty.
        data: folder to serve; ``None`` makes a temporary one.
        rate_limit: requests per key in any 3,600 s; 0 means no limit.
        export_inline_max: an export of up to this many rows finishes within its request.
        loose: accept unknown query parameters.
        clock: the server's clock; keep a reference to move it.
        faults: faults to arm at the start, as sentences or as ``Fault``.
        dialect: names of dialects, separated by commas.

    Raises:
        ValueError: a number is negative.
        FaultError: a fault is invalid.
        DialectError: a dialect is unknown, or choices contradict each other.

    Examples:
        >>> with LocalServer(sample=Sample(days=1, events_per_day=100)) as server:
        ...     server.url, server.api_key, server.partner
    """

    def __init__(
        self,
        *,
        partner: str = "acme",
        currency: str = "USD",
        sample: Sample | None = None,
        data: Path | None = None,
        rate_limit: int = 1000,
        export_inline_max: int = 50_000,
        loose: bool = False,
        clock: Clock | None = None,
        faults: Iterable[str | Fault] = (),
        dialect: str = "reference",
    ) -> None:
        self.partner = partner
        self.clock = clock or Clock()
        self.email = ADMIN_EMAIL
        self.password = ADMIN_PASSWORD
        self.url = ""
        self.api_key = ""
        self._currency = currency
        self._sample = sample
        self._controls = Controls(self.clock)
        self.faults.add(*faults)
        self.settings = Settings(
            data=data or Path(),
            rate_limit=rate_limit,
            export_inline_max=export_inline_max,
            loose=loose,
            test_controls=True,
            dialect=dialect_of(dialect),
        )
        self._scratch = None if data else tempfile.TemporaryDirectory(prefix="adanalytics-")
        if self._scratch:
            self.settings = replace(self.settings, data=Path(self._scratch.name))
        self._thread: ServerThread | None = None

    def __repr__(self) -> str:
        return f"LocalServer(url={self.url!r}, partner={self.partner!r})"

    def __enter__(self) -> Self:
        try:
            prepared = prepare_access(
                self.settings.data, self.clock, partner=self.partner, currency=self._currency
            )
            # In a thread, because the caller may be inside a running loop.
            with ThreadPoolExecutor(max_workers=1) as thread:
                partner, self.api_key = thread.submit(asyncio.run, prepared).result()
            if self._sample is not None:
                fill(self.settings.data, partner, self._sample)
            app = create_app(self.settings, clock=self.clock, controls=self._controls)
            self._thread = ServerThread(app)
            self.url = self._thread.url
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop the server and remove its temporary folder; may be called twice."""
        # Requests that a fault delays would delay the shutdown too.
        self.faults.clear()
        thread, self._thread = self._thread, None
        try:
            if thread is not None:
                thread.stop()
        finally:
            if self._scratch is not None:
                self._scratch.cleanup()

    @property
    def faults(self) -> Faults:
        """The armed faults; ``add``, ``clear`` and ``counts`` work while the server runs."""
        return self._controls.faults

    @property
    def journal(self) -> Journal:
        """The requests so far: ``entries`` lists them, ``clear`` forgets them."""
        return self._controls.journal

    def reset(self) -> None:
        """Restore the state after the start, in a few milliseconds.

        Restores events, accounts, exports, the request limit, the clock, the faults given to the
        constructor, and an empty journal. Requests that a fault delays continue at once.

        Raises:
            ControlError: the server is not running.
            CannotRestore: events were loaded into a partner that had more than 64 MiB.
        """
        self._control(self._controls.reset)

    def snapshot(self, name: str) -> None:
        """Save the current state, events included, under a name.

        Raises:
            ControlError: the server is not running, the name is invalid, or there are 10
                snapshots already.
        """
        self._control(lambda: self._controls.snapshot(name))

    def restore(self, name: str) -> None:
        """Restore the state of a snapshot.

        Raises:
            ControlError: the server is not running, or the snapshot does not exist.
        """
        self._control(lambda: self._controls.restore(name))

    def _control(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        loop = self._controls.loop
        asyncio.run_coroutine_threadsafe(work(), loop).result(CONTROL_SECONDS)


async def prepare_access(
    data: Path, clock: Clock, *, partner: str, currency: str
) -> tuple[Partner, str]:
    """Create the partner and the admin if they are missing, and always a new key."""
    async with open_state(data) as state:
        accounts = Accounts(state, clock)
        known = {found.id: found for found in await accounts.partners()}
        its = known.get(partner) or await accounts.add_partner(
            partner, name=partner.title(), currency=currency
        )
        try:
            await accounts.user_by_email(ADMIN_EMAIL)
        except AccountError:
            await accounts.add_user_with_hash(ADMIN_EMAIL, password_hash=ADMIN_HASH, role="admin")
        return its, await ApiKeys(state, clock).create(ADMIN_EMAIL, name="local server")


def fill(data: Path, partner: Partner, sample: Sample) -> None:
    """Generate a sample's events into the partner's files, in addition to stored events."""
    with closing(Stores(data)) as stores:
        generate(
            stores.of(partner.number),
            partner_id=partner.id,
            currency=partner.currency,
            start=sample.start,
            days=sample.days,
            events_per_day=sample.events_per_day,
            seed=sample.seed,
        )
