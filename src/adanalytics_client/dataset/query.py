"""SQL over datasets: DuckDB with its views, closed to everything but committed files."""

import logging
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import date
from difflib import get_close_matches
from functools import cached_property, reduce
from itertools import count
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Self, TypeVar

import pyarrow as pa

from adanalytics_client._base.remedies import remedy
from adanalytics_client._base.spelling import twins_of
from adanalytics_client._base.validation import import_extra
from adanalytics_client._json.encoding import json_text
from adanalytics_client._json.fields import EVENT_KINDS, ID_OF, TABLE_OF, Kind
from adanalytics_client._json.types import (
    DEFAULTS,
    NULL,
    UNITS,
    Base,
    ColumnType,
    Types,
    join_columns,
)
from adanalytics_client._outputs.arrow.schema import arrow_type
from adanalytics_client.errors import ConfigurationError

from .coverage import Coverage
from .errors import DatasetDamaged, DatasetError, QueryError
from .hours.files import checksum
from .query_copy import TIME_TEXTS, csv_columns
from .query_macros import create_macros
from .query_summary import EventSource, find_field, literal, summarize
from .records.layout import DATA, MANIFEST, Hour, PartFormat
from .records.manifest import DataFile, HourRecord, Identity, Manifest
from .records.names import Names, read_names
from .schema import Schema
from .storage.local import Store, open_store
from .storage.objects import ObjectStore

if TYPE_CHECKING:
    import duckdb

    from adanalytics_client._json.fields import GroupBy
    from adanalytics_client.models import Summary

T = TypeVar("T")

_LOG = logging.getLogger("adanalytics_client")

_REPAIR = "If a sync is running, query again. Otherwise adanalytics verify says how to repair it."
_TABLES = ", ".join(["events", "traffic", *TABLE_OF.values()])
_ONE_SELECT = f"Give one SELECT, which reads {_TABLES} and nothing else."
_COLUMNS = f"The tables are {_TABLES}; DESCRIBE events lists its columns."

_SIZE = re.compile(r"\d+(\.\d+)?\s*[KMGT]i?B", re.IGNORECASE)

_TYPES: Mapping[Base, str] = {
    "null": "VARCHAR",
    "bit": "BOOLEAN",
    "flag": "BOOLEAN",
    "date": "DATE",
    "pairs": "MAP(VARCHAR, VARCHAR)",
    "text": "VARCHAR",
}
# The first version that reads decimals of JSON exactly; tried with 1.2.2, 1.5.0, 2.0.0 and 2.0.1.
_EXACT_SINCE = (2, 0, 1)
_NUMBERS = re.compile(r"\d+")
# Decimal digits that every double keeps.
_FLOAT_DIGITS = 15
_JSON_LINES = "format = 'newline_delimited'"
# DuckDB's own partitions would take a column from any folder above the dataset that is named like
# `country=DE`. A filter on a part of the file name leaves out files just as well. The column of the
# file has a name that no field has, since DuckDB refuses a second one.
_FILES_ONLY = "filename = 'adanalytics: file', hive_partitioning = false"
_FILE = '"adanalytics: file"'
# In a line of JSON, a text or a number; and a character that no text has, by Unicode's rules.
_PARTS = r'("(?:[^"\\]|\\.)*")|(-?[0-9][-+.eE0-9]*)'
_MARK = "\ufdd0"
_PARTITIONS = {
    "date": r"regexp_extract(filename, 'date=([^/=]+)/(?:hour=[^/]+/)?[^/]+$', 1)",
    "hour": r"regexp_extract(filename, 'hour=([^/=]+)/[^/]+$', 1)",
}
# The last column of files that have one for the hour.
_HOUR = "of_hour"
# The columns of ours, behind those of the events, and their types.
_OURS = {"date": "DATE", "hour": "BIGINT", "partner": "VARCHAR", "currency": "VARCHAR"}
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

# The types of columns that become BOOLEAN.
_FLAGS: Collection[Base] = ("bit", "flag")
_ANSWER = "adanalytics_answer"
# A division by zero has no result; infinity would be the largest one of an order.
_NO_INFINITY = ("SET ieee_floating_point_ops = false", "SET error_on_division_by_zero = false")

