"""Events as a Parquet file or an Arrow IPC file, written while pages come."""

import io
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, BinaryIO, Literal, Protocol, cast

from adanalytics_client._arrow_rows import ArrowRows, Row
from adanalytics_client._extras import import_extra
from adanalytics_client._files import Target
from adanalytics_client._pages import Fetched
from adanalytics_client.errors import ProtocolError

if TYPE_CHECKING:
    import pyarrow as pa
    from _typeshed import ReadableBuffer

ROWS_PER_GROUP = 65_536
"""Rows of a row group or record batch, and the most that are held as columns: some 40 MB."""

ArrowFormat = Literal["parquet", "arrow"]


class _Writer(Protocol):
    """What the writers of both formats have in common."""

    def write_table(self, table: "pa.Table", most: int, /) -> None:
        """Write a table in pieces of `most` rows."""

    def close(self) -> None:
        """Write the footer."""


class ArrowOutput:
    """Collects rows to groups and writes each group; a file is complete with its footer only.

    A column that first appears after a group was written is added to all groups before it by
    rewriting the file, a group at a time.
    """

    def __init__(self, target: Target, form: ArrowFormat, rows: ArrowRows) -> None:
        self._target = target
        self._form = form
        self._rows = rows
        self._sink = _Sink(target.file, lasting=target.lasting)
        self._held: list[pa.RecordBatch] = []
        self._writer: _Writer | None = None
        self._written: pa.Schema | None = None
        _library(form)

    def add(self, page: Fetched, most: int | None) -> int:
        """Take a page.

        Raises:
            ProtocolError: for a value that its column cannot hold, or for a column that first
                appears after a part of a stream, which cannot be rewritten, was written.
        """
        return self._hold(self._rows.page(page, most))

    def add_rows(self, rows: Sequence[Row]) -> int:
        """Take rows; as `add`."""
        return self._hold(self._rows.batch(rows))

    def commit(self) -> None:
        """Check the columns, write what is held and the footer, and make the file visible."""
        self._rows.check()
        self._write_group().close()
        self._target.commit()

    def abort(self) -> None:
        """Give up, without the footer that would make a stream look whole."""
        self._sink.cut = True
        if self._writer is not None:
            self._writer.close()
        self._target.abort()

    def _hold(self, batch: "pa.RecordBatch") -> int:
        if sum(each.num_rows for each in self._held) + batch.num_rows > ROWS_PER_GROUP:
            self._write_group()
        self._held.append(batch)
        return int(batch.num_rows)

    def _write_group(self) -> "_Writer":
        writer, schema = self._writer, self._rows.schema
        if writer is None:
            writer = self._writer = self._open()
        elif schema != self._written:
            writer = self._widened(writer)
        self._written = schema
        group = self._rows.table(self._held)
        self._held = []
        if len(group):
            _put(writer, group)
        return writer

    def _open(self) -> "_Writer":
        library = _library(self._form)
        if self._form == "parquet":
            made = library.ParquetWriter(self._sink, self._rows.schema, compression="zstd")
        else:
            made = library.new_file(self._sink, self._rows.schema)
        return cast("_Writer", made)

    def _widened(self, writer: "_Writer") -> "_Writer":
        """Rewrite the file with the columns that came late; gives what goes on writing."""
        if not self._target.lasting:
            before = self._written.names if self._written is not None else []
            late = ", ".join(name for name in self._rows.schema.names if name not in before)
            raise ProtocolError(
                f"Column {late} first appears after a part was written; "
                "write to a file, which can be rewritten, or as jsonl."
            )
        writer.close()
        self._target.rewrite(self._copy)
        # Set by the copying.
        return cast("_Writer", self._writer)

    def _copy(self, old: BinaryIO, new: BinaryIO) -> None:
        self._sink = _Sink(new, lasting=True)
        writer = self._writer = self._open()
        for group in self._groups(old):
            _put(writer, self._rows.table(group.to_batches()))

    def _groups(self, file: BinaryIO) -> Iterator["pa.Table"]:
        library = _library(self._form)
        if self._form == "parquet":
            stored = library.ParquetFile(file)
            for index in range(stored.num_row_groups):
                yield stored.read_row_group(index)
        else:
            opened = library.open_file(file)
            for index in range(opened.num_record_batches):
                yield self._rows.table([opened.get_batch(index)])


class _Sink(io.BufferedIOBase):
    """What a writer writes to; once cut, nothing reaches the file any more."""

    def __init__(self, file: BinaryIO, *, lasting: bool) -> None:
        self._file = file
        self._lasting = lasting
        self.cut = False

    def writable(self) -> bool:
        """As every file for writing."""
        return True

    def write(self, piece: "ReadableBuffer") -> int:
        """Pass a piece on; pyarrow hands over buffers of its own."""
        data = memoryview(piece)
        if not self.cut:
            # A stream of the caller's may know nothing but bytes.
            self._file.write(data if self._lasting else bytes(data))
        return data.nbytes


def _put(writer: "_Writer", group: "pa.Table") -> None:
    writer.write_table(group.combine_chunks(), ROWS_PER_GROUP)


def _library(form: ArrowFormat) -> ModuleType:
    module = "pyarrow.parquet" if form == "parquet" else "pyarrow.ipc"
    return import_extra(module, extra="arrow")
