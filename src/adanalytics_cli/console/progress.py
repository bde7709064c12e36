"""Progress on stderr: a live line on a terminal, with `-v` a line for each step."""

import logging
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal
from urllib.parse import urlsplit

from adanalytics_cli.core.invocation import Invocation
from adanalytics_cli.core.prose import fitted
from adanalytics_client._base.escaping import visible
from adanalytics_client._base.logs import formatter
from adanalytics_client._base.quantities import counted, in_bytes
from adanalytics_client._progress.drawing import Drawing, Line
from adanalytics_client._progress.progress import Progress
from adanalytics_client.observers import PageReceived, RequestSent, RetryPlanned, WaitStarted

from .terminal import Terminal, look_at

if TYPE_CHECKING:
    from adanalytics_client._progress.display import Display
    from adanalytics_server.loading.load import Progress as Stage


class Steps(Progress):
    """Progress that prints each step."""

    def request(self, info: RequestSent) -> None:
        super().request(info)
        url = urlsplit(info.url)
        place = f"{url.path}?{url.query}" if url.query else url.path
        status = info.status if info.status is not None else "no answer"
        _print(f"{info.method} {place}: {status} after {info.seconds:.2f} s")

    def retry(self, info: RetryPlanned) -> None:
        super().retry(info)
        _print(f"trying again in {info.seconds:.1f} s: {info.reason}")

    def wait(self, info: WaitStarted) -> None:
        super().wait(info)
        _print(str(info))

    def page(self, info: PageReceived) -> None:
        super().page(info)
        _print(f"{info.slice}, page {info.number}: {counted(info.events, 'event')}")


@contextmanager
def show_progress(invocation: Invocation, *, live: bool) -> Iterator[Progress]:
    """Yield the progress of a run, drawn if it is `live`, and print the client's warnings."""
    verbose = invocation.verbose and not invocation.quiet
    progress = (Steps if verbose else Progress)(time.monotonic)
    terminal = look_at(sys.stderr, invocation.color)
    live = live and terminal.interactive and not (invocation.quiet or verbose)
    # Of long waits, and of pages that moved; ADANALYTICS_LOG adds requests and retries.
    records = _Records()
    records.setFormatter(formatter(os.environ))
    if not records.formatter and (live or verbose or invocation.quiet):
        records.addFilter(lambda record: not hasattr(record, "resumes_at"))
    client_log = logging.getLogger("adanalytics_client")
    client_log.addHandler(records)

    def start() -> None:
        progress.finish = Drawing(progress.describe, partial(_open_display, terminal)).end

    if live:
        progress.start = start
        start()
    try:
        yield progress
    finally:
        progress.finish()
        client_log.removeHandler(records)


@contextmanager
def show_stages(label: str, invocation: Invocation) -> Iterator[Callable[["Stage"], None]]:
    """Yield a callback that draws the stage of a load, its rows and the share done."""
    line = None

    def note(stage: "Stage") -> None:
        nonlocal line
        line = Line(f"{label}: {stage.stage} {counted(stage.rows, 'row')}", stage.fraction)

    with _drawn(lambda: line, invocation):
        yield note


def show_size(path: Path, raw: BinaryIO, invocation: Invocation) -> AbstractContextManager[None]:
    """Draw how large the hidden file `raw` is that is to become `path`."""

    def describe() -> Line | None:
        return Line(f"{path.name}: {in_bytes(Path(raw.name).stat().st_size)} written")

    return _drawn(describe, invocation)


@contextmanager
def _drawn(describe: Callable[[], Line | None], invocation: Invocation) -> Iterator[None]:
    """Draw a line during a block, if stderr is a terminal."""
    terminal = look_at(sys.stderr, invocation.color)
    if invocation.quiet or not terminal.interactive:
        yield
        return
    drawing = Drawing(describe, partial(_open_display, terminal))
    try:
        yield
    finally:
        drawing.end()


def _open_display(terminal: Terminal) -> "Display":
    from rich.console import Console

    from adanalytics_client._progress.display import Display

    colors: Literal["auto"] | None = "auto" if terminal.color else None
    return Display(Console(stderr=True, force_terminal=True, color_system=colors, no_color=False))


class _Records(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        if self.formatter:
            # A line of JSON stays one line, however wide the terminal is.
            sys.stderr.write(f"{self.format(record)}\n")
        else:
            _print(record.getMessage())


def _print(text: str) -> None:
    # Not click.echo, which writes around what rich puts in the place of stderr: above the line.
    sys.stderr.write(f"{fitted(visible(text), sys.stderr)}\n")
