"""A service with two days of 300 events, 2026-01-15 and 16, and a client for it."""

from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer
from tests.client.dataset.service_of_rows import ServiceOfRows
from tests.client.dataset.shop import Shop

from adanalytics_client import Client
from adanalytics_client.dataset import Dataset, PartFormat
from adanalytics_client.dataset.pull import fetch
from adanalytics_server.local import LocalServer, Sample


@pytest.fixture(scope="session")
def server() -> Iterator[LocalServer]:
    sample = Sample(start=date(2026, 1, 15), days=2, events_per_day=300, seed=7)
    with LocalServer(sample=sample, rate_limit=0) as running:
        yield running


@pytest.fixture
def client(server: LocalServer) -> Iterator[Client]:
    server.reset()
    with Client(server.url, api_key=server.api_key, partner="acme") as opened:
        yield opened


@pytest.fixture(scope="session")
def running() -> Iterator[LocalServer]:
    with LocalServer(sample=Sample(days=2, events_per_day=600, seed=7), rate_limit=0) as server:
        yield server


@pytest.fixture(scope="session")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("saved")


@pytest.fixture
def shop(running: LocalServer, tmp_path: Path, saved: Path) -> Shop:
    running.reset()
    return Shop(running, tmp_path / "events", saved)


@pytest.fixture
def hourly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages so small that a day is asked for by the hour, as a large one is."""
    monkeypatch.setattr(fetch, "EVENTS_PER_PAGE", 25)


@pytest.fixture
def service(httpserver: HTTPServer) -> ServiceOfRows:
    return ServiceOfRows(httpserver)


@pytest.fixture
def form() -> PartFormat:
    return "parquet"


@pytest.fixture
def dataset(tmp_path: Path, form: PartFormat) -> Dataset:
    """A dataset that is not there yet, of the `form` that a test is parametrized with."""
    return Dataset(tmp_path / "events", format=form)
