"""Callers' httpx clients, by `http=` and by mocks: what counts, and what they see."""

import gc
import gzip
import json
import socket
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import date
from functools import partial
from http.cookiejar import Cookie
from pathlib import Path
from typing import Any

import httpx
import httpx2
import pytest
import respx
import vcr
from tests.client.bench import Bench
from tests.client.stand_in import Say, StandIn
from tests.client.variants import AsyncVariant, OpenVariant, SyncVariant, Variant

from adanalytics_client import (
    AsyncClient,
    Client,
    Observer,
    QuotaPolicy,
    RetryPolicy,
    TransportError,
    errors,
)
from adanalytics_client.observers import RetryPlanned

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


OpenWith = Callable[..., "tuple[Variant, Any]"]


@pytest.fixture(params=[httpx, httpx2])
def sender(request: pytest.FixtureRequest) -> Any:
    """The module whose client is the caller's."""
    return request.param


@pytest.fixture
def open_with(
    open_variant: OpenVariant, sender: Any, request: pytest.FixtureRequest
) -> Iterator[OpenWith]:
    """Open a client that sends with an HTTP client of these settings."""
    asynchronous = request.node.callspec.params["open_variant"] == "async"
    opened: list[tuple[Variant, Any]] = []

    def open_one(*, client: dict[str, Any] | None = None, **settings: Any) -> tuple[Variant, Any]:
        kind = sender.AsyncClient if asynchronous else sender.Client
        http = kind(**settings)
        opened.append((open_variant(http=http, **(client or {})), http))
        return opened[-1]

    yield open_one
    for variant, http in opened:
        variant.on(http, "aclose" if asynchronous else "close")


def test_it_is_neither_changed_nor_closed(open_with: OpenWith, stand_in: StandIn) -> None:
    stand_in.says(Say(DATES, headers={"Set-Cookie": "a=b"}))
    variant, http = open_with(headers={"X-Mine": "1"}, cookies={"c": "d"}, auth=("u", "p"))
    before = (dict(http.headers), dict(http.cookies), http.timeout, http.auth)
    variant.call("dates")
    variant.call("dates")
    variant.on(variant.client, "close")
    assert (dict(http.headers), dict(http.cookies), http.timeout, http.auth) == before
    assert not http.is_closed
    assert all("cookie" not in asked.headers for asked in stand_in.asked)
    assert stand_in.asked[0].headers["authorization"] == "Bearer secret-key"


def test_what_a_service_sets_as_cookies_is_neither_sent_nor_kept(bench: Bench) -> None:
    """A service may set ever new ones."""
    name = "cookie-of-the-service"
    bench.says(Say(DATES, headers={"Set-Cookie": f"{name}=x; Path=/"}))
    for _ in range(2):
        bench.call("dates")
    assert all("cookie" not in asked.headers for asked in bench.asked)
    assert name not in {cookie.name for cookie in gc.get_objects() if type(cookie) is Cookie}


def test_its_headers_go_to_the_service_only(
    open_with: OpenWith, stand_in: StandIn, other_origin: StandIn, tmp_path: Path
) -> None:
    headers = {
        "X-Gateway": "g",
        "User-Agent": "mine/1",
        "Authorization": "Basic eA==",
        "Cookie": "sid=1",
        "Accept-Encoding": "br",
    }
    stand_in.says(Say({"download_url": f"{other_origin.url}/f.csv"}))
    other_origin.says(Say(b"a,b\r\n"))
    variant, _ = open_with(headers=headers)
    variant.call("export", "2026-01-15", to=tmp_path / "f.csv", check="none")
    home, away = stand_in.asked[0].headers, other_origin.asked[0].headers
    assert (home["x-gateway"], home["user-agent"]) == ("g", "mine/1")
    assert home["authorization"] == "Bearer secret-key"
    assert home["accept-encoding"] == "gzip"
    assert "cookie" not in home
    assert not {"x-gateway", "authorization", "cookie"} & away.keys()
    assert away["user-agent"].startswith("adanalytics/")


def test_a_login_goes_without_its_authorization(open_with: OpenWith, stand_in: StandIn) -> None:
    stand_in.says(Say({"token": "tok-1"}), Say(DATES))
    variant, _ = open_with(
        headers={"Authorization": "Basic eA=="}, client={"email": "a@b", "password": "pass-word"}
    )
    variant.call("dates")
    assert "authorization" not in stand_in.asked[0].headers
    assert stand_in.asked[1].headers["authorization"] == "Bearer tok-1"