_MOST_LISTED = 3
_SCHEMES = count(1)
_EXCERPT = re.compile(
    r"^(?P<heading>LINE (?P<number>\d+): )(?P<line>.*)\n(?P<caret> *\^[~^]*)\s*$", re.MULTILINE
)

# The errors of DuckDB that a damaged file cannot cause.
_OF_THE_SQL = frozenset(("Parser", "Binder", "Catalog", "Out of Range"))
# Those that name no file, so that all files are read to find a damaged one.
_OF_ANY_FILE = frozenset(("", "Invalid", "IO", "INTERNAL", "Serialization"))


@dataclass(frozen=True, slots=True)
class QueryResult:
    """The rows of a query, as they become ready.

    Attributes:
        schema: the columns, each with a name of its own.
        batches: the rows, in batches of bounded size.
    """

    schema: pa.Schema
    batches: Iterator[pa.RecordBatch]


@dataclass(frozen=True, slots=True)
class CommittedFiles:
    """The files that the manifest of a dataset names, and the names of campaigns and tags.

    Attributes:
        scheme: that of the addresses by which DuckDB reads object storage. No others have it, so
            that a connection may read many datasets, and S3 in the way of its user, too.
        failures: errors of the storage while DuckDB read, which it reports as others.
    """

    place: str
    store: Store
    identity: Identity
    schema: Schema
    hours: Mapping[Hour, HourRecord]
    files: Sequence[DataFile]
    group_names: Names
    scheme: str
    failures: list[DatasetError]

    @classmethod
    def read(cls, place: str) -> Self:
        """Read the manifest of a dataset.

        Raises:
            DatasetError: when there is no dataset.
            DatasetDamaged: when a record cannot be read.
        """
        store = open_store(place)
        identity, manifest = Identity.require(store), Manifest(store)
        days = manifest.records(manifest.days())
        hours = {hour: record for day in days for hour, record in day.by_hour.items()}
        files = [file for day in days for file in day.data_files(identity)]
        # An answer about fewer days than asked for would look complete.
        for day, damage in manifest.damaged.items():
            raise DatasetDamaged(
                f"{place}/{MANIFEST}/{day}.json is damaged: {damage}.", remedy=_REPAIR
            )
        schema, names = Schema.read(store), read_names(store)
        scheme = f"adanalytics{next(_SCHEMES)}"
        return cls(place, store, identity, schema, hours, files, names, scheme, [])

    def address(self, name: str) -> str:
        """Return the address by which DuckDB reads a file; see `mount`."""
        address = self.store.address(name)
        return f"{self.scheme}://{address}" if isinstance(self.store, ObjectStore) else address

    def paths(self) -> list[str]:
        return [self.address(file.name) for file in self.files]

    @property
    def columns(self) -> dict[str, ColumnType]:
        """The columns of all events, or those that are documented if there are none."""
        kind_of, union = self.identity.names.kind, self.schema.union
        return {
            name: DEFAULTS[kind_of(name)] if type_ == NULL else type_
            for name, type_ in (union or dict.fromkeys(EVENT_KINDS, NULL)).items()
        }

    @property
    def flag(self) -> str | None:
        """The column that says which events are filtered; None if there is none."""
        columns = self.columns
        flag = self.identity.names.sent("is_filtered", columns)
        return flag if flag and columns[flag].base in _FLAGS else None

    @property
    def coverage(self) -> Coverage:
        """What the dataset covers, by its manifest."""
        return Coverage(self.place, self.identity.partner, self.hours, self.flag)

    def select(self, columns: Types, ours: Collection[str]) -> str:
        """Return a SELECT of all events: these columns, then `ours`.

        Files of different types are read each with its own, and cast to those of `columns`.
        """
        names = _names(columns, ours)
        # DuckDB joins files of one scan only if their types agree, so each set of types is a scan
        # of its own, and its columns are cast to those of all files.
        by_types = dict[tuple[int, bool], list[str]]()
        for file in self.files:
            alike = by_types.setdefault((file.types, file.has_hour), [])
            alike.append(self.address(file.name))
        # Without files there is nothing to scan; a query still has to see the columns.
        if not by_types:
            types = [*map(_sql_type, columns.values()), *(_OURS[name] for name in ours)]
            pairs = zip(types, names, strict=True)
            nulls = [f"CAST(NULL AS {type_}) AS {_name(name)}" for type_, name in pairs]
            return f"SELECT {', '.join(nulls)} WHERE false"
        selects = []
        for (number, has_hour), paths in sorted(by_types.items()):
            file_types = self.schema.sets[number]
            places = {name: f"c{at}" for at, name in enumerate(file_types)}
            values = [
                _cast(places[name], file_types[name], type_, self.identity.form)
                if name in file_types
                else f"CAST(NULL AS {_sql_type(type_)})"
                for name, type_ in columns.items()
            ]
            texts = {**_PARTITIONS, "partner": literal(self.identity.partner), "currency": "NULL"}
            if has_hour:
                texts["hour"] = _HOUR
            if field := self.identity.names.sent("currency", file_types):
                texts["currency"] = places[field]
            expressions = {name: f"CAST({text} AS {_OURS[name]})" for name, text in texts.items()}
            values += [expressions[name] for name in ours]
            selection = zip(values, names, strict=True)
            fields = ", ".join(f"{value} AS {_name(name)}" for value, name in selection)
            source = self._source(paths, file_types, columns, has_hour=has_hour)
            selects.append(f"SELECT {fields} FROM {source}")  # noqa: S608  # all of it quoted here
        return " UNION ALL ".join(selects)

    def _source(
        self, paths: list[str], file_types: Types, columns: Types, *, has_hour: bool
    ) -> str:
        """Return the reader of files of one set of types, with its columns as c0, c1, ..."""
        places = ", ".join(
            [*(f"c{at}" for at in range(len(file_types))), *([_HOUR] if has_hour else [])]
        )
        if self.identity.form == "parquet":
            return f"read_parquet({_texts(paths)}, {_FILES_ONLY}) AS t({places}, filename)"
        kind_of = self.identity.names.kind
        read_as = {
            # As text, a number is rounded to that of a float.
            name: _read_as(name, type_ if _is_fraction(type_) else columns[name], kind_of(name))
            for name, type_ in file_types.items()
        }
        # DuckDB does not distinguish capital letters, so it finds only one of such names. It knows
        # no empty name either.
        plain = {name.lower(): name for name in [*file_types][::-1] if name}.values()
        if len(plain) == len(file_types) and not any(
            type_.is_mixed for type_ in file_types.values()
        ):
            types = ", ".join(f"{literal(name)}: {literal(kind)}" for name, kind in read_as.items())
            reader = (
                f"read_json({_texts(paths)}, columns = {{{types}}}, {_JSON_LINES}, {_FILES_ONLY})"
            )
            return f"{reader} AS t({places}, filename)"
        parsed = {name: read_as[name] for name in plain if not file_types[name].is_mixed}
        values = ", ".join(
            f"{_value(name, type_, file_types[name], parsed)} AS c{at}"
            for at, (name, type_) in enumerate(read_as.items())
        )
        lines = f"read_ndjson_objects({_texts(paths)}, {_FILES_ONLY})"
        line = _parsed(parsed) if parsed else "NULL"
        line = f"SELECT json, {line} AS line, {_FILE} FROM {lines}"  # noqa: S608  # all of it quoted here
        return f"(SELECT {values}, {_FILE} AS filename FROM ({line}))"  # noqa: S608  # as above

    def mount(self, connection: "duckdb.DuckDBPyConnection") -> None:
        """Let DuckDB read object storage through the library that the dataset uses."""
        if isinstance(self.store, ObjectStore):
            from .storage.ranges import SizedFiles

            files = {file.name: (file.size, file.sha256) for file in self.files}
            connection.register_filesystem(
                SizedFiles(self.scheme, self.store, files, self.failures)
            )

    def find_damage(self, error: str, *, thorough: bool) -> DatasetDamaged | None:
        """Return an error for the first file that differs from its record, or None.

        The bytes of the files that `error` names are checked, or of all if `thorough`.
        """
        sizes = self.store.sizes(DATA)
        for file in self.files:
            # To read every file takes long, so at first only the one that DuckDB names.
            size, checked = sizes.get(file.name), thorough or self.store.address(file.name) in error
            # Only a table removes files that a running query may still read.
            if size is None and self.identity.table and not self._is_current(file):
                return DatasetDamaged(
                    f"{self.store.place}/{file.name} was removed by a sync meanwhile.",
                    remedy="Query again. With a longer retention, a sync keeps the files of "
                    "queries that take so long.",
                )
            if size is None:
                damage = "was deleted"
            elif size != file.size:
                damage = f"has {size:,} bytes, not {file.size:,}"
            elif checked and checksum(self.store, file.name) != file.sha256:
                damage = "is corrupt (checksum mismatch)"
            else:
                continue
            return DatasetDamaged(f"{self.store.place}/{file.name} {damage}.", remedy=_REPAIR)
        return None

    def _is_current(self, file: DataFile) -> bool:
        """Return whether the manifest names a file now, too."""
        files = Manifest(self.store).day(file.day).data_files(self.identity)
        return file.name in {current.name for current in files}


