"""What the live line and the steps say, with a clock that the test moves."""

import io
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from adanalytics_cli.console.live_line import LiveLine
from adanalytics_cli.console.progress import Progress
from adanalytics_client import (
    BytesReceived,
    PageReceived,
    RequestSent,
    RetryPlanned,
    WaitStarted,
)
from adanalytics_client._base.quantities import in_bytes, in_minutes


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def screen() -> io.StringIO:
    return io.StringIO()


@pytest.fixture
def later() -> list[Callable[[], None]]:
    """What was put off, to be done by the test."""
    return []


@pytest.fixture
def progress(clock: Clock, screen: io.StringIO, later: list[Callable[[], None]]) -> Progress:
    def put_off(_seconds: float, action: Callable[[], None]) -> None:
        later.append(action)

    line = LiveLine(screen, width=lambda: 80, clock=clock, later=put_off)
    return Progress(line=line, say_step=None, clock=clock, later=put_off)


def drawn(screen: io.StringIO) -> list[str]:
    return screen.getvalue().split("\r\x1b[2K")[1:]


def test_events_size_rate_time_left_and_quota(
    progress: Progress, clock: Clock, tmp_path: Path
) -> None:
    progress.expect(24)
    progress.quota_left = lambda: 976
    with (tmp_path / "day.jsonl").open("wb") as output:
        progress.watch(output)
        output.write(b"x" * 4_812_345)
        clock.now += 2
        for hour in range(8):
            progress.page(PageReceived(f"hour {hour}", 1, 5_000, pages=1))
        assert progress.describe() == ("40,000 events  4.81 MB  20,000/s  0:04 left  quota 976")


def test_a_page_is_its_share_of_a_slice(progress: Progress, clock: Clock) -> None:
    clock.now += 50
    progress.expect(2)
    clock.now += 10
    progress.page(PageReceived("hour 0", 1, 10, pages=4))
    assert "1:10 left" in progress.describe()
    progress.page(PageReceived("hour 0", 4, 10, pages=4))
    progress.page(PageReceived("hour 1", 1, 10))
    assert "0:10 left" in progress.describe()
    progress.page(PageReceived("hour 1", 2, 10, pages=2))
    assert "left" not in progress.describe()


def test_a_file(progress: Progress, clock: Clock) -> None:
    # What the service takes to write it, and what an earlier run fetched, is no download.
    clock.now += 60
    progress.bytes(BytesReceived(10_000_000, 100_000_000))
    assert progress.describe() == "10.0 MB of 100 MB"
    clock.now += 4
    progress.bytes(BytesReceived(30_000_000, 100_000_000))
    assert progress.describe() == "30.0 MB of 100 MB  5.00 MB/s  0:14 left"
    progress.bytes(BytesReceived(30_000_000, None))
    assert progress.describe() == "30.0 MB  5.00 MB/s"
    progress.bytes(BytesReceived(1_000, 2_000))
    assert progress.describe() == "1.00 kB of 2.00 kB"


def test_why_it_waits(progress: Progress, screen: io.StringIO) -> None:
    resumes = datetime(2026, 1, 15, 14, 5, tzinfo=UTC)
    progress.page(PageReceived("hour 0", 1, 10))
    progress.wait(WaitStarted("quota used up", 1200.0, resumes))
    progress.retry(RetryPlanned("http://h/", 1, 0.5, "status 503"))
    assert drawn(screen)[1:] == [
        "Quota used up; resuming at 14:05:00 UTC (in 20 min)",
        "trying again in 0.5 s: status 503",
    ]


def test_a_wait_counts_down(
    progress: Progress, clock: Clock, screen: io.StringIO, later: list[Callable[[], None]]
) -> None:
    resumes = datetime(2026, 1, 15, 14, 5, tzinfo=UTC)
    progress.wait(WaitStarted("quota used up", 121.0, resumes))
    for _ in range(2):
        clock.now += 1
        later.pop()()
    assert [text[text.index("(") :] for text in drawn(screen)] == [
        "(in 3 min)",
        "(in 2 min)",
        "(in 119 s)",
    ]
    # Another wait counts down alone, to its end or that of the run.
    progress.wait(WaitStarted("quota used up", 1.0, resumes))
    later.pop(0)()
    clock.now += 1
    later.pop()()
    progress.wait(WaitStarted("quota used up", 5.0, resumes))
    progress.finish()
    later.pop()()
    assert later == []
    assert len(drawn(screen)) == 6


