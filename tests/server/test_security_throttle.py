"""Guessing passwords: five wrong ones close an account for a while, by either way in."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from adanalytics_server import admin
from adanalytics_server.accounts import auth
from adanalytics_server.accounts.auth import (
    MOST_WRONG,
    SIGN_IN_WINDOW_SECONDS,
    SignIns,
    TooManyAttempts,
)
from adanalytics_server.accounts.people import Accounts
from adanalytics_server.clock import Clock
from adanalytics_server.local import LocalServer
from adanalytics_server.storage.state import open_state

PASSWORD = "a good password"
Attempt = Callable[[str, str], httpx.Response]


@pytest.fixture(params=["api", "web"])
def attempt(request: pytest.FixtureRequest, server: LocalServer) -> Attempt:
    """Sign in by one of the two ways; eight passwords at a time take a busy machine seconds."""

    def by_api(email: str, password: str) -> httpx.Response:
        body = {"email": email, "password": password}
        return httpx.post(f"{server.url}/api/auth/login", json=body, timeout=60)

    def by_page(email: str, password: str) -> httpx.Response:
        data = {"email": email, "password": password}
        return httpx.post(f"{server.url}/login", data=data, timeout=60)

    return by_api if request.param == "api" else by_page


@pytest.mark.parametrize("email", ["admin@example.com", "nobody@example.com"])
def test_the_sixth_attempt_is_refused_and_told_how_long_to_wait(
    server: LocalServer, clock: Clock, attempt: Attempt, email: str
) -> None:
    for _ in range(MOST_WRONG):
        assert attempt(email, "wrong").status_code in {401, 403}
        clock.advance(seconds=10)
    refused = attempt(email.upper(), server.password)
    assert refused.status_code == 429
    assert refused.headers["retry-after"] == str(SIGN_IN_WINDOW_SECONDS - 10 * MOST_WRONG)
    clock.advance(seconds=SIGN_IN_WINDOW_SECONDS - 10 * MOST_WRONG - 1)
    assert attempt(email, "wrong").status_code == 429
    clock.advance(seconds=1)
    assert attempt(email, "wrong").status_code in {401, 403}
    assert attempt(email, "wrong").status_code == 429


def test_the_api_keeps_its_shape_and_the_page_says_it_in_words(
    server: LocalServer, clock: Clock
) -> None:
    body = {"email": server.email, "password": "wrong"}
    for _ in range(MOST_WRONG):
        httpx.post(f"{server.url}/api/auth/login", json=body)
    answer = httpx.post(f"{server.url}/api/auth/login", json=body)
    assert answer.json() == {"error": "Too Many Requests"}
    page = httpx.post(f"{server.url}/login", data=body)
    assert (page.status_code, page.headers["retry-after"]) == (429, str(SIGN_IN_WINDOW_SECONDS))
    assert "Try again in 15 min" in page.text


def test_other_accounts_go_on(server: LocalServer, attempt: Attempt) -> None:
    admin.add_user(server.settings.data, "b@example.com", password=PASSWORD, role="admin")
    for _ in range(MOST_WRONG + 1):
        attempt(server.email, "wrong")
    assert attempt("b@example.com", PASSWORD).status_code in {200, 303}


def test_a_right_password_forgives_the_wrong_ones_before(
    server: LocalServer, attempt: Attempt
) -> None:
    for _ in range(2):
        for _ in range(MOST_WRONG - 1):
            assert attempt(server.email, "wrong").status_code in {401, 403}
        assert attempt(server.email, server.password).status_code in {200, 303}


def test_guesses_at_the_same_time_are_counted_exactly(
    server: LocalServer, attempt: Attempt
) -> None:
    with ThreadPoolExecutor(12) as pool:
        answers = list(pool.map(lambda _: attempt(server.email, "wrong"), range(12)))
    assert sum(answer.status_code != 429 for answer in answers) == MOST_WRONG


def test_right_passwords_at_the_same_time_are_all_good(
    server: LocalServer, attempt: Attempt
) -> None:
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: attempt(server.email, server.password), range(8)))
    assert {answer.status_code for answer in answers} <= {200, 303}


def test_the_memory_is_bounded_and_the_oldest_are_forgotten(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auth, "MOST_ACCOUNTS", 3)

    async def attempts() -> None:
        async with open_state(tmp_path) as state:
            await push_out_the_first(SignIns(Accounts(state, clock), clock))

    async def push_out_the_first(sign_ins: SignIns) -> None:
        for email in ["a"] * MOST_WRONG + ["b", "c"]:
            await sign_ins.sign_in(email, "wrong")
        with pytest.raises(TooManyAttempts):
            await sign_ins.sign_in("a", "wrong")
        for email in ["d", "e", "f"]:
            await sign_ins.sign_in(email, "wrong")
        await sign_ins.sign_in("a", "wrong")

    asyncio.run(attempts())
