"""What the client's tests share: a scripted stand-in server, a moved clock, and both variants."""

import os
import ssl
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.client.bench import Bench
from tests.client.moved_clock import MovedClock
from tests.client.object_store import Store
from tests.client.one_export import OneExport
from tests.client.stand_in import StandIn
from tests.client.variants import AsyncVariant, OpenVariant, SyncVariant, Variant
from tests.client.wire import Wire, certified, served_with

from adanalytics_client import AsyncClient, Client, RetryPolicy
from adanalytics_server.local import LocalServer, Sample


@pytest.fixture(autouse=True)
def no_power_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for no disk: what a process wrote stays, also if it is killed."""
    monkeypatch.setattr(os, "fsync", lambda _descriptor: None)


@pytest.fixture
def stand_in() -> Iterator[StandIn]:
    with closing(StandIn()) as server:
        yield server


@pytest.fixture
def other_origin() -> Iterator[StandIn]:
    """A second server, which must never see a credential."""
    with closing(StandIn()) as server:
        yield server


@pytest.fixture
def clock() -> MovedClock:
    return MovedClock()


@pytest.fixture
def library(request: pytest.FixtureRequest) -> str:
    """The library that sends; see `BOTH_LIBRARIES`."""
    return getattr(request, "param", "httpx")


@pytest.fixture(scope="session")
def no_authorities() -> ssl.SSLContext:
    """For httpx2, which reads all public certificates whatever the environment says."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


@pytest.fixture(params=["sync", "async"])
def open_variant(
    request: pytest.FixtureRequest,
    stand_in: StandIn,
    clock: MovedClock,
    library: str,
    no_authorities: ssl.SSLContext,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[OpenVariant]:
    """Open a client on the stand-in, in both variants, with a moved clock and no jitter."""
    monkeypatch.setattr("adanalytics_client._call.retry.random", lambda: 1.0)
    opened: list[Variant] = []
    senders: list[tuple[Variant, Any]] = []

    def open_one(base_url: str | None = None, **options: Any) -> Variant:
        if not {"api_key", "token", "email"} & options.keys():
            options["api_key"] = "secret-key"
        settings: dict[str, Any] = {
            "partner": "acme",
            "clock": clock,
            "retry": RetryPolicy(attempts=3),
            "timeout": 10.0,
            **options,
        }
        if library == "httpx2":
            kind = httpx2.Client if request.param == "sync" else httpx2.AsyncClient
            settings.setdefault("http", kind(timeout=10.0, verify=no_authorities))
        url = base_url or stand_in.url
        variant: Variant = (
            SyncVariant(Client(url, **settings))
            if request.param == "sync"
            else AsyncVariant(AsyncClient(url, **settings))
        )
        opened.append(variant)
        if library == "httpx2":
            senders.append((variant, settings["http"]))
        return variant

    yield open_one
    for variant, http in senders:
        variant.on(http, "close" if request.param == "sync" else "aclose")
    for variant in opened:
        variant.close()


@pytest.fixture
def variant(open_variant: OpenVariant) -> Variant:
    return open_variant()


@pytest.fixture
def bench(stand_in: StandIn, open_variant: OpenVariant, clock: MovedClock) -> Bench:
    return Bench(stand_in, open_variant, clock)


@pytest.fixture
def export(bench: Bench, tmp_path: Path) -> OneExport:
    return OneExport(bench.stand_in, bench.open, bench.clock, tmp_path)


@pytest.fixture
def store(stand_in: StandIn, open_variant: OpenVariant, tmp_path: Path) -> Store:
    return Store(stand_in, open_variant, tmp_path / "out.csv")


@pytest.fixture(scope="session")
def reference() -> Iterator[LocalServer]:
    """The real reference server with two generated days and exports done by its worker."""
    sample = Sample(days=2, events_per_day=1_500, seed=7)
    with LocalServer(sample=sample, export_inline_max=100, rate_limit=5000) as server:
        yield server


@pytest.fixture(params=["sync", "async"])
def reference_variant(request: pytest.FixtureRequest, reference: LocalServer) -> Iterator[Variant]:
    """A client with real time on the reference server, in both variants."""
    options: dict[str, Any] = {"api_key": reference.api_key, "partner": reference.partner}
    variant: Variant = (
        SyncVariant(Client(reference.url, **options))
        if request.param == "sync"
        else AsyncVariant(AsyncClient(reference.url, **options))
    )
    yield variant
    variant.close()


@pytest.fixture
def wire() -> Iterator[Callable[..., Wire]]:
    opened: list[Wire] = []

    def make(*connections: list[bytes], context: ssl.SSLContext | None = None) -> Wire:
        opened.append(Wire(*connections, context=context))
        return opened[-1]

    yield make
    for each in opened:
        each.close()


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with a key and a certificate for 127.0.0.1."""
    return certified(tmp_path_factory.mktemp("tls") / "server.pem")


@pytest.fixture
def trusted(certificate: Path, monkeypatch: pytest.MonkeyPatch) -> ssl.SSLContext:
    """What secures a server so that clients trust it."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    return served_with(certificate)
