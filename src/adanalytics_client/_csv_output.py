"""Events as CSV, with a header that is complete also when columns come late."""

import csv
import io
from collections.abc import Iterator, Sequence
from typing import BinaryIO

from adanalytics_client._files import Target
from adanalytics_client._json import Json
from adanalytics_client._pages import Fetched
from adanalytics_client.columns import EVENT_COLUMNS, Columns
from adanalytics_client.encoding import csv_cells, utf8
from adanalytics_client.errors import ProtocolError


class CsvOutput:
    """RFC 4180 with a header: null is empty, booleans are true and false, objects compact JSON.

    Columns are those of the first page in the order of their first appearance. A column that only
    appears later goes to the end; a file is then rewritten once with empty cells for the rows
    before it, in bounded memory.
    """

    def __init__(self, target: Target, columns: Sequence[str] | None) -> None:
        self._target = target
        self._chosen = None if columns is None else Columns(columns)
        self._columns: dict[str, None] = dict.fromkeys(self._chosen.names if self._chosen else ())
        self._order = list(self._columns)
        self._header = 0

    def add(self, page: Fetched, most: int | None) -> int:
        """Write the events as rows.

        Raises:
            ProtocolError: when a column appears for the first time after the header went to a
                stream that cannot be rewritten.
        """
        rows = page.rows(most)
        if not rows:
            return 0
        self._learn(rows)
        if not self._header:
            self._header = len(self._columns)
            self._target.file.write(_records([self._order]))
        self._target.file.write(_records([self._cells(row) for row in rows]))
        return len(rows)

    def commit(self) -> None:
        """Check the columns, complete the header where some came late; make the file visible."""
        if self._chosen is not None:
            self._chosen.check()
        if not self._header:
            self._target.file.write(_records([self._order or list(EVENT_COLUMNS)]))
        elif len(self._columns) > self._header:
            self._target.rewrite(lambda old, new: new.writelines(self._widened(old)))
        self._target.commit()

    def abort(self) -> None:
        """Give up."""
        self._target.abort()

    def _learn(self, rows: list[dict[str, Json]]) -> None:
        if self._chosen is not None:
            self._chosen.choose(rows)
            return
        before = len(self._columns)
        for row in rows:
            if row.keys() != self._columns.keys():
                self._columns.update(dict.fromkeys(row))
        if not self._columns:
            # A record of no fields at all would be no line of a table.
            self._columns.update(dict.fromkeys(EVENT_COLUMNS))
        self._order = list(self._columns)
        if self._header and len(self._columns) > before and not self._target.lasting:
            late = ", ".join(self._order[before:])
            raise ProtocolError(
                f"Column {late} first appears after the header was written; "
                "write to a file, which can be rewritten, or as jsonl."
            )

    def _cells(self, row: dict[str, Json]) -> list[object]:
        values = row.values() if [*row] == self._order else map(row.get, self._order)
        return csv_cells(values)

    def _widened(self, file: BinaryIO) -> Iterator[bytes]:
        """The records of `file` with the full header, each padded to its length."""
        records = _split(file)
        next(records)
        yield _records([self._order])
        width = len(self._columns)
        for record in records:
            yield record[:-2] + b"," * (width - _width(record)) + record[-2:]


def _records(rows: Sequence[Sequence[object]]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\r\n").writerows(rows)
    return utf8(text.getvalue())


def _split(file: BinaryIO) -> Iterator[bytes]:
    """Records with their line ends; csv.reader would refuse long fields."""
    record = b""
    for line in file:
        record += line
        if record.endswith(b"\r\n") and record.count(b'"') % 2 == 0:
            yield record
            record = b""


def _width(record: bytes) -> int:
    """How many fields a record has: separators outside quotes, plus one."""
    return sum(part.count(b",") for part in record.split(b'"')[::2]) + 1
