"""A real Chromium without a window, the one of the system, and a server with a week of data."""

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Literal

import httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request
from playwright.sync_api import sync_playwright as start_playwright

from adanalytics_server import admin
from adanalytics_server.accounts.api_keys import LONGEST_KEY_NAME
from adanalytics_server.local import LocalServer, Sample

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@dataclass
class Visit:
    """A visitor with a browser of their own, and what went on in it that should not."""

    server: LocalServer
    context: BrowserContext
    page: Page
    problems: list[str] = field(default_factory=list)

    def open(self, path: str) -> None:
        """Go to a page of the server."""
        self.page.goto(self.server.url + path)

    def sign_in(self) -> None:
        """Fill in the login form, and wait until the page behind it has its styles."""
        self.open("/")
        self.page.get_by_label("E-mail address").fill(self.server.email)
        self.page.get_by_label("Password").fill(self.server.password)
        with self.page.expect_event("load"):
            self.page.get_by_role("button", name="Sign in").click()

    def watch(self) -> None:
        """Remember errors, warnings and requests to other hosts."""
        self.page.on("console", self._hear)
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.context.on("request", self._see)

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self.problems.append(f"{message.type}: {message.text}")

    def _see(self, request: Request) -> None:
        if not request.url.startswith(f"{self.server.url}/"):
            self.problems.append(f"request to {request.url}")


@pytest.fixture(scope="package")
def server() -> Iterator[LocalServer]:
    """A server with something to see on every page, shared: tests leave it as it was."""
    sample = Sample(start=date(2026, 1, 26), days=7, events_per_day=500)
    with LocalServer(sample=sample) as running:
        admin.add_partner(running.settings.data, "globex", name="Globex", currency="EUR")
        admin.create_key(running.settings.data, running.email, name="x" * LONGEST_KEY_NAME)
        httpx.post(
            f"{running.url}/api/partners/acme/ad-analytics/bulk-export",
            json={"start_date": "2026-01-26", "end_date": "2026-02-01", "format": "csv"},
            headers={"Authorization": f"Bearer {running.api_key}"},
        ).raise_for_status()
        yield running


# Not of the whole session, and after the server: while it runs, so does an event loop in this
# thread, and neither the server nor other tests could start one of their own. For pytest a folder
# is a package only with its file __init__.py.
@pytest.fixture(scope="package")
def chromium(server: LocalServer) -> Iterator[Browser]:
    """Start the browser once for the tests of this folder."""
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.skip(f"no browser is installed: none of {', '.join(NAMES)} is in PATH")
    with start_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def new_visit(chromium: Browser, server: LocalServer) -> Iterator[Callable[..., Visit]]:
    """Let visitors in, signed in as nobody; complain afterwards about what went wrong."""
    visits: list[Visit] = []

    def visit(
        *, width: int = 1280, scheme: Literal["light", "dark"] = "light", scripts: bool = True
    ) -> Visit:
        context = chromium.new_context(
            viewport={"width": width, "height": 900},
            color_scheme=scheme,
            java_script_enabled=scripts,
        )
        visits.append(Visit(server, context, context.new_page()))
        visits[-1].watch()
        return visits[-1]

    yield visit
    for each in visits:
        each.context.close()
    assert [problem for each in visits for problem in each.problems] == []


@pytest.fixture(scope="session")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where screenshots go."""
    return tmp_path_factory.mktemp("screenshots")
