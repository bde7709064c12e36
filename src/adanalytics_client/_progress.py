"""The live display of `progress=True`: a line in a terminal, or below the cell in a notebook."""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from adanalytics_client._base.observer import (
    BytesReceived,
    Observer,
    PageDrift,
    PageReceived,
    PartialAnswer,
    RequestDue,
    RequestSent,
    RetryPlanned,
    WaitStarted,
)
from adanalytics_client._base.quantities import counted
from adanalytics_client._call.session import Session

if TYPE_CHECKING:
    from rich.progress import Progress

# Before this many seconds a rate means little.
_SETTLED = 0.5
# Seconds between two redraws: bytes arrive in hundreds of pieces a second.
_FRAME = 0.1


@contextmanager
def displayed(session: Session, *, progress: bool = True) -> Iterator[Session]:
    """The session with a live display on stderr; unchanged where nobody can see one.

    rich takes 60 ms to import, so it is imported only here.
    """
    if not progress:
        yield session
        return
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    if not console.is_jupyter and not sys.stderr.isatty():
        yield session
        return
    text = TextColumn("{task.description}", markup=False)
    if not console.is_jupyter:
        with Progress(SpinnerColumn(), text, TimeElapsedColumn(), console=console) as live:
            yield replace(session, observer=_Display(session, live, live.refresh))
        return
    # rich would draw a widget, which needs ipywidgets and is lost when the notebook is saved.
    from IPython.display import display

    live = Progress(text, TimeElapsedColumn(), console=console)
    observer = _Display(session, live, lambda: output.update(live))
    output = display(live, display_id=True)
    try:
        yield replace(session, observer=observer)
    finally:
        output.update(live)


class _Display(Observer):
    """Shows events or bytes, their rate and the reason for a wait; forwards all to an observer."""

    def __init__(self, session: Session, live: "Progress", draw: Callable[[], None]) -> None:
        self._observer = session.observer
        self._now = session.clock.monotonic
        self._start = self._now()
        self._lock = threading.Lock()
        self._events = 0
        # The current download: its bytes so far, its bytes at the start, and the start time.
        self._received, self._had, self._began = 0, 0, 0.0
        self._live = live
        self._draw = draw
        self._drawn = float("-inf")
        self._task = live.add_task("asking the service", total=None)

    def due(self, info: RequestDue) -> None:
        self._observer.due(info)

    def request(self, info: RequestSent) -> None:
        self._observer.request(info)

    def retry(self, info: RetryPlanned) -> None:
        self._show(f"asking again in {info.seconds:.0f} s: {info.reason}", at_once=True)
        self._observer.retry(info)

    def wait(self, info: WaitStarted) -> None:
        self._show(str(info), at_once=True)
        self._observer.wait(info)

    def page(self, info: PageReceived) -> None:
        with self._lock:
            self._events += info.events
        rate = self._rate(self._events, self._start)
        self._show(counted(self._events, "event") + (f", {rate:,.0f}/s" if rate else ""))
        self._observer.page(info)

    def drift(self, info: PageDrift) -> None:
        self._observer.drift(info)

    def partial(self, info: PartialAnswer) -> None:
        self._observer.partial(info)

    def bytes(self, info: BytesReceived) -> None:
        from rich.filesize import decimal

        if not self._received or info.received < self._received:
            self._had, self._began = info.received, self._now()
        self._received = info.received
        rate = self._rate(info.received - self._had, self._began)
        whole = f" of {decimal(info.expected)}" if info.expected else ""
        speed = f", {decimal(round(rate))}/s" if rate else ""
        self._show(f"{decimal(info.received)}{whole}{speed}")
        self._observer.bytes(info)

    def _rate(self, amount: int, since: float) -> float:
        seconds = self._now() - since
        return amount / seconds if seconds > _SETTLED else 0.0

    def _show(self, text: str, *, at_once: bool = False) -> None:
        self._live.update(self._task, description=text)
        now = self._now()
        if at_once or now - self._drawn >= _FRAME:
            self._drawn = now
            self._draw()
