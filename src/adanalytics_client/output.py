"""Events written as text: JSON lines with the service's own digits, or CSV."""

import csv
import io
import os
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import BinaryIO, Literal, Protocol, cast

from adanalytics_client._files import AtomicFile, Stream, Target
from adanalytics_client._json import Json, digits, dumps
from adanalytics_client._pages import Fetched
from adanalytics_client.errors import ConfigurationError, ProtocolError
from adanalytics_client.models import Event

Format = Literal["jsonl", "csv"]
"""The text formats that `write` knows."""

# What csv.writer itself writes as it should be; bool is a class of its own here.
_PLAIN = frozenset({str, int, type(None)})
_SUFFIXES: dict[str, Format] = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv"}


class Output(Protocol):
    """Takes pages and makes them a file."""

    @property
    def as_texts(self) -> bool:
        """Whether pages should be fetched as texts instead of dicts."""

    def add(self, page: Fetched, most: int | None) -> int:
        """Write a page, at most `most` of its events; gives how many were written."""

    def commit(self) -> None:
        """Finish and make the file visible."""

    def abort(self) -> None:
        """Give up; a file that was there before stays as it was."""


def open_output(to: str | os.PathLike[str] | BinaryIO, wanted: str | None) -> Output:
    """An output for a path or a binary stream; the format follows the suffix when none is wanted.

    Raises:
        ConfigurationError: for an unknown format, or a path that cannot be a file.
        OSError: when the folder cannot be written.
    """
    path = Path(to) if isinstance(to, str | os.PathLike) else None
    chosen = wanted or (_SUFFIXES.get(path.suffix.lower()) if path else None)
    if chosen not in {"jsonl", "csv"}:
        raise ConfigurationError(
            f"format={wanted!r}: events are written as jsonl or csv; "
            "use such a suffix or pass format=."
        )
    target: Target = AtomicFile(path) if path else Stream(_binary(to))
    return JsonlOutput(target) if chosen == "jsonl" else CsvOutput(target)


class JsonlOutput:
    """One event a line, each as the very text that the service sent."""

    as_texts = True

    def __init__(self, target: Target) -> None:
        self._target = target

    def add(self, page: Fetched, most: int | None) -> int:
        """Write the events' texts, one a line."""
        texts = page.texts[:most]
        if texts:
            self._target.file.write(("\n".join(texts) + "\n").encode("utf-8"))
        return len(texts)

    def commit(self) -> None:
        """Make the file visible."""
        self._target.commit()

    def abort(self) -> None:
        """Give up."""
        self._target.abort()


class CsvOutput:
    """RFC 4180 with a header: null is empty, booleans are true and false, objects compact JSON.

    Columns are those of the first page in the order of their first appearance. A column that only
    appears later goes to the end; a file is then rewritten once with empty cells for the rows
    before it, in bounded memory.
    """

    as_texts = False

    def __init__(self, target: Target) -> None:
        self._target = target
        self._columns: dict[str, None] = {}
        self._order: list[str] = []
        self._header = 0

    def add(self, page: Fetched, most: int | None) -> int:
        """Write the events as rows.

        Raises:
            ProtocolError: when a column appears for the first time after the header went to a
                stream that cannot be rewritten.
        """
        rows = page.rows[:most]
        if not rows:
            return 0
        self._learn(rows)
        if not self._header:
            self._header = len(self._columns)
            self._target.file.write(_records([self._order]))
        self._target.file.write(_records([self._cells(row) for row in rows]))
        return len(rows)

    def commit(self) -> None:
        """Complete the header where columns came late, and make the file visible."""
        if not self._header:
            self._target.file.write(_records([list(Event.model_fields)]))
        elif len(self._columns) > self._header:
            self._target.rewrite(self._widened(self._target.file))
        self._target.commit()

    def abort(self) -> None:
        """Give up."""
        self._target.abort()

    def _learn(self, rows: list[dict[str, Json]]) -> None:
        before = len(self._columns)
        for row in rows:
            if row.keys() != self._columns.keys():
                self._columns.update(dict.fromkeys(row))
        self._order = list(self._columns)
        if self._header and len(self._columns) > before and isinstance(self._target, Stream):
            late = ", ".join(self._order[before:])
            raise ProtocolError(
                f"Column {late} first appears after the header was written; "
                "write to a file, which can be rewritten, or as jsonl."
            )

    def _cells(self, row: dict[str, Json]) -> list[Json]:
        values = row.values() if [*row] == self._order else map(row.get, self._order)
        return [value if value.__class__ in _PLAIN else _cell(value) for value in values]

    def _widened(self, file: BinaryIO) -> Iterator[bytes]:
        """The records of `file` with the full header, each padded to its length."""
        file.seek(0)
        records = _split(file)
        next(records)
        yield _records([self._order])
        width = len(self._columns)
        for record in records:
            yield record[:-2] + b"," * (width - _width(record)) + record[-2:]


def _cell(value: Json) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return digits(value) if isinstance(value, Decimal) else dumps(value)


def _records(rows: list[list[Json]]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\r\n").writerows(rows)
    # A lone surrogate is legal in JSON but not in UTF-8; its escape keeps it readable.
    return text.getvalue().encode("utf-8", "backslashreplace")


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


def _binary(to: object) -> BinaryIO:
    if isinstance(to, io.TextIOBase) or not hasattr(to, "write"):
        raise ConfigurationError("Pass a path, or a file opened for writing bytes.")
    return cast("BinaryIO", to)
