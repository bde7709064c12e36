"""Who may read what: login, tokens, keys, roles; and that deletion is at once."""

import base64
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import jwt
import pytest

from adanalytics_server import admin
from adanalytics_server.accounts.credentials import TOKEN_LIFETIME
from adanalytics_server.accounts.people import AccountError
from adanalytics_server.clock import Clock
from adanalytics_server.local import LocalServer

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