def _sql_type(type_: ColumnType) -> str:
    if type_.base == "number":
        arrow = arrow_type(type_, wide=True)
        is_whole = pa.types.is_integer(arrow)
        return "BIGINT" if is_whole else f"DECIMAL({arrow.precision}, {arrow.scale})"
    if type_.base in {"time", "epoch"}:
        if type_.decimals <= UNITS["us"]:
            return "TIMESTAMPTZ"
        # Earlier versions of DuckDB cut nanoseconds to microseconds.
        if _version() < _EXACT_SINCE:
            raise _inexact("times with nanoseconds")
        return "TIMESTAMPTZ_NS"
    return _TYPES[type_.base]


def _read_as(name: str, type_: ColumnType, kind: Kind | None) -> str:
    """Return the type by which a value of JSON lines is read exactly, before it is cast.

    Raises:
        ConfigurationError: where DuckDB reads numbers with a fraction through floats.
    """
    if type_.base == "number" and type_.scale and _version() < _EXACT_SINCE:
        # As text it keeps the digits of amounts that are text, and of numbers with a few.
        if kind is not Kind.AMOUNT and type_.precision > _FLOAT_DIGITS:
            raise _inexact(f"all digits of {name} from JSON lines")
        return "VARCHAR"
    return "VARCHAR" if type_.base in {"bit", "time", "epoch", "null"} else _sql_type(type_)


