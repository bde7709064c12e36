"""A client on a real server of one's own, for tests of programs that use this library.

The server is the reference server on a free loopback port: real HTTP, real rules, no network. It
needs the `server` extra.
"""

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import UTC, date, datetime
from functools import partial
from math import ceil
from typing import TYPE_CHECKING

from adanalytics_client._dates import Day
from adanalytics_client._in_thread import in_thread
from adanalytics_client._reference import local_server, reference_server, running
from adanalytics_client._retry import RetryPolicy
from adanalytics_client.aclient import AsyncClient
from adanalytics_client.client import Client
from adanalytics_client.errors import ConfigurationError

if TYPE_CHECKING:
    from adanalytics_server.clock import Clock as ServerClock

FIRST_DAY = date(2026, 1, 15)

# What a wait takes in truth, so that the server's own work behind it gets its turn.
_LONGEST_PAUSE = 0.01
# On a clock of one's own, an hour that one request waits for passes for those in flight as well;
# it must not count as the time that they took.
_PATIENT = RetryPolicy(budget=1e9)


class MovableClock:
    """One time for a client and its server; it stands until somebody moves it.

    A wait of the client, for quota or before a repeat, moves it by as long as it says and is over
    at once. `now` shows where it stands.

    Requests that are under way then arrive later, and others that wait move it, too. Where a test
    asks for exact times, `concurrency=1` sends one after the other.

    Args:
        now: where it begins, with a time zone; by default the present.

    Raises:
        ConfigurationError: when the `server` extra is not installed, or for a time without a zone.

    Example:
        >>> clock = MovableClock(datetime(2026, 1, 20, tzinfo=UTC))
        >>> clock.advance(3600)
        >>> clock.now
        datetime.datetime(2026, 1, 20, 1, 0, tzinfo=datetime.timezone.utc)
    """

    def __init__(self, now: datetime | None = None) -> None:
        self.of_server = local_server().Clock()
        if now is not None:
            _check_zone(now)
        began = now or datetime.now(UTC)
        self.of_server.freeze(round(began.timestamp() * 1000))

    @property
    def now(self) -> datetime:
        """The moment at which both stand, in UTC."""
        return datetime.fromtimestamp(self.time(), tz=UTC)

    def advance(self, seconds: float) -> None:
        """Move both by so many seconds.

        Example:
            >>> clock = MovableClock(datetime(2026, 1, 20, tzinfo=UTC))
            >>> clock.advance(90)
            >>> f"{clock.now:%H:%M:%S}"
            '00:01:30'
        """
        self.of_server.advance(seconds=seconds)

    def time(self) -> float:
        """Seconds since 1970-01-01 UTC."""
        return float(self.of_server.now()) / 1000

    def monotonic(self) -> float:
        """The same; it goes back only when the server's clock is set back."""
        return self.time()

    def sleeping(self, seconds: float) -> float:
        """Move by `seconds` instead of waiting that long.

        Example:
            >>> clock = MovableClock(datetime(2026, 1, 20, tzinfo=UTC))
            >>> clock.sleeping(3600) <= 0.01, clock.now.hour
            (True, 1)
        """
        # The server counts in milliseconds; moved by less than it says, a wait might never end.
        self.advance(ceil(seconds * 1000) / 1000)
        return min(seconds, _LONGEST_PAUSE)


@contextmanager
def reference_client(
    *,
    seed: int = 0,
    start: Day = FIRST_DAY,
    days: int = 1,
    events_per_day: int = 2_000,
    partner: str = "acme",
    limit: int = 1000,
    faults: Sequence[str] = (),
    dialect: str = "reference",
    clock: MovableClock | None = None,
) -> Iterator[Client]:
    """A `Client` with an API key on a server that is filled with generated events.

    Args:
        seed: the same seed gives the same events.
        start: the first day with data, as for `events`.
        days: how many days have data; 0 starts empty.
        events_per_day: events of each of them.
        partner: the id of the partner.
        limit: requests an hour that the server allows, and the client counts, in memory.
        faults: what goes wrong, each in a few words such as `503 once per hour`.
        dialect: other answers to what the service leaves open, such as `modern`.
        clock: the time of both, to be moved; by default each has the machine's.

    Raises:
        ConfigurationError: when the `server` extra is not installed, or an argument cannot be.

    Example:
        >>> with reference_client(seed=7, faults=["503 once per hour"]) as client:
        ...     len(list(client.events("2026-01-15")))
        2000
    """
    local = reference_server(
        seed=seed,
        start=start,
        days=days,
        events_per_day=events_per_day,
        partner=partner,
        limit=limit,
        faults=faults,
        dialect=dialect,
        clock=_of_server(clock),
    )
    server = running(local)
    try:
        with Client(
            server.url,
            api_key=server.api_key,
            partner=partner,
            limit=limit,
            quota_log="memory",
            retry=_PATIENT if clock else None,
            clock=clock,
        ) as client:
            yield client
    finally:
        server.close()


@asynccontextmanager
async def async_reference_client(
    *,
    seed: int = 0,
    start: Day = FIRST_DAY,
    days: int = 1,
    events_per_day: int = 2_000,
    partner: str = "acme",
    limit: int = 1000,
    faults: Sequence[str] = (),
    dialect: str = "reference",
    clock: MovableClock | None = None,
) -> AsyncIterator[AsyncClient]:
    """The same with an `AsyncClient`.

    Example:
        >>> async with async_reference_client(seed=7) as client:
        ...     await client.dates()
        [datetime.date(2026, 1, 15)]
    """
    local = reference_server(
        seed=seed,
        start=start,
        days=days,
        events_per_day=events_per_day,
        partner=partner,
        limit=limit,
        faults=faults,
        dialect=dialect,
        clock=_of_server(clock),
    )
    # The server starts its own loop in a thread, which a running loop here must not be in.
    try:
        server = await in_thread(partial(running, local))
        async with AsyncClient(
            server.url,
            api_key=server.api_key,
            partner=partner,
            limit=limit,
            quota_log="memory",
            retry=_PATIENT if clock else None,
            clock=clock,
        ) as client:
            yield client
    finally:
        await in_thread(local.close)


def _of_server(clock: MovableClock | None) -> "ServerClock | None":
    if not isinstance(clock, MovableClock | None):
        raise ConfigurationError(f"clock={clock!r}: pass a MovableClock, or None.")
    return clock.of_server if clock else None


def _check_zone(now: object) -> None:
    if not isinstance(now, datetime) or now.tzinfo is None:
        raise ConfigurationError(
            f"now={now!r}: pass a datetime with a time zone, such as "
            "datetime(2026, 1, 20, tzinfo=UTC)."
        )
