"""A query for events, which sends nothing until it is read."""

import os
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar, overload

from ._events.page import FetchedPage, Page, TextPage
from ._events.query import PullRun, QueryBase, each_row, of_events
from ._events.typed import M
from ._io.sync_driver import SyncDriver
from ._json.exact import Json
from ._outputs.frames import Amounts, Dtypes, frame_maker

# Outputs and tables are imported where they are used: they need the models, and so pydantic.
if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from ._base.formats import Format
    from .models import Event

T = TypeVar("T")


class EventQuery(QueryBase[SyncDriver, M]):
    """The result of `Client.events`: iterate over it for events, or get rows, pages or a file.

    The query sends nothing until you read it, and each read starts from the beginning. Leaving a
    loop early stops its requests. At most `2 * concurrency` pages are in memory at a time.

    Examples:
        >>> query = client.events("2026-01-15")
        >>> query.plan.least_requests
        24
        >>> sum(event.revenue for event in query if event.revenue)
        Decimal('0.280926522')
    """

    # jedi knows no default of a type variable: it completes an event by the first signature.
    @overload
    def __iter__(self: "EventQuery[Event]") -> "Generator[Event, None, None]": ...
    @overload
    def __iter__(self) -> Generator[M, None, None]: ...  # noqa: PYI058  # callers may close it
    def __iter__(self) -> Generator[Any, None, None]:
        """Yield events as models, in the order of the plan.

        Raises:
            AdAnalyticsError: when a page cannot be fetched; the events before it have already been
                yielded.
        """
        with closing(self._each(of_events(self._pull.models()))) as pages:
            for events in pages:
                yield from self._each_scrubbed(events)

    def rows(self) -> Generator[dict[str, Json], None, None]:
        """Yield events as dicts: JSON numbers with a fraction become Decimal; strings stay strings.

        Examples:
            >>> [row["os"] for row in client.events("2026-01-15", max_events=2).rows()]
            ['android', 'android']
        """
        with closing(self._each(of_events(each_row))) as pages:
            for rows in pages:
                yield from self._each_scrubbed(rows)

    def pages(self) -> Generator[Page, None, None]:
        """Yield the pages of events as the client fetches them.

        Examples:
            >>> query = client.events("2026-01-15", split="none", per_page=200)
            >>> [len(page.rows) for page in query.pages()]
            [200, 100]
        """
        return self._each(self._pull.page)

    def text_pages(self) -> Generator[TextPage, None, None]:
        """Yield the text of each page as received, for callers that store or parse it themselves.

        Examples:
            >>> query = client.events("2026-01-15", split="none")
            >>> [len(page) for page in query.text_pages()]
            [300]
        """
        return self._each(self._pull.text_page)

    def first(self) -> M | None:
        """Return the first event, or None if there is none; usually one request.

        A query that is read by the hour sends one for each hour until there is an event: 169 for a
        week without any, and 2 with `split="none"`.

        Examples:
            >>> client.events("2026-01-15").first().event_type
            'ad_request'
        """
        with closing(iter(self)) as events:
            return next(events, None)

    def count(self) -> int:
        """Return the number of events, as the service states it in one request.

        The number is compared with nothing; a pull is. All events are read, and checked like those
        of any pull, if the service states no total, none at all or that of a page, for a query of
        one hour, and for one with `max_events`, `seen` or `resume`.

        Raises:
            AdAnalyticsError: when a page cannot be fetched.

        Examples:
            >>> client.events("2026-01-15").count()
            300
        """
        events = self._connection.driver.run(self._counting())
        return sum(self._each(len)) if events is None else events

    def to_arrow(
        self, *, columns: Sequence[str] | None = None, progress: bool = False
    ) -> "pa.Table":
        """Return all events as one Arrow table.

        Columns are the fields that arrive, in order of first appearance, and their types are those
        of the values: whole numbers are `int64`, or `decimal128(38, 0)`; other numbers and money
        are `decimal128(18, 9)`, or have up to 38 digits if a value needs them; documented times
        are `timestamp[ms, UTC]`, and days are `date32`. Objects and lists are JSON text. A column
        of values without a common type is text. Without events, the documented columns are there.

        Args:
            columns: the columns to include, in this order; by default all.
            progress: show how many events have arrived, and how fast, in a terminal or a notebook.

        Raises:
            ConfigurationError: when pyarrow is not installed, or for an unknown column.
            AdAnalyticsError: when a page cannot be fetched.

        Examples:
            >>> table = client.events("2026-01-15").to_arrow(columns=["event_type", "revenue"])
            >>> table.num_rows, str(table.schema.field("revenue").type)
            (300, 'decimal128(18, 9)')
        """
        from ._outputs.arrow.batches import ArrowRows

        table = ArrowRows(columns)
        with (
            self._running(progress=progress) as run,
            closing(self._each(of_events(table.page), run)) as batches,
        ):
            return self._scrubbed(partial(table.whole, list(batches)))

    def to_arrow_batches(
        self, *, columns: Sequence[str] | None = None
    ) -> Generator["pa.RecordBatch", None, None]:
        """Yield all events as Arrow batches, one per page, with the columns of `to_arrow`.

        There is always at least one batch. At most `2 * concurrency` pages and one batch are in
        memory at a time. An unknown column first seen on a later page is appended to that page's
        batch and all later ones. Once a money column needs `decimal128(38, 9)`, it keeps that type.

        Examples:
            >>> query = client.events("2026-01-15", "2026-01-16", split="daily")
            >>> [batch.num_rows for batch in query.to_arrow_batches(columns=["event_id"])]
            [300, 300]
        """
        from ._outputs.arrow.batches import ArrowRows

        table, has_batch = ArrowRows(columns), False
        with closing(self._each(of_events(table.page))) as batches:
            for batch in batches:
                has_batch = True
                yield batch
        self._scrubbed(table.check)
        if not has_batch:
            yield table.batch([])

    def to_pandas(
        self,
        *,
        columns: Sequence[str] | None = None,
        amounts: Amounts | None = None,
        dtypes: Dtypes = "arrow",
        progress: bool = False,
    ) -> "pd.DataFrame":
        """Return all events as a pandas DataFrame; see `to_arrow`.

        `key_values` is JSON text, which pandas can store and compare.

        Args:
            columns: the columns to include, in this order; by default all.
            amounts: `exact` for decimals, or `float`, which works in every pandas calculation; by
                default exact with Arrow's types, and float with NumPy's.
            dtypes: `arrow` for Arrow's types, or `numpy` for those that most code for pandas
                expects: days and times as `datetime64`, which compare with text.
            progress: as for `to_arrow`.

        Examples:
            >>> frame = client.events("2026-01-15").to_pandas(columns=["revenue"])
            >>> frame["revenue"].sum()
            Decimal('0.280926522')
        """
        frame_of = frame_maker("pandas", amounts, dtypes)
        return frame_of(self.to_arrow(columns=columns, progress=progress))

    def to_polars(
        self,
        *,
        columns: Sequence[str] | None = None,
        amounts: Amounts = "exact",
        progress: bool = False,
    ) -> "pl.DataFrame":
        """Return all events as a polars DataFrame with the columns of `to_pandas`.

        Args:
            columns: as for `to_pandas`.
            amounts: as for `to_pandas`.
            progress: as for `to_arrow`.

        Examples:
            >>> frame = client.events("2026-01-15").to_polars(columns=["event_type", "os"])
            >>> frame.shape
            (300, 2)
        """
        frame_of = frame_maker("polars", amounts)
        frame: pl.DataFrame = frame_of(self.to_arrow(columns=columns, progress=progress))
        return frame

    def write(
        self,
        to: str | os.PathLike[str] | BinaryIO,
        *,
        format: "Format | None" = None,  # noqa: A002  # the word that readers expect here
        columns: Sequence[str] | None = None,
        progress: bool = False,
    ) -> int:
        """Write all events and return their number.

        Args:
            to: a path or a binary stream. A file appears at its path only when it is complete; a
                stream is written as pages arrive. A file whose path ends in `.gz` is compressed.
            format: `jsonl` (each event as the text the service sent), `csv`, `parquet` or `arrow`
                (an IPC file); by default, the file's suffix decides.
            columns: the columns to include, in this order; by default all.
            progress: show how many events have arrived, and how fast, in a terminal or a notebook.

        Raises:
            ConfigurationError: before anything is sent, for an unknown format, a missing library,
                or a path that cannot be a file; later, for a column that no event has.
            ProtocolError: when a column of a parquet or arrow stream first appears, or needs
                another type, after a part was written; or when the events are not as many as the
                service counts (except with `on_drift="warn"`).
            AdAnalyticsError: when a page cannot be fetched; an existing file then stays unchanged.

        Examples:
            >>> query = client.events("2026-01-15")
            >>> query.write("day.jsonl.gz"), query.write("day.csv", columns=["os", "domain"])
            (300, 300)
        """
        from ._outputs.open import open_output

        output = open_output(to, format, columns)
        try:
            with self._running(progress=progress, is_output=True) as run:
                rows = 0
                with closing(self._each(of_events(output.add), run)) as counts:
                    for count in counts:
                        rows += count
                        run.written(output.target.size)
                self._scrubbed(output.commit)
        except BaseException:
            output.abort()
            raise
        return rows

    def _each(
        self, convert: Callable[[FetchedPage], T], whole: PullRun | None = None
    ) -> Generator[T, None, None]:
        """Convert each page.

        Callers that build one result from all pages pass a run, and commit it afterwards.
        """
        run = whole or PullRun(self._pull, self._connection.session)
        with closing(self._connection.driver.stream(run.fanout, run.fetch)) as pages:
            for page in pages:
                yield self._scrubbed(partial(convert, page))
                if whole is None:
                    run.commit()


EventQuery.__module__ = "adanalytics_client"
