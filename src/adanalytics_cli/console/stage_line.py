"""Show on a terminal how far the server's own long work, a load or a generation, has come."""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from adanalytics_cli.console.live_line import LiveLine
from adanalytics_cli.console.terminal import look_at
from adanalytics_cli.core.invocation import Invocation

if TYPE_CHECKING:
    from adanalytics_server.loading.progress import Progress


@contextmanager
def show_stages(label: str, invocation: Invocation) -> Iterator[Callable[["Progress"], None]]:
    """A callback that draws the stage, the rows and the share done; nothing off a terminal."""
    terminal = look_at(sys.stderr, invocation.color, os.environ)
    if invocation.quiet or not terminal.interactive:
        yield _ignore
        return
    line = LiveLine(sys.stderr, width=terminal.width, clock=time.monotonic)

    def draw(progress: "Progress") -> None:
        share = f"{progress.fraction:.0%}"
        line.show(f"{label}: {progress.stage} {progress.rows:,} rows, {share}")

    try:
        yield draw
    finally:
        line.erase()


def _ignore(_progress: "Progress") -> None:
    """Nobody watches."""
