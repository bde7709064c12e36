"""The pages of an hour: those that are spooled, and from there on those of the service."""

from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING

from adanalytics_cli.json_text import encode_json
from adanalytics_cli.sync.hours import Hour
from adanalytics_cli.sync.spool import Spool, SpooledPage

if TYPE_CHECKING:
    from adanalytics_client import Client

EVENTS_A_PAGE = 10_000
"""The most that the service sends at a time, so that requests are fewest."""


def read_pages(client: "Client", hour: Hour, spool: Spool) -> Iterator[SpooledPage]:
    """Every page of an hour in order; a page that comes from the service is spooled first."""
    token = None
    for page in spool.pages():
        yield page
        if page.last:
            return
        token = page.token
    asked = client.events(
        hour.day, hour=hour.hour, per_page=EVENTS_A_PAGE, concurrency=1, resume=token
    )
    with closing(asked.pages()) as fresh:
        for each in fresh:
            texts = [encode_json(row).decode() for row in each.rows]
            page = SpooledPage(each.number, texts, each.last, each.token, each.total)
            spool.put(page)
            yield page
