"""`http=`: which settings of the caller's httpx client count, and that it stays as it was."""

import gc
import gzip
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.cookiejar import Cookie
from pathlib import Path
from typing import Any

import httpx
import httpx2
import pytest
from tests.client.stand_in import Say, StandIn
from tests.client.variants import OpenVariant, Variant

from adanalytics_client import AsyncClient, Client, Observer, errors
from adanalytics_client.observers import RetryPlanned

DATES = {"dates": ["2026-01-15"]}
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


def test_what_a_service_sets_as_cookies_is_neither_sent_nor_kept(
    variant: Variant, stand_in: StandIn
) -> None:
    """A service may set ever new ones."""
    name = "cookie-of-the-service"
    stand_in.says(Say(DATES, headers={"Set-Cookie": f"{name}=x; Path=/"}))
    for _ in range(2):
        variant.call("dates")
    assert all("cookie" not in asked.headers for asked in stand_in.asked)
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
