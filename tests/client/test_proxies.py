"""What lies between the client and the service is told: proxies and certificates; both variants."""

import os
import socket
import ssl
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.client.bench import Bench
from tests.client.stand_in import Asked, Say, StandIn
from tests.client.variants import OpenVariant
from tests.client.wire import Wire, served_with, sized

import adanalytics_client
from adanalytics_client import RetryPolicy, errors
from adanalytics_client._io.proxies import Proxies

DATES = {"dates": ["2026-01-15"]}
REFUSING = b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n"


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.upper().endswith("_PROXY"):
            monkeypatch.delenv(name)


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
    return port


def test_a_proxy_that_is_not_there_is_told_without_its_password(
    open_variant: OpenVariant, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"127.0.0.1:{closed_port()}"
    monkeypatch.setenv("HTTP_PROXY", f"http://user:s3cret@{address}")
    with pytest.raises(errors.TransportError) as caught:
        open_variant("http://stats.example").call("dates")
    told = f"connect to stats.example through the proxy http://{address} from the environment: Conn"
    assert told in str(caught.value)
    assert "s3cret" not in f"{caught.value!r}{vars(caught.value)}"


def test_a_request_past_the_proxies_tells_of_none(
    open_variant: OpenVariant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "other.example, 127.0.0.1")
    with pytest.raises(errors.TransportError) as caught:
        open_variant(f"http://127.0.0.1:{closed_port()}").call("dates")
    assert "proxy" not in str(caught.value)


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_proxy_that_asks_for_a_login(
    open_variant: OpenVariant,
    wire: Callable[..., Wire],
    monkeypatch: pytest.MonkeyPatch,
    scheme: str,
) -> None:
    proxy = wire([REFUSING], [REFUSING])
    monkeypatch.setenv("ALL_PROXY", proxy.url)
    with pytest.raises(errors.AdAnalyticsError) as caught:
        open_variant(f"{scheme}://stats.example").call("dates")
    assert "A proxy asks for a login (407)" in str(caught.value)
    assert "HTTP_PROXY=http://USER:PASSWORD@HOST:PORT" in str(caught.value)
    assert (len(proxy.heads), caught.value.attempts) == (1, 1)


@pytest.mark.parametrize(
    ("proxy", "message"),
    [
        ("socks5://127.0.0.1:9", r"needs socksio; install it with: pip install 'httpx\[socks\]'"),
        ("gopher://user:s3cret@127.0.0.1:9", "is not a proxy address"),
        ("http://127.0.0.1:port", "is not a proxy address"),
        ("http://u:s3cret@127.0.0.1:99999", "ALL_PROXY is not a proxy address"),
        (":3128", "ALL_PROXY is not a proxy address"),
        ("http://", "ALL_PROXY is not a proxy address"),
        ("a proxy", "ALL_PROXY is not a proxy address"),
        ("'http://127.0.0.1:9'", "ALL_PROXY is not a proxy address"),
        ("http://[::1", "ALL_PROXY is not a proxy address"),
        ("http://user:12#s3cret@127.0.0.1:9", "ALL_PROXY holds a /, .* write it as %2F"),
        ("user:s3cret/t@127.0.0.1:9", "ALL_PROXY holds a /, .* write it as %2F"),
    ],
)
def test_a_proxy_that_cannot_be_used_is_a_wrong_setting(
    open_variant: OpenVariant, monkeypatch: pytest.MonkeyPatch, proxy: str, message: str
) -> None:
    monkeypatch.setenv("ALL_PROXY", proxy)
    with pytest.raises(errors.ConfigurationError, match=message) as caught:
        open_variant("http://stats.example")
    report = traceback.TracebackException.from_exception(caught.value, capture_locals=True)
    (home,) = adanalytics_client.__path__
    frames = [f"{each.locals}" for each in report.stack if each.filename.startswith(home)]
    assert frames
    assert "s3cret" not in f"{frames}{caught.value}"


UNCLEAR = ["[::1", "::1]", "127.0.0.0/33", "a:b", "a.example/x", "a:1:2", '"a.example"']


@pytest.mark.parametrize("entry", UNCLEAR)
def test_an_exclusion_that_is_none_is_a_wrong_setting(
    open_variant: OpenVariant, monkeypatch: pytest.MonkeyPatch, entry: str
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", f"b.example,{entry}")
    with pytest.raises(errors.ConfigurationError, match="is not a host, an address or") as caught:
        open_variant("http://stats.example")
    assert entry in caught.value.message
    open_variant("http://b.example")
    monkeypatch.delenv("HTTP_PROXY")
    open_variant("http://stats.example")


@pytest.mark.parametrize("exclusion", ["192.0.2.0/24", "192.0.2.*", "::ffff:c000:200/120, x"])
def test_an_excluded_address_sends_nothing_to_the_proxy(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, exclusion: str
) -> None:
    monkeypatch.setenv("HTTP_PROXY", bench.url)
    bench.says(Say(DATES))
    once = RetryPolicy(attempts=1, budget=0.5)
    host = "192.0.2.1" if "ffff" not in exclusion else "[::ffff:192.0.2.1]"
    assert len(bench.open(f"http://{host}").call("dates")) == 1
    assert len(bench.asked) == 1
    monkeypatch.setenv("NO_PROXY", exclusion)
    with pytest.raises(errors.TransportError):
        bench.open(f"http://{host}", retry=once, timeout=0.3).call("dates")
    assert len(bench.asked) == 1


@pytest.mark.parametrize("name", ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"])
def test_a_server_on_this_machine_needs_no_exclusion(
    bench: Bench, other_origin: StandIn, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, other_origin.url)
    bench.says(Say(DATES))
    for host in ("127.0.0.1", "localhost"):
        assert len(bench.open(bench.url.replace("127.0.0.1", host)).call("dates")) == 1
    assert other_origin.asked == []


def test_a_proxy_of_other_requests_may_be_wrong(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", f" {bench.url} ")
    monkeypatch.setenv("HTTPS_PROXY", "gopher://nowhere")
    monkeypatch.setenv("ALL_PROXY", "socks5://127.0.0.1:9")
    bench.says(Say(DATES))
    assert len(bench.open("http://stats.example").call("dates")) == 1
    with pytest.raises(errors.ConfigurationError, match="HTTPS_PROXY is not a proxy address"):
        bench.open("https://stats.example")


def test_a_wrong_proxy_that_nothing_goes_through(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:99999")
    monkeypatch.setenv("NO_PROXY", "*")
    bench.says(Say(DATES))
    assert len(bench.open().call("dates")) == 1


@pytest.mark.parametrize(
    ("user_info", "shown"),
    [
        ("user:s3cret%2Fw%20rd", "*** user:*** ***"),
        # Without a password the user is what nobody may see.
        ("t0ken", "*** *** s3cret/w rd"),
        ("t0ken:", "*** ***: s3cret/w rd"),
    ],
)
def test_what_echoes_the_login_of_a_proxy(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, user_info: str, shown: str
) -> None:
    monkeypatch.setenv("HTTP_PROXY", bench.url.replace("://", f"://{user_info}@"))

    def script(asked: Asked) -> Say:
        login = asked.headers["proxy-authorization"].removeprefix("Basic ")
        return Say({"error": f"{login} {user_info} s3cret/w rd"}, status=400)

    bench.script = script
    with pytest.raises(errors.InvalidRequest) as caught:
        bench.open("http://stats.example").call("dates")
    assert caught.value.reason == shown


def test_a_certificate_that_is_not_trusted_is_asked_for_once(
    open_variant: OpenVariant, wire: Callable[..., Wire], certificate: Path
) -> None:
    server = wire(*[[sized(b"")]] * 3, context=served_with(certificate))
    with pytest.raises(errors.TransportError, match="is not trusted: self-signed certificate") as e:
        open_variant(server.url).call("dates")
    assert "SSL_CERT_FILE" in str(e.value)
    assert (len(server.heads), e.value.attempts) == (1, 1)


def test_a_certificate_of_another_host_is_told(
    open_variant: OpenVariant, wire: Callable[..., Wire], trusted: ssl.SSLContext
) -> None:
    server = wire([sized(b"")], context=trusted)
    with pytest.raises(errors.TransportError, match="not valid for 'localhost'") as caught:
        open_variant(server.url.replace("127.0.0.1", "localhost")).call("dates")
    assert caught.value.attempts == 1


def test_a_proxy_that_works_is_used(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", bench.url.removeprefix("http://"))
    bench.says(Say(DATES))
    assert len(bench.open("http://stats.example").call("dates")) == 1
    assert bench.asked[0].target.startswith("http://stats.example/")


@pytest.mark.parametrize(
    ("url", "proxy"),
    [
        ("http://a.example/x", "http://one:1"),
        ("https://a.example/x", "http://all:2"),
        ("http://A.spared.example/x", None),
        ("http://[::1]:80/x", None),
    ],
)
def test_which_proxy_a_request_goes_through(url: str, proxy: str | None) -> None:
    known = {"http": "u:p@one:1", "all": "http://all:2", "no": " .Spared.example,::1"}
    assert Proxies(known).of(url) == proxy
    assert "u:p" not in repr(Proxies(known))


@pytest.mark.parametrize("user_info", ["u:12#s3cret@", "u:s3/cret@", "u:s3?c@ret@", "s3cret@"])
@pytest.mark.parametrize("scheme", ["http://", ""])
def test_no_user_info_is_shown_whatever_it_holds(scheme: str, user_info: str) -> None:
    proxies = Proxies({"all": f"{scheme}{user_info}one:1"})
    assert proxies.of("http://a.example") == "http://one:1"


@pytest.mark.parametrize(
    ("exclusion", "url", "excluded"),
    [
        ("*", "http://b.example", True),
        ("a, *", "http://b.example", True),
        ("10.0.0.0/8", "http://10.9.8.7", True),
        ("10.1.2.3/8", "http://10.9.8.7", True),
        ("10.0.0.0/8", "http://11.9.8.7", False),
        ("10.0.0.0/8", "http://10.1", True),
        ("192.0.2.0/24", "http://[::ffff:192.0.2.1]", True),
        ("0.0.0.0/0", "http://a.example", False),
        ("[2001:db8::1]", "https://[2001:db8::1]:8443", True),
        ("[2001:DB8::1]:443", "https://[2001:db8:0::1]", True),
        ("[2001:db8::1]:444", "https://[2001:db8::1]", False),
        ("2001:db8::/32", "https://[2001:db8:1::1]", True),
        ("[2001:db8::]/32", "https://[2001:db8:1::1]", True),
        ("2001:db8::/32", "https://[2001:db9::1]", False),
        ("fe80::1%eth0", "http://[fe80::1]", True),
        ("a.example", "http://A.example.", True),
        (".a.example.", "http://a.example", True),
        (".a.example", "http://b.a.example", True),
        ("*.a.example", "http://b.a.example", True),
        ("a.example", "http://ba.example", False),
        ("a.example:8080", "http://a.example:8080", True),
        ("a.example:8080", "http://a.example", False),
        ("https://a.example/", "https://a.example", True),
        ("https://a.example", "http://a.example", False),
        ("xn--bcher-kva.example", "http://bücher.example", True),
        ("bücher.example", "http://a.xn--bcher-kva.example", True),
        ("*.bücher.example", "http://a.xn--BCHER-kva.example", True),
        ("xn--.example", "http://xn--.example", True),
        ("b.example a.example", "http://a.example", True),
        ("b.example;a.example", "http://a.example", True),
        ("b.example | a.example", "http://a.example", True),
        (",, ,.", "http://a.example", False),
    ],
)
def test_what_no_proxy_excludes(exclusion: str, url: str, excluded: bool) -> None:
    assert (Proxies({"all": "one:1", "no": exclusion}).of(url) is None) == excluded
