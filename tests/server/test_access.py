"""Who may read what: logins, tokens, keys, roles, names of hosts, and guessed passwords."""

import asyncio
import base64
import re
import socket
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import jwt
import pytest

from adanalytics_server import admin
from adanalytics_server.accounts import auth
from adanalytics_server.accounts.auth import (
    MOST_WRONG,
    SIGN_IN_WINDOW_SECONDS,
    SignIns,
    TooManyAttempts,
)
from adanalytics_server.accounts.credentials import TOKEN_LIFETIME
from adanalytics_server.accounts.people import AccountError, Accounts
from adanalytics_server.app import create_app
from adanalytics_server.clock import Clock
from adanalytics_server.local import LocalServer
from adanalytics_server.serving.running import ServerThread
from adanalytics_server.settings import Settings
from adanalytics_server.storage.state import open_state

API = "/api/partners/acme/ad-analytics"
DATES = f"{API}/dates"
PASSWORD = "a good password"


def sign_in(server: LocalServer, email: str, password: str) -> httpx.Response:
    body = {"email": email, "password": password}
    return httpx.post(f"{server.url}/api/auth/login", json=body)


def get(server: LocalServer, path: str, credential: str) -> httpx.Response:
    return httpx.get(server.url + path, headers={"Authorization": f"Bearer {credential}"})


def test_login_gives_a_token_and_the_user(server: LocalServer) -> None:
    answer = sign_in(server, server.email.upper(), server.password)
    assert answer.status_code == 200
    assert answer.json()["user"] == {"id": "1", "email": server.email, "role": "admin"}
    assert get(server, DATES, answer.json()["token"]).json() == {"dates": []}


@pytest.mark.parametrize(
    ("email", "password"), [("admin@example.com", "wrong"), ("nobody@example.com", "wrong")]
)
def test_a_wrong_login_is_the_one_401(server: LocalServer, email: str, password: str) -> None:
    answer = sign_in(server, email, password)
    assert answer.status_code == 401
    assert answer.content == b'{"error":"Unauthorized"}'


@pytest.mark.parametrize("name", ["\udcff", "x\x1b[31m", "two\nlines", "\x9b", "a\u202eb"])
def test_a_name_is_text_that_a_terminal_only_shows(server: LocalServer, name: str) -> None:
    data = server.settings.data
    with pytest.raises(AccountError, match="Invalid name"):
        admin.create_key(data, server.email, name=name)
    with pytest.raises(AccountError, match="Invalid name"):
        admin.add_partner(data, "globex", name=name, currency="USD")
    assert len(admin.list_keys(data)) == len(admin.list_partners(data)) == 1


def test_two_credentials_in_one_request_are_none(server: LocalServer) -> None:
    good, other = (("Authorization", f"Bearer {key}") for key in (server.api_key, "aak_other"))
    for headers in ([good, other], [other, good], [good, good]):
        assert httpx.get(server.url + DATES, headers=headers).status_code == 401


def test_a_token_ends_after_seven_days_to_the_second(server: LocalServer, clock: Clock) -> None:
    token = sign_in(server, server.email, server.password).json()["token"]
    clock.advance(seconds=TOKEN_LIFETIME - 1)
    assert get(server, DATES, token).status_code == 200
    clock.advance(seconds=1)
    assert get(server, DATES, token).content == b'{"error":"Unauthorized"}'


@pytest.mark.parametrize(
    ("form", "status"),
    [
        ("bearer {}", 200),  # RFC 9110, section 11.1: the scheme's case does not matter
        ("BEARER   {}", 200),
        ("Bearer{}", 401),
        ("Basic {}", 401),
        ("{}", 401),
        ("Bearer", 401),
        ("Bearer {} x", 401),
    ],
)
def test_the_header_of_a_credential(server: LocalServer, form: str, status: int) -> None:
    headers = {"Authorization": form.format(server.api_key)}
    assert httpx.get(server.url + DATES, headers=headers).status_code == status