def test_drawn_at_most_ten_times_a_second_and_gone_at_the_end(
    progress: Progress, clock: Clock, screen: io.StringIO
) -> None:
    for step in range(20):
        clock.now = 100 + step * 0.0625
        progress.page(PageReceived(f"hour {step}", 1, 1))
    assert len(drawn(screen)) == 10
    progress.finish()
    progress.page(PageReceived("hour 24", 1, 1))
    progress.finish()
    assert len(drawn(screen)) == 11
    assert drawn(screen)[-1] == ""


def test_the_last_of_several_steps_is_drawn_a_moment_later(
    progress: Progress, screen: io.StringIO, later: list[Callable[[], None]]
) -> None:
    for hour in range(3):
        progress.page(PageReceived(f"hour {hour}", 1, 10))
    assert drawn(screen) == ["10 events"]
    assert len(later) == 1
    later.pop()()
    assert drawn(screen) == ["10 events", "30 events"]
    progress.page(PageReceived("hour 3", 1, 10))
    progress.retry(RetryPlanned("http://h/", 1, 0.5, "status 503"))
    later.pop()()
    assert drawn(screen)[2:] == ["trying again in 0.5 s: status 503"]
    progress.page(PageReceived("hour 4", 1, 10))
    progress.finish()
    later.pop()()
    assert drawn(screen)[3:] == [""]


def test_a_line_never_reaches_the_edge(clock: Clock, screen: io.StringIO) -> None:
    LiveLine(screen, width=lambda: 20, clock=clock).show("x" * 50)
    assert drawn(screen) == ["x" * 19]


def test_a_window_made_narrower_leaves_no_rest(clock: Clock, screen: io.StringIO) -> None:
    widths = iter([41, 41, 20, 20, 20, 80])
    line = LiveLine(screen, width=lambda: next(widths), clock=clock)
    line.show("x" * 40)
    line.show("y" * 40, at_once=True)
    line.erase()
    # The 40 cells now take two rows, of which the cursor is in the second.
    assert screen.getvalue() == f"\r\x1b[2K{'x' * 40}\r\x1b[1A\x1b[J{'y' * 19}\r\x1b[2K"


def test_a_late_report_draws_no_line_after_the_end(clock: Clock, screen: io.StringIO) -> None:
    line = LiveLine(screen, width=lambda: 80, clock=clock)
    line.show("one")
    line.erase()
    line.show("two", at_once=True)
    assert drawn(screen)[-1] == ""


def test_steps(clock: Clock) -> None:
    steps: list[str] = []
    progress = Progress(line=None, say_step=steps.append, clock=clock)
    progress.request(RequestSent("GET", "http://h/api/x?hour=3", 200, 0.12, "r-1"))
    progress.request(RequestSent("GET", "http://h/api/x", None, 1.0, None))
    progress.page(PageReceived("2026-01-15 hour 3", 1, 5_012))
    assert steps == [
        "GET /api/x?hour=3: 200 after 0.12 s",
        "GET /api/x: no answer after 1.00 s",
        "2026-01-15 hour 3, page 1: 5,012 events",
    ]
    assert (progress.requests, progress.events) == (2, 5_012)


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.00 kB"),
        (12_345, "12.3 kB"),
        (999_499, "999 kB"),
        (999_500, "1.00 MB"),
        (10**15, "1000 TB"),
    ],
)
def test_sizes(size: int, text: str) -> None:
    assert in_bytes(size) == text


@pytest.mark.parametrize(("seconds", "text"), [(0.4, "0:00"), (75, "1:15"), (3_661, "1:01:01")])
def test_durations(seconds: float, text: str) -> None:
    assert in_minutes(seconds) == text
