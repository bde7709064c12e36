"""Sessions and API keys: who gets one, how it is shown and kept, and what ends it."""

from collections.abc import Callable
from http.cookies import SimpleCookie

import httpx
import pytest
from tests.server.web.page import Page

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


def test_the_root_is_the_login_page_and_then_the_overview(browser: Browser) -> None:
    client = browser()
    page = Page(client.get("/"))
    assert page.answer.status_code == 200
    assert page.one("h1").text == "Sign in"
    fields = {item["name"]: item["value"] for item in page.all("input", type="hidden")}
    fields |= {"email": "admin@example.com", "password": "correct-horse-battery"}
    answer = client.post(page.one("form")["action"], data=fields)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert Page(client.get("/")).one("h1").text == "Acme"


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
    browser: Browser, email: str, password: str
) -> None:
    client = browser()
    page = Page(client.post("/login", data={"email": email, "password": password}))
    assert page.answer.status_code == 403
    assert "Wrong e-mail address or password" in page.one("p", role="alert").text
    assert page.one("input", id="email")["value"] == email
    assert "value" not in page.one("input", id="password").attributes
    assert COOKIE not in client.cookies


def test_the_page_that_was_asked_for_comes_after_the_login(
    server: LocalServer, browser: Browser
) -> None:
    client = browser()
    answer = client.get("/settings/api-keys")
    assert answer.status_code == 303
    page = Page(client.get(answer.headers["location"]))
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
    server: LocalServer, browser: Browser, target: str
) -> None:
    client = browser()
    page = Page(client.get("/login", params={"next": target}))
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


KEYS = "/settings/api-keys"


def status_with(server: LocalServer, key: str) -> int:
    headers = {"Authorization": f"Bearer {key}"}
    return httpx.get(server.url + DATES, headers=headers).status_code


def test_the_list_tells_everything_but_the_key(
    server: LocalServer, web: httpx.Client, clock: Clock
) -> None:
    clock.advance(seconds=3600)
    assert status_with(server, server.api_key) == 200
    page = Page(web.get(KEYS))
    cells = page.one("tbody").children[0].children
    assert [cell.text for cell in cells[:5]] == [
        "local server",
        f"…{server.api_key[-4:]}",
        server.email,
        "2026-02-01 00:00 UTC",
        "2026-02-01 01:00 UTC",
    ]
    assert server.api_key not in page.answer.text


def test_a_new_key_is_shown_in_one_answer_and_nowhere_else(
    server: LocalServer, web: httpx.Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    made = web.post(KEYS, data={"name": "  nightly <sync>  "})
    assert made.status_code == 303
    answer = web.get(made.headers["location"])
    page = Page(answer)
    field = page.one("input", id="key")
    key = field["value"]
    assert "readonly" in field.attributes
    assert "hidden" in page.one("button", id="copy").attributes
    script = web.get(page.one("script")["src"])
    assert script.headers["content-type"].startswith("text/javascript")
    assert len(script.text.splitlines()) <= 10
    assert key.startswith("aak_")
    assert status_with(server, key) == 200
    listed = web.get(KEYS)
    assert [item.name for item in admin.list_keys(server.settings.data)] == [
        "local server",
        "nightly <sync>",
    ]
    assert "nightly &lt;sync&gt;" in listed.text
    assert key not in listed.text
    assert key not in caplog.text
    assert key not in str(answer.url)
    assert key not in f"{made.headers}{answer.headers}"
    for path in server.settings.data.rglob("*.db*"):
        assert key.encode() not in path.read_bytes()


def test_reloading_the_page_of_a_new_key_makes_no_other_and_shows_it_no_more(
    server: LocalServer, web: httpx.Client, sign_in: SignIn
) -> None:
    admin.add_user(server.settings.data, "b@example.com", password="a good password", role="admin")
    addresses = [web.post(KEYS, data={"name": name}).headers["location"] for name in ("a", "b")]
    other = sign_in("b@example.com", "a good password")
    for address, name in zip(addresses, ("a", "b"), strict=True):
        assert other.get(address).status_code == 410
        assert Page(web.get(address)).one("strong").text == name
        again = web.get(address)
        assert (again.status_code, "shown only once" in again.text) == (410, True)
        assert "aak_" not in again.text
    assert len(admin.list_keys(server.settings.data)) == 3


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("", "A key needs a name."),
        ("   ", "A key needs a name."),
        ("x" * 101, "The name of a key can have at most 100 characters."),
    ],
)
def test_a_key_without_a_usable_name_is_not_made(
    server: LocalServer, web: httpx.Client, name: str, problem: str
) -> None:
    page = Page(web.post(KEYS, data={"name": name}))
    assert page.answer.status_code == 400
    assert page.one("p", role="alert").text == problem
    assert "problem" in page.one("input", id="name")["aria-describedby"]
    assert len(admin.list_keys(server.settings.data)) == 1


