"""Signing in and out: who gets a session, how it is kept, and what ends it."""

from collections.abc import Callable
from http.cookies import SimpleCookie
from typing import Any

import httpx
import pytest

from adanalytics_server import admin
from adanalytics_server.accounts.credentials import TOKEN_LIFETIME
from adanalytics_server.clock import Clock
from adanalytics_server.local import LocalServer
from adanalytics_server.web.requests import COOKIE

Browser = Callable[[], httpx.Client]
SignIn = Callable[..., httpx.Client]
DATES = "/api/partners/acme/ad-analytics/dates"
PASSWORD = "a good password"


def is_login(answer: httpx.Response) -> bool:
    return answer.status_code == 200 and 'type="password"' in answer.text


def test_the_root_is_the_login_page_and_then_the_overview(browser: Browser, parse: Any) -> None:
    client = browser()
    page = parse(client.get("/"))
    assert page.answer.status_code == 200
    assert page.one("h1").text == "Sign in"
    fields = {item["name"]: item["value"] for item in page.all("input", type="hidden")}
    fields |= {"email": "admin@example.com", "password": "correct-horse-battery"}
    answer = client.post(page.one("form")["action"], data=fields)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert parse(client.get("/")).one("h1").text == "Acme"


def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites(
    server: LocalServer, browser: Browser
) -> None:
    form = {"email": server.email, "password": server.password}
    cookies = []
    for headers in ({}, {"X-Forwarded-Proto": "https"}):
        answer = browser().post("/login", data=form, headers=headers)
        cookies.append(SimpleCookie(answer.headers["set-cookie"])[COOKIE])
    for cookie in cookies:
        assert cookie["httponly"] is True
        assert cookie["samesite"] == "strict"
        assert cookie["path"] == "/"
        assert cookie["domain"] == ""
        assert cookie["max-age"] == str(TOKEN_LIFETIME)
    assert [cookie["secure"] for cookie in cookies] == ["", True]
    assert cookies[0].value != cookies[1].value


def test_the_store_holds_no_cookie_that_could_be_used(
    server: LocalServer, web: httpx.Client
) -> None:
    token = web.cookies[COOKIE]
    for path in server.settings.data.glob("state.db*"):
        assert token.encode() not in path.read_bytes()


def test_a_session_ends_after_its_time_by_the_clock_of_the_server(
    web: httpx.Client, clock: Clock
) -> None:
    clock.advance(seconds=TOKEN_LIFETIME - 1)
    assert not is_login(web.get("/"))
    clock.advance(seconds=1)
    assert is_login(web.get("/"))


def test_signing_out_ends_the_session_for_everyone_who_has_its_cookie(web: httpx.Client) -> None:
    token = web.cookies[COOKIE]
    answer = web.post("/logout")
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert COOKIE not in web.cookies
    web.cookies.set(COOKIE, token)
    assert is_login(web.get("/"))


def test_signing_in_again_ends_the_session_before(server: LocalServer, web: httpx.Client) -> None:
    token = web.cookies[COOKIE]
    web.post("/login", data={"email": server.email, "password": server.password})
    assert web.cookies[COOKIE] != token
    web.cookies.clear()
    web.cookies.set(COOKIE, token)
    assert is_login(web.get("/"))


def test_a_deleted_user_is_signed_out_at_once(server: LocalServer, sign_in: SignIn) -> None:
    admin.add_user(server.settings.data, "b@example.com", password=PASSWORD, role="admin")
    client = sign_in("b@example.com", PASSWORD)
    assert not is_login(client.get("/"))
    admin.delete_user(server.settings.data, "b@example.com")
    assert is_login(client.get("/"))


def test_a_token_of_the_api_is_no_session_and_a_session_is_no_token(
    server: LocalServer, browser: Browser, web: httpx.Client
) -> None:
    body = {"email": server.email, "password": server.password}
    token = httpx.post(f"{server.url}/api/auth/login", json=body).json()["token"]
    for credential in (token, server.api_key):
        client = browser()
        client.cookies.set(COOKIE, credential)
        assert is_login(client.get("/"))
        client.cookies.clear()
        assert is_login(client.get("/", headers={"Authorization": f"Bearer {credential}"}))
    session = web.cookies[COOKIE]
    assert web.get(DATES).status_code == 401
    as_bearer = {"Authorization": f"Bearer {session}"}
    assert web.get(DATES, headers=as_bearer).status_code == 401


