"""A pull of events for the asynchronous world; the same names as in `events`."""

import os
from collections.abc import AsyncGenerator, Iterable
from contextlib import aclosing
from functools import partial
from typing import BinaryIO, Generic

from adanalytics_client._async import AsyncDriver
from adanalytics_client._dates import Day
from adanalytics_client._fanout import Turned
from adanalytics_client._json import Json
from adanalytics_client._pages import Page
from adanalytics_client._plan import Plan
from adanalytics_client._pull import M, Pull
from adanalytics_client._session import Session
from adanalytics_client.output import Output, open_output


class AsyncEventQuery(Generic[M]):
    """What `AsyncClient.events` gives: iterate it, or ask for rows, pages or a file.

    Nothing is sent until then, and each reading starts afresh. Leaving a loop early stops all
    requests that were not sent yet. Memory holds at most `2 * concurrency` pages.

    Example:
        >>> query = client.events("2026-01-15")
        >>> [event.event_type async for event in query][:2]
        ['ad_request', 'impression']
    """

    def __init__(self, pull: Pull[M], session: Session, driver: AsyncDriver) -> None:
        self._pull = pull
        self._session = session
        self._driver = driver

    @property
    def plan(self) -> Plan:
        """The requests this pull consists of; looking at it costs nothing."""
        return self._pull.plan

    def only_days(self, days: Iterable[Day]) -> "AsyncEventQuery[M]":
        """The same pull without requests for days that are not among `days`.

        Example:
            >>> client.events("2026-01-01", "2026-01-31").only_days(client.dates())

        Raises:
            ConfigurationError: for something that is no day, and for a resumed pull.
        """
        return AsyncEventQuery(self._pull.only_days(days), self._session, self._driver)

    async def __aiter__(self) -> AsyncGenerator[M, None]:
        """Events as models, in the order of the plan unless `ordered=False`.

        Raises:
            AdAnalyticsError: when a page cannot be had; events before it were given.
        """
        async with aclosing(self._pages()) as pages:
            async for page in pages:
                for event in self._pull.typed(page.rows):
                    yield event

    async def rows(self) -> AsyncGenerator[dict[str, Json], None]:
        """Events as plain dicts: JSON numbers with a fraction are Decimal, strings stay strings."""
        async with aclosing(self._pages()) as pages:
            async for page in pages:
                for row in page.rows:
                    yield row

    def pages(self) -> AsyncGenerator[Page, None]:
        """Events page by page, as they were fetched."""
        return self._pages()

    async def write(
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
        # Opened here and not in a thread: a cancellation then would leave the file to nobody.
        output = open_output(to, format)
        try:
            written = await self._write(output)
            await self._driver.offload(output.commit)
        except BaseException:
            output.abort()
            raise
        return written

    async def _write(self, output: Output) -> int:
        written = 0
        async with aclosing(self._turned(as_texts=output.as_texts)) as stream:
            async for turned in stream:
                left = self._pull.left(self._pull.passed + written)
                written += await self._driver.offload(partial(output.add, turned.page, left))
        return written

    async def _pages(self) -> AsyncGenerator[Page, None]:
        passed = self._pull.passed
        async with aclosing(self._turned(as_texts=False)) as stream:
            async for turned in stream:
                page = self._pull.page(turned, passed)
                passed += len(page)
                yield page

    def _turned(self, *, as_texts: bool) -> AsyncGenerator[Turned, None]:
        fetch = self._pull.fetcher(self._session, as_texts=as_texts)
        return self._driver.stream(self._pull.fanout(), fetch)