def _version() -> tuple[int, ...]:
    version = import_extra("duckdb").__version__
    return tuple(map(int, _NUMBERS.findall(version)[:3]))


def _inexact(subject: str) -> ConfigurationError:
    version = ".".join(map(str, _version()))
    return ConfigurationError(
        f"DuckDB {version} cannot read {subject}.", remedy="Install duckdb 2.0.1 or later."
    )


def _cast(place: str, own: ColumnType, type_: ColumnType, form: PartFormat) -> str:
    """Return an expression for a column of files with its own type, as the type of all files."""
    expression, bases = _sql_type(type_), {own.base, type_.base}
    if bases <= {"time", "epoch"}:
        return (
            f"CAST({_moment(place, expression)} AS {expression})"
            if form == "jsonl"
            else _plain(place, expression)
        )
    # Earlier files took whole seconds for a time; as a number they are what the service sent.
    if form == "parquet" and type_.base == "number" and own.base == "epoch":
        factor = f"CAST(0.000001 AS DECIMAL(7, 6)) * {10 ** UNITS[own.epoch]}"
        return _plain(f"CAST(epoch_us({place}) AS DECIMAL(19, 0)) * {factor}", expression)
    # The files have as many decimals as their widest value; the service sent none of these zeros.
    if type_.base == "text" and _is_fraction(own):
        return f"rtrim(rtrim(CAST({place} AS VARCHAR), '0'), '.')"
    if form == "parquet" and type_.base == "text":
        if own.base in {"time", "epoch"}:
            decimals = "gfn"[(own.decimals - 1) // 3]
            return f"strftime({place}, '%Y-%m-%dT%H:%M:%S.%{decimals}Z')"
        if own.base == "pairs":
            place = f"to_json({place})"
    return _plain(place, expression)


def _plain(place: str, expression: str) -> str:
    return f"CAST({place} AS {expression})"


def _moment(place: str, expression: str) -> str:
    """Return a time that JSON lines have as text, or as a number of seconds or of parts of them."""
    make, decimals = (
        ("make_timestamp", 6) if expression == "TIMESTAMPTZ" else ("make_timestamp_ns", 9)
    )
    cases = " ".join(
        f"WHEN {10 + digits} THEN CAST(CAST({place} AS DECIMAL(28, 9)) "
        f"* CAST({10 ** (decimals - digits)} AS DECIMAL(10, 0)) AS BIGINT)"
        for digits in UNITS.values()
        if digits <= decimals
    )
    number = f"CASE strpos({place} || '.', '.') - 1 {cases} END"
    is_number = f"regexp_full_match({place}, '[0-9]+([.][0-9]+)?')"
    text = f"CAST({place} AS {expression})"
    return f"CASE WHEN {is_number} THEN {make}({number}) AT TIME ZONE 'UTC' ELSE {text} END"


def our_columns(datasets: Collection[CommittedFiles], columns: Types) -> list[str]:
    """Return the columns of ours in the view of datasets that have these columns together.

    A field `currency` that is the currency of events is that column itself.
    """
    field = next((name for name in columns if name.lower() == "currency"), None)
    owners = [files.identity.names for files in datasets if field in files.columns]
    # The events have a currency of their own, so ours would be the same column twice.
    is_field = field and all(names.sent("currency", columns) == field for names in owners)
    return [name for name in _OURS if name != "currency" or not is_field]


def _names(fields: Iterable[str], ours: Iterable[str] = _OURS) -> list[str]:
    """Return a name for each field, and for the columns of ours, that no other has in any case.

    Of fields whose names differ in capital letters only, the later ones are numbered; an empty name
    is an underscore; a column of ours gets one in front where a field has its name.
    """
    names = {}
    for field in fields:
        # SQL has no empty name.
        name = next(n for n in _numbered(field or "_") if n.lower() not in names)
        names[name.lower()] = name
    for own in ours:
        name = next(n for n in (f"{'_' * number}{own}" for number in count()) if n not in names)
        names[name] = name
    return [*names.values()]


def _numbered(name: str) -> Iterator[str]:
    yield name
    yield from (f"{name}_{number}" for number in count(1))


def _is_fraction(type_: ColumnType) -> bool:
    return type_.base == "number" and type_.scale > 0


def _value(name: str, type_: str, own: ColumnType, parsed: Collection[str]) -> str:
    """Return an expression for a member of a line, whose name is case-sensitive."""
    if own.is_mixed or not name:
        return _digits(name)
    return f"{'line' if name in parsed else _parsed({name: type_})}[{literal(name)}]"


# The text of others is cast later: a value that does not fit is an error, and no null.
_PARSED = ("DECIMAL", "MAP")


def _parsed(types: Mapping[str, str]) -> str:
    """Return an expression for the members of a line that have these names."""
    read_as = {
        name: type_ if type_.startswith(_PARSED) else "VARCHAR" for name, type_ in types.items()
    }
    return f"json_transform(json, {literal(json_text(read_as))})"


def _digits(name: str) -> str:
    """Return an expression for the text of a member of a line, with all digits of its numbers.

    DuckDB would read those with a fraction through floats. So they are read as texts, with a mark
    at both ends; whatever is left of the marks and their quotes is removed.
    """
    # RFC 6901.
    pointer = literal(f"/{name.replace('~', '~0').replace('/', '~1')}")
    member, begin, end = f"json ->> {pointer}", f'"{_MARK}', f'{_MARK}"'
    parts = literal(rf"\1{begin}\2{end}")
    exact = f"regexp_replace(json, {literal(_PARTS)}, {parts}, 'g')"
    # Texts have an empty number behind them.
    exact = f"replace({exact}, {literal(begin + end)}, '') ->> {pointer}"
    for mark in (begin, end, _MARK):
        exact = f"replace({exact}, {literal(mark)}, '')"
    return f"CASE WHEN regexp_matches({member}, '[0-9][.eE]') THEN {exact} ELSE {member} END"


def _name(name: str) -> str:
    quoted = name.replace('"', '""')
    return f'"{quoted}"'


def select_events(datasets: Mapping[str, CommittedFiles], *, filtered: bool = True) -> str:
    """Return a SELECT of all datasets' events, or without the `filtered` ones.

    With several, a last column names the dataset. Columns with another name than that of their
    field are logged.
    """
    columns = reduce(join_columns, (files.columns for files in datasets.values()))
    fixed = our_columns(datasets.values(), columns)
    ours = [*fixed, *(("dataset",) if len(datasets) > 1 else ())]
    names = _names(columns, ours)
    pairs = [*zip((*columns, *ours), names, strict=True)]
    renamings = [f"{name} for {field or 'no name'}" for field, name in pairs if name != field]
    if renamings and filtered:
        _LOG.warning(
            "Names in SQL differ by more than capitals: events has %s.", ", ".join(renamings)
        )
    parts = (
        name
        for name in columns
        if any(files.identity.names.documented(name) for files in datasets.values())
    )
    if filtered and (twins := twins_of(parts)):
        _LOG.warning(
            "Columns differ only in the spelling of their names, and traffic and figures use one "
            "of each: %s. Pull the days anew into another dataset.",
            "; ".join(map(" and ".join, twins)),
        )
    selects = []
    for place, files in datasets.items():
        select, flag = files.select(columns, fixed), files.flag
        if flag is not None and not filtered:
            quoted = _name(dict(reversed(pairs))[flag])
            if columns[flag].base not in _FLAGS:
                quoted = f"TRY_CAST({quoted} AS BOOLEAN)"
            # An event that does not say it is not filtered, as in the totals of the dataset.
            select = f"SELECT * FROM ({select}) WHERE {quoted} IS NOT TRUE"  # noqa: S608  # as above
        if len(datasets) > 1:
            select = f"SELECT *, {literal(place)} AS {_name(names[-1])} FROM ({select})"  # noqa: S608  # as above
        selects.append(select)
    return " UNION ALL ".join(selects)


def _create_names(
    connection: "duckdb.DuckDBPyConnection",
    datasets: Mapping[str, CommittedFiles],
    group: "GroupBy",
) -> None:
    """Make the table with the names of a group, such as `campaigns`; ids have the events' type."""
    part, types = ID_OF[group], set()
    for files in datasets.values():
        if field := files.identity.names.sent(part, files.columns):
            types.add(_sql_type(files.columns[field]))
    rows = [
        (id_, name, files.identity.partner, place)
        for place, files in datasets.items()
        if group in files.group_names
        for id_, name in files.group_names[group].names.items()
    ]
    columns = [part, f"{group}_name", "partner", "dataset"][: 4 if len(datasets) > 1 else 3]
    values = zip(*rows, strict=True) if rows else [()] * 4
    arrays = [pa.array(column, pa.string()) for column in values]
    connection.register(_ANSWER, pa.table(dict(zip(columns, arrays, strict=False))))
    # Datasets whose ids differ in type have only texts in common.
    type_ = types.pop() if len(types) == 1 else "VARCHAR"
    connection.execute(
        f"CREATE TABLE {TABLE_OF[group]} AS "  # noqa: S608  # names of ours
        f"SELECT * REPLACE (TRY_CAST({part} AS {type_}) AS {part}) FROM {_ANSWER} ORDER BY ALL"
    )
    connection.unregister(_ANSWER)


def _source_of(files: CommittedFiles) -> EventSource:
    """Return the traffic of a dataset for a summary."""
    select, places = select_events({files.place: files}, filtered=False), sql_names(files)
    labels = {group: group_names.names for group, group_names in files.group_names.items()}
    return EventSource(select, files.columns, files.identity.names, places, labels)


def sql_names(files: CommittedFiles) -> dict[str, str]:
    """Return the names in SQL of the fields and of our columns, quoted.

    Of equal names, ours stands for the column.
    """
    columns, extras = files.columns, our_columns([files], files.columns)
    places = dict(zip([*columns, *extras], map(_name, _names(columns, extras)), strict=True))
    if "currency" not in extras:
        places["currency"] = next(places[name] for name in columns if name.lower() == "currency")
    return places


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
        # Again and again, because DuckDB forgets it until it executes the query.
        idle = worker.submit(bool)
        while wait([idle], timeout=0.01).not_done:
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
    which is `events` without the filtered ones, and the names in `campaigns` and `demand_tags`; its
    functions are the rates of a summary.
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
        return [*map(_source_of, self._datasets.values())]

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
                raise _unwritable(str(error)) from error
            for files in self._datasets.values():
                if files.failures:
                    raise files.failures.pop() from error
            raise _explain(str(error), self._datasets.values(), self._sql) from error

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
            pairs = zip(map(_name, rows.columns), rows.types, strict=True)
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
        names = dict.fromkeys(name for source in sources for name in (*source.columns, *_OURS))
        near = get_close_matches(word, names, n=1)
        hint = f"Did you mean {near[0]!r}?" if near else f"Choose from {', '.join(names)}."
        raise ConfigurationError(f"The events have no field {word!r}.", remedy=hint)

    def group_of(self, field: str) -> "GroupBy | None":
        """Return the group of a summary by a field, if names of its ids are known."""
        return next(filter(None, (source.group_of(field) for source in self._sources)), None)

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
        f"SET allowed_paths = {_texts([*paths, *([output] if output else [])])}",
        *create_macros(),
        f"CREATE VIEW events AS {select_events(datasets)}",
        f"CREATE VIEW traffic AS {select_events(datasets, filtered=False)}",
    ):
        connection.execute(statement)
    for group in ID_OF:
        _create_names(connection, datasets, group)
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
    raise QueryError(message if kinds else "The SQL is empty.", remedy=_ONE_SELECT)


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
    for name, kind in zip(map(_name, rows.columns), rows.types, strict=True):
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