@pytest.mark.parametrize(
    ("email", "password"),
    [("admin@example.com", "wrong"), ("nobody@example.com", "wrong"), ("", ""), ("<b>", "x")],
)
def test_a_wrong_password_is_told_and_the_e_mail_is_kept(
    browser: Browser, parse: Any, email: str, password: str
) -> None:
    client = browser()
    page = parse(client.post("/login", data={"email": email, "password": password}))
    assert page.answer.status_code == 403
    assert "Wrong e-mail address or password" in page.one("p", role="alert").text
    assert page.one("input", id="email")["value"] == email
    assert "value" not in page.one("input", id="password").attributes
    assert COOKIE not in client.cookies


def test_the_page_that_was_asked_for_comes_after_the_login(
    server: LocalServer, browser: Browser, parse: Any
) -> None:
    client = browser()
    answer = client.get("/settings/api-keys")
    assert answer.status_code == 303
    page = parse(client.get(answer.headers["location"]))
    form = {"email": server.email, "password": server.password}
    form["next"] = page.one("input", name="next")["value"]
    answer = client.post("/login", data=form)
    assert answer.headers["location"] == "/settings/api-keys"
    assert client.get("/login", params={"next": form["next"]}).headers["location"] == form["next"]


@pytest.mark.parametrize(
    "target",
    ["https://evil.example/", "//evil.example", "/\\evil.example", "/\t/evil.example", "evil", ""],
)
def test_the_login_leads_to_no_other_site(
    server: LocalServer, browser: Browser, parse: Any, target: str
) -> None:
    client = browser()
    page = parse(client.get("/login", params={"next": target}))
    assert page.one("input", name="next")["value"] == "/"
    form = {"email": server.email, "password": server.password, "next": target}
    assert client.post("/login", data=form).headers["location"] == "/"


@pytest.mark.parametrize("path", ["%0d%0aSet-Cookie:%20a=b", "%22%3E%3Cb%3E", "%D9%A3", "a%3Fb=c"])
def test_no_path_gets_unquoted_into_a_header(server: LocalServer, path: str) -> None:
    answer = httpx.get(f"{server.url}/settings/api-keys/{path}/delete")
    assert answer.status_code == 303
    assert answer.headers["location"].startswith("/login?next=/settings/api-keys/")
    assert answer.headers["location"].isascii()
    assert "set-cookie" not in answer.headers


CROSS = [
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "cross-site", "Origin": "OWN"},
    {"Origin": "https://evil.example"},
    {"Origin": "null"},
    {"Origin": "http://["},
    {"Origin": "http://:x"},
    {"Origin": "http://127.0.0.1:1"},
]
OWN = [
    {},
    {"Origin": "OWN"},
    {"Sec-Fetch-Site": "same-origin"},
    {"Sec-Fetch-Site": "none"},
    {"Sec-Fetch-Site": "same-origin", "Origin": "null"},
]


def headers_of(server: LocalServer, headers: dict[str, str]) -> dict[str, str]:
    return {name: server.url if value == "OWN" else value for name, value in headers.items()}


@pytest.mark.parametrize("path", ["/login", "/logout", "/settings/api-keys"])
def test_a_form_of_another_site_is_refused(
    server: LocalServer, web: httpx.Client, path: str
) -> None:
    form = {"email": server.email, "password": server.password, "name": "a key"}
    for headers in CROSS:
        answer = web.post(path, data=form, headers=headers_of(server, headers))
        assert (answer.status_code, "Another site" in answer.text) == (403, True), headers
        assert "set-cookie" not in answer.headers
    assert len(admin.list_keys(server.settings.data)) == 1
    assert not is_login(web.get("/"))


def test_a_form_of_the_own_pages_is_taken_from_every_browser(
    server: LocalServer, web: httpx.Client
) -> None:
    for headers in OWN:
        sent = headers_of(server, headers)
        answer = web.post("/settings/api-keys", data={"name": "a key"}, headers=sent)
        assert answer.status_code == 303, headers
    assert len(admin.list_keys(server.settings.data)) == 1 + len(OWN)
