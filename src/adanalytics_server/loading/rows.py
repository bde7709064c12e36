"""The rows of a file: CSV, JSON lines or parquet, each row with the line it starts on.

A reader has ``columns``, the names seen so far; ``has_header`` says whether they are complete
before the first row. It holds one line in memory, or one batch of a parquet file.
"""

import csv
import gzip
import io
import json
import os
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, cast

from .values import FIELDS, REQUIRED_FIELDS, Number, Unreadable, decode_json, kind_of


class LoadError(ValueError):
    """A file was rejected.

    Args:
        path: the file, as given.
        message: what is wrong and what to do, without a full stop.
        line: physical line, from 1; for parquet the row, from 1; ``None`` for the whole file.
        field: field of the event, or ``None`` if the whole row is bad.
    """

    def __init__(
        self, path: Path, message: str, line: int | None = None, field: str | None = None
    ) -> None:
        super().__init__(path, message, line, field)

    def __str__(self) -> str:
        path, message, line, field = self.args
        place = str(path) if line is None else f"{path}:{line}"
        prefix = "" if field is None else f"{field}: "
        return f"{place}: {prefix}{message}; nothing was loaded"


# The physical line that a row starts on, from 1 (for parquet the row number), and its values.
NumberedRow = tuple[int, dict[str, object]]


def _repeated(names: Sequence[str]) -> str:
    return ", ".join(sorted({repr(name) for name in names if names.count(name) > 1}))


# A limit, so that one line cannot fill the memory.
MOST_LINE_BYTES = 1 << 20


class _TextFile:
    """An open text file, plain or gzip, whose lines are checked and counted."""

    def __init__(self, path: Path) -> None:
        self._path = path
        # Number of the last line read, from 1.
        self._number = 0
        try:
            self._raw = path.open("rb")
        except OSError as error:
            raise LoadError(path, f"cannot be read ({error.strerror})") from error
        self._size = os.fstat(self._raw.fileno()).st_size
        self._lines: BinaryIO = self._raw
        if path.suffix.lower() == ".gz":
            member = gzip.GzipFile(fileobj=self._raw, mode="rb")
            # GzipFile finds line ends in Python, BufferedReader in C.
            self._lines = cast("BinaryIO", io.BufferedReader(cast("io.RawIOBase", member)))

    def _text_lines(self) -> Iterator[str]:
        while line := self._read_line():
            self._number += 1
            # A file without line ends would otherwise be read into memory as one line.
            if len(line) > MOST_LINE_BYTES:
                raise self._error(f"the line is longer than {MOST_LINE_BYTES} bytes")
            if b"\0" in line:
                raise self._error("the line contains a NUL byte; the file must be UTF-8 text")
            if self._number == 1:
                line = line.removeprefix(b"\xef\xbb\xbf")
            try:
                yield line.decode()
            except UnicodeDecodeError as error:
                raise self._error(f"the line is not UTF-8 text ({error.reason})") from error

    def fraction_read(self) -> float:
        return self._raw.tell() / self._size if self._size else 1.0

    def close(self) -> None:
        self._lines.close()
        self._raw.close()

    def _error(self, message: str) -> LoadError:
        return LoadError(self._path, message, self._number)

    def _read_line(self) -> bytes:
        try:
            return self._lines.readline(MOST_LINE_BYTES + 1)
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            message = f"the gzip data is damaged after line {self._number} ({error})"
            raise LoadError(self._path, message) from error
        except OSError as error:
            message = f"cannot be read ({error.strerror})"
            raise LoadError(self._path, message) from error


# Characters of one cell. The csv module's default is 131,072; a line may have 1 MiB, and a quoted
# cell may have many lines.
MOST_CELL_CHARACTERS = 1 << 20


