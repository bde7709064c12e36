"""What the client reports about a run, counted and described in one line."""

import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from math import ceil
from typing import BinaryIO

from adanalytics_client._base.observer import (
    BytesReceived,
    Observer,
    PageReceived,
    RequestSent,
    RetryPlanned,
    WaitStarted,
)
from adanalytics_client._base.quantities import counted, in_bytes, in_minutes
from adanalytics_client._progress.drawing import Line

# Before this, rates and the time left would jump about.
_SETTLED_SECONDS = 0.5


def joined(*observers: Observer) -> Observer:
    """Return an observer that passes each report on to all of these, in their order."""

    def pass_on(name: str, info: object) -> None:
        for each in observers:
            getattr(each, name)(info)

    joint = Observer()
    for name in vars(Observer):
        if not name.startswith("_"):
            setattr(joint, name, partial(pass_on, name))
    return joint


class Progress(Observer):
    """Counts requests, events and bytes, and describes them in one line.

    Its methods are called from the threads that fetch. `now` returns seconds that only grow.
    `quota_left` is asked for each description; `finish` ends the drawing, if there is one.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self.requests = 0
        self.events = 0
        self.quota_left: Callable[[], int | None] = lambda: None
        self.finish: Callable[[], None] = lambda: None
        self._now = now
        self._lock = threading.Lock()
        self._began = self._resumes = now()
        # The seconds of all waits, also those to come.
        self._waits = 0.0
        self._wait: WaitStarted | None = None
        self._export_since: float | None = None
        self._retry: RetryPlanned | None = None
        self._retries_at = 0.0
        self._pulls = False
        self._queries = 0
        self._expected_at = 0.0
        # How much of each query is here, from 0 to 1.
        self._shares: dict[str, float] = {}
        self._size: Callable[[], int] = int
        self._file: BytesReceived | None = None
        # When the bytes of the file began to come, and how many an earlier run had fetched.
        self._file_began, self._file_had = 0.0, 0

    def expect(self, queries: int) -> None:
        """Set the number of queries of the pull, from which share and time left are estimated."""
        with self._lock:
            self._pulls, self._queries, self._expected_at = True, queries, self._working()
            self._shares.clear()

    def watch(self, output: BinaryIO) -> None:
        """Describe the size of `output` as it grows; a pipe has none."""
        if output.seekable():
            self._size = output.tell

    def seconds(self) -> float:
        """Return the time since the start."""
        return self._now() - self._began

    def _working(self) -> float:
        """Return the time since the start without the waits."""
        now = self._now()
        return now - self._began - self._waits + max(0.0, self._resumes - now)

    def request(self, _info: RequestSent) -> None:
        """Count a request."""
        with self._lock:
            self.requests += 1

    def retry(self, info: RetryPlanned) -> None:
        """Describe the pause until it ends or a page comes."""
        with self._lock:
            self._retry, self._retries_at = info, self._now() + info.seconds

    def wait(self, info: WaitStarted) -> None:
        """Describe the wait until it ends, and leave it out of rates and the time left."""
        with self._lock:
            now = self._now()
            until = now + info.seconds
            self._waits += max(0.0, until - max(now, self._resumes))
            self._wait, self._resumes = info, max(until, self._resumes)
            if not info.reason.startswith("export "):
                self._export_since = None
            elif self._export_since is None:
                self._export_since = now

    def page(self, info: PageReceived) -> None:
        """Count the events of a page."""
        with self._lock:
            self._pulls, self._file, self._retry = True, None, None
            self.events += info.events
            self._shares[info.slice] = info.number / info.pages if info.pages else 0.0

    def bytes(self, info: BytesReceived) -> None:
        """Note how much of a file has arrived."""
        with self._lock:
            if self._file is None or info.received < self._file.received:
                self._file_began, self._file_had = self._working(), info.received
            self._file, self._retry, self._export_since = info, None, None

    def describe(self) -> Line | None:
        """Return the state, the most important first; None before there is any."""
        with self._lock:
            now = self._now()
            if self._wait and self._export_since is not None:
                so_far = in_minutes(now - self._export_since)
                return Line(f"{self._wait.reason.capitalize()} on the server, {so_far} so far")
            if self._wait and now < self._resumes:
                wait = replace(self._wait, seconds=self._resumes - now)
                return Line(str(wait), end_first=True)
            if self._retry and now < self._retries_at:
                seconds = ceil(self._retries_at - now)
                return Line(f"trying again in {seconds} s: {self._retry.reason}")
            if self._file:
                line = self._describe_file(self._file)
            elif self._pulls:
                line = self._describe_pages()
            else:
                return None
        left = self.quota_left()
        return line if left is None else replace(line, text=f"{line.text}  quota {left:,}")

    def _describe_pages(self) -> Line:
        parts = [counted(self.events, "event")]
        if size := self._size():
            parts.append(in_bytes(size))
        done, working = sum(self._shares.values()), self._working()
        if self.events and working > _SETTLED_SECONDS:
            parts.append(f"{self.events / working:,.0f}/s")
            if 0 < done < self._queries:
                left = (working - self._expected_at) / done * (self._queries - done)
                parts.append(f"{in_minutes(left)} left")
        return Line("  ".join(parts), min(done / self._queries, 1.0) if self._queries else None)

    def _describe_file(self, file: BytesReceived) -> Line:
        parts = [in_bytes(file.received)]
        if file.expected:
            parts[0] += f" of {in_bytes(file.expected)}"
        seconds, came = self._working() - self._file_began, file.received - self._file_had
        if seconds > _SETTLED_SECONDS and came:
            parts.append(f"{in_bytes(int(came / seconds))}/s")
            if file.expected:
                parts.append(f"{in_minutes(seconds / came * (file.expected - file.received))} left")
        share = min(file.received / file.expected, 1.0) if file.expected else None
        return Line("  ".join(parts), share)
