"""A client on a real server of one's own, for tests of programs that use this library.

The server is the reference server on a free loopback port: real HTTP, real rules, no network. It
needs the `server` extra.
"""

from asyncio import to_thread
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import date
from typing import TYPE_CHECKING

from adanalytics_client.aclient import AsyncClient
from adanalytics_client.client import Client
from adanalytics_client.errors import ConfigurationError

if TYPE_CHECKING:
    from adanalytics_server.local import LocalServer

FIRST_DAY = date(2026, 1, 15)


@contextmanager
def reference_client(
    *,
    seed: int = 0,
    start: date = FIRST_DAY,
    days: int = 1,
    events_per_day: int = 2_000,
    partner: str = "acme",
    limit: int = 1000,
) -> Iterator[Client]:
    """A `Client` with an API key on a server that is filled with generated events.

    Args:
        seed: the same seed gives the same events.
        start: the first day with data.
        days: how many days have data; 0 starts empty.
        events_per_day: events of each of them.
        partner: the id of the partner.
        limit: requests an hour that the server allows, and the client counts, in memory.

    Raises:
        ConfigurationError: when the `server` extra is not installed.

    Example:
        >>> with reference_client(seed=7) as client:
        ...     len(list(client.events("2026-01-15")))
        2000
    """
    local = _server(
        seed=seed,
        start=start,
        days=days,
        events_per_day=events_per_day,
        partner=partner,
        limit=limit,
    )
    with (
        local as server,
        Client(
            server.url, api_key=server.api_key, partner=partner, limit=limit, quota_log="memory"
        ) as client,
    ):
        yield client


@asynccontextmanager
async def async_reference_client(
    *,
    seed: int = 0,
    start: date = FIRST_DAY,
    days: int = 1,
    events_per_day: int = 2_000,
    partner: str = "acme",
    limit: int = 1000,
) -> AsyncIterator[AsyncClient]:
    """The same with an `AsyncClient`.

    Example:
        >>> async with async_reference_client(seed=7) as client:
        ...     await client.dates()
        [datetime.date(2026, 1, 15)]
    """
    local = _server(
        seed=seed,
        start=start,
        days=days,
        events_per_day=events_per_day,
        partner=partner,
        limit=limit,
    )
    # The server starts its own loop in a thread, which a running loop here must not be in.
    server = await to_thread(local.__enter__)
    try:
        async with AsyncClient(
            server.url, api_key=server.api_key, partner=partner, limit=limit, quota_log="memory"
        ) as client:
            yield client
    finally:
        await to_thread(local.close)


def _server(
    *, seed: int, start: date, days: int, events_per_day: int, partner: str, limit: int
) -> "LocalServer":
    try:
        from adanalytics_server.local import LocalServer, Sample
    except ImportError as error:
        raise ConfigurationError(
            f"The reference server needs {error.name}; "
            "install it with: pip install 'adanalytics[server]'"
        ) from None
    sample = Sample(start=start, days=days, events_per_day=events_per_day, seed=seed)
    return LocalServer(partner=partner, sample=sample if days else None, rate_limit=limit)
