"""What the server's tests share: events made by hand, a store, and a running server."""

import logging
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from adanalytics_server.clock import Clock
from adanalytics_server.local import LocalServer
from adanalytics_server.storage.events import Record
from adanalytics_server.storage.ingest import ingest
from adanalytics_server.storage.store import PartnerStore

API = "/api/partners/acme/ad-analytics"


@pytest.fixture(scope="session", autouse=True)
def shown_log() -> None:
    """Let a server in this process log as one of its own does."""
    logging.getLogger("adanalytics_server").setLevel(logging.DEBUG)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[PartnerStore]:
    opened = PartnerStore(tmp_path / "1")
    yield opened
    opened.close()


START = datetime(2026, 2, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def shared_clock() -> Clock:
    clock = Clock()
    clock.freeze(START)
    return clock


@pytest.fixture
def clock(shared_clock: Clock) -> Clock:
    """A clock that stands still at 2026-02-01T00:00:00Z until a test moves it."""
    shared_clock.freeze(START)
    return shared_clock


@pytest.fixture(scope="module")
def shared_server(shared_clock: Clock) -> Iterator[LocalServer]:
    with LocalServer(clock=shared_clock) as running:
        yield running


@pytest.fixture
def server(shared_server: LocalServer, clock: Clock) -> LocalServer:
    """An empty server with its clock in the test's hands; a test that breaks its files starts one.

    It is reset between the tests of a file, which is quicker than a start.
    """
    shared_server.reset()
    return shared_server


@pytest.fixture
def http(server: LocalServer) -> Iterator[httpx.Client]:
    """A bare client that sends the server's key."""
    headers = {"Authorization": f"Bearer {server.api_key}"}
    with httpx.Client(base_url=server.url, headers=headers) as client:
        yield client


@pytest.fixture
def add_records(server: LocalServer) -> Iterator[Callable[[list[Record]], None]]:
    """Put records into the running server's folder, as a second process would."""
    opened = PartnerStore(server.settings.data / "partners" / "1")

    def add(records: list[Record]) -> None:
        ingest(opened, records)

    yield add
    opened.close()
