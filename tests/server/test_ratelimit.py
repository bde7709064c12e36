"""The request limit: exact in each hour, per key and per user, and in dialects told in headers."""

from collections import Counter
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
def test_no_sliding_window_holds_more_than_the_limit_and_none_is_wasted(
    pauses: list[int], limit: int
) -> None:
    clock = Clock()
    clock.freeze(datetime(1970, 1, 12, tzinfo=UTC))
    passed: list[int] = []
    with (
        TemporaryDirectory() as folder,
        closing(RateLimiter(Path(folder), clock, is_sliding=True)) as limiter,
    ):
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


@given(st.lists(st.integers(0, 2_000_000), max_size=60), st.integers(1, 5))
def test_each_full_hour_begins_a_count_of_its_own(pauses: list[int], limit: int) -> None:
    clock = Clock()
    clock.freeze(datetime(1970, 1, 12, tzinfo=UTC))
    passed: Counter[int] = Counter()
    with TemporaryDirectory() as folder, closing(RateLimiter(Path(folder), clock)) as limiter:
        for pause in pauses:
            clock.advance(seconds=pause / 1000)
            hour, rest = divmod(clock.milliseconds(), 3_600_000)
            allowance = limiter.take("key:1", limit=limit)
            assert allowance.passes == (passed[hour] < limit)
            passed[hour] += allowance.passes
            assert allowance.remaining == limit - passed[hour]
            assert allowance.seconds == -((rest - 3_600_000) // 1000)


@pytest.fixture(params=[False, True], ids=["hour", "sliding"])
def limiter(tmp_path: Path, clock: Clock, request: pytest.FixtureRequest) -> Iterator[RateLimiter]:
    with closing(RateLimiter(tmp_path, clock, is_sliding=request.param)) as opened:
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
    return LocalServer(clock=clock, rate_limit=20, dialect="rate-headers")


def test_over_the_limit_the_status_is_all_there_is(clock: Clock) -> None:
    clock.advance(seconds=59 * 60)
    with (
        LocalServer(clock=clock, rate_limit=20) as server,
        httpx.Client(headers={"Authorization": f"Bearer {server.api_key}"}) as http,
    ):
        url = f"{server.url}{API}/dates"
        statuses = [http.get(url).status_code for _ in range(20)]
        refused = http.get(url)
        assert (set(statuses), refused.status_code) == ({200}, 429)
        assert refused.content == b'{"error":"Too Many Requests"}'
        assert not [name for name in refused.headers if "rate" in name or "retry" in name]
        clock.advance(seconds=59)
        assert http.get(url).status_code == 429
        clock.advance(seconds=1)
        assert http.get(url).status_code == 200


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
        assert left() == '"hour";r=19;t=3600'


def test_logins_of_one_user_share_a_limit_apart_from_its_keys(limited: LocalServer) -> None:
    with limited as server:
        server.add_user("ada@example.com", partners=["acme"])

        def sign_in(email: str) -> dict[str, str]:
            login = {"email": email, "password": server.password}
            token = httpx.post(f"{server.url}/api/auth/login", json=login).json()["token"]
            return {"Authorization": f"Bearer {token}"}

        def get(headers: dict[str, str]) -> str:
            return http.get(f"{server.url}{API}/dates", headers=headers).headers["ratelimit"]

        with httpx.Client() as http:
            found = [get(sign_in(server.email)) for _ in range(2)]
            found += [get(sign_in("ada@example.com"))]
            found += [get({"Authorization": f"Bearer {server.api_key}"})]
    assert [int(text.split("r=")[1].split(";")[0]) for text in found] == [19, 18, 19, 19]
