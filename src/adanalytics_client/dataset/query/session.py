"""SQL over datasets: DuckDB with its views, closed to everything but committed files."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import date
from difflib import get_close_matches
from functools import cached_property
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import pyarrow as pa

from adanalytics_client._base.validation import import_extra
from adanalytics_client._json.fields import COLUMN_OF_TYPE, ID_OF, GroupBy
from adanalytics_client.dataset.coverage import Coverage
from adanalytics_client.dataset.errors import QueryError
from adanalytics_client.dataset.hours.totals import AMOUNTS
from adanalytics_client.errors import ConfigurationError

from .errors import ONE_SELECT, explain, unwritable
from .files import CommittedFiles
from .macros import create_macros
from .names import OUR_TYPES, literal, literals, quote
from .summary import EventSource, find_field, summarize
from .texts import TIME_TEXTS, csv_columns
from .views import create_names, select_events, source_of

if TYPE_CHECKING:
    import duckdb

    from adanalytics_client.models import Summary

T = TypeVar("T")

_SIZE = re.compile(r"\d+(\.\d+)?\s*[KMGT]i?B", re.IGNORECASE)
# By the id of a type: what DuckDB hands to Arrow of it is another value, such as -1 for a number of
# 39 digits, or has lost its time zone.
_ARROW_LACKS: Mapping[str, str] = {
    "hugeint": "DECIMAL(38, 0)",
    "uhugeint": "DECIMAL(38, 0)",
    "bignum": "VARCHAR",
    "varint": "VARCHAR",
    "bit": "VARCHAR",
    "union": "VARCHAR",
    "time with time zone": "VARCHAR",
    "interval": "VARCHAR",
    # Python takes 24:00:00 for midnight.
    "time": "VARCHAR",
}
_ANSWER = "adanalytics_answer"
_MOST_INTERRUPTS = 3000
# A division by zero has no result; infinity would be the largest one of an order.
_NO_INFINITY = ("SET ieee_floating_point_ops = false", "SET error_on_division_by_zero = false")


class QueryResult(NamedTuple):
    """The rows of a query, as they become ready.

    Attributes:
        schema: the columns, each with a name of its own.
        batches: the rows, in batches of bounded size.
    """

    schema: pa.Schema
    batches: Iterator[pa.RecordBatch]


@contextmanager
def run_query(sql: str, places: Sequence[str], *, memory: str) -> Iterator[QueryResult]:
    """Run one SELECT over the views of one or more datasets; see `QuerySession`.

    Raises:
        ConfigurationError, DatasetError: as for `Dataset.query`; they can also occur while batches
        are read.
    """
    with open_session(places, memory=memory) as session:
        yield session.select(sql)


@contextmanager
def open_session(
    places: Sequence[str], *, memory: str, output: str | None = None
) -> "Iterator[QuerySession]":
    """Open DuckDB over one or more datasets; it can read nothing else, and only write `output`.

    It ends when the `with` block ends. DuckDB runs in a separate thread, so that Ctrl-C can
    interrupt it.

    Raises:
        ConfigurationError, DatasetError: as for `Dataset.query`.
    """
    duckdb = import_extra("duckdb")
    if not _SIZE.fullmatch(memory):
        raise ConfigurationError(
            f"{memory!r} is not a size of memory.", remedy="Give one such as 500MB or 4GB."
        )
    datasets = {place: CommittedFiles.read(place) for place in places}

    def interrupt() -> None:
        # Again and again, because DuckDB forgets it until it executes the query; not without end,
        # because a signal that arrives while the thread starts can keep it from starting.
        idle = worker.submit(bool)
        for _ in range(_MOST_INTERRUPTS):
            if wait([idle], timeout=0.01).done:
                break
            connection.interrupt()

    with ExitStack() as stack:
        spill = stack.enter_context(TemporaryDirectory(prefix="adanalytics-"))
        connection = duckdb.connect(":memory:")
        worker = stack.enter_context(ThreadPoolExecutor(1))
        # On the thread, where it waits until an interrupted step has ended, even when a second
        # Ctrl-C ends the wait for the thread.
        stack.callback(worker.submit, connection.close)
        stack.callback(interrupt)
        session = QuerySession(datasets, connection, worker, stack, output)
        session.run(lambda: _enclose(connection, datasets, memory, spill, output))
        yield session


@dataclass(repr=False)
class QuerySession:
    """DuckDB over datasets, closed to everything but their files.

    Its views are `events`, which has a `dataset` column if there are several datasets, `traffic`,
    which is `events` without the filtered ones, and the names, such as `campaigns`; its functions
    are the rates of a summary.
    """

    _datasets: Mapping[str, CommittedFiles]
    _connection: "duckdb.DuckDBPyConnection"
    _worker: ThreadPoolExecutor
    _stack: ExitStack
    _output: str | None
    # What the user wrote, for errors.
    _sql: str = ""

    @cached_property
    def coverage(self) -> list[Coverage]:
        """What each of the datasets covers, in their order."""
        return [files.coverage for files in self._datasets.values()]

    @cached_property
    def _sources(self) -> list[EventSource]:
        return [*map(source_of, self._datasets.values())]

    def run(self, step: Callable[[], T]) -> T:
        """Run a step on the thread of DuckDB, and raise its error as one of ours."""
        duckdb = import_extra("duckdb")
        ended = self._worker.submit(step)
        # Polars, once imported, lets no signal end a wait without a limit.
        while wait([ended], timeout=0.1).not_done:
            continue
        try:
            return ended.result()
        except (duckdb.Error, OSError, pa.ArrowException) as error:
            is_io = isinstance(error, OSError) or str(error).startswith("IO Error")
            if is_io and self._output and self._output in str(error):
                raise unwritable(str(error)) from error
            for files in self._datasets.values():
                if files.failures:
                    raise files.failures.pop() from error
            raise explain(str(error), self._datasets.values(), self._sql) from error

    def select(self, sql: str, *, as_text: bool = False) -> QueryResult:
        """Begin one SELECT, whose rows are then read batch by batch, days and times `as_text`.

        Raises:
            DatasetError: as for `Dataset.query`; also while batches are read.
        """
        connection, self._sql = self._connection, sql
        statement = self.run(lambda: _statement_of(connection, sql))

        def begin() -> pa.RecordBatchReader:
            rows = _rows_of(connection, statement, as_text=as_text)
            return pa.RecordBatchReader.from_stream(rows)

        reader = self.run(begin)
        self._stack.callback(self._worker.submit, reader.close)
        batches = iter(lambda: self.run(lambda: next(reader, None)), None)
        return QueryResult(reader.schema, batches)

    def write_csv(self, sql: str, path: str, *, packed: bool = False) -> int | None:
        """Write the rows of one SELECT as csv to the output of the session; return how many.

        Memory use does not depend on their number. Nothing is written, and None is returned, for
        columns whose values DuckDB would not write as our own csv has them.

        Args:
            sql: the SELECT.
            path: the output for which the session was opened.
            packed: whether to compress it with gzip.

        Raises:
            DatasetError: as for `Dataset.query`, and when the file cannot be written.
        """
        duckdb, connection = import_extra("duckdb"), self._connection
        self._sql = sql
        statement = self.run(lambda: _statement_of(connection, sql))

        def make_view() -> bool:
            rows = _rows_of(connection, statement, as_text=True)
            pairs = zip(map(quote, rows.columns), rows.types, strict=True)
            columns = csv_columns([(name, type_.id, str(type_)) for name, type_ in pairs])
            if columns is None:
                return False
            # A view has no PIVOT that looks up its columns.
            with suppress(duckdb.InvalidInputException):
                rows.select(", ".join(columns)).create_view(_ANSWER)
                return True
            return False

        if not self.run(make_view):
            return None
        options = "FORMAT csv, HEADER true, USE_TMP_FILE false" + ", COMPRESSION gzip" * packed
        ((rows,),) = self.ask(f"COPY {_ANSWER} TO {literal(path)} ({options})")
        return int(rows)

    def ask(self, sql: str) -> list[tuple[Any, ...]]:
        """Run a statement of ours, and return its rows as values of Python."""
        return self.run(lambda: self._connection.execute(sql).fetchall())

    def find_field(self, word: str) -> str:
        """Return the name of the field or column of ours that a word means; see `summarize`.

        Raises:
            ConfigurationError: for a word that means none in any of the datasets.
        """
        sources = self._sources
        fields = [field for source in sources if (field := find_field(word, source))]
        if fields:
            return fields[0]
        names = dict.fromkeys(name for source in sources for name in (*source.columns, *OUR_TYPES))
        near = get_close_matches(word, names, n=1)
        hint = f"Did you mean {near[0]!r}?" if near else f"Choose from {', '.join(names)}."
        raise ConfigurationError(f"The events have no field {word!r}.", remedy=hint)

    def group_of(self, field: str) -> GroupBy | None:
        """Return the group of a summary by a field, if names of its ids are known."""
        return next(filter(None, (source.group_of(field) for source in self._sources)), None)

    def texts(self) -> list[str]:
        """Return the fields of counts and amounts that have texts, which are not added up."""
        names = (
            name
            for source in self._sources
            for figure in (*COLUMN_OF_TYPE.values(), *AMOUNTS)
            if (name := source.names.sent(figure, source.columns))
            and source.columns[name].base == "text"
        )
        return [*dict.fromkeys(names)]

    def summarize(self, field: str, first: date, last: date) -> "list[list[Summary]]":
        """Return summaries of each dataset by a field, one for each currency; see `summarize`.

        Args:
            field: what `find_field` returns.
            first: the first day.
            last: the last day.

        Raises:
            DatasetError: as for `Dataset.query`.
        """
        group = self.group_of(field)
        return [
            summarize(source, field, first, last, self.ask, group=group) for source in self._sources
        ]


def _enclose(
    connection: "duckdb.DuckDBPyConnection",
    datasets: Mapping[str, CommittedFiles],
    memory: str,
    spill: str,
    output: str | None = None,
) -> None:
    """Make the views, then lock the connection: no other file, no extension, no setting."""
    duckdb = import_extra("duckdb")
    for files in datasets.values():
        files.mount(connection)
    paths = [path for files in datasets.values() for path in files.paths()]
    for statement in _NO_INFINITY:
        # Only newer versions have the second one, and need it.
        with suppress(duckdb.CatalogException):
            connection.execute(statement)
    for statement in (
        "SET TimeZone = 'UTC'",
        f"SET memory_limit = {literal(memory)}",
        f"SET temp_directory = {literal(spill)}",
        "SET autoload_known_extensions = false",
        "SET autoinstall_known_extensions = false",
        "SET python_enable_replacements = false",
        f"SET allowed_paths = {literals([*paths, *([output] if output else [])])}",
        *create_macros(),
        f"CREATE VIEW events AS {select_events(datasets)}",
        f"CREATE VIEW traffic AS {select_events(datasets, filtered=False)}",
    ):
        connection.execute(statement)
    for group in ID_OF:
        create_names(connection, datasets, group)
    for statement in ("SET enable_external_access = false", "SET lock_configuration = true"):
        connection.execute(statement)


def _statement_of(connection: "duckdb.DuckDBPyConnection", sql: str) -> str:
    """Return the one SELECT of a text; a PIVOT that looks up its columns is a MULTI."""
    kinds = [statement.type.name for statement in connection.extract_statements(sql)]
    if kinds in (["SELECT"], ["MULTI"]):
        return _without_end(sql)
    # DuckDB's name of a statement that installs is LOAD, too.
    names = {"LOAD": "INSTALL or LOAD"}
    refused = [names.get(kind, kind).replace("_", " ") for kind in kinds if kind != "SELECT"]
    message = f"{len(kinds)} statements are refused: a query is one."
    if refused:
        message = f"{refused[0]} is refused: a query only reads."
    raise QueryError(message if kinds else "The SQL is empty.", remedy=ONE_SELECT)


def _rows_of(
    connection: "duckdb.DuckDBPyConnection", statement: str, *, as_text: bool
) -> "duckdb.DuckDBPyRelation":
    """Return the rows of a SELECT with types that Arrow has, days and times maybe `as_text`."""
    # Selecting all once more numbers the later ones of equal names: sum(x), sum(x)_1.
    duckdb = import_extra("duckdb")
    try:
        rows = connection.sql(statement).select("*")
    except duckdb.Error:
        # The error of an execution has the line of the SQL and a caret, too.
        connection.execute(statement)
        raise
    values = []
    for name, kind in zip(map(quote, rows.columns), rows.types, strict=True):
        value = name
        if as_text and kind.id in TIME_TEXTS:
            value = TIME_TEXTS[kind.id](name)
        elif kind.id in _ARROW_LACKS:
            value = f"CAST({name} AS {_ARROW_LACKS[kind.id]})"
        values.append(f"{value} AS {name}")
    return rows.select(", ".join(values))


def _without_end(sql: str) -> str:
    """Return SQL without its last semicolons: `connection.sql` refuses a comment behind one."""
    duckdb = import_extra("duckdb")
    # The tokens have their places in UTF-8.
    text = sql.encode()
    for place, kind in reversed(duckdb.tokenize(sql)):
        if kind == duckdb.token_type.comment:
            continue
        if text[place : place + 1] != b";":
            break
        text = text[:place]
    return text.decode()
