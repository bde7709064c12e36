"""The line of progress: what it says, how it is drawn, where it is seen, and who hears it."""

import builtins
import io
import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr
from datetime import UTC, date, datetime
from functools import partial
from heapq import heappop, heappush
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace
from rich.console import Console
from tests.client.bench import Bench
from tests.client.raw_events import raw_rows
from tests.client.stand_in import Say
from tests.client.variants import Variant

from adanalytics_client import Observer
from adanalytics_client._base.quantities import in_bytes, in_minutes
from adanalytics_client._events.check import PullCheck
from adanalytics_client._events.fanout import PageFanout
from adanalytics_client._events.page import FetchedPage
from adanalytics_client._events.paging import Cursor
from adanalytics_client._events.plan import make_plan
from adanalytics_client._events.resume import Position
from adanalytics_client._events.slice import SliceRules
from adanalytics_client._progress.display import Display
from adanalytics_client._progress.drawing import Drawing, Line
from adanalytics_client._progress.progress import Progress, joined
from adanalytics_client._shapes.page import Signals
from adanalytics_client.observers import (
    BytesReceived,
    BytesWritten,
    HoursVerified,
    HourWritten,
    PageReceived,
    PullPlanned,
    RequestDue,
    RequestSent,
    RetryPlanned,
    WaitStarted,
)

DAY = date(2026, 1, 15)
RESUMES = datetime(2026, 1, 15, 14, 5, tzinfo=UTC)


class Seconds:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def timer() -> Seconds:
    return Seconds()


@pytest.fixture
def progress(timer: Seconds) -> Progress:
    return Progress(timer)


def text(progress: Progress) -> str:
    line = progress.describe()
    assert line is not None
    return line.text


def test_nothing_is_described_before_there_is_anything(progress: Progress) -> None:
    progress.request(RequestSent("GET", "http://h/dates", 200, 0.1, "r-1"))
    assert progress.describe() is None
    assert progress.requests == 1


def test_events_size_rate_time_left_and_quota(progress: Progress, timer: Seconds) -> None:
    progress.quota_left = lambda: 976
    progress.plan(PullPlanned(24, 24, 120_000))
    assert progress.describe() == Line("0 events  quota 976", 0.0)
    progress.output(BytesWritten(4_812_345))
    timer.now += 2
    for hour in range(6):
        progress.page(PageReceived(f"hour {hour}", 1, 5_000, pages=1))
    said = "30,000 events  0:06 left  4.81 MB  15,000/s  quota 976"
    assert progress.describe() == Line(said, 0.25)


def test_no_share_before_each_query_shows_how_many_events_it_has(
    progress: Progress, timer: Seconds
) -> None:
    """The hours of the night say nothing about those of the evening."""
    timer.now += 50
    progress.expect(2)
    timer.now += 10
    progress.page(PageReceived("hour 0", 1, 10, pages=1))
    assert progress.describe() == Line("10 events  0/s  1 of 2 queries", None)
    progress.page(PageReceived("hour 1", 1, 10, pages=4))
    assert progress.describe() == Line("20 events  0:15 left  0/s", 0.4)
    progress.page(PageReceived("hour 1", 2, 10, pages=4))
    progress.page(PageReceived("hour 1", 3, 10, pages=4))
    progress.page(PageReceived("hour 1", 4, 2, pages=4))
    assert progress.describe() == Line("42 events  1/s", 1.0)


def test_no_share_where_the_number_of_queries_is_unknown(progress: Progress) -> None:
    progress.page(PageReceived("2026-01", 1, 10, pages=4))
    assert progress.describe() == Line("10 events", None)


def test_a_plan_counts_what_is_still_to_come(progress: Progress, timer: Seconds) -> None:
    """The first page of an auto pull is used unless the plan divides the range."""
    timer.now += 4
    progress.page(PageReceived("2026-01", 1, 100, pages=4))
    progress.plan(PullPlanned(1, 3, 300))
    assert progress.describe() == Line("100 events  0:12 left  25/s", 0.25)


