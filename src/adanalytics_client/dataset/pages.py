"""The pages of a query: those that are spooled, and from there on those of the service."""

from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING

from adanalytics_client.dataset.query import Query
from adanalytics_client.dataset.spool import Spool, SpooledPage

if TYPE_CHECKING:
    from adanalytics_client import Client

EVENTS_A_PAGE = 10_000
"""The most that the service sends at a time, so that requests are fewest."""


class Drift(Exception):
    """The pages of a query are not all of its events; the text says how that shows."""


def read_pages(client: "Client", query: Query, spool: Spool) -> Iterator[SpooledPage]:
    """Every page of a query in order; a page that comes from the service is spooled first.

    Raises Drift when the pages moved while they were read, or the service says of one that
    something failed.
    """
    token = None
    for page in spool.pages():
        yield page
        if page.last:
            return
        token = page.token
    asked = client.events(
        query.first,
        query.last,
        hour=query.hour,
        split="none",
        per_page=EVENTS_A_PAGE,
        concurrency=1,
        resume=token,
        # What does not fit together is begun again here, with the hours that are wanted.
        on_drift="warn",
    )
    with closing(asked.text_pages()) as fresh:
        for each in fresh:
            if doubt := each.drift or each.partial:
                raise Drift(str(doubt))
            page = SpooledPage(
                each.number, each.jsonl, each.events, each.last, each.token, each.total
            )
            spool.put(page)
            yield page
