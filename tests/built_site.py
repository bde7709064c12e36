"""The site that `make docs` built, in a browser and as text; `make docs` runs these tests."""

import functools
import re
import shutil
import threading
from collections.abc import Iterator
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from playwright.sync_api import sync_playwright as start_playwright
from tests.browser.conftest import FLAGS, NAMES

SITE = Path(__file__).parent.parent / "site"
PAGES = sorted(
    str(file.parent.relative_to(SITE)).removeprefix(".") for file in SITE.rglob("index.html")
)
# What people type, and the pages of which one has to come first.
SEARCHES = {
    "PageDrift": ("reference", "explanation/glossary"),
    "retry": ("reference", "how-to/connections"),
    "kill sync": ("how-to/nightly-sync",),
    "resume": ("how-to/plan-a-pull",),
    "certificate": ("how-to/connections",),
    "excel": ("how-to/open-in-excel",),
    "changelog": ("project/changelog",),
    "mcp": ("how-to/assistants",),
    "incremental": ("how-to/load-only-what-is-new",),
    "how many requests": ("how-to/plan-a-pull",),
    "only clicks": ("how-to/pull-a-day",),
    "pull only clicks?": ("how-to/pull-a-day",),
    "January in requests?": ("how-to/plan-a-pull",),
    "why PageDrift?": ("explanation/glossary",),
    "nightly in Airflow?": ("examples/airflow",),
    "mock an export?": ("how-to/mock-the-client",),
    "revenue per country and day?": ("how-to/query-a-dataset",),
    "what happens when I kill sync?": ("how-to/nightly-sync",),
    "what is is_filtered?": ("explanation/glossary",),
    "429?": ("explanation/glossary", "how-to/share-the-quota"),
    "proxy, company CA?": ("how-to/connections",),
    "exit codes?": ("reference/command-line",),
    "why does their report differ?": ("how-to/reconcile",),
    "discrepancy": ("how-to/reconcile",),
    "several partners?": ("how-to/compare-periods", "how-to/sign-in"),
    "how to install, which extra?": ("how-to/install",),
    "to S3?": ("how-to/nightly-sync",),
    "what changed, may I upgrade?": ("how-to/install", "project/changelog"),
    "load only what is new?": ("how-to/load-only-what-is-new",),
    "Windows?": ("how-to/install",),
    "eCPM formula?": ("reference", "explanation/glossary"),
    "time zone of a day?": ("explanation/glossary",),
    "how many retries?": ("reference/quota-and-retries",),
}


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *arguments: Any) -> None:
        pass


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    handler = functools.partial(QuietHandler, directory=SITE)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def page(address: str) -> Iterator[Page]:
    """A page of a browser that may copy; errors and requests to other hosts fail the tests.

    Where the site knows its repository, the theme asks its host for the latest release.
    """
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.skip(f"no browser is installed: none of {', '.join(NAMES)} is in PATH")
    problems: list[str] = []
    with start_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        context = browser.new_context(
            permissions=["clipboard-read", "clipboard-write"], color_scheme="light"
        )
        context.on("console", lambda m: problems.append(m.text) if m.type == "error" else None)
        context.on(
            "request",
            lambda each: (
                None
                if each.url.startswith((address, "https://api."))
                else problems.append(each.url)
            ),
        )
        yield context.new_page()
        browser.close()
    assert problems == []


@pytest.mark.parametrize("query", SEARCHES)
def test_a_search_finds_the_page_first(query: str, page: Page, address: str) -> None:
    page.goto(f"{address}/?q={query}")
    first = page.locator(".md-search-result__link").first
    first.wait_for(state="attached")
    found = str(first.get_attribute("href")).removeprefix(f"{address}/")
    assert found.startswith(SEARCHES[query])


@pytest.mark.parametrize(
    ("where", "block", "copied"),
    [
        ("how-to/sign-in/", "adanalytics status", "adanalytics status"),
        ("how-to/install/", "uv tool install", None),
        ("reference/client/", ">>> client.close()", "client.close()"),
    ],
)
def test_copying_takes_neither_prompts_nor_output(
    where: str, block: str, copied: str | None, page: Page, address: str
) -> None:
    page.goto(f"{address}/{where}")
    shown = page.locator(".highlight").filter(has_text=block).first
    shown.hover()
    shown.locator(".md-clipboard, .md-code__button[data-md-type=copy]").first.click()
    expect(page.locator(".md-dialog--active")).to_be_visible()
    text = page.evaluate("navigator.clipboard.readText()")
    assert re.search(r"(?m)^(\$|>>>|\.\.\.) ", text) is None
    assert block.removeprefix(">>> ") in text
    assert copied is None or text == copied


def test_the_switch_makes_the_page_dark(page: Page, address: str) -> None:
    page.goto(address)
    body = page.locator("body")
    expect(body).to_have_attribute("data-md-color-scheme", "default")
    for name in ("Use light colours", "Use dark colours"):
        page.get_by_title(name).click()
    expect(body).to_have_attribute("data-md-color-scheme", "slate")


class Outline(HTMLParser):
    """The description, the links and the names of places of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.description, self.links, self.ids = "", set[str](), set[str]()
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attributes}
        self.ids |= {found[name] for name in ("id", "name") if name in found}
        if tag == "a" and "href" in found:
            self.links.add(found["href"])
        if tag == "meta" and found.get("name") == "description":
            self.description = found["content"]


OUTLINES = {name: Outline((SITE / name / "index.html").read_text()) for name in PAGES}


def test_every_page_has_a_description_of_its_own() -> None:
    descriptions = [each.description for each in OUTLINES.values()]
    assert len(set(descriptions)) == len(descriptions) > 40
    assert [each for each in descriptions if not 40 <= len(each) <= 160] == []


@pytest.mark.parametrize("name", PAGES)
def test_every_link_leads_somewhere(name: str) -> None:
    wrong = []
    for link in OUTLINES[name].links:
        path, _, place = link.partition("#")
        if re.match(r"[a-z]+:", link):
            continue
        file = (SITE / name / path).resolve()
        target = str(file.relative_to(SITE.resolve())).removeprefix(".")
        known = target in OUTLINES or file.is_file()
        if not known or (place and target in OUTLINES and place not in OUTLINES[target].ids):
            wrong.append(link)
    assert wrong == []


def test_every_attribute_in_the_reference_has_a_type() -> None:
    texts = {name: (SITE / name / "index.md").read_text() for name in PAGES if "reference/" in name}
    tables = re.findall(r"(?m)^\| Name \| Type \|.*\n(?:\|.*\n)*", "".join(texts.values()))
    assert len(tables) > 50
    assert re.findall(r"(?m)^\| `.+?` \| +\|.*$", "".join(tables)) == []


def test_the_whole_documentation_is_there_as_text() -> None:
    listed = re.findall(r"\]\(/(.+)\): ", (SITE / "llms.txt").read_text())
    assert len(listed) == len(PAGES)
    whole = (SITE / "adanalytics.md").read_text()
    assert [each for each in listed if (SITE / each).read_text() not in whole] == []
    # From a page, from a file that a page includes, and from a docstring.
    for part in ("# Troubleshooting", "max_active_runs=1", "compare the pull as a whole"):
        assert part in whole
    assert '--8<-- "' not in whole
    assert "\n::: " not in whole
