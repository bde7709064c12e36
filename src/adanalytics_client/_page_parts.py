"""A page's events read some at a time: objects take several times the room of their text."""

from collections.abc import Iterator
from dataclasses import replace

from adanalytics_client._json import Json
from adanalytics_client._lines import Lines
from adanalytics_client._pages import Fetched

AT_ONCE = 1_000
"""The most events of a page that are objects at the same time."""


def parts(page: Fetched, most: int | None) -> Iterator[Fetched]:
    """The page, or its first `most` events, in parts of up to `AT_ONCE`."""
    count = len(page) if most is None else min(most, len(page))
    found, held = page.found, page.found.rows
    for first in range(0, count, AT_ONCE):
        behind = min(first + AT_ONCE, count)
        rows = held.between(first, behind) if isinstance(held, Lines) else held[first:behind]
        yield replace(page, found=replace(found, rows=rows))


def each_row(page: Fetched, most: int | None) -> Iterator[dict[str, Json]]:
    """The events as dicts, as by `Fetched.rows`.

    Raises:
        ProtocolError: when an event is not JSON; events before its part were given.
    """
    for part in parts(page, most):
        yield from part.rows()
