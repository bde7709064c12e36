"""A page's events read some at a time: objects take several times the room of their text."""

from collections.abc import Iterator
from dataclasses import replace

from adanalytics_client._json import Json
from adanalytics_client._pages import Fetched


def parts(page: Fetched, most: int | None) -> Iterator[Fetched]:
    """The page, or its first `most` events, in parts of a few hundred."""
    lines = page.upto(most)
    before = page.before
    for part in lines.parts() if lines else [page.rows(most)]:
        yield replace(page, found=replace(page.found, rows=part), before=before)
        before += len(part)


def each_row(page: Fetched, most: int | None) -> Iterator[dict[str, Json]]:
    """The events as dicts, as by `Fetched.rows`.

    Raises:
        ProtocolError: when an event is not JSON; events before its part were given.
    """
    for part in parts(page, most):
        yield from part.rows()
