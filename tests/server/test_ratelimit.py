"""The request limit: exact in every window of an hour, told in headers, per key."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adanalytics_server import admin
from adanalytics_server.accounts.ratelimit import RateLimiter
from adanalytics_server.clock import Clock
from adanalytics_server.local import LocalServer

API = "/api/partners/acme/ad-analytics"


@given(st.lists(st.integers(0, 2_000_000), max_size=60), st.integers(1, 5))
def test_no_window_of_an_hour_holds_more_than_the_limit_and_none_is_wasted(
    pauses: list[int], limit: int
) -> None:
    clock = Clock()
    clock.freeze(datetime(1970, 1, 12, tzinfo=UTC))
    passed: list[int] = []
    with TemporaryDirectory() as folder, closing(RateLimiter(Path(folder), clock)) as limiter:
        for pause in pauses:
            clock.advance(seconds=pause / 1000)
            now = clock.milliseconds()
            in_window = sum(now - sent < 3_600_000 for sent in passed)
            allowance = limiter.take("key:1", limit=limit)
            assert allowance.passes == (in_window < limit)
            passed += [now] if allowance.passes else []
            left = limit - sum(now - sent < 3_600_000 for sent in passed)
            assert allowance.remaining == left
            assert limiter.look("key:1", limit=limit).remaining == left


@pytest.fixture
def limiter(tmp_path: Path, clock: Clock) -> Iterator[RateLimiter]:
    with closing(RateLimiter(tmp_path, clock)) as opened:
        yield opened


def test_waiting_as_long_as_it_says_is_enough_and_a_second_less_is_not(
    limiter: RateLimiter, clock: Clock
) -> None:
    limiter.take("key:1", limit=1)
    clock.advance(seconds=0.5)
    seconds = limiter.take("key:1", limit=1).seconds
    clock.advance(seconds=seconds - 1)
    assert not limiter.take("key:1", limit=1).passes
    clock.advance(seconds=1)
    assert limiter.take("key:1", limit=1).passes


def test_the_window_outlives_a_restart(tmp_path: Path, clock: Clock) -> None:
    with closing(RateLimiter(tmp_path, clock)) as before:
        assert [before.take("key:1", limit=2).passes for _ in range(3)] == [True, True, False]
    clock.advance(seconds=3599)
    with closing(RateLimiter(tmp_path, clock)) as after:
        assert not after.take("key:1", limit=2).passes
        clock.advance(seconds=1)
        assert after.take("key:1", limit=2).passes


def test_two_processes_on_one_folder_share_the_window(tmp_path: Path, clock: Clock) -> None:
    with closing(RateLimiter(tmp_path, clock)) as one, closing(RateLimiter(tmp_path, clock)) as two:
        passes = [each.take("key:1", limit=3).passes for each in (one, two, one, two, one)]
    assert passes == [True, True, True, False, False]


@pytest.fixture
def limited(clock: Clock) -> LocalServer:
    return LocalServer(clock=clock, rate_limit=20)


def test_the_limit_holds_exactly_under_concurrency(limited: LocalServer) -> None:
    with (
        limited as server,
        httpx.Client(headers={"Authorization": f"Bearer {server.api_key}"}) as http,
        ThreadPoolExecutor(8) as pool,
    ):
        url = f"{server.url}{API}/dates"
        answers = list(pool.map(lambda _: http.get(url), range(30)))
    statuses = sorted(answer.status_code for answer in answers)
    assert statuses == [200] * 20 + [429] * 10
    refused = next(answer for answer in answers if answer.status_code == 429)
    assert refused.json() == {"error": "Too Many Requests"}
    assert refused.headers["retry-after"] == "3600"
    assert refused.headers["ratelimit-policy"] == '"hour";q=20;w=3600'
    assert refused.headers["ratelimit"] == '"hour";r=0;t=3600'
    left = sorted(answer.headers["ratelimit"] for answer in answers if answer.status_code == 200)
    assert len(set(left)) == 20


def test_what_counts_and_what_does_not(limited: LocalServer, clock: Clock) -> None:
    with (
        limited as server,
        httpx.Client(
            base_url=server.url, headers={"Authorization": f"Bearer {server.api_key}"}
        ) as http,
    ):

        def left() -> str:
            return http.get(f"{API}/dates").headers["ratelimit"]

        assert left() == '"hour";r=19;t=3600'
        # Counted: a bad parameter, an unknown partner.
        http.get(f"{API}/events")
        http.get("/api/partners/nowhere/ad-analytics/dates")
        assert left() == '"hour";r=16;t=3600'
        # Not counted: unknown paths, wrong credentials, the health pages, another key.
        http.get("/nowhere")
        httpx.get(f"{server.url}{API}/dates", headers={"Authorization": "Bearer aak_no"})
        http.get("/livez")
        other = admin.create_key(server.settings.data, server.email, name="other")
        answer = http.get(f"{API}/dates", headers={"Authorization": f"Bearer {other}"})
        assert answer.headers["ratelimit"] == '"hour";r=19;t=3600'
        clock.advance(seconds=1800)
        assert left() == '"hour";r=15;t=1800'
        clock.advance(seconds=1800)
        assert left() == '"hour";r=18;t=1800'


def test_a_login_is_not_limited_by_default(limited: LocalServer) -> None:
    with limited as server:
        login = {"email": server.email, "password": server.password}
        token = httpx.post(f"{server.url}/api/auth/login", json=login).json()["token"]
        headers = {"Authorization": f"Bearer {token}"}
        with httpx.Client(headers=headers) as http:
            answers = [http.get(f"{server.url}{API}/dates") for _ in range(25)]
    assert {answer.status_code for answer in answers} == {200}
    assert "ratelimit" not in answers[0].headers
