"""The file of an hour, written table by table in the form of its dataset."""

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from adanalytics_client.dataset.arrow_events import TEXT, Table
from adanalytics_client.dataset.arrow_library import arrow_module
from adanalytics_client.dataset.layout import PartFormat
from adanalytics_client.dataset.plain_text import to_cells, to_jsonl

if TYPE_CHECKING:
    import pyarrow as pa

ROWS_A_GROUP = 32_768
"""Rows of a row group of parquet, and the most that are held as Arrow columns: about 15 MB."""

# Different in nearly every row, so that a dictionary of them only costs.
_UNIQUE = frozenset({"event_id", "auction_id", "event_time", "received_at"})


class PartWriter(Protocol):
    """Takes the events of an hour."""

    def add(self, table: Table) -> None:
        """Write events."""

    def close(self) -> None:
        """Write what is still held, and close the file."""


def open_part(path: Path, form: PartFormat, schema: "pa.Schema") -> PartWriter:
    """A writer of a new file."""
    if form == "parquet":
        return _ParquetPart(path, schema)
    return _JsonlPart(path) if form == "jsonl" else _CsvPart(path, schema)


def measure_file(path: Path) -> tuple[int, str]:
    """Size in bytes and SHA-256 in hex of a file."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
    return path.stat().st_size, digest.hexdigest()


class _ParquetPart:
    """Row groups of one size, whatever the size of the tables that come."""

    def __init__(self, path: Path, schema: "pa.Schema") -> None:
        self._arrow = arrow_module()
        self._file = arrow_module("pyarrow.parquet").ParquetWriter(
            path,
            schema,
            compression="zstd",
            use_dictionary=[name for name in schema.names if name not in _UNIQUE],
        )
        self._held: list[Table] = []
        self._rows = 0

    def add(self, table: Table) -> None:
        self._held.append(table)
        self._rows += table.num_rows
        while self._rows >= ROWS_A_GROUP:
            self._write(ROWS_A_GROUP)

    def close(self) -> None:
        if self._rows:
            self._write(self._rows)
        self._file.close()

    def _write(self, rows: int) -> None:
        held = self._arrow.concat_tables(self._held)
        self._file.write_table(held.slice(0, rows), row_group_size=rows)
        self._held = [held.slice(rows)]
        self._rows -= rows


class _JsonlPart:
    """The very texts that came, where they are known."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("xb")

    def add(self, table: Table) -> None:
        if TEXT in table.column_names:
            lines = "".join(f"{text}\n" for text in table[TEXT].to_pylist())
            self._file.write(lines.encode())
        else:
            self._file.writelines(to_jsonl(table))

    def close(self) -> None:
        self._file.close()


class _CsvPart:
    """RFC 4180 with a header: null is empty, an empty text is "", pairs are compact JSON."""

    def __init__(self, path: Path, schema: "pa.Schema") -> None:
        arrow, csv = arrow_module(), arrow_module("pyarrow.csv")
        cells = arrow.schema([(name, arrow.string()) for name in schema.names])
        options = csv.WriteOptions(quoting_style="needed")
        self._file = csv.CSVWriter(path, cells, write_options=options)

    def add(self, table: Table) -> None:
        self._file.write(to_cells(table))

    def close(self) -> None:
        self._file.close()
