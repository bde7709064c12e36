"""Progress on stderr: steps with `-v`, warnings, nothing with `-q`; a line needs a terminal."""

import io
import logging
import threading
from contextlib import redirect_stderr
from datetime import UTC, datetime
from types import SimpleNamespace

import pytest
from tests.cli.run import run

from adanalytics_cli.console import progress
from adanalytics_cli.console.progress import show_progress, show_stages
from adanalytics_cli.core.invocation import Invocation
from adanalytics_client._progress.display import Display
from adanalytics_client._progress.drawing import Line
from adanalytics_client.observers import PageReceived, RequestSent, RetryPlanned, WaitStarted
from adanalytics_server.loading.load import Progress as Stage
from adanalytics_server.local import LocalServer

LONG_WAIT = {"resumes_at": datetime(2026, 1, 15, 14, 5, tzinfo=UTC)}


def warn() -> None:
    log = logging.getLogger("adanalytics_client")
    log.warning("a long wait", extra=LONG_WAIT)
    log.warning("pages moved")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def xterm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")


def test_the_environment_shows_requests_too(service: LocalServer) -> None:
    log = logging.getLogger("adanalytics_client")
    try:
        shown = run("dates", env={"ADANALYTICS_LOG": "debug"}).stderr
    finally:
        log.setLevel(logging.NOTSET)
    assert shown.startswith(f"GET {service.url}/api/partners/acme/ad-analytics/dates: 200 after ")
    assert run("dates").stderr == ""


def test_steps(capsys: pytest.CaptureFixture[str]) -> None:
    with show_progress(Invocation(verbose=True), live=True) as shown:
        shown.request(RequestSent("GET", "http://h/api/x?hour=3", 200, 0.12, "r-1"))
        shown.request(RequestSent("GET", "http://h/api/x", None, 1.0, None))
        shown.page(PageReceived("2026-01-15 hour 3", 1, 5_012))
        shown.retry(RetryPlanned("http://h/", 1, 0.5, "status 503"))
        shown.wait(WaitStarted("quota used up", 90.0, LONG_WAIT["resumes_at"]))
        warn()
    assert capsys.readouterr().err.splitlines() == [
        "GET /api/x?hour=3: 200 after 0.12 s",
        "GET /api/x: no answer after 1.00 s",
        "2026-01-15 hour 3, page 1: 5,012 events",
        "trying again in 0.5 s: status 503",
        "Quota used up; resuming at 14:05:00 UTC (in 90 s)",
        "pages moved",
    ]
    assert (shown.requests, shown.events) == (2, 5_012)


@pytest.mark.parametrize(
    ("invocation", "said"),
    [
        (Invocation(), "a long wait\npages moved\n"),
        (Invocation(quiet=True), "pages moved\n"),
        (Invocation(quiet=True, verbose=True), "pages moved\n"),
    ],
)
def test_a_pipe_gets_warnings_only(
    capsys: pytest.CaptureFixture[str], invocation: Invocation, said: str
) -> None:
    with show_progress(invocation, live=True) as shown:
        shown.page(PageReceived("2026-01-15 hour 3", 1, 5_012))
        warn()
    warn()
    assert capsys.readouterr().err == said


def test_a_line_shows_waits_in_place_of_the_warning() -> None:
    with redirect_stderr(Terminal()) as terminal:
        with show_progress(Invocation(), live=True) as shown:
            warn()
            shown.finish()
            shown.finish()
        with show_progress(Invocation(), live=False):
            warn()
    assert terminal.getvalue() == "pages moved\na long wait\npages moved\n"


def test_a_warning_goes_above_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = threading.Event()
    show = Display.show

    def note(display: Display, line: Line) -> None:
        show(display, line)
        drawn.set()

    monkeypatch.setattr(Display, "show", note)
    with (
        redirect_stderr(Terminal()) as terminal,
        show_progress(Invocation(color="never"), live=True) as shown,
    ):
        shown.page(PageReceived("2026-01-15 hour 3", 1, 5_012))
        assert drawn.wait(30)
        warn()
        shown.finish()
        written = terminal.getvalue()
    assert "5,012 events\x1b[?25h\r\x1b[2Kpages moved\n5,012 events" in written
    assert written.endswith("\n\x1b[?25h\r\x1b[1A\x1b[2K")


@pytest.mark.parametrize(("quiet", "shown"), [(False, True), (True, False)])
def test_the_stages_of_a_load(monkeypatch: pytest.MonkeyPatch, quiet: bool, shown: bool) -> None:
    drawn = threading.Event()
    lines: list[Line] = []

    def show(line: Line) -> None:
        lines.append(line)
        drawn.set()

    display = SimpleNamespace(show=show, close=lambda: None)
    monkeypatch.setattr(progress, "_open_display", lambda _terminal: display)
    with redirect_stderr(Terminal()), show_stages("day.csv", Invocation(quiet=quiet)) as note:
        note(Stage("reading", 1_000, 0.5))
        assert drawn.wait(30 if shown else 0) == shown
    assert lines[:1] == [Line("day.csv: reading 1,000 rows", 0.5)][: len(lines)]
