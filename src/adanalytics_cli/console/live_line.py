"""One line on a terminal that is written over again and again."""

import threading
from collections.abc import Callable
from typing import TextIO

# Redrawing more often costs time and cannot be read.
SECONDS_BETWEEN = 0.1
_ERASE = "\r\x1b[2K"


Later = Callable[[float, Callable[[], None]], None]
"""Does something after so many seconds, on whatever thread."""


def after(seconds: float, action: Callable[[], None]) -> None:
    """Do it on a thread of its own, unless the process ends before."""
    timer = threading.Timer(seconds, action)
    timer.daemon = True
    timer.start()


class LiveLine:
    """A line that shows the latest state of some work; callable from any thread.

    `clock` gives seconds that only grow. The line is cut to `width` cells, because a
    terminal cannot take back a line that has wrapped.
    """

    def __init__(
        self, stream: TextIO, *, width: int, clock: Callable[[], float], later: Later = after
    ) -> None:
        self._stream = stream
        self._width = width
        self._clock = clock
        self._later = later
        self._lock = threading.Lock()
        self._drawn_at: float | None = None
        self._held_back: str | None = None

    def show(self, text: str, *, at_once: bool = False, keep_end: bool = False) -> None:
        """Draw `text`; a moment later if the last drawing is too recent, unless `at_once`.

        What is too long loses its end, or its beginning with `keep_end`.
        """
        room = self._width - 1
        if len(text) > room:
            text = f"..{text[len(text) - room + 2 :]}" if keep_end else text[:room]
        with self._lock:
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
        self._stream.write(_ERASE + text)
        self._stream.flush()

    def erase(self) -> None:
        """Leave an empty line, if anything was drawn."""
        with self._lock:
            self._held_back = None
            if self._drawn_at is None:
                return
            self._drawn_at = None
            self._stream.write(_ERASE)
            self._stream.flush()
