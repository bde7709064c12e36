"""Mocks of httpx see every request of a client without a setting, whenever the client was made.

`base_url` is a loopback port that nobody listens on: a request that leaves fails.
"""

import gzip
import json
import socket
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import httpx2
import pytest
import respx
import vcr
from tests.client.stand_in import Say, StandIn
from tests.client.variants import AsyncVariant, SyncVariant, Variant

from adanalytics_client import AsyncClient, Client, QuotaPolicy, RetryPolicy, TransportError

DAY = "2026-01-15"
DATES = {"dates": [DAY]}
ROWS = [{"event_id": "e-1", "event_time": "2026-01-15T03:00:00.000Z", "revenue": "0.000000001"}]
EVENTS = {"data": ROWS, "meta": {"total": 1, "page": 1, "per_page": 10000}}
PACKED = {"Content-Encoding": "gzip"}
PATH = "/api/partners/acme/ad-analytics"
CASSETTE = """
interactions:
- request: {{method: GET, uri: '{url}{path}/dates', body: null, headers: {{}}}}
  response:
    status: {{code: 200, message: OK}}
    headers: {{Content-Type: [application/json]}}
    body: {{string: '{{"dates": ["2026-01-15"]}}'}}
- request:
    method: GET
    uri: '{url}{path}/events?start_date={day}&end_date={day}&hour=3&page=1&per_page=10000'
    body: null
    headers: {{}}
  response:
    status: {{code: 200, message: OK}}
    headers: {{Content-Type: [application/json]}}
    body: {{string: '{events}'}}
version: 1
"""

Mock = Callable[[], AbstractContextManager[None]]
Make = Callable[[type[Client | AsyncClient]], Variant]


@pytest.fixture
def url() -> str:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return f"http://127.0.0.1:{listener.getsockname()[1]}"


@pytest.fixture(params=["respx", "respx for httpx", "pytest-httpx", "vcrpy"])
def mock(request: pytest.FixtureRequest, url: str, tmp_path: Path) -> Mock:
    @contextmanager
    def with_respx() -> Iterator[None]:
        using = "httpx" if "for" in request.param else "httpcore"
        with respx.mock(base_url=f"{url}{PATH}", using=using) as router:
            router.get("/dates").respond(json=DATES)
            router.get("/events").respond(json=EVENTS)
            yield

    @contextmanager
    def with_pytest_httpx() -> Iterator[None]:
        httpx_mock = request.getfixturevalue("httpx_mock")
        httpx_mock.add_response(url=f"{url}{PATH}/dates", json=DATES)
        httpx_mock.add_response(json=EVENTS, match_headers={"authorization": "Bearer secret-key"})
        yield

    @contextmanager
    def with_vcrpy() -> Iterator[None]:
        cassette = tmp_path / "cassette.yaml"
        cassette.write_text(CASSETTE.format(url=url, path=PATH, day=DAY, events=json.dumps(EVENTS)))
        with vcr.use_cassette(str(cassette), record_mode="none"):
            yield

    mocks = {"pytest-httpx": with_pytest_httpx, "vcrpy": with_vcrpy}
    return mocks.get(request.param, with_respx)


@pytest.fixture(params=["arguments", "environment"])
def make(request: pytest.FixtureRequest, url: str, monkeypatch: pytest.MonkeyPatch) -> Make:
    for name, value in {"BASE_URL": url, "API_KEY": "secret-key", "PARTNER": "acme"}.items():
        monkeypatch.setenv(f"ADANALYTICS_{name}", value)
    if request.param == "arguments":
        return partial(opened, base_url=url)
    return lambda kind: variant_of(kind.from_env())


def opened(kind: type[Client | AsyncClient], base_url: str, **options: Any) -> Variant:
    settings: dict[str, Any] = {
        "api_key": "secret-key",
        "partner": "acme",
        "quota": QuotaPolicy(log="memory"),
    }
    return variant_of(kind(base_url, **settings, **options))


def variant_of(client: Client | AsyncClient) -> Variant:
    return SyncVariant(client) if isinstance(client, Client) else AsyncVariant(client)


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_pytest_httpx2_answers_for_a_client_of_httpx2(
    httpx2_mock: respx.MockRouter, kind: type[Client | AsyncClient], url: str
) -> None:
    twice = [httpx.Response(503), httpx.Response(200, json=DATES)]
    httpx2_mock.get(f"{url}{PATH}/dates").mock(side_effect=twice)
    headers = {"Authorization": "Bearer secret-key"}
    httpx2_mock.get(f"{url}{PATH}/events", headers=headers).respond(json=EVENTS)
    http = httpx2.Client() if kind is Client else httpx2.AsyncClient()
    variant = opened(kind, url, http=http, retry=RetryPolicy(first_wait=0))
    assert variant.call("dates") == [date(2026, 1, 15)]
    assert variant.rows(DAY, hour=3) == ROWS
    variant.on(http, "close" if kind is Client else "aclose")
    variant.close()


@pytest.mark.parametrize("kind", [Client, AsyncClient])
@pytest.mark.parametrize("made", ["before", "inside"])
def test_a_mock_answers_every_request(
    mock: Mock, make: Make, kind: type[Client | AsyncClient], made: str
) -> None:
    variant = make(kind) if made == "before" else None
    with mock():
        variant = variant or make(kind)
        try:
            assert variant.call("dates") == [date(2026, 1, 15)]
            assert variant.rows(DAY, hour=3) == ROWS
        finally:
            variant.close()


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_a_client_that_has_sent_before_is_mocked_too(
    mock: Mock, url: str, kind: type[Client | AsyncClient]
) -> None:
    variant = opened(kind, url, retry=RetryPolicy(attempts=1))
    with pytest.raises(TransportError, match="could not connect"):
        variant.call("dates")
    with mock():
        assert variant.call("dates") == [date(2026, 1, 15)]
        assert variant.rows(DAY, hour=3) == ROWS
    variant.close()


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_what_vcrpy_recorded_it_replays(
    kind: type[Client | AsyncClient], stand_in: StandIn, tmp_path: Path
) -> None:
    """Also a page that is packed."""
    stand_in.says(Say(gzip.compress(json.dumps(EVENTS).encode()), headers=PACKED))
    cassette = str(tmp_path / "cassette.yaml")
    for mode in ("once", "none"):
        variant = opened(kind, stand_in.url)
        with vcr.use_cassette(cassette, record_mode=mode):
            assert variant.rows(DAY, hour=3) == ROWS
        variant.close()
    assert len(stand_in.asked) == 1