def _explain(error: str, datasets: Collection[CommittedFiles], sql: str) -> DatasetError:
    """Return what an error of DuckDB means: a damaged file, too little memory, or wrong SQL."""
    lines = error.partition("\n\n")[0].splitlines()
    # DuckDB indents lists, such as that of the functions with a similar name.
    candidates = [line.strip() for line in lines[2:] if line.startswith("\t")][:_MOST_LISTED]
    text = " ".join([line for line in lines[:2] if not line.startswith("\t")])
    text += f" {', '.join(candidates)}" if text.endswith(":") else ""
    kind, message, reason = text.partition(" Error: ")
    kind = kind if message else ""
    if kind not in _OF_THE_SQL:
        for files in datasets:
            if damage := files.find_damage(error, thorough=kind in _OF_ANY_FILE):
                return damage
    if kind == "Out of Memory":
        return DatasetError(f"The query ran out of memory: {reason}.", remedy=remedy("memory"))
    if kind == "Permission":
        return QueryError(f"Refused: {reason.partition(' - ')[0]}.", remedy=_ONE_SELECT)
    text += "" if text.endswith((".", "!", "?")) else "."
    advice = _COLUMNS if kind in {"Binder", "Catalog"} else ""
    return QueryError(text, remedy=advice, excerpt=_excerpt(error, sql))


