"""What every page has in common: headers, markup and contrast for everybody, errors."""

import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.server.records import make_record
from tests.server.web.page import Page

import adanalytics_server.web
from adanalytics_server.local import LocalServer
from adanalytics_server.storage.events import Record

KEYS = "/settings/api-keys"
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "form-action 'self'; "
        "base-uri 'none'; frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}
BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}
START = 1_769_896_800_000


@pytest.fixture
def pages(
    server: LocalServer, web: httpx.Client, add_records: Callable[[list[Record]], None]
) -> list[httpx.Response]:
    """One answer of every kind the web area gives."""
    empty = web.get("/")
    add_records([make_record(START, 1)])
    return [
        httpx.get(server.url),
        httpx.post(f"{server.url}/login", data={"email": "a", "password": "b"}),
        httpx.get(f"{server.url}{KEYS}"),
        empty,
        web.get("/"),
        web.get("/?month=never"),
        web.get(KEYS),
        web.get(f"{KEYS}?deleted"),
        web.post(KEYS, data={"name": ""}),
        web.get(web.post(KEYS, data={"name": "new"}).headers["location"]),
        web.get(f"{KEYS}/1/delete"),
        web.get("/settings/nothing", headers=BROWSER),
        web.get("/logout", headers=BROWSER),
        web.post("/login", headers={"Origin": "null"}),
        web.post("/logout"),
    ]


def test_every_page_has_the_headers_that_keep_it_to_itself(pages: list[httpx.Response]) -> None:
    for answer in pages:
        assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS, answer.url
        assert answer.headers["x-request-id"]
        assert "ratelimit" not in answer.headers


def test_no_page_has_a_script_or_style_of_its_own_or_of_another_host(
    pages: list[httpx.Response],
) -> None:
    for page in map(Page, pages):
        for element in page.elements:
            assert element.tag not in {"style", "iframe"}
            assert element.tag != "script" or element["src"] == "/static/copy.js"
            assert not [
                name for name in element.attributes if name == "style" or name.startswith("on")
            ]
            for name in ("href", "src", "action"):
                target = element.attributes.get(name, "/")
                assert target.startswith(("/", "#")), target
                assert not target.startswith("//")


def test_the_markup_is_usable_without_eyes_or_mouse(pages: list[httpx.Response]) -> None:
    for page in map(Page, pages):
        if not page.elements:
            continue
        assert page.one("html")["lang"] == "en"
        assert page.all("title")[0].text.endswith("adanalytics")
        body = page.one("body").children[0]
        assert (body.tag, body["href"]) == ("a", "#main")
        assert page.one("main")["id"] == "main"
        ids = [element["id"] for element in page.elements if "id" in element.attributes]
        assert len(ids) == len(set(ids))
        check_headings(page)
        check_references(page, set(ids))
        check_names(page)
        check_landmarks(page)


def check_landmarks(page: Any) -> None:
    """No two landmarks of a kind have one name."""
    names = [
        (
            each.attributes.get("role", each.tag).replace("section", "region"),
            each.attributes.get("aria-label") or page.one("*", id=each["aria-labelledby"]).text,
        )
        for each in page.elements
        if each.tag in {"nav", "section"} or each.attributes.get("role") == "region"
    ]
    assert len(names) == len(set(names))


def check_headings(page: Any) -> None:
    """One first heading, and no level left out on the way down."""
    levels = [int(each.tag[1]) for each in page.elements if each.tag in {"h1", "h2", "h3", "h4"}]
    assert levels.count(1) == 1
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


def check_references(page: Any, ids: set[str]) -> None:
    for element in page.elements:
        for name in ("for", "aria-labelledby", "aria-describedby"):
            assert set(element.attributes.get(name, "").split()) <= ids


def check_names(page: Any) -> None:
    """Whatever can be reached says what it is."""
    labelled = {label["for"] for label in page.all("label")}
    for element in page.elements:
        if element.tag in {"input", "select"} and element.attributes.get("type") != "hidden":
            assert element["id"] in labelled
        if element.tag in {"a", "button", "summary"}:
            assert element.text.strip()
        if element.tag == "svg":
            assert "aria-hidden" in element.attributes or element["aria-label"]
        if element.tag == "th":
            assert element["scope"] in {"col", "row"}
            assert element.text.strip()


@pytest.mark.parametrize("name", ["web.css", "icon.svg"])
def test_a_browser_asks_whether_a_file_has_changed(server: LocalServer, name: str) -> None:
    links = Page(httpx.get(server.url)).all("link")
    (url,) = (link["href"] for link in links if link["href"].endswith(name))
    plain = httpx.get(server.url + url)
    assert plain.headers["x-content-type-options"] == "nosniff"
    assert plain.headers["cache-control"] == "no-cache"
    headers = {"If-None-Match": plain.headers["etag"]}
    again = httpx.get(server.url + url, headers=headers)
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize("path", ["nothing.css", "../settings.py", "..%2Fsettings.py", ""])
def test_nothing_else_is_a_file(server: LocalServer, path: str) -> None:
    assert httpx.get(f"{server.url}/static/{path}").status_code == 404


