"""Draw the state of some work again and again, until it ends."""

import logging
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from .display import Display

_LOG = logging.getLogger(__name__)
# A line that changes more often cannot be read, and each drawing takes time from the work.
_SECONDS_BETWEEN = 0.2


class Line(NamedTuple):
    """The state of some work.

    Attributes:
        text: may have control characters of the service.
        share: how much is done, from 0 to 1, or None if unknown.
        end_first: whether the end of the text matters more than its beginning.
    """

    text: str
    share: float | None = None
    end_first: bool = False


class Drawing:
    """A thread that draws what `describe` returns, five times per second.

    The display is opened when there is first something to draw. The last state is drawn if it
    `stays`.
    """

    def __init__(
        self,
        describe: Callable[[], Line | None],
        open_display: Callable[[], "Display"],
        *,
        stays: bool = False,
    ) -> None:
        self._describe = describe
        self._open = open_display
        self._stays = stays
        self._display: Display | None = None
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="progress", daemon=True)
        self._thread.start()

    def end(self) -> None:
        self._end.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            while not self._end.wait(_SECONDS_BETWEEN):
                self._draw()
            if self._stays:
                self._draw()
            if self._display:
                self._display.close()
        except Exception:  # noqa: BLE001  # whatever it is, it is only a line
            # The terminal may be gone. The work goes on without a line.
            _LOG.debug("The progress cannot be drawn.", exc_info=True)

    def _draw(self) -> None:
        if line := self._describe():
            self._display = self._display or self._open()
            self._display.show(line)