def pages_of_hours(
    sizes: list[int], timer: Seconds, observer: Observer
) -> Iterator[tuple[float, PageReceived]]:
    """Yield pages of 10,000 events as four threads fetch them: arrival, report.

    A request takes 0.4 s, and its bytes. The first page, which is not used, takes 1.5 s.
    """
    plan, hourly = make_plan(DAY, DAY, split="auto"), make_plan(DAY, DAY)
    position = Position(plan.slices, plan.ranges)
    check = PullCheck(plan, position, check="none")
    fanout = PageFanout(position, concurrency=4, check=check, rules=SliceRules(), observer=observer)
    requests = sum(-(-size // 10_000) for size in sizes)
    planned = PullPlanned(24, requests, sum(sizes))
    first, timer.now = fanout.start(), timer.now + 1.5
    assert first
    fanout.receive(first, Position(hourly.slices, hourly.ranges, plan=planned))
    now, flying = timer.now, list[tuple[float, int, Cursor]]()
    while not fanout.finished:
        while isinstance(cursor := fanout.start(), Cursor):
            hour, before = cursor.slice.hour or 0, (cursor.number - 1) * 10_000
            taken = 0.4 + min(10_000, sizes[hour] - before) / 60_000
            heappush(flying, (now + taken, hour, cursor))
        if fanout.ready() is not None:
            continue
        now, hour, cursor = heappop(flying)
        left = sizes[hour] - (cursor.number - 1) * 10_000
        rows = raw_rows([f'{{"event_id": "{hour}-{cursor.number}"}}'.encode()])
        ahead = replace(cursor, number=cursor.number + 1) if left > 10_000 else None
        fanout.receive(cursor, FetchedPage(cursor, rows, Signals(), ahead).with_keys())
        yield now, PageReceived(f"hour {hour}", cursor.number, min(10_000, left))


@pytest.mark.parametrize(
    "weights",
    [
        [1] * 7 + [5, 8, 10, 12, 13, 14, 14, 13, 13, 14, 15, 16, 18, 20, 20, 14, 6],
        [11, 8, 6, 5, 5, 6, 10, 15, 19, 21, 22, 23, 25, 24, 23, 23, 24, 26, 30, 34, 35, 31, 24, 17],
        [1] * 24,
    ],
    ids=["dead nights", "quiet nights", "even"],
)
def test_the_time_left_of_two_million_events(
    progress: Progress, timer: Seconds, weights: list[int]
) -> None:
    sizes = [2_000_000 * weight // sum(weights) for weight in weights]
    progress.expect(1)
    pages = list(pages_of_hours(sizes, timer, progress))
    # The queries of a night have one page each, so that threads fetch four at once. The pages of an
    # evening follow each other, which the first quarter cannot show.
    end, marks = pages[-1][0], [(0.10, 0.5), (0.25, 0.5), (0.50, 0.3), (0.75, 0.3)]
    for timer.now, page in pages:
        progress.page(page)
        if marks and progress.events >= 2_000_000 * marks[0][0]:
            _, bound = marks.pop(0)
            minutes, seconds = text(progress).split("  ")[1].removesuffix(" left").split(":")
            assert int(minutes) * 60 + int(seconds) == pytest.approx(end - timer.now, rel=bound)
    assert not marks


def test_a_file(progress: Progress, timer: Seconds) -> None:
    # What the service takes to write it, and what an earlier run fetched, is no download.
    timer.now += 60
    progress.bytes(BytesReceived(10_000_000, 100_000_000))
    assert progress.describe() == Line("10.0 MB of 100 MB", 0.1)
    timer.now += 4
    progress.bytes(BytesReceived(30_000_000, 100_000_000))
    assert progress.describe() == Line("30.0 MB of 100 MB  0:14 left  5.00 MB/s", 0.3)
    progress.bytes(BytesReceived(30_000_000, None))
    assert progress.describe() == Line("30.0 MB  5.00 MB/s", None)
    progress.bytes(BytesReceived(100_000_000, 100_000_000))
    assert progress.describe() == Line("100 MB of 100 MB", 1.0)
    progress.bytes(BytesReceived(1_000, 2_000))
    assert text(progress) == "1.00 kB of 2.00 kB"


def test_a_wait_counts_down_and_pages_of_other_threads_do_not_hide_it(
    progress: Progress, timer: Seconds
) -> None:
    progress.wait(WaitStarted("quota used up", 121.0, RESUMES))
    reason = "Quota used up; resuming at 14:05:00 UTC"
    assert progress.describe() == Line(f"{reason} (in 3 min)", None, end_first=True)
    timer.now += 2
    progress.page(PageReceived("hour 0", 1, 10))
    assert text(progress) == f"{reason} (in 119 s)"
    timer.now += 119
    assert text(progress) == "10 events"


def test_waits_are_not_in_the_rate_and_the_time_left(progress: Progress, timer: Seconds) -> None:
    progress.plan(PullPlanned(4, 4, 400))
    timer.now += 10
    progress.page(PageReceived("hour 0", 1, 100, pages=1))
    # Two threads wait for the same quota.
    progress.wait(WaitStarted("quota used up", 3_600.0, RESUMES))
    timer.now += 10
    progress.wait(WaitStarted("quota used up", 3_600.0, RESUMES))
    timer.now += 3_600
    assert text(progress) == "100 events  0:30 left  10/s"
    timer.now += 10
    progress.page(PageReceived("hour 1", 1, 100, pages=1))
    assert text(progress) == "200 events  0:20 left  10/s"


@pytest.mark.parametrize(
    ("page", "sort", "hour", "queries"),
    [
        # The seconds of a page, of sorting, and of an hour: measured, with a slow network, and with
        # a slow disk.
        (0.55, 1.4, 0.05, 1),
        (0.55, 1.4, 0.05, 5),
        (2.0, 1.5, 0.2, 3),
        (0.6, 0.5, 0.35, 4),
    ],
)
def test_the_time_that_a_sync_has_left(
    progress: Progress, timer: Seconds, page: float, sort: float, hour: float, queries: int
) -> None:
    """At a quarter, the half and three quarters of the time it is right within a third."""
    times, begin = [], timer.now
    progress.plan(PullPlanned(queries, 10 * queries, 100_000 * queries, hours=24 * queries))
    for query in range(queries):
        reports: list[tuple[float, Callable[[], None]]] = [
            (page, partial(progress.page, PageReceived(f"query {query}", n, 10_000, 10)))
            for n in range(1, 11)
        ]
        for committed, part in ((False, 0.7), (True, 0.3)):
            hours = [
                partial(progress.written, HourWritten(str(n), 4_166, committed)) for n in range(24)
            ]
            first = sort * (not committed)
            reports += [(hour * part + first * (not at), do) for at, do in enumerate(hours)]
        for seconds, report in reports:
            for _ in range(10):
                timer.now += seconds / 10
                line = progress.describe()
                assert line
                times.append((timer.now, line))
            report()
    end = timer.now
    # At a quarter of a short sync, the next page is almost here, and not counted.
    for part, bound in ((0.25, 0.35), (0.5, 0.3), (0.75, 0.3)):
        now, line = min(times, key=lambda each: abs(each[0] - begin - part * (end - begin)))
        minutes, seconds = re.findall(r"(\d+):(\d\d) left", line.text)[0]
        left = int(minutes) * 60 + int(seconds)
        assert left == pytest.approx(end - now, rel=bound, abs=1)
        assert line.share == pytest.approx(part, abs=0.1)
    assert text(progress).endswith(f"{24 * queries} of {24 * queries} hours written")


def test_the_events_of_an_export_are_sorted(progress: Progress, timer: Seconds) -> None:
    progress.plan(PullPlanned(1, 3, 0, hours=24))
    progress.bytes(BytesReceived(500, 1_000))
    assert text(progress) == "500 B of 1.00 kB"
    progress.bytes(BytesReceived(1_000, 1_000))
    assert text(progress) == "sorting the events of 24 hours"
    progress.written(HourWritten("2026-01-15T00", 10))
    progress.written(HourWritten("2026-01-15T00", 10, committed=True))
    assert text(progress) == "10 events  1 of 24 hours written"


def test_a_retry_counts_down_until_a_page_comes(progress: Progress, timer: Seconds) -> None:
    progress.page(PageReceived("hour 0", 1, 10))
    progress.retry(RetryPlanned("http://h/", 1, 2.5, "status 503"))
    assert text(progress) == "trying again in 3 s: status 503"
    timer.now += 2
    assert text(progress) == "trying again in 1 s: status 503"
    progress.page(PageReceived("hour 1", 1, 10))
    assert text(progress).startswith("20 events")


def test_only_the_part_of_a_retry_in_which_nothing_came_is_left_out(
    progress: Progress, timer: Seconds
) -> None:
    progress.plan(PullPlanned(4, 4, 400))
    timer.now += 10
    progress.page(PageReceived("hour 0", 1, 100, pages=1))
    progress.retry(RetryPlanned("http://h/", 1, 60.0, "status 503"))
    timer.now += 60
    assert text(progress) == "100 events  0:30 left  10/s"
    progress.retry(RetryPlanned("http://h/", 2, 60.0, "status 503"))
    timer.now += 2
    progress.page(PageReceived("hour 1", 1, 100, pages=1))
    timer.now += 10
    assert text(progress) == "200 events  0:20 left  10/s"


def test_the_hours_that_a_verification_did(progress: Progress, timer: Seconds) -> None:
    progress.verified(HoursVerified(48, 1_200, deep=False))
    assert progress.describe() == Line("48 of 1,200 hours checked", 0.04)
    progress.wait(WaitStarted("export processing", 2.0, RESUMES))
    assert text(progress) == "Export processing on the server, 0:00 so far"
    timer.now += 2
    progress.bytes(BytesReceived(500, 1_000))
    assert text(progress) == "500 B of 1.00 kB"
    progress.verified(HoursVerified(1, 1, deep=True))
    assert progress.describe() == Line("1 of 1 hour compared with the export", 1.0)


def test_the_time_that_an_export_takes(progress: Progress, timer: Seconds) -> None:
    progress.wait(WaitStarted("export pending", 2.0, RESUMES))
    timer.now += 3
    assert text(progress) == "Export pending on the server, 0:03 so far"
    progress.wait(WaitStarted("export processing", 30.0, RESUMES))
    timer.now += 31
    assert text(progress) == "Export processing on the server, 0:34 so far"
    progress.bytes(BytesReceived(500, 1_000))
    assert text(progress) == "500 B of 1.00 kB"


def test_joined_observers_hear_everything_in_their_order() -> None:
    heard: list[str] = []

    class First(Observer):
        def due(self, info: RequestDue) -> None:
            heard.append(f"first {info.url}")

    class Second(First):
        def due(self, info: RequestDue) -> None:
            heard.append(f"second {info.url}")

    joined(First(), Second()).due(RequestDue("GET", "/dates"))
    assert heard == ["first /dates", "second /dates"]


class Screen(io.StringIO):
    """What was drawn, without the codes that move the cursor."""

    def rows(self) -> list[str]:
        return [
            each.removesuffix("\x1b[?25l").removesuffix("\x1b[?25h")
            for each in self.getvalue().split("\r\x1b[2K")
        ]


def display(screen: Screen, width: int) -> tuple[Display, Console]:
    console = Console(file=screen, force_terminal=True, color_system=None, width=width, height=24)
    return Display(console), console


def test_a_bar_with_percent_where_the_share_is_known() -> None:
    screen = Screen()
    shown, _ = display(screen, 80)
    shown.show(Line("40,000 events", 0.25))
    shown.show(Line("quota used up"))
    shown.close()
    bar, without, *_ = screen.rows()
    assert bar.endswith(f"{'━' * 5}{' ' * 15}  25% 40,000 events")
    assert without == "quota used up"


@pytest.mark.parametrize(
    ("width", "line", "drawn"),
    [
        (33, Line("x" * 20, 0.5), "━━    50% " + "x" * 20),
        (26, Line("x" * 20, 0.5), "50%  " + "x" * 18),
        (22, Line("0123456789" * 3), "0123456789012345678"),
        (22, Line("0123456789" * 3, end_first=True), "..34567890123456789"),
        (
            40,
            Line("20,000 events  1:20 left  10.3 MB  24,876/s", 0.1),
            "╸        10% 20,000 events  1:20 left",
        ),
        (80, Line("\x1b[31mRED\tx\ny [bold]"), r"\x1b[31mRED\tx\ny [bold]"),
    ],
)
def test_a_line_is_cut_to_the_window(width: int, line: Line, drawn: str) -> None:
    screen = Screen()
    shown, _ = display(screen, width)
    shown.show(Line(""))
    shown.show(line)
    assert screen.rows()[-1] == drawn[: width - 3]


def test_a_window_made_narrower_leaves_no_rest() -> None:
    screen = Screen()
    shown, console = display(screen, 41)
    shown.show(Line("x" * 40))
    console.size = console.size._replace(width=20)
    screen.truncate(0)
    shown.show(Line("y"))
    # The 40 cells now take two rows, of which the cursor is in the second.
    assert screen.getvalue().lstrip("\0") == "\x1b[2K\x1b[1A\r\x1b[2Ky"


def test_nothing_is_left_on_the_screen() -> None:
    screen = Screen()
    shown, _ = display(screen, 80)
    shown.show(Line("40,000 events", 0.25))
    # Not even a hidden cursor, if the process is killed now.
    assert screen.getvalue().endswith("\x1b[?25h")
    shown.close()
    assert screen.getvalue().endswith("\n\x1b[?25h\r\x1b[1A\x1b[2K")


class Notes:
    """A display that notes what it shows."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.drawn = threading.Event()
        self.closed = False

    def show(self, line: Line) -> None:
        self.lines.append(line)
        self.drawn.set()

    def close(self) -> None:
        self.closed = True


def drawing(describe: Callable[[], Line | None], notes: Notes, *, stays: bool = False) -> Drawing:
    return Drawing(describe, lambda: notes, stays=stays)  # type: ignore[arg-type, return-value]  # a stand-in


def test_the_state_is_drawn_again_and_again_until_the_end() -> None:
    notes, states = Notes(), iter([None, Line("one"), *[Line("more")] * 1_000])
    running = drawing(lambda: next(states), notes)
    assert notes.drawn.wait(30)
    running.end()
    running.end()
    assert (notes.lines[0], notes.closed) == (Line("one"), True)


def test_no_display_is_opened_for_nothing_and_the_last_state_may_stay() -> None:
    notes = Notes()
    drawing(lambda: None, notes).end()
    assert not notes.closed
    drawing(lambda: Line("last"), notes, stays=True).end()
    assert notes.lines[-1] == Line("last")


def test_a_terminal_that_is_gone_does_not_end_the_work() -> None:
    def fail() -> Line:
        raise OSError("gone")

    drawing(fail, Notes(), stays=True).end()


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


def test_a_page_that_comes_again_counts_once(progress: Progress) -> None:
    progress.expect(2)
    for number, events in [(1, 100), (2, 40), (1, 100), (2, 60)]:
        progress.page(PageReceived("2026-01-15", number, events, 2))
    assert progress.events == 160
    assert "1 of 2 queries" in text(progress)


DATE = "2026-01-15"
PAGE = {"events": [{"event_id": "a"}, {"event_id": "b"}], "pagination": {"has_more": False}}


class Terminal(io.StringIO):
    """A terminal in the place of stderr while it is entered."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    return Terminal()


@pytest.mark.parametrize("method", ["to_arrow", "to_pandas", "to_polars"])
def test_a_table_shows_how_many_events_came(
    reference_variant: Variant, terminal: Terminal, method: str
) -> None:
    query = reference_variant.client.events(DATE, split="none")
    with redirect_stderr(terminal):
        assert len(reference_variant.on(query, method, progress=True)) == 1500
    assert "100%" in terminal.getvalue()
    assert "1,500 events" in terminal.getvalue()


def test_a_file_shows_events_and_an_export_bytes(
    reference_variant: Variant, terminal: Terminal, tmp_path: Path
) -> None:
    query = reference_variant.client.events(DATE)
    with redirect_stderr(terminal):
        assert reference_variant.on(query, "write", tmp_path / "x.jsonl", progress=True) == 1500
        assert "1,500 events" in terminal.getvalue()
        path = reference_variant.call("export", DATE, to=tmp_path / "x.csv", progress=True)
    assert "kB of" in terminal.getvalue()
    assert path.exists()


def test_the_rate_of_an_export_leaves_out_what_the_service_took(
    bench: Bench, terminal: Terminal, tmp_path: Path
) -> None:
    bench.says(
        bulk_export=[Say({"status": "pending", "status_url": "/state"})],
        state=[Say({"status": "pending"}), Say({"status": "done", "url": "/f.csv"})],
        f_csv=[Say(b"a,b\r\n")],
    )
    with redirect_stderr(terminal):
        bench.open().call("export", DATE, to=tmp_path / "x.csv", progress=True, check="none")
    assert "5 B of 5 B" in terminal.getvalue()
    assert "/s" not in terminal.getvalue()


def test_nothing_is_shown_where_stderr_is_no_terminal(
    reference_variant: Variant, capsys: pytest.CaptureFixture[str]
) -> None:
    query = reference_variant.client.events(DATE, split="none")
    reference_variant.on(query, "to_arrow", progress=True)
    assert capsys.readouterr().err == ""


def test_a_notebook_shows_it_in_the_output_of_the_cell(
    reference_variant: Variant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without ipywidgets; what was shown last is saved with the notebook."""

    class ZMQInteractiveShell:
        """Named as the shell of a notebook, by which rich recognises one."""

    drawn: list[str] = []

    def draw(live: Any) -> None:
        drawn.append(live._repr_mimebundle_(include=(), exclude=())["text/plain"])

    def display(live: Any, *, display_id: bool) -> SimpleNamespace:
        draw(live)
        return SimpleNamespace(update=draw)

    monkeypatch.setattr(builtins, "get_ipython", ZMQInteractiveShell, raising=False)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    query = reference_variant.client.events(DATE, split="none")
    reference_variant.on(query, "to_arrow", progress=True)
    assert "1,500 events" in drawn[-1]


def test_the_observer_of_the_client_hears_everything(
    bench: Bench, terminal: Terminal, tmp_path: Path
) -> None:
    heard: list[str] = []

    class Everything(Observer):
        """Notes which of its methods was called."""

    def hear(name: str) -> Any:
        return lambda _self, _info: heard.append(name)

    for name in vars(Observer):
        if not name.startswith("_"):
            setattr(Everything, name, hear(name))

    def page(total: int) -> Say:
        return Say({**PAGE, "pagination": {"total": total, "has_more": False}})

    bench.says(
        events=[Say(status=503), Say(status=429), page(5), Say({"events": []}), page(2)],
        bulk_export=[Say({"status": "done", "url": "/f.csv"})],
        f_csv=[Say(b"a,b\r\n")],
    )
    variant = bench.open(observer=Everything())
    query = variant.client.events(DATE, split="none", on_drift="warn")
    with redirect_stderr(terminal):
        variant.call("export", DATE, to=tmp_path / "x.csv", progress=True, check="none")
        variant.on(query, "write", tmp_path / "x.jsonl", progress=True)
    assert {"due", "request", "retry", "wait", "page", "drift", "bytes"} <= set(heard)
