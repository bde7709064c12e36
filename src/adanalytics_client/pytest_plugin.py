"""Quiet defaults and fixtures for pytest.

In a test run a client counts its requests in memory, and raises when they are used up: otherwise a
mocked client would leave its count in the user's home, and wait for an hour. In tests that use a
fixture of this package, variables of the environment say the same to other processes. The fixtures
are a client of each kind on the server of the `adanalytics` fixture.

pytest finds this module by its entry point in every project that has adanalytics installed, so it
imports next to nothing but pytest until a test requests a fixture.
"""

import os
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING

import pytest

from ._base.variables import FALLBACKS

if TYPE_CHECKING:
    from adanalytics_server.remote import ControlledServer

    from . import AsyncClient, Client

_DEFAULTS = {"ADANALYTICS_QUOTA_LOG": "memory", "ADANALYTICS_ON_LIMIT": "raise"}


def pytest_configure(config: pytest.Config) -> None:
    """Set the defaults of the clients in this process, for the duration of the test run."""
    patch = pytest.MonkeyPatch()
    for name, value in _DEFAULTS.items():
        patch.setitem(FALLBACKS, name, value)
    config.add_cleanup(patch.undo)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Set the variables that are not yet set, for a test that uses a fixture of this package."""
    with pytest.MonkeyPatch.context() as patch:
        if any(name.startswith("adanalytics") for name in getattr(item, "fixturenames", ())):
            _set_variables(patch)
        return (yield)


def pytest_fixture_setup(fixturedef: "pytest.FixtureDef[object]") -> None:
    """Do the same for a fixture that a test asks for by `request.getfixturevalue`."""
    if fixturedef.scope == "function" and fixturedef.argname.startswith("adanalytics"):
        patch = pytest.MonkeyPatch()
        fixturedef.addfinalizer(patch.undo)
        _set_variables(patch)


def _set_variables(patch: pytest.MonkeyPatch) -> None:
    for name in _DEFAULTS.keys() - os.environ.keys():
        patch.setenv(name, _DEFAULTS[name])


@pytest.fixture
def adanalytics_sync_client(adanalytics: "ControlledServer") -> "Iterator[Client]":
    """Yield a `Client` for the server of the `adanalytics` fixture, with its own quota in memory.

    The client and the server share one clock that stands still until it is moved: when the client
    waits, the clock moves ahead and the wait ends at once.
    """
    from . import Client
    from .testing import MovableClock, _options

    with Client(adanalytics.url, **_options(adanalytics, MovableClock.of(adanalytics))) as client:
        yield client


@pytest.fixture
def adanalytics_async_client(adanalytics: "ControlledServer") -> "Iterator[AsyncClient]":
    """Yield an `AsyncClient` like `adanalytics_sync_client`; it is always closed after the test."""
    import asyncio
    from concurrent.futures import ThreadPoolExecutor

    import httpx

    from . import AsyncClient
    from .testing import MovableClock, _options

    options = _options(adanalytics, MovableClock.of(adanalytics))
    # The event loop of the test may end before the fixture: no connection waits for it.
    http = httpx.AsyncClient(limits=httpx.Limits(max_keepalive_connections=0), trust_env=False)
    client = AsyncClient(adanalytics.url, http=http, **options)
    yield client

    async def close() -> None:
        await client.close()
        await http.aclose()

    # In a thread, because asyncio.run takes the event loop away from the one that calls it.
    with ThreadPoolExecutor(max_workers=1) as thread:
        thread.submit(asyncio.run, close()).result()
