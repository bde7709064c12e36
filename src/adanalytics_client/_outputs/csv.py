"""Events as CSV, with a header that is complete even when columns appear late."""

import csv
import io
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from adanalytics_client._json.columns import EVENT_COLUMNS, Columns
from adanalytics_client._json.exact import Json, csv_cells, utf8
from adanalytics_client._json.raw import RawRows
from adanalytics_client.errors import ProtocolError

from .files import Target


class CsvOutput:
    """RFC 4180 with a header: null is empty, booleans are true and false, objects compact JSON.

    The columns of the first page come in the order of their first appearance. A column that appears
    only later comes last; a file is then rewritten once, in bounded memory, with empty cells for
    the earlier rows.
    """

    def __init__(self, target: Target, columns: Columns | None) -> None:
        self.target = target
        self._names = columns
        self._columns = dict.fromkeys(columns.names if columns else ())
        self._in_header = 0

    def add(self, events: RawRows) -> int:
        """Write the events as rows.

        Raises:
            ProtocolError: when a column first appears after the header was written to a stream,
                which cannot be rewritten.
        """
        if not events:
            return 0
        rows = events.rows()
        if self._names is None:
            self._learn(rows)
        else:
            self._names.sent = events.names
            self._columns = dict.fromkeys(self._names.choose(rows))
        if not self._in_header:
            self._write_header()
        cells = (csv_cells(map(row.get, self._columns)) for row in rows)
        self.target.file.write(_records(cells))
        return len(rows)

    def commit(self) -> None:
        """Check the columns, complete the header if some came late; make the file visible."""
        if self._names is not None:
            self._names.check()
        if not self._in_header:
            self._write_header()
        elif len(self._columns) > self._in_header:
            self.target.rewrite(lambda old, new: new.writelines(self._widened(old)))
        self.target.commit()

    def abort(self) -> None:
        self.target.abort()

    def _write_header(self) -> None:
        # A table has columns, even without events or for events without members.
        self._columns = self._columns or dict.fromkeys(EVENT_COLUMNS)
        self._in_header = len(self._columns)
        self.target.file.write(_records([self._columns]))

    def _learn(self, rows: list[dict[str, Json]]) -> None:
        count = len(self._columns)
        for row in rows:
            if not row.keys() <= self._columns.keys():
                self._columns.update(dict.fromkeys(row))
        # The heading has gone to a stream, and a row with more cells would be no CSV.
        if self._in_header and len(self._columns) > count and not self.target.rewritable:
            late = ", ".join([*self._columns][count:])
            raise ProtocolError(
                f"Column {late} first appears after the header was written.",
                remedy="Write to a file, which can be rewritten, or as jsonl.",
            )

    def _widened(self, file: BinaryIO) -> Iterator[bytes]:
        """Yield the records of `file` with the full header, each padded to its length."""
        records = _split(file)
        next(records)
        yield _records([self._columns])
        for record in records:
            yield record[:-2] + b"," * (len(self._columns) - _width(record)) + record[-2:]


def _records(rows: Iterable[Iterable[object]]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\r\n").writerows(rows)
    return utf8(text.getvalue())


def _split(file: BinaryIO) -> Iterator[bytes]:
    """Yield records with their line ends; csv.reader would refuse long fields."""
    record = b""
    for line in file:
        record += line
        if record.endswith(b"\r\n") and record.count(b'"') % 2 == 0:
            yield record
            record = b""


def _width(record: bytes) -> int:
    """Return the number of fields of a record: separators outside quotes, plus one."""
    return sum(part.count(b",") for part in record.split(b'"')[::2]) + 1
