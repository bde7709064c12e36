"""Events as a Parquet file or an Arrow IPC file, written while pages arrive."""

import io
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, BinaryIO

import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq

from adanalytics_client._base.formats import Format
from adanalytics_client._json.raw import RawRows
from adanalytics_client._outputs.files import Target
from adanalytics_client.errors import ProtocolError

from .batches import ArrowRows

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

ROWS_PER_GROUP = 65_536
"""Rows of a row group or record batch, and the most rows held as columns: some 40 MB."""


class ParquetOutput:
    """A Parquet file, written a group of rows at a time; only the footer completes it.

    If a column first appears after a group was written, or needs a wider type from then on, all
    earlier groups are changed by rewriting the file, a group at a time.
    """

    def __init__(self, target: Target, rows: ArrowRows) -> None:
        self.target = target
        self._rows = rows
        self._sink = _Sink(target.file)
        self._batches: list[pa.RecordBatch] = []
        # Opened for the first group, when most columns are known.
        self._writer: Any = None
        self._file_schema = rows.schema

    def add(self, events: RawRows) -> int:
        """Write the events of a page.

        Raises:
            ProtocolError: for a value that its column cannot hold, or for one that changes the
                schema of a stream, which cannot be rewritten, after a part was written.
        """
        batch = self._rows.page(events)
        if sum(buffered.num_rows for buffered in self._batches) + batch.num_rows > ROWS_PER_GROUP:
            self._write_group()
        self._batches.append(batch)
        return int(batch.num_rows)

    def commit(self) -> None:
        """Check the columns, write the remaining rows and the footer, and make the file visible."""
        self._rows.check()
        self._write_group()
        self._writer.close()
        self.target.commit()

    def abort(self) -> None:
        """Discard the output, without the footer that would make a stream look complete."""
        self._sink.is_cut = True
        if self._writer is not None:
            self._writer.close()
        self.target.abort()

    def _write_group(self) -> None:
        schema = self._rows.schema
        if self._writer is None:
            self._writer = self._open()
        elif schema != self._file_schema:
            self._widen()
        self._file_schema = schema
        self._put(self._rows.table(self._batches))
        self._batches = []

    def _put(self, group: pa.Table) -> None:
        if len(group):
            self._writer.write_table(group.combine_chunks(), ROWS_PER_GROUP)

    def _open(self) -> "pq.ParquetWriter | ipc.RecordBatchFileWriter":
        return pq.ParquetWriter(self._sink, self._rows.schema, compression="zstd")

    def _widen(self) -> None:
        if not self.target.rewritable:
            names_before = set(self._file_schema)
            late = ", ".join(field.name for field in self._rows.schema if field not in names_before)
            raise ProtocolError(
                f"Column {late} first appears, or needs another type, after a part was written.",
                remedy="Write to a path, which can be rewritten, or as jsonl.",
            )
        self._writer.close()
        self.target.rewrite(self._copy)

    def _copy(self, old: BinaryIO, new: BinaryIO) -> None:
        self._sink = _Sink(new)
        self._writer = self._open()
        for group in self._groups(old):
            self._put(self._rows.table(group.to_batches()))

    def _groups(self, file: BinaryIO) -> Iterator[pa.Table]:
        reader = pq.ParquetFile(file)
        yield from map(reader.read_row_group, range(reader.num_row_groups))


class ArrowOutput(ParquetOutput):
    """The same as an Arrow IPC file."""

    def _open(self) -> ipc.RecordBatchFileWriter:
        return ipc.new_file(self._sink, self._rows.schema)

    def _groups(self, file: BinaryIO) -> Iterator[pa.Table]:
        reader = ipc.open_file(file)
        for index in range(reader.num_record_batches):
            yield pa.Table.from_batches([reader.get_batch(index)])


WRITERS: Mapping[Format, type[ParquetOutput]] = {"parquet": ParquetOutput, "arrow": ArrowOutput}


class _Sink(io.BufferedIOBase):
    """The file behind a writer; once cut, it receives nothing more."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self.is_cut = False

    def writable(self) -> bool:
        return True

    def write(self, piece: "ReadableBuffer") -> int:
        """Pass a piece on; pyarrow passes its own buffers."""
        if not self.is_cut:
            # A caller's stream may accept only bytes.
            self._file.write(bytes(piece))
        return memoryview(piece).nbytes
