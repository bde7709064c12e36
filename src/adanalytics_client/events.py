"""A pull of events that is not started until it is read."""

import os
from collections.abc import Generator, Iterable
from contextlib import closing
from typing import BinaryIO, Generic

from adanalytics_client._dates import Day
from adanalytics_client._fanout import Turned
from adanalytics_client._json import Json
from adanalytics_client._pages import Page
from adanalytics_client._plan import Plan
from adanalytics_client._pull import M, Pull
from adanalytics_client._session import Session
from adanalytics_client._sync import SyncDriver
from adanalytics_client.output import Output, open_output


class EventQuery(Generic[M]):
    """What `Client.events` gives: iterate it for events, or ask for rows, pages or a file.

    Nothing is sent until then, and each reading starts afresh. Leaving a loop early stops all
    requests that were not sent yet. Memory holds at most `2 * concurrency` pages.

    Example:
        >>> query = client.events("2026-01-15")
        >>> query.plan.least_requests
        24
        >>> sum(event.revenue for event in query if event.revenue)
        Decimal('12.345000000')
    """

    def __init__(self, pull: Pull[M], session: Session, driver: SyncDriver) -> None:
        self._pull = pull
        self._session = session
        self._driver = driver

    @property
    def plan(self) -> Plan:
        """The requests this pull consists of; looking at it costs nothing."""
        return self._pull.plan

    def only_days(self, days: Iterable[Day]) -> "EventQuery[M]":
        """The same pull without requests for days that are not among `days`.

        Example:
            >>> client.events("2026-01-01", "2026-01-31").only_days(client.dates())

        Raises:
            ConfigurationError: for something that is no day, and for a resumed pull.
        """
        return EventQuery(self._pull.only_days(days), self._session, self._driver)

    def __iter__(self) -> Generator[M, None, None]:
        """Events as models, in the order of the plan unless `ordered=False`.

        Raises:
            AdAnalyticsError: when a page cannot be had; events before it were given.
        """
        with closing(self._pages()) as pages:
            for page in pages:
                yield from self._pull.typed(page.rows)

    def rows(self) -> Generator[dict[str, Json], None, None]:
        """Events as plain dicts: JSON numbers with a fraction are Decimal, strings stay strings."""
        with closing(self._pages()) as pages:
            for page in pages:
                yield from page.rows

    def pages(self) -> Generator[Page, None, None]:
        """Events page by page, as they were fetched."""
        return self._pages()

    def write(
        self,
        to: str | os.PathLike[str] | BinaryIO,
        *,
        format: str | None = None,  # noqa: A002 - the word that readers expect here
    ) -> int:
        """Write all events and give their number.

        Args:
            to: a path, which appears once it is whole, or a binary stream, written as pages come.
            format: `jsonl` (each event as the text the service sent) or `csv`; by default after
                the suffix.

        Raises:
            ConfigurationError: for an unknown format or a path that cannot be a file; before
                anything is sent.
            AdAnalyticsError: when a page cannot be had; a path is then left as it was.
        """
        output = open_output(to, format)
        try:
            written = self._write(output)
            output.commit()
        except BaseException:
            output.abort()
            raise
        return written

    def _write(self, output: Output) -> int:
        written = 0
        with closing(self._turned(as_texts=output.as_texts)) as stream:
            for turned in stream:
                written += output.add(turned.page, self._pull.left(self._pull.passed + written))
        return written

    def _pages(self) -> Generator[Page, None, None]:
        passed = self._pull.passed
        with closing(self._turned(as_texts=False)) as stream:
            for turned in stream:
                page = self._pull.page(turned, passed)
                passed += len(page)
                yield page

    def _turned(self, *, as_texts: bool) -> Generator[Turned, None, None]:
        fetch = self._pull.fetcher(self._session, as_texts=as_texts)
        return self._driver.stream(self._pull.fanout(), fetch)
