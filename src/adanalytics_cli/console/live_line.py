"""One line on a terminal that is redrawn in place, and the stages of a load shown on it."""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, TextIO

from adanalytics_cli.console.terminal import look_at, width_of
from adanalytics_cli.core.invocation import Invocation
from adanalytics_client._base.escaping import visible
from adanalytics_client._base.quantities import counted

if TYPE_CHECKING:
    from adanalytics_server.loading.load import Progress


# Redrawing more often costs time and cannot be read.
SECONDS_BETWEEN = 0.1
_ERASE = "\r\x1b[2K"


Later = Callable[[float, Callable[[], None]], None]
"""Calls a function after a number of seconds, on any thread."""


def after(seconds: float, action: Callable[[], None]) -> None:
    """Call `action` on a thread of its own, unless the process ends before."""
    timer = threading.Timer(seconds, action)
    timer.daemon = True
    timer.start()


class LiveLine:
    """A line that shows the latest state of some work; callable from any thread.

    `clock` gives seconds that only grow, `width` the cells of the terminal's lines. The line is cut
    to them, and erased on all the rows on which a window made narrower since shows it.
    """

    def __init__(
        self,
        stream: TextIO,
        *,
        width: Callable[[], int],
        clock: Callable[[], float],
        later: Later = after,
    ) -> None:
        self._stream = stream
        self._width = width
        self._clock = clock
        self._later = later
        self._lock = threading.Lock()
        self._drawn_at: float | None = None
        self._drawn = ""
        self._held_back: str | None = None
        self._ended = False

    def show(self, text: str, *, at_once: bool = False, keep_end: bool = False) -> None:
        """Draw `text`; a moment later if the last drawing is too recent, unless `at_once`.

        Text that is too long loses its end, or with `keep_end` its beginning.
        """
        text, room = visible(text), self._width() - 1
        if len(text) > room:
            text = f"..{text[len(text) - room + 2 :]}" if keep_end else text[:room]
        with self._lock:
            if self._ended:
                # A thread that still worked when the run ended reports too late.
                return
            now = self._clock()
            recent = self._drawn_at is not None and now - self._drawn_at < SECONDS_BETWEEN
            if not recent or at_once:
                self._draw(text)
                return
            waits, self._held_back = self._held_back is not None, text
        if not waits:
            # Nothing else may happen for long after the last of several steps.
            self._later(SECONDS_BETWEEN, self._draw_held_back)

    def _draw_held_back(self) -> None:
        with self._lock:
            if self._held_back is not None:
                self._draw(self._held_back)

    def _draw(self, text: str) -> None:
        self._held_back = None
        self._drawn_at = self._clock()
        self._stream.write(self._back() + text)
        self._stream.flush()
        self._drawn = text

    def _back(self) -> str:
        above = max(len(self._drawn) - 1, 0) // self._width()
        return f"\r\x1b[{above}A\x1b[J" if above else _ERASE

    def erase(self) -> None:
        """Leave an empty line, if anything was drawn, and draw nothing more."""
        with self._lock:
            self._ended, self._held_back = True, None
            if self._drawn_at is not None:
                self._stream.write(self._back())
                self._stream.flush()


@contextmanager
def show_stages(label: str, invocation: Invocation) -> Iterator[Callable[["Progress"], None]]:
    """A callback that draws the stage, the rows and the share done; nothing off a terminal."""
    terminal = look_at(sys.stderr, invocation.color, os.environ)
    if invocation.quiet or not terminal.interactive:
        yield _ignore
        return
    width = partial(width_of, sys.stderr, os.environ)
    line = LiveLine(sys.stderr, width=width, clock=time.monotonic)

    def draw(progress: "Progress") -> None:
        share = f"{progress.fraction:.0%}"
        line.show(f"{label}: {progress.stage} {counted(progress.rows, 'row')}, {share}")

    try:
        yield draw
    finally:
        line.erase()


def _ignore(_progress: "Progress") -> None:
    """Draw nothing, as stderr is not a terminal."""