@pytest.mark.parametrize(
    ("method", "path", "status", "allowed"),
    [
        ("GET", "/nothing", 404, None),
        ("GET", "/settings/nothing", 404, None),
        ("GET", "/static/nothing.css", 404, None),
        ("GET", "/logout", 405, "POST"),
        ("PUT", "/", 405, "GET"),
        ("PUT", "/settings/api-keys", 405, "GET, POST"),
    ],
)
def test_a_browser_gets_a_page_for_an_address_that_leads_nowhere(
    web: httpx.Client, method: str, path: str, status: int, allowed: str | None
) -> None:
    page = Page(web.request(method, path, headers=BROWSER))
    assert page.answer.status_code == status
    assert page.answer.headers["content-type"] == "text/html; charset=utf-8"
    assert page.answer.headers.get("allow") == allowed
    assert page.one("form")["action"] == "/logout"
    assert web.request(method, path).json()["error"]


@pytest.mark.parametrize("path", ["/api/nothing", "/exports/a/b", "/_control/nothing"])
def test_the_api_answers_with_json_in_a_browser_too(server: LocalServer, path: str) -> None:
    answer = httpx.get(server.url + path, headers=BROWSER)
    assert (answer.status_code, answer.json()) == (404, {"error": "Not Found"})


def test_error_pages_keep_navigation_and_the_way_out(web: httpx.Client) -> None:
    for answer in (
        web.get("/?month=never"),
        web.get("/?partner=nobody"),
        web.get(f"{KEYS}/99/delete"),
        web.post(KEYS, headers={"Content-Type": "application/json"}),
        web.post(KEYS, headers={"Origin": "null"}),
    ):
        page = Page(answer)
        assert page.answer.status_code >= 400
        assert [link.text for link in page.one("nav").children] == ["Overview", "API keys"]
        assert page.one("form")["action"] == "/logout"


@pytest.mark.parametrize(
    ("content", "kind", "status"),
    [
        (b'{"email":"a","password":"b"}', "application/json", 415),
        (b"email=a", "", 415),
        (b"email=\xff\xfe", "application/x-www-form-urlencoded", 400),
        (b"a=1&" * 100, "application/x-www-form-urlencoded", 400),
        (b"email=" + b"a" * (1 << 20), "application/x-www-form-urlencoded", 413),
    ],
)
def test_a_form_that_is_none_is_refused(
    server: LocalServer, content: bytes, kind: str, status: int
) -> None:
    answer = httpx.post(f"{server.url}/login", content=content, headers={"Content-Type": kind})
    assert answer.status_code == status
    assert answer.headers["content-type"] == "text/html; charset=utf-8"


def test_a_damaged_file_is_a_page_with_the_request_to_look_for(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with LocalServer() as server, httpx.Client(base_url=server.url) as web:
        web.post("/login", data={"email": server.email, "password": server.password})
        folder = server.settings.data / "partners" / "1"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "ledger.db").write_bytes(b"no database" * 500)
        answer = web.get("/")
        assert answer.status_code == 500
        request = answer.headers["x-request-id"]
        assert request in answer.text
        assert [record for record in caplog.records if request in record.message]
        assert "Traceback" not in answer.text
        assert "Sign out" in answer.text
        assert web.get(KEYS).status_code == 200


CSS = (Path(adanalytics_server.web.__path__[0]) / "static" / "web.css").read_text()
TEXT = [
    (text, surface)
    for surface in ("canvas", "surface", "sunken")
    for text in ("text", "muted", "accent", "accent-strong")
] + [
    ("on-accent", "accent"),
    ("on-accent", "accent-strong"),
    ("on-danger", "danger"),
    ("on-danger", "danger-strong"),
    ("danger", "surface"),
    ("danger", "sunken"),
    ("danger", "problem-surface"),
    ("done", "done-surface"),
    ("busy", "busy-surface"),
    ("busy", "surface"),
]
PARTS = [
    ("control", "surface"),
    ("control", "canvas"),
    # The focus ring.
    ("accent", "surface"),
    ("accent", "canvas"),
    ("accent", "sunken"),
    ("impressions", "surface"),
    ("impressions", "sunken"),
    ("revenue", "surface"),
    ("gap", "surface"),
    ("gap", "sunken"),
    ("level-5", "surface"),
    ("level-5", "empty"),
]


def schemes() -> dict[str, dict[str, str]]:
    """Read the custom properties: each has a light and a dark colour."""
    colour = r"--([\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);"
    names, light, dark = zip(*re.findall(colour, CSS), strict=True)
    return {
        "light": dict(zip(names, light, strict=True)),
        "dark": dict(zip(names, dark, strict=True)),
    }


def luminance(colour: str) -> float:
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4
        for value in channels
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def test_the_arithmetic_is_that_of_the_standard() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.005)


def test_every_colour_has_a_name_and_is_used() -> None:
    assert set(re.findall(r"var\(--([\w-]+)\)", CSS)) == set(schemes()["light"])
    outside = re.sub(r":root \{.*?\}", "", CSS, flags=re.DOTALL)
    assert re.findall(r"#[0-9a-fA-F]{3,8}\b", outside) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    ("colour", "behind", "least"),
    [(*pair, 4.5) for pair in TEXT] + [(*pair, 3.0) for pair in PARTS],
)
def test_the_contrast_is_enough(scheme: str, colour: str, behind: str, least: float) -> None:
    colours = schemes()[scheme]
    assert contrast(colours[colour], colours[behind]) >= least


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_scale_of_the_heatmap_goes_one_way(scheme: str) -> None:
    colours = schemes()[scheme]
    steps = [luminance(colours[name]) for name in ("empty", *(f"level-{n}" for n in range(1, 6)))]
    assert steps == sorted(steps, reverse=scheme == "light")
    assert len(set(steps)) == len(steps)
