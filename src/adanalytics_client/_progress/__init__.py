"""The line of `progress=True`: on a terminal, or below the cell of a notebook."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from adanalytics_client._call.session import Session

from .drawing import Drawing
from .progress import Progress, joined


@contextmanager
def displayed(
    session: Session, *, progress: bool = True, queries: int | None = None
) -> Iterator[Session]:
    """Yield the session with a live line on stderr; unchanged where nobody can see one."""
    if not progress:
        yield session
        return
    # rich takes 60 ms to import.
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_jupyter and not sys.stderr.isatty():
        yield session
        return
    from .display import Display

    observer = Progress(session.clock.monotonic)
    if queries is not None:
        observer.expect(queries)
    # In a notebook, the cell of this thread gets the output.
    display = Display(console, stays=True)
    drawing = Drawing(observer.describe, lambda: display, stays=True)
    try:
        yield replace(session, observer=joined(observer, session.observer))
    finally:
        drawing.end()