def unsigned(token: str) -> str:
    header = base64.urlsafe_b64encode(b'{"alg":"none","typ":"JWT"}').rstrip(b"=").decode()
    return f"{header}.{token.split('.')[1]}."


def resigned(token: str) -> str:
    claims = jwt.decode(token, options={"verify_signature": False})
    return jwt.encode(claims, b"x" * 32, algorithm="HS256")


@pytest.mark.parametrize("forge", [unsigned, resigned, lambda token: token[:-2]])
def test_a_forged_token_is_refused(server: LocalServer, forge: Callable[[str], str]) -> None:
    token = sign_in(server, server.email, server.password).json()["token"]
    assert get(server, DATES, forge(token)).status_code == 401


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({}, 200),
        ({"aud": "web"}, 401),
        ({"aud": None}, 401),
        ({"exp": 1}, 401),
        ({"exp": None}, 401),
        ({"iat": None}, 401),
        ({"sub": "999"}, 401),
        ({"sub": str(2**64)}, 401),
        ({"sub": "admin"}, 401),
        ({"sub": " 1"}, 401),
        ({"sub": "+1"}, 401),
        ({"sub": "1_0"}, 401),
        ({"sub": "01"}, 401),
        ({"sub": "\N{ARABIC-INDIC DIGIT ONE}"}, 401),
    ],
)
def test_a_token_with_the_right_signature_needs_the_right_claims(
    server: LocalServer, changed: dict[str, object], status: int
) -> None:
    token = sign_in(server, server.email, server.password).json()["token"]
    with closing(sqlite3.connect(server.settings.data / "state.db")) as state:
        (secret,) = state.execute("SELECT value FROM secrets WHERE name = 'token'").fetchone()
    claims = jwt.decode(token, options={"verify_signature": False}) | changed
    stated = {name: value for name, value in claims.items() if value is not None}
    signed = jwt.encode(stated, secret, algorithm="HS256")
    assert get(server, DATES, signed).status_code == status


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": ""},
        {"Authorization": "Bearer"},
        {"Authorization": "Basic YTpi"},
        {"Authorization": "Bearer aak_wrong"},
        {"Authorization": "Bearer a.b.c"},
    ],
)
def test_without_a_good_credential_nothing_is_told(
    server: LocalServer, headers: dict[str, str]
) -> None:
    # Bad parameters and unknown partners look no different.
    paths = [f"{API}/events?{query}" for query in ("nonsense=1", "page=1&page=1", "")]
    for path in (*paths, "/api/partners/other/ad-analytics/dates"):
        answer = httpx.get(server.url + path, headers=headers)
        assert answer.status_code == 401
        assert answer.content == b'{"error":"Unauthorized"}'
        assert answer.headers["content-type"] == "application/json"
        assert answer.headers["www-authenticate"] == "Bearer"


def test_a_deleted_key_and_the_keys_of_a_deleted_user_stop_at_once(server: LocalServer) -> None:
    data = server.settings.data
    admin.add_user(data, "second@example.com", password=PASSWORD, role="admin")
    first = admin.create_key(data, "second@example.com", name="first")
    second = admin.create_key(data, "second@example.com", name="second")
    assert [get(server, DATES, key).status_code for key in (first, second)] == [200, 200]
    admin.delete_key(data, "first")
    assert [get(server, DATES, key).status_code for key in (first, second)] == [401, 200]
    token = sign_in(server, "second@example.com", PASSWORD).json()["token"]
    admin.delete_user(data, "second@example.com")
    assert [get(server, DATES, used).status_code for used in (second, token)] == [401, 401]


