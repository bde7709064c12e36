"""Names that lead here without being this machine's own are refused."""

import asyncio
import re
import socket
from pathlib import Path

import httpx
import pytest

from adanalytics_server.app import create_app
from adanalytics_server.local import LocalServer
from adanalytics_server.serving.running import ServerThread
from adanalytics_server.settings import Settings

OWN = ["localhost", "LOCALHOST:8000", "127.0.0.1:1", "[::1]:8000", "[::1]", "10.0.0.7", "0.0.0.0:1"]
FOREIGN = ["evil.example", "evil.example:8000", "localhost.evil.example", "127.0.0.1.evil.example"]


@pytest.mark.parametrize(
    ("host", "status"), [(host, 200) for host in OWN] + [(host, 400) for host in FOREIGN]
)
def test_only_own_names_and_addresses_are_answered(
    server: LocalServer, host: str, status: int
) -> None:
    for path in ("/", "/livez"):
        answer = httpx.get(server.url + path, headers={"Host": host})
        assert answer.status_code == status
        assert answer.headers["x-request-id"]
        assert ("must name localhost" in answer.text) == (status == 400)


def test_a_foreign_name_beside_an_own_one_is_refused(server: LocalServer) -> None:
    own, foreign = b"Host: localhost\r\n", b"Host: evil.example\r\n"
    address = httpx.URL(server.url)
    for hosts in (own + foreign, foreign + own):
        with socket.create_connection((address.host, address.port), timeout=20) as connection:
            connection.sendall(b"GET /livez HTTP/1.1\r\n" + hosts + b"\r\n")
            assert connection.recv(100).startswith(b"HTTP/1.1 400 ")


def test_a_server_that_others_reach_answers_to_any_name(tmp_path: Path) -> None:
    app = create_app(Settings(data=tmp_path, any_host=True))

    async def ask() -> int:
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://stats.test") as client:
            return (await client.get("/livez")).status_code

    assert asyncio.run(ask()) == 200


def test_pages_of_named_origins_only_may_read_the_api(tmp_path: Path) -> None:
    origin = "http://localhost:5173"
    preflight = {
        "Access-Control-Request-Method": "GET",
        "Access-Control-Request-Headers": "authorization",
    }
    for cors in ((), (origin,)):
        running = ServerThread(create_app(Settings(data=tmp_path, cors=cors)))
        url = f"{running.url}/api/partners/acme/ad-analytics/dates"
        for sender in (origin, "http://evil.example"):
            is_known = sender in cors
            headers = {"Origin": sender}
            answer = httpx.get(url, headers=headers)
            allowed = answer.headers.get("access-control-allow-origin")
            assert (answer.status_code, allowed) == (401, sender if is_known else None)
            asked = httpx.options(url, headers={**headers, **preflight})
            assert (asked.status_code == 200) == is_known
            if is_known:
                assert asked.headers["access-control-allow-headers"] == "authorization"
        running.stop()


def test_the_page_of_the_api_is_there_when_asked_for_and_asks_this_server_only(
    tmp_path: Path,
) -> None:
    for docs in (False, True):
        running = ServerThread(create_app(Settings(data=tmp_path, docs=docs)))
        page = httpx.get(f"{running.url}/docs")
        parts = [*re.findall(r'(?:src|href)="(.*?)"', page.text), "/openapi.json"]
        found = [httpx.get(f"{running.url}{part}").status_code for part in parts]
        running.stop()
        if not docs:
            assert page.status_code == 404
            continue
        assert (page.status_code, found) == (200, [200] * 4)
        assert "default-src 'none'; connect-src 'self'" in page.headers["content-security-policy"]
        assert "//" not in "".join(parts)
