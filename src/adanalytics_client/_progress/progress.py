"""What the client reports about a run, counted and described in one line."""

import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import ceil

from adanalytics_client._base import observer
from adanalytics_client._base.observer import Observer
from adanalytics_client._base.quantities import counted, in_bytes, in_minutes

from .drawing import Line

# Before this, rates and the time left would jump about.
_SETTLED_SECONDS = 0.5
# Writing an event to a dataset and committing it take about so many times the time of fetching it,
# measured with a server on the same machine.
_WRITING = 0.45


def joined(*observers: Observer) -> Observer:
    """Return an observer that passes each report on to all of these, in their order."""

    def pass_on(name: str, info: object) -> None:
        for member in observers:
            getattr(member, name)(info)

    joint = Observer()
    for name in vars(Observer):
        if not name.startswith("_"):
            setattr(joint, name, partial(pass_on, name))
    return joint


class Progress(Observer):
    """Counts requests, events and bytes, and describes them in one line.

    Its methods are called from the threads that fetch. `now` returns seconds that only grow.
    `quota_left` is asked for each description; `start` and `finish` begin and end the drawing, if
    there is one.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self.requests = 0
        self.events = 0
        # The events of the hours that were written, and of those that were committed, too.
        self._written = self._committed = 0
        self.quota_left: Callable[[], int | None] = lambda: None
        self.start: Callable[[], None] = lambda: None
        self.finish: Callable[[], None] = lambda: None
        self._now = now
        self._lock = threading.Lock()
        self._start = now()
        # The seconds of all pauses, also those to come, and when work goes on.
        self._pauses, self._resumes = 0.0, self._start
        self._wait: observer.WaitStarted | None = None
        self._wait_ends = self._start
        self._export_since: float | None = None
        self._retry: observer.RetryPlanned | None = None
        self._retries_at = 0.0
        self._pulls = False
        self._queries = self._slices_done = 0
        # All events of the pull.
        self._total: int | None = None
        # When the first of them was asked for.
        self._pages_began = 0.0
        # The events of each page: one that is requested again counts once.
        self._pages: dict[tuple[str, int], int] = {}
        # The events of each query whose first page is here.
        self._sizes: dict[str, int] = {}
        self._size = 0
        # The hours of a sync to write, and those that were committed.
        self._hours = self._hours_done = 0
        self._verification: observer.HoursVerified | None = None
        self._file: observer.BytesReceived | None = None
        # When the bytes of the file began to come, and how many an earlier run had fetched.
        self._file_began, self._file_had = 0.0, 0

    def expect(self, queries: int) -> None:
        """Set the number of queries of the pull; their first pages show how many events come."""
        with self._lock:
            self._pulls, self._queries = True, queries
            self._pages_began = self._working()

    def seconds(self) -> float:
        return self._now() - self._start

    def _working(self) -> float:
        """Return the time since the start without the pauses."""
        now = self._now()
        return now - self._start - self._pauses + max(0.0, self._resumes - now)

    def _pause_until(self, end: float) -> None:
        """Leave the time until `end` out of rates and the time left."""
        self._pauses += max(0.0, end - max(self._now(), self._resumes))
        self._resumes = max(end, self._resumes)

    def _end_retry(self) -> None:
        """End the pause before a retry; a wait for quota goes on."""
        resumes = max(self._now(), self._wait_ends)
        if self._retry and resumes < self._resumes:
            self._pauses -= self._resumes - resumes
            self._resumes = resumes
        self._retry = None

    def request(self, _: observer.RequestSent) -> None:
        with self._lock:
            self.requests += 1

    def retry(self, info: observer.RetryPlanned) -> None:
        """Describe the pause until it ends or a page comes from another thread."""
        with self._lock:
            self._retry, self._retries_at = info, self._now() + info.seconds
            self._pause_until(self._retries_at)

    def wait(self, info: observer.WaitStarted) -> None:
        with self._lock:
            now = self._now()
            self._wait, self._wait_ends = info, max(now + info.seconds, self._wait_ends)
            self._pause_until(self._wait_ends)
            if not info.reason.startswith("export "):
                self._export_since = None
            elif self._export_since is None:
                self._export_since = now

    def plan(self, info: observer.PullPlanned) -> None:
        with self._lock:
            if not self.events:
                # No page before the plan is a part of the pull.
                self._pages_began = self._working()
            self._pulls, self._queries, self._slices_done = True, info.queries, 0
            self._total = None if info.events is None else self.events + info.events
            self._hours = self._hours_done + info.hours if info.hours else 0

    def page(self, info: observer.PageReceived) -> None:
        with self._lock:
            self._pulls, self._file = True, None
            self._end_retry()
            page = info.slice, info.number
            self.events += info.events - self._pages.get(page, 0)
            self._slices_done += info.number == info.pages and page not in self._pages
            self._pages[page] = info.events
            # A full first page tells the size of the slice; its last page tells it exactly.
            if info.number == 1 and info.pages:
                self._sizes[info.slice] = info.events * info.pages
            elif info.number == info.pages and (size := self._sizes.get(info.slice)):
                self._sizes[info.slice] = size - size // info.pages + info.events

    def bytes(self, info: observer.BytesReceived) -> None:
        with self._lock:
            if self._file is None or info.received < self._file.received:
                self._file_began, self._file_had = self._working(), info.received
            self._file, self._export_since, self._verification = info, None, None
            self._end_retry()

    def output(self, info: observer.BytesWritten) -> None:
        self._size = info.size

    def written(self, info: observer.HourWritten) -> None:
        with self._lock:
            self._file = None
            if info.committed:
                self._committed += info.events
                self._hours_done += 1
            else:
                self._written += info.events

    def verified(self, info: observer.HoursVerified) -> None:
        with self._lock:
            self._verification, self._export_since = info, None

    def describe(self) -> Line | None:
        """Return the state, the most important first; None before there is any."""
        with self._lock:
            now = self._now()
            # A wait for an export has no end that is known, so it counts up.
            if self._wait and self._export_since is not None:
                duration = in_minutes(now - self._export_since)
                return Line(f"{self._wait.reason.capitalize()} on the server, {duration} so far")
            if self._wait and now < self._wait_ends:
                wait = replace(self._wait, seconds=self._wait_ends - now)
                return Line(str(wait), end_first=True)
            if self._retry and now < self._retries_at:
                seconds = ceil(self._retries_at - now)
                return Line(f"trying again in {seconds} s: {self._retry.reason}")
            if verification := self._verification:
                verb = "compared with the export" if verification.deep else "checked"
                text = f"{verification.hours:,} of {counted(verification.total, 'hour')} {verb}"
                return Line(text, verification.hours / verification.total)
            if self._file and self._hours and self._file.received == self._file.expected:
                return Line(f"sorting the events of {counted(self._hours, 'hour')}")
            if self._file:
                line = self._describe_file(self._file)
            elif self._pulls:
                line = self._describe_pages()
            else:
                return None
        remaining = self.quota_left()
        return (
            line if remaining is None else line._replace(text=f"{line.text}  quota {remaining:,}")
        )

    def _describe_pages(self) -> Line:
        total = self._all_events()
        # The events of an export are on no page.
        events = max(self.events, self._committed)
        parts = [counted(events, "event")]
        seconds = self._working()
        is_steady = self.events and seconds > _SETTLED_SECONDS
        share = None
        if total:
            # A sync fetches its events and writes them: one bar over both.
            work, done = float(total), float(self.events)
            if self._hours:
                work *= 1 + _WRITING
                done += (self._written + self._committed) / 2 * _WRITING
            share = min(done / work, 1.0)
            if is_steady and share < 1:
                rest = (seconds - self._pages_began) * (1 - share) / share
                parts.append(f"{in_minutes(rest)} left")
        if self._size:
            parts.append(in_bytes(self._size))
        if is_steady:
            parts.append(f"{events / seconds:,.0f}/s")
        if total is None and self._queries > 1:
            parts.append(f"{self._slices_done:,} of {self._queries:,} queries")
        if self._hours:
            parts.append(f"{self._hours_done:,} of {counted(self._hours, 'hour')} written")
        return Line("  ".join(parts), share)

    def _all_events(self) -> int | None:
        """Return the events of the pull, also those to come; None while nothing states them.

        The queries that are here say little about the others: nights are quieter than evenings.
        """
        if self._total is None and 0 < self._queries <= len(self._sizes):
            return sum(self._sizes.values())
        return self._total

    def _describe_file(self, file: observer.BytesReceived) -> Line:
        parts = [in_bytes(file.received)]
        if file.expected:
            parts[0] += f" of {in_bytes(file.expected)}"
        seconds, size = self._working() - self._file_began, file.received - self._file_had
        if seconds > _SETTLED_SECONDS and size and file.received != file.expected:
            if file.expected:
                parts.append(f"{in_minutes(seconds / size * (file.expected - file.received))} left")
            parts.append(f"{in_bytes(int(size / seconds))}/s")
        share = min(file.received / file.expected, 1.0) if file.expected else None
        return Line("  ".join(parts), share)