class CsvRows(_TextFile):
    """Rows of an open CSV file, without blank lines."""

    has_header = True

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        # The limit is one for the whole process, which may read other files after this one.
        self._limit_before = csv.field_size_limit(max(csv.field_size_limit(), MOST_CELL_CHARACTERS))
        self._reader = csv.reader(self._text_lines(), strict=True)
        try:
            self.columns = self._header()
        except BaseException:
            self.close()
            raise

    def rows(self) -> Iterator[NumberedRow]:
        columns = self.columns
        width = len(columns)
        for line, cells in self._numbered_cells():
            # Filled up or cut, the values would get into other columns.
            if len(cells) != width:
                raise LoadError(self._path, f"{len(cells)} cells, but the header has {width}", line)
            yield line, dict(zip(columns, cells, strict=True))

    def _header(self) -> tuple[str, ...]:
        for line, names in self._numbered_cells():
            if duplicates := _repeated(names):
                raise LoadError(self._path, f"the header names {duplicates} more than once", line)
            return tuple(names)
        raise LoadError(self._path, "the file is empty")

    def _numbered_cells(self) -> Iterator[tuple[int, list[str]]]:
        while True:
            line = self._number + 1
            try:
                cells = next(self._reader, None)
            except csv.Error as error:
                raise LoadError(self._path, _explained(error), line) from error
            if cells is None:
                return
            if cells:
                yield line, cells

    def close(self) -> None:
        csv.field_size_limit(self._limit_before)
        super().close()


def _explained(error: csv.Error) -> str:
    if str(error) == "unexpected end of data":
        return "a quoted cell is never closed"
    if "field limit" in str(error):
        return f"a cell has more than {csv.field_size_limit():,} characters"
    return f"invalid CSV ({error})"


# Limits the names kept for the report of ignored columns: a file may use data as keys.
MOST_COLUMNS = 10_000


class JsonlRows(_TextFile):
    """Rows of an open JSONL file, without blank lines."""

    has_header = False

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        # A dictionary, because it keeps the order.
        self.columns: dict[str, None] = {}

    def rows(self) -> Iterator[NumberedRow]:
        empty = True
        for text in self._text_lines():
            if text.isspace():
                continue
            empty = False
            yield self._number, self._row(text)
        if empty:
            raise LoadError(self._path, "the file is empty")

    def _row(self, text: str) -> dict[str, object]:
        try:
            row = decode_json(text)
        except ValueError as error:
            raise self._error(str(error)) from error
        if not isinstance(row, dict):
            raise self._error(f"expected a JSON object, not {kind_of(row)}")
        # Most rows have the same keys, and only new ones cost anything.
        if not row.keys() <= self.columns.keys():
            self.columns.update(dict.fromkeys(row))
            if len(self.columns) > MOST_COLUMNS:
                raise self._error(f"the file has more than {MOST_COLUMNS} different keys")
        return row


# Rows held as Python objects at a time.
BATCH_ROWS = 2_000


