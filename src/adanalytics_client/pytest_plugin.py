"""Fixtures for pytest: a client of each kind on the server of the fixture `adanalytics`.

pytest finds this module by its entry point in every project that has adanalytics installed, so it
imports nothing but pytest until a test requests a fixture.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from adanalytics_client import AsyncClient, Client
    from adanalytics_server.local import LocalServer


@pytest.fixture
def adanalytics_client(adanalytics: "LocalServer") -> "Iterator[Client]":
    """A `Client` that is signed in to `adanalytics`, with its own quota in memory.

    Both share one clock that stands still until it is moved: a wait of the client moves it and ends
    at once.
    """
    from adanalytics_client import Client
    from adanalytics_client.testing import MovableClock, _options

    with Client(adanalytics.url, **_options(adanalytics, MovableClock.of(adanalytics))) as client:
        yield client


@pytest.fixture
def adanalytics_async_client(adanalytics: "LocalServer") -> "AsyncClient":
    """As `adanalytics_client`, for asyncio; enter it with `async with` in the test's event loop."""
    from adanalytics_client import AsyncClient
    from adanalytics_client.testing import MovableClock, _options

    return AsyncClient(adanalytics.url, **_options(adanalytics, MovableClock.of(adanalytics)))
