"""A pull of events for the asynchronous world; the same names as in `events`."""

import os
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, BinaryIO, Generic, TypeVar

from adanalytics_client._async import AsyncDriver
from adanalytics_client._dates import Day
from adanalytics_client._fanout import Turned
from adanalytics_client._frames import pandas_frames, polars_frames
from adanalytics_client._in_thread import in_thread
from adanalytics_client._json import Json
from adanalytics_client._page import Page, TextPage
from adanalytics_client._page_parts import each_row
from adanalytics_client._pages import Fetched
from adanalytics_client._plan import Plan
from adanalytics_client._pull import Pull
from adanalytics_client._seen import Sieve
from adanalytics_client._session import Session
from adanalytics_client._typed import M

# Outputs and tables are imported where they are made: they need the models, and so pydantic.
if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from adanalytics_client.output import Output

T = TypeVar("T")


class AsyncEventQuery(Generic[M]):
    """What `AsyncClient.events` gives: iterate it, or ask for rows, pages or a file.

    Nothing is sent until then, and each reading starts afresh. Leaving a loop early ends all of its
    requests. Memory holds at most `2 * concurrency` pages.

    Example:
        >>> query = client.events("2026-01-15")
        >>> [event.event_type async for event in query][:2]
        ['ad_request', 'impression']
    """

    def __init__(self, pull: Pull[M], session: Session, driver: AsyncDriver) -> None:
        self._pull = pull
        self._session = session
        self._driver = driver

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.plan})"

    @property
    def plan(self) -> Plan:
        """The requests this pull consists of; looking at it costs nothing."""
        return self._pull.plan

    def only_days(self, days: Iterable[Day]) -> "AsyncEventQuery[M]":
        """The same pull without requests for days that are not among `days`.

        It saves requests and filters no events: where one query spans several days, with `none`
        and `auto`, events of the days between come as well.

        Raises:
            ConfigurationError: for something that is no day, and for a resumed pull.

        Example:
            >>> month = client.events("2026-01-01", "2026-01-31")
            >>> month.only_days(await client.dates()).plan.least_requests
            48
        """
        return AsyncEventQuery(self._pull.only_days(days), self._session, self._driver)

    async def __aiter__(self) -> AsyncGenerator[M, None]:
        """Events as models, in the order of the plan unless `ordered=False`.

        Raises:
            AdAnalyticsError: when a page cannot be had; events before it were given.
        """
        async with aclosing(self._cut(self._pull.models().read)) as pages:
            async for events in pages:
                for event in events:
                    yield event

    async def rows(self) -> AsyncGenerator[dict[str, Json], None]:
        """Events as plain dicts: JSON numbers with a fraction are Decimal, strings stay strings.

        Example:
            >>> [row["os"] async for row in client.events("2026-01-15", max_events=2).rows()]
            ['android', 'android']
        """
        async with aclosing(self._cut(each_row)) as pages:
            async for rows in pages:
                for row in rows:
                    yield row

    def pages(self) -> AsyncGenerator[Page, None]:
        """Events page by page, as they were fetched.

        Example:
            >>> query = client.events("2026-01-15", split="none", per_page=200)
            >>> [len(page.rows) async for page in query.pages()]
            [200, 100]
        """
        return self._each(self._pull.page)

    def text_pages(self) -> AsyncGenerator[TextPage, None]:
        """Events page by page as the text they came as, for those who keep or read it otherwise.

        Example:
            >>> query = client.events("2026-01-15", split="none")
            >>> [len(page) async for page in query.text_pages()]
            [300]
        """
        return self._each(self._pull.text_page)

    async def to_arrow(self, *, columns: Sequence[str] | None = None) -> "pa.Table":
        """All events as one Arrow table, whose schema is the same for any events.

        Known columns come first, in the order of `Event`, and are always there; money is
        `decimal128(38, 9)`, times are `timestamp[ms, UTC]`, days `date32`. Others follow as text:
        strings as they are, anything else as JSON.

        Args:
            columns: only these, in this order.

        Raises:
            ConfigurationError: when pyarrow is not installed, or for an unknown column.
            ProtocolError: for a value that its column cannot hold exactly.
            AdAnalyticsError: when a page cannot be had.

        Example:
            >>> query = client.events("2026-01-15")
            >>> table = await query.to_arrow(columns=["event_type", "revenue"])
            >>> table.num_rows, str(table.schema.field("revenue").type)
            (300, 'decimal128(38, 9)')
        """
        from adanalytics_client._arrow_rows import ArrowRows

        table, sieve = ArrowRows(columns), self._pull.sieve()
        async with aclosing(self._cut(table.page, sieve)) as batches:
            made = table.whole([batch async for batch in batches])
        sieve.settle()
        return made

    async def to_arrow_batches(
        self, *, columns: Sequence[str] | None = None
    ) -> AsyncGenerator["pa.RecordBatch", None]:
        """The same as one batch a page, in the memory of `2 * concurrency` pages and a batch.

        There is at least one batch. A column that nobody knows and that first appears later is
        at the end of the batches from then on.

        Example:
            >>> query = client.events("2026-01-15", "2026-01-16", split="daily")
            >>> [batch.num_rows async for batch in query.to_arrow_batches(columns=["event_id"])]
            [300, 300]
        """
        from adanalytics_client._arrow_rows import ArrowRows

        table, given = ArrowRows(columns), False
        async with aclosing(self._cut(table.page)) as batches:
            async for batch in batches:
                given = True
                yield batch
        table.check()
        if not given:
            yield table.batch([])

    async def to_pandas(self, *, columns: Sequence[str] | None = None) -> "pd.DataFrame":
        """All events as a pandas frame with Arrow's own types; see `to_arrow`.

        Example:
            >>> frame = await client.events("2026-01-15").to_pandas(columns=["revenue"])
            >>> frame["revenue"].sum()
            Decimal('0.280926522')
        """
        frame_of = pandas_frames()
        return frame_of(await self.to_arrow(columns=columns))

    async def to_polars(self, *, columns: Sequence[str] | None = None) -> "pl.DataFrame":
        """All events as a polars frame; see `to_arrow`.

        Example:
            >>> frame = await client.events("2026-01-15").to_polars(columns=["event_type", "os"])
            >>> frame.shape
            (300, 2)
        """
        frame_of = polars_frames()
        return frame_of(await self.to_arrow(columns=columns))

    async def write(
        self,
        to: str | os.PathLike[str] | BinaryIO,
        *,
        format: str | None = None,  # noqa: A002  # the word that readers expect here
        columns: Sequence[str] | None = None,
    ) -> int:
        """Write all events and give their number.

        Args:
            to: a path, which appears once it is whole, or a binary stream, written as pages come.
                A path that ends in `.gz` is packed.
            format: `jsonl` (each event as the text the service sent), `csv`, `parquet` or `arrow`
                (an IPC file); by default after the suffix.
            columns: only these, in this order.

        Raises:
            ConfigurationError: for an unknown format, a path that cannot be a file or a missing
                library, before anything is sent; for a column that no event has, at the end.
            ProtocolError: for a value that a column of parquet or arrow cannot hold exactly.
            AdAnalyticsError: when a page cannot be had; a path is then left as it was.

        Example:
            >>> query = client.events("2026-01-15")
            >>> await query.write("day.jsonl.gz")
            300
            >>> await query.write("day.csv", columns=["os", "domain"])
            300
        """
        from adanalytics_client._async_opening import opened_output

        output, sieve = await opened_output(to, format, columns), self._pull.sieve()
        try:
            written = await self._fill(output, sieve)
            await in_thread(output.commit)
        except BaseException:
            output.abort()
            raise
        sieve.settle()
        return written

    async def _fill(self, output: "Output", sieve: Sieve) -> int:
        async with aclosing(self._cut(output.add, sieve)) as counts:
            return sum([count async for count in counts])

    def _cut(
        self, take: Callable[[Fetched, int | None], T], whole: Sieve | None = None
    ) -> AsyncGenerator[T, None]:
        """What `take` makes of each page, told how many of its events still count."""
        return self._each(partial(self._pull.taken, take), whole)

    async def _each(
        self, take: Callable[[Turned, int], T], whole: Sieve | None = None
    ) -> AsyncGenerator[T, None]:
        """What `take` makes of each page, told how many events passed before it.

        Who makes one thing of all pages passes a sieve and settles it when that is done.
        """
        passed, sieve = self._pull.passed, whole or self._pull.sieve()
        fetch = self._pull.fetcher(self._session)
        stream = self._driver.stream(self._pull.fanout(self._session, sieve), fetch)
        async with aclosing(stream) as pages:
            async for turned in pages:
                before, passed = passed, passed + len(turned.page)
                yield await in_thread(partial(take, turned, before))
                if whole is None:
                    sieve.settle()