@pytest.mark.parametrize(
    ("client", "waits"),
    [
        ({"timeout": None}, {"connect": 1.0, "read": 2.0, "write": 3.0, "pool": None}),
        ({"timeout": 9.0}, {"connect": 9.0, "read": 9.0, "write": 9.0, "pool": None}),
    ],
)
def test_its_timeouts_count_unless_the_client_has_its_own(
    open_with: OpenWith, sender: Any, client: dict[str, Any], waits: dict[str, Any]
) -> None:
    seen: list[Any] = []

    def answer(request: httpx.Request) -> Any:
        seen.append(request.extensions["timeout"])
        return sender.Response(200, json=DATES)

    variant, _ = open_with(
        client=client,
        transport=sender.MockTransport(answer),
        timeout=sender.Timeout(connect=1.0, read=2.0, write=3.0, pool=4.0),
    )
    variant.call("dates")
    assert seen == [waits]


@pytest.mark.parametrize("packed", [False, True])
def test_a_transport_may_answer_with_a_whole_response(
    open_with: OpenWith, sender: Any, *, packed: bool
) -> None:
    plain = b'{"dates": ["2026-01-15"]}'

    def answer(_: httpx.Request) -> Any:
        if packed:
            return sender.Response(
                200, content=gzip.compress(plain), headers={"Content-Encoding": "gzip"}
            )
        return sender.Response(200, content=plain)

    variant, _ = open_with(transport=sender.MockTransport(answer))
    assert len(variant.call("dates")) == 1


@pytest.mark.parametrize("packed", [False, True])
def test_a_hook_may_have_read_the_response(
    open_with: OpenWith, stand_in: StandIn, *, packed: bool
) -> None:
    plain = b'{"dates": ["2026-01-15"]}'
    headers = {"Content-Encoding": "gzip"} if packed else {}
    stand_in.says(Say(gzip.compress(plain) if packed else plain, headers=headers))
    variant, http = open_with()
    seen: list[bytes] = []

    def read(response: httpx.Response) -> None:
        seen.append(response.read())

    async def aread(response: httpx.Response) -> None:
        seen.append(await response.aread())

    http.event_hooks["response"].append(aread if hasattr(http, "aclose") else read)
    assert len(variant.call("dates")) == 1
    assert seen == [plain]


def test_an_exception_of_a_hook_reaches_the_caller(
    open_with: OpenWith, stand_in: StandIn, sender: Any
) -> None:
    """It is neither a broken connection nor a reason to send a 429 four times more."""
    stand_in.says(Say({"error": "Too Many Requests"}, status=429))
    variant, http = open_with()

    def refuse(response: httpx.Response) -> None:
        response.raise_for_status()

    async def arefuse(response: httpx.Response) -> None:
        response.raise_for_status()

    http.event_hooks["response"].append(arefuse if hasattr(http, "aclose") else refuse)
    with pytest.raises(sender.HTTPStatusError, match="429"):
        variant.call("dates")
    assert len(stand_in.asked) == 1


def test_an_object_of_another_kind_is_refused() -> None:
    with httpx2.Client() as other, httpx.Client() as of_threads:
        for wrong in (object(), other, of_threads):
            with pytest.raises(errors.ConfigurationError, match=r"an httpx\.AsyncClient, or"):
                AsyncClient("http://x.example", api_key="k", http=wrong)  # type: ignore[arg-type]
    with pytest.raises(errors.ConfigurationError, match="http= is not valid"):
        Client("http://x.example", api_key="k", http=object())  # type: ignore[arg-type]


def test_a_closed_client_is_refused() -> None:
    http = httpx.Client()
    http.close()
    with pytest.raises(errors.ConfigurationError, match="already closed"):
        Client("http://x.example", api_key="k", http=http)


def test_one_that_its_owner_has_closed_is_not_used(open_with: OpenWith, stand_in: StandIn) -> None:
    """httpx would open a connection in it that nobody closes."""
    stand_in.says(Say(DATES))
    variant, http = open_with()
    variant.call("dates")
    variant.on(http, "aclose" if hasattr(http, "aclose") else "close")
    before = variant.client.quota
    for call in (lambda: variant.call("dates"), lambda: variant.rows("2026-01-15")):
        with pytest.raises(errors.ConfigurationError, match="http= is already closed"):
            call()
    assert (len(stand_in.asked), variant.client.quota) == (1, before)


def test_one_that_its_owner_closes_amid_a_call_is_not_used_again(
    open_with: OpenWith, sender: Any
) -> None:
    asked: list[httpx.Request] = []

    def answer(request: httpx.Request) -> Any:
        asked.append(request)
        return sender.Response(503)

    class Closing(Observer):
        def retry(self, info: RetryPlanned) -> None:  # noqa: ARG002  # as inherited
            if isinstance(http, sender.Client):
                http.close()
            else:
                # Nothing in it waits.
                with suppress(StopIteration):
                    http.aclose().send(None)

    transport = sender.MockTransport(answer)
    variant, http = open_with(transport=transport, client={"observer": Closing()})
    with pytest.raises(errors.ConfigurationError, match="http= is already closed"):
        variant.call("dates")
    assert len(asked) == 1