class ParquetRows:
    """Rows of an open parquet file; only ``key_values`` may be a nested column."""

    has_header = True

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            # By name: pyarrow is an extra without types.
            self._arrow: Any = import_module("pyarrow")
            parquet: Any = import_module("pyarrow.parquet")
        except ModuleNotFoundError as error:
            raise LoadError(
                path, 'parquet needs pyarrow; install it with: pip install "adanalytics[arrow]"'
            ) from error
        try:
            self._file = parquet.ParquetFile(path)
        except (OSError, self._arrow.ArrowException) as error:
            raise self._unreadable(error) from error
        self.columns: tuple[str, ...] = tuple(self._file.schema_arrow.names)
        if duplicates := _repeated(self.columns):
            self.close()
            raise LoadError(path, f"the schema names {duplicates} more than once")
        self._total = self._file.metadata.num_rows
        self._count = 0

    def rows(self) -> Iterator[NumberedRow]:
        for columns in self._columns_of_batches():
            for values in zip(*self._plain(columns), strict=True):
                self._count += 1
                yield self._count, dict(zip(self.columns, values, strict=True))

    def fraction_read(self) -> float:
        return self._count / self._total if self._total else 1.0

    def close(self) -> None:
        self._file.close()

    def _columns_of_batches(self) -> Iterator[list[Any]]:
        try:
            for batch in self._file.iter_batches(batch_size=BATCH_ROWS):
                yield batch.columns
        except (OSError, self._arrow.ArrowException) as error:
            raise self._unreadable(error) from error

    def _plain(self, columns: list[Any]) -> Iterator[list[object]]:
        types = self._arrow.types
        for name, array in zip(self.columns, columns, strict=True):
            column = array.dictionary_decode() if types.is_dictionary(array.type) else array
            if types.is_timestamp(column.type):
                # As text: Python's times have no nanoseconds and no years after 9999.
                zone = None if column.type.tz is None else "UTC"
                column = column.cast(self._arrow.timestamp(column.type.unit, tz=zone))
                column = column.cast(self._arrow.string())
            values = map(self._python_value, column)
            yield list(self._mappings(name, values) if types.is_map(column.type) else values)

    def _python_value(self, value: Any) -> Any:  # noqa: ANN401  # pyarrow has no types
        """Return a value as JSON has it; a column that is ignored may hold anything."""
        try:
            return _json_value(value.as_py())
        except (ValueError, OverflowError, self._arrow.ArrowException):
            return Unreadable()

    def _mappings(self, name: str, column: Iterable[Any]) -> Iterator[object]:
        """Turn maps into dictionaries; Arrow allows repeated keys."""
        for row, pairs in enumerate(column, start=self._count + 1):
            if not isinstance(pairs, list):
                yield pairs
                continue
            # A list may be a key there, but not in Python.
            keys = [str(key) if isinstance(key, list | dict) else key for key, _ in pairs]
            if duplicates := _repeated([str(key) for key in keys]):
                raise LoadError(self._path, f"more than one value for {duplicates}", row, name)
            yield dict(zip(keys, (value for _, value in pairs), strict=True))

    def _unreadable(self, error: Exception) -> LoadError:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        return LoadError(self._path, f"cannot be read as parquet ({reason})")


def _json_value(value: object) -> object:
    """Convert a Python value from Arrow to its JSON equivalent."""
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return Number(format(value, "f"))
    return value


# In the place of a file, in errors.
_GIVEN = Path("events")


class GivenRows:
    """Rows that are in memory: objects as JSON has them, numbered from 1.

    Raises:
        LoadError: a name is not one of a field.
    """

    has_header = False

    def __init__(self, rows: Sequence[Mapping[str, object]]) -> None:
        self._rows = rows
        self.columns = dict.fromkeys(name for row in rows for name in row)
        for name in self.columns.keys() - FIELDS.keys():
            line = next(line for line, row in enumerate(rows, start=1) if name in row)
            raise LoadError(_GIVEN, f"unknown field; known: {', '.join(FIELDS)}", line, name)

    def rows(self) -> Iterator[NumberedRow]:
        for line, row in enumerate(self._rows, start=1):
            try:
                # As from a file, so that numbers keep their digits.
                values = cast("dict[str, object]", decode_json(json.dumps(row)))
            except ValueError as error:
                raise LoadError(_GIVEN, str(error), line) from error
            for field in REQUIRED_FIELDS:
                if values.get(field) in (None, ""):
                    raise LoadError(_GIVEN, "an event needs a value", line, field)
            yield line, values

    def fraction_read(self) -> float:
        return 1.0

    def close(self) -> None: ...


RowSource = CsvRows | JsonlRows | ParquetRows | GivenRows


def open_rows(path: Path) -> RowSource:
    """Open a file by its suffix: .csv, .jsonl or .ndjson, plain or .gz, or .parquet.

    Raises:
        LoadError: the file is missing, unreadable or empty, has another suffix or a bad header, or
            is parquet and pyarrow is missing.
    """
    try:
        path.stat()
    except OSError as error:
        raise LoadError(path, f"cannot be read ({error.strerror})") from error
    if path.is_dir():
        raise LoadError(path, "is a directory; name the files in it instead")
    suffixes = [suffix.lower() for suffix in path.suffixes]
    match suffixes[-2:-1] if suffixes[-1:] == [".gz"] else suffixes[-1:]:
        case [".csv"]:
            return CsvRows(path)
        case [".jsonl" | ".ndjson"]:
            return JsonlRows(path)
        case [".parquet"] if suffixes[-1] == ".parquet":
            return ParquetRows(path)
    raise LoadError(
        path, "the name must end in .csv, .jsonl, .ndjson (each also with .gz) or .parquet"
    )
