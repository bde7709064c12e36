"""What every readable format offers, and which format a file name stands for."""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

from adanalytics_server.loading.errors import LoadError


class NumberedRow(NamedTuple):
    """A row and the physical line it starts on, from 1 (for parquet the row's number)."""

    line: int
    values: dict[str, object]


class RowSource(Protocol):
    """Rows of one open file.

    Attributes:
        columns: names seen so far; with a header all of them, from the start.
        has_header: whether ``columns`` is complete before the first row.
    """

    @property
    def columns(self) -> Collection[str]: ...

    @property
    def has_header(self) -> bool: ...

    def rows(self) -> Iterator[NumberedRow]:
        """Give the rows.

        Raises:
            LoadError: a row that the format does not allow.
        """
        ...

    def fraction_read(self) -> float:
        """Tell how much of the file has been read, 0.0 to 1.0."""
        ...

    def close(self) -> None:
        """Close the file."""
        ...


def open_rows(path: Path) -> RowSource:
    """Open a file by its suffix: .csv, .jsonl or .ndjson, plain or .gz, or .parquet.

    Raises:
        LoadError: no such file, another suffix, an unreadable or empty file, a bad header, or a
            parquet file without pyarrow.
    """
    _check_file(path)
    suffixes = [suffix.lower() for suffix in path.suffixes]
    inner = suffixes[-2:-1] if suffixes[-1:] == [".gz"] else suffixes[-1:]
    if inner == [".csv"]:
        from adanalytics_server.loading.csv_rows import CsvRows

        return CsvRows(path)
    if inner in ([".jsonl"], [".ndjson"]):
        from adanalytics_server.loading.jsonl_rows import JsonlRows

        return JsonlRows(path)
    if suffixes[-1:] == [".parquet"]:
        from adanalytics_server.loading.parquet_rows import ParquetRows

        return ParquetRows(path)
    message = "the name must end in .csv, .jsonl, .ndjson (each also with .gz) or .parquet"
    raise LoadError(path, None, None, message)


def _check_file(path: Path) -> None:
    """See that there is a file before its name is judged."""
    try:
        path.stat()
    except OSError as error:
        raise LoadError(path, None, None, f"cannot be read, {error.strerror}") from error
    if path.is_dir():
        raise LoadError(path, None, None, "cannot be read, Is a directory: name the files in it")
