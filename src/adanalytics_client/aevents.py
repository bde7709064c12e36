"""A query for events in asyncio programs; `events` describes the names."""

import os
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, BinaryIO, TypeVar

from ._events.page import FetchedPage, Page, TextPage
from ._events.query import PullRun, QueryBase, each_row, of_events
from ._events.typed import M
from ._io.async_driver import AsyncDriver, in_thread
from ._json.exact import Json
from ._outputs.frames import Amounts, Dtypes, frame_maker

# Outputs and tables are imported where they are used: they need the models, and so pydantic.
if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from ._base.formats import Format

T = TypeVar("T")


class AsyncEventQuery(QueryBase[AsyncDriver, M]):
    """The asynchronous `EventQuery`, for `async for` and `await`; it converts pages in threads.

    Examples:
        >>> query = client.events("2026-01-15")
        >>> [event.event_type async for event in query][:2]
        ['ad_request', 'impression']
        >>> await query.write("day.jsonl.gz")
        300
    """

    async def __aiter__(self) -> AsyncGenerator[M, None]:
        """Yield events as models, as an `EventQuery` yields them."""
        async with aclosing(self._each(of_events(self._pull.models()))) as pages:
            async for events in pages:
                for event in self._each_scrubbed(events):
                    yield event

    async def rows(self) -> AsyncGenerator[dict[str, Json], None]:
        """Like `EventQuery.rows`, but read it with `async for`."""
        async with aclosing(self._each(of_events(each_row))) as pages:
            async for rows in pages:
                for row in self._each_scrubbed(rows):
                    yield row

    def pages(self) -> AsyncGenerator[Page, None]:
        """Like `EventQuery.pages`, but read it with `async for`."""
        return self._each(self._pull.page)

    def text_pages(self) -> AsyncGenerator[TextPage, None]:
        """Like `EventQuery.text_pages`, but read it with `async for`."""
        return self._each(self._pull.text_page)

    async def first(self) -> M | None:
        """Like `EventQuery.first`, but awaited."""
        async with aclosing(aiter(self)) as events:
            return await anext(events, None)

    async def count(self) -> int:
        """Like `EventQuery.count`, but awaited."""
        events = await self._connection.driver.run(self._counting())
        if events is not None:
            return events
        async with aclosing(self._each(len)) as counts:
            return sum([count async for count in counts])

    async def to_arrow(
        self, *, columns: Sequence[str] | None = None, progress: bool = False
    ) -> "pa.Table":
        """Like `EventQuery.to_arrow`, but awaited."""
        from ._outputs.arrow.batches import ArrowRows

        table = ArrowRows(columns)
        with self._running(progress=progress) as run:
            async with aclosing(self._each(of_events(table.page), run)) as batches:
                whole = partial(table.whole, [batch async for batch in batches])
                return self._scrubbed(whole)

    async def to_arrow_batches(
        self, *, columns: Sequence[str] | None = None
    ) -> AsyncGenerator["pa.RecordBatch", None]:
        """Like `EventQuery.to_arrow_batches`, but read it with `async for`."""
        from ._outputs.arrow.batches import ArrowRows

        table, has_batch = ArrowRows(columns), False
        async with aclosing(self._each(of_events(table.page))) as batches:
            async for batch in batches:
                has_batch = True
                yield batch
        self._scrubbed(table.check)
        if not has_batch:
            yield table.batch([])

    async def to_pandas(
        self,
        *,
        columns: Sequence[str] | None = None,
        amounts: Amounts | None = None,
        dtypes: Dtypes = "arrow",
        progress: bool = False,
    ) -> "pd.DataFrame":
        """Like `EventQuery.to_pandas`, but awaited."""
        frame_of = frame_maker("pandas", amounts, dtypes)
        return frame_of(await self.to_arrow(columns=columns, progress=progress))

    async def to_polars(
        self,
        *,
        columns: Sequence[str] | None = None,
        amounts: Amounts = "exact",
        progress: bool = False,
    ) -> "pl.DataFrame":
        """Like `EventQuery.to_polars`, but awaited."""
        frame_of = frame_maker("polars", amounts)
        frame: pl.DataFrame = frame_of(await self.to_arrow(columns=columns, progress=progress))
        return frame

    async def write(
        self,
        to: str | os.PathLike[str] | BinaryIO,
        *,
        format: "Format | None" = None,  # noqa: A002  # the word that readers expect here
        columns: Sequence[str] | None = None,
        progress: bool = False,
    ) -> int:
        """Like `EventQuery.write`, but awaited."""
        from ._outputs.open import open_output

        # Not in a thread: a cancellation would leave the file open.
        output = open_output(to, format, columns)
        try:
            with self._running(progress=progress, is_output=True) as run:
                rows = 0
                async with aclosing(self._each(of_events(output.add), run)) as counts:
                    async for count in counts:
                        rows += count
                        run.written(output.target.size)
                await in_thread(partial(self._scrubbed, output.commit))
        except BaseException:
            output.abort()
            raise
        return rows

    async def _each(
        self, convert: Callable[[FetchedPage], T], whole: PullRun | None = None
    ) -> AsyncGenerator[T, None]:
        """Convert each page in a thread."""
        run = whole or PullRun(self._pull, self._connection.session)
        async with aclosing(self._connection.driver.stream(run.fanout, run.fetch)) as pages:
            async for page in pages:
                yield await in_thread(partial(self._scrubbed, partial(convert, page)))
                if whole is None:
                    run.commit()


AsyncEventQuery.__module__ = "adanalytics_client"