def test_a_key_can_be_renamed_and_goes_on_working(server: LocalServer, web: httpx.Client) -> None:
    links = Page(web.get(KEYS)).all("a", **{"class": "button"})
    page = Page(web.get(links[0]["href"]))
    assert page.one("input", id="name")["value"] == "local server"
    address = next(form["action"] for form in page.all("form") if form["action"] != "/logout")
    wrong = web.post(address, data={"name": " "})
    assert (wrong.status_code, "A key needs a name." in wrong.text) == (400, True)
    assert web.post(address, data={"name": " nightly "}).headers["location"] == KEYS
    assert [key.name for key in admin.list_keys(server.settings.data)] == ["nightly"]
    assert status_with(server, server.api_key) == 200
    assert web.post(f"{KEYS}/99/name", data={"name": "x"}).status_code == 404


def test_deleting_asks_first_and_then_works_at_once(server: LocalServer, web: httpx.Client) -> None:
    key = admin.create_key(server.settings.data, server.email, name="old")
    address = Page(web.get(KEYS)).all("a", **{"class": "button danger"})[1]["href"]
    question = Page(web.get(address))
    assert question.one("h1").text == "Delete this key?"
    assert f"…{key[-4:]}" in question.one("dl").text
    assert status_with(server, key) == 200
    form = next(each for each in question.all("form") if each["action"] == address)
    answer = web.post(form["action"])
    assert answer.status_code == 303
    assert "was deleted" in Page(web.get(answer.headers["location"])).one("p", role="status").text
    assert status_with(server, key) == 401
    assert status_with(server, server.api_key) == 200
    assert web.get(address).status_code == 404
    assert web.post(address).status_code == 404


def test_deleting_twice_does_not_hit_a_key_named_like_the_number(
    server: LocalServer, web: httpx.Client
) -> None:
    data = server.settings.data
    admin.create_key(data, server.email, name="first")
    kept = admin.create_key(data, server.email, name="2")
    assert web.post(f"{KEYS}/2/delete").status_code == 303
    assert web.post(f"{KEYS}/2/delete").status_code == 404
    assert status_with(server, kept) == 200


@pytest.mark.parametrize("number", ["99", "-1", "1.0", "local server", "٣", "9" * 400])
def test_a_key_that_is_not_there_is_a_page(web: httpx.Client, number: str) -> None:
    answer = web.get(f"{KEYS}/{number}/delete")
    assert answer.status_code == 404
    assert "This key does not exist" in answer.text


def test_only_admins_manage_keys(server: LocalServer, sign_in: SignIn) -> None:
    password = "a good password"
    admin.add_user(
        server.settings.data, "p@example.com", password=password, role="viewer", partners=("acme",)
    )
    client = sign_in("p@example.com", password)
    for method, path in [
        ("GET", KEYS),
        ("POST", KEYS),
        ("GET", f"{KEYS}/1/name"),
        ("POST", f"{KEYS}/1/name"),
        ("GET", f"{KEYS}/1/delete"),
        ("POST", f"{KEYS}/1/delete"),
    ]:
        answer = client.request(method, path, data={"name": "mine"} if method == "POST" else None)
        assert answer.status_code == 403
        assert "Only admins" in answer.text
    assert len(admin.list_keys(server.settings.data)) == 1
    assert status_with(server, server.api_key) == 200
    assert [link.text for link in Page(client.get("/")).one("nav").children] == ["Overview"]


@pytest.mark.parametrize(
    ("method", "path"), [("POST", KEYS), ("POST", f"{KEYS}/1/name"), ("POST", f"{KEYS}/1/delete")]
)
def test_nobody_does_anything_without_a_session(
    server: LocalServer, method: str, path: str
) -> None:
    answer = httpx.request(method, server.url + path, data={"name": "mine"})
    assert answer.status_code == 303
    assert answer.headers["location"] == f"/login?next={path}"
    assert len(admin.list_keys(server.settings.data)) == 1
    assert status_with(server, server.api_key) == 200


def test_the_log_says_who_it_was(web: httpx.Client, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    # The line is written after the answer, so that only a second request can be sure of it.
    for _ in range(2):
        web.get(KEYS)
    assert f"GET {KEYS} 200" in caplog.text
    assert "user:1" in caplog.text
