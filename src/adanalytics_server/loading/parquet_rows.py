"""Rows of a parquet file, read in batches; needs pyarrow."""

from collections.abc import Iterator
from contextlib import ExitStack
from datetime import date
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from typing import Any

from adanalytics_server.loading.errors import LoadError
from adanalytics_server.loading.json_values import Number
from adanalytics_server.loading.row_source import NumberedRow

# Rows that are Python objects at the same time.
BATCH_ROWS = 2_000


class ParquetRows:
    """Rows of an open parquet file; nested columns are those of ``key_values`` only."""

    has_header = True

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            # By name: pyarrow is an extra, and has no types.
            self._arrow: Any = import_module("pyarrow")
            parquet: Any = import_module("pyarrow.parquet")
        except ModuleNotFoundError as error:
            message = 'parquet needs pyarrow, install it with: pip install "adanalytics[arrow]"'
            raise LoadError(path, None, None, message) from error
        with ExitStack() as stack:
            try:
                self._file = stack.enter_context(parquet.ParquetFile(path))
            except (OSError, self._arrow.ArrowException) as error:
                raise self._unreadable(error) from error
            self.columns: tuple[str, ...] = tuple(self._file.schema_arrow.names)
            twice = sorted({name for name in self.columns if self.columns.count(name) > 1})
            if twice:
                message = f"the schema names {', '.join(map(repr, twice))} more than once"
                raise LoadError(path, None, None, message)
            self._total = self._file.metadata.num_rows
            self._stack = stack.pop_all()
        self._done = 0

    def rows(self) -> Iterator[NumberedRow]:
        """Give each row with its number, from 1."""
        for columns in self._columns_of_batches():
            for values in zip(*self._plain(columns), strict=True):
                self._done += 1
                yield NumberedRow(self._done, dict(zip(self.columns, values, strict=True)))

    def fraction_read(self) -> float:
        """Tell how much of the file has been read, 0.0 to 1.0."""
        return self._done / self._total if self._total else 1.0

    def close(self) -> None:
        """Close the file."""
        self._stack.close()

    def _columns_of_batches(self) -> Iterator[list[Any]]:
        try:
            for batch in self._file.iter_batches(batch_size=BATCH_ROWS):
                yield batch.columns
        except (OSError, self._arrow.ArrowException) as error:
            raise self._unreadable(error) from error

    def _plain(self, columns: list[Any]) -> Iterator[list[object]]:
        types = self._arrow.types
        for name, stored in zip(self.columns, columns, strict=True):
            column = stored.dictionary_decode() if types.is_dictionary(stored.type) else stored
            if types.is_timestamp(column.type):
                # As text: Python's times have neither nanoseconds nor years after 9999.
                zone = None if column.type.tz is None else "UTC"
                column = column.cast(self._arrow.timestamp(column.type.unit, tz=zone))
                column = column.cast(self._arrow.string())
            if types.is_map(column.type):
                yield list(self._mappings(name, column.to_pylist()))
            else:
                yield [_json_value(value) for value in column.to_pylist()]

    def _mappings(
        self, name: str, column: list[list[tuple[str, object]] | None]
    ) -> Iterator[dict[str, object] | None]:
        """Turn maps into mappings; Arrow lets a key be there twice."""
        for row, pairs in enumerate(column, start=self._done + 1):
            found = None if pairs is None else dict(pairs)
            if found is not None and pairs is not None and len(found) < len(pairs):
                keys = [key for key, _ in pairs]
                twice = sorted({key for key in keys if keys.count(key) > 1})
                message = f"{', '.join(map(repr, twice))} is there more than once"
                raise LoadError(self._path, row, name, message)
            yield found

    def _unreadable(self, error: Exception) -> LoadError:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        return LoadError(self._path, None, None, f"cannot be read as parquet, {reason}")


def _json_value(value: object) -> object:
    """Turn a Python value of Arrow into what JSON would have given for it."""
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return Number(format(value, "f"))
    return value