def test_a_partner_user_reads_its_partners_and_learns_nothing_of_others(
    server: LocalServer,
) -> None:
    data = server.settings.data
    admin.add_partner(data, "globex", name="Globex", currency="EUR")
    admin.add_user(data, "ann@example.com", password=PASSWORD, role="analyst", partners=("acme",))
    token = sign_in(server, "ann@example.com", PASSWORD).json()["token"]
    found = {
        partner: get(server, f"/api/partners/{partner}/ad-analytics/dates", token)
        for partner in ("acme", "globex", "nowhere")
    }
    assert {partner: answer.status_code for partner, answer in found.items()} == {
        "acme": 200,
        "globex": 403,
        "nowhere": 403,
    }
    assert found["globex"].content == found["nowhere"].content == b'{"error":"Forbidden"}'


def test_an_admin_learns_that_a_partner_does_not_exist(
    server: LocalServer, http: httpx.Client
) -> None:
    answer = http.get("/api/partners/nowhere/ad-analytics/dates")
    assert (answer.status_code, answer.json()) == (404, {"error": "Not Found"})


def test_a_partner_id_may_need_quoting(server: LocalServer, http: httpx.Client) -> None:
    admin.add_partner(server.settings.data, "a b?ü%", name="Odd", currency="EUR")
    answer = http.get("/api/partners/a%20b%3F%C3%BC%25/ad-analytics/summary", params=RANGE)
    assert answer.json()["meta"]["currency"] == "EUR"


RANGE = {"start_date": "2026-01-01", "end_date": "2026-01-01"}


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda data: admin.add_partner(data, "acme", name="A", currency="USD"), "already exists"),
        (lambda data: admin.add_partner(data, "a/b", name="A", currency="USD"), "partner id"),
        (lambda data: admin.add_partner(data, "..", name="A", currency="USD"), "partner id"),
        (lambda data: admin.add_partner(data, "\udcff", name="A", currency="USD"), "partner id"),
        (lambda data: admin.add_partner(data, "x", name="A", currency="usd"), "ISO 4217"),
        (lambda data: admin.find_partner(data, "x"), "Known partners: acme"),
        (lambda data: admin.add_user(data, "x", password=PASSWORD, role="admin"), "not an e-mail"),
        (
            lambda data: admin.add_user(data, "x@example.com", password="short", role="admin"),
            "8 characters",
        ),
        (
            lambda data: admin.add_user(data, "x@example.com", password=PASSWORD, role="analyst"),
            "needs at least one partner",
        ),
        (
            lambda data: admin.add_user(data, "admin@example.com", password=PASSWORD, role="admin"),
            "already exists",
        ),
        (lambda data: admin.create_key(data, "x@example.com", name="k"), "Unknown user"),
        (lambda data: admin.create_key(data, "admin@example.com", name=" "), "needs a name"),
        (lambda data: admin.create_key(data, "admin@example.com", name="\u200b"), "needs a name"),
        (lambda data: admin.delete_key(data, "none"), "Unknown key"),
    ],
)
def test_accounts_that_cannot_be_say_why(
    server: LocalServer, call: Callable[[Any], object], text: str
) -> None:
    with pytest.raises(AccountError, match=text):
        call(server.settings.data)


def test_only_an_admin_makes_keys(server: LocalServer) -> None:
    data = server.settings.data
    admin.add_user(data, "ann@example.com", password=PASSWORD, role="analyst", partners=("acme",))
    with pytest.raises(AccountError, match="Only an admin"):
        admin.create_key(data, "ann@example.com", name="mine")


def test_secrets_are_kept_from_other_users_of_the_machine(server: LocalServer) -> None:
    state = server.settings.data / "state.db"
    assert state.stat().st_mode & 0o077 == 0
    for path in server.settings.data.glob("state.db*"):
        content = path.read_bytes()
        assert server.api_key.encode() not in content
        assert server.password.encode() not in content


def test_a_state_file_that_others_could_read_is_closed_to_them(tmp_path: Path) -> None:
    admin.add_partner(tmp_path, "acme", name="Acme", currency="USD")
    state = tmp_path / "state.db"
    state.chmod(0o644)
    admin.list_partners(tmp_path)
    assert state.stat().st_mode & 0o077 == 0


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
