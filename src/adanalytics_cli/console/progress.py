"""The progress that the client reports, shown on stderr."""

import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import BinaryIO
from urllib.parse import urlsplit

import click

from adanalytics_cli.console.live_line import Later, LiveLine, after
from adanalytics_cli.console.terminal import look_at, width_of
from adanalytics_cli.core.invocation import Invocation
from adanalytics_client import (
    BytesReceived,
    Observer,
    PageReceived,
    RequestDue,
    RequestSent,
    RetryPlanned,
    WaitStarted,
)
from adanalytics_client._base.escaping import visible
from adanalytics_client._base.quantities import counted, in_bytes, in_minutes

# Before this, rates and the time left would jump about.
_SETTLED_SECONDS = 0.5
_TICK_SECONDS = 1.0


class Progress(Observer):
    """An observer that displays: one live line on a terminal, or with `-v` one line per step.

    Its methods are called from the threads that fetch, so the counts are kept under a lock.
    `clock` gives seconds that only grow; `quota_left` is asked whenever the line is drawn.
    """

    def __init__(
        self,
        *,
        line: LiveLine | None,
        say_step: Callable[[str], None] | None,
        clock: Callable[[], float],
        later: Later = after,
    ) -> None:
        self.requests = 0
        self.events = 0
        self.quota_left: Callable[[], int | None] = lambda: None
        self._line = line
        self._say_step = say_step
        self._clock = clock
        self._later = later
        self._began = self._expected_at = clock()
        self._lock = threading.Lock()
        self._size: Callable[[], int] = int
        self._slices = 0
        # How much of each slice is here, from 0 to 1.
        self._shares: dict[str, float] = {}
        self._file: BytesReceived | None = None
        # When the bytes of the file began to come, and how many an earlier run had fetched.
        self._file_began, self._file_had = 0.0, 0
        self._wait: WaitStarted | None = None

    def expect(self, slices: int) -> None:
        """Set the number of slices of the pull, from which the time left is estimated."""
        self._slices, self._expected_at = slices, self._clock()
        self._shares.clear()
        # Until the first page is here there is nothing else to see.
        self._draw()

    def watch(self, output: BinaryIO) -> None:
        """Show the size of `output` as it grows; a pipe has none."""
        if output.seekable():
            self._size = output.tell

    def seconds(self) -> float:
        """The time since the start."""
        return self._clock() - self._began

    def finish(self) -> None:
        """Remove the live line for good."""
        line, self._line = self._line, None
        if line:
            line.erase()

    def request(self, info: RequestSent) -> None:
        """Count a request."""
        with self._lock:
            self.requests += 1
        status = info.status if info.status is not None else "no answer"
        self._step(f"{info.method} {_place(info.url)}: {status} after {info.seconds:.2f} s")

    def retry(self, info: RetryPlanned) -> None:
        """Show that a request will be repeated, and why."""
        text = f"trying again in {info.seconds:.1f} s: {info.reason}"
        self._step(text)
        # Read once: another thread may be taking the line away.
        if line := self._line:
            line.show(text, at_once=True)

    def wait(self, info: WaitStarted) -> None:
        """Show the reason and the end of a wait."""
        self._step(str(info))
        self._wait = info
        self._count_down(info, self._clock() + info.seconds)

    def _count_down(self, info: WaitStarted, until: float) -> None:
        """Draw a wait with what is left of it, each second until its end or the next wait."""
        left = until - self._clock()
        line = self._line
        if line and self._wait is info and left > 0:
            line.show(str(replace(info, seconds=left)), at_once=True, keep_end=True)
            self._later(_TICK_SECONDS, partial(self._count_down, info, until))

    def page(self, info: PageReceived) -> None:
        """Count the events of a page."""
        with self._lock:
            self.events += info.events
            self._shares[info.slice] = info.number / info.pages if info.pages else 0.0
        self._file = None
        self._step(f"{info.slice}, page {info.number}: {counted(info.events, 'event')}")
        self._draw()

    def bytes(self, info: BytesReceived) -> None:
        """Note how much of a file has arrived."""
        if self._file is None or info.received < self._file.received:
            self._file_began, self._file_had = self._clock(), info.received
        self._file = info
        self._draw()

    def _step(self, text: str) -> None:
        if self._say_step:
            self._say_step(text)

    def _draw(self) -> None:
        if line := self._line:
            line.show(self.describe())

    def describe(self) -> str:
        """The state in one line, the most important first because the end may be cut off."""
        parts = self._describe_file(self._file) if self._file else self._describe_pages()
        left = self.quota_left()
        if left is not None:
            parts.append(f"quota {left:,}")
        return "  ".join(parts)

    def _describe_pages(self) -> list[str]:
        elapsed = self.seconds()
        parts = [counted(self.events, "event")]
        if size := self._size():
            parts.append(in_bytes(size))
        if elapsed > _SETTLED_SECONDS:
            parts.append(f"{self.events / elapsed:,.0f}/s")
            with self._lock:
                done = sum(self._shares.values())
            since = self._clock() - self._expected_at
            if 0 < done < self._slices:
                parts.append(f"{in_minutes(since / done * (self._slices - done))} left")
        return parts

    def _describe_file(self, file: BytesReceived) -> list[str]:
        parts = [in_bytes(file.received)]
        if file.expected:
            parts[0] += f" of {in_bytes(file.expected)}"
        elapsed, came = self._clock() - self._file_began, file.received - self._file_had
        if elapsed > _SETTLED_SECONDS and came:
            parts.append(f"{in_bytes(int(came / elapsed))}/s")
            if file.expected:
                left = elapsed / came * (file.expected - file.received)
                parts.append(f"{in_minutes(left)} left")
        return parts