def _unwritable(error: str) -> DatasetError:
    reason = error.partition(" Error: ")[2].partition("\n")[0].rpartition(": ")[2] or error
    return DatasetError(
        f"The answer cannot be written: {reason}.", remedy="Make room, or name another file."
    )


def _excerpt(error: str, sql: str) -> str:
    """Return the line of the SQL that an error of DuckDB shows, with the caret below it.

    The line may be one of a statement that DuckDB made of the SQL, so it is looked up.
    """
    excerpt = _EXCERPT.search(error)
    if excerpt is None:
        return ""
    heading, line, caret = excerpt["heading"], excerpt["line"], excerpt["caret"]
    begin = line.removeprefix("...").removesuffix("...")
    numbers = [n for n, text in enumerate(sql.splitlines(), start=1) if begin and begin in text]
    if not numbers:
        return ""
    own_heading = heading if int(excerpt["number"]) in numbers else f"LINE {numbers[0]}: "
    # DuckDB gives a tab no width; a terminal gives it up to eight.
    column, rest = len(caret) - len(caret.lstrip()) - len(heading), caret.strip()
    before = next((n for n in range(len(line)) if n - line[:n].count("\t") == column), len(line))
    text = line.replace("\t", " ")
    return f"{own_heading}{text}\n{' ' * (len(own_heading) + before)}{rest}"


def _texts(values: Iterable[str]) -> str:
    return f"[{', '.join(map(literal, values))}]"