class Observers(Observer):
    """Passes each report on to several observers, in their order."""

    def __init__(self, *observers: Observer) -> None:
        self._observers = observers

    def due(self, info: RequestDue) -> None:
        """Before a request."""
        for each in self._observers:
            each.due(info)

    def request(self, info: RequestSent) -> None:
        """After an answer."""
        for each in self._observers:
            each.request(info)

    def retry(self, info: RetryPlanned) -> None:
        """Before a repeat."""
        for each in self._observers:
            each.retry(info)

    def wait(self, info: WaitStarted) -> None:
        """Before a wait."""
        for each in self._observers:
            each.wait(info)

    def page(self, info: PageReceived) -> None:
        """After a page."""
        for each in self._observers:
            each.page(info)

    def bytes(self, info: BytesReceived) -> None:
        """After a piece of a file."""
        for each in self._observers:
            each.bytes(info)


@contextmanager
def show_progress(invocation: Invocation, *, live: bool) -> Iterator[Progress]:
    """Progress on stderr: a live line on a terminal, lines with `-v`, else only long waits."""
    terminal = look_at(sys.stderr, invocation.color, os.environ)
    line = None
    if live and terminal.interactive and not (invocation.quiet or invocation.verbose):
        width = partial(width_of, sys.stderr, os.environ)
        line = LiveLine(sys.stderr, width=width, clock=time.monotonic)
    say = _print_step if invocation.verbose and not invocation.quiet else None
    # The client warns of a wait of more than 5 s, and of pages that moved.
    warnings = logging.StreamHandler(sys.stderr)
    warnings.setLevel(logging.WARNING)
    warnings.setFormatter(_VisibleMessage())
    if line or say or invocation.quiet:
        warnings.addFilter(lambda record: not hasattr(record, "resumes_at"))
    client_log = logging.getLogger("adanalytics_client")
    client_log.addHandler(warnings)
    progress = Progress(line=line, say_step=say, clock=time.monotonic)
    try:
        yield progress
    finally:
        progress.finish()
        client_log.removeHandler(warnings)


def _print_step(text: str) -> None:
    click.echo(visible(text), err=True)


class _VisibleMessage(logging.Formatter):
    """Writes only the message, with control characters from the service escaped."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  # logging's name
        return visible(super().formatMessage(record))


def _place(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.path}?{parts.query}" if parts.query else parts.path
