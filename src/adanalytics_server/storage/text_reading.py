"""The texts of a month's events, read: where the rows of a span are, as few reads as possible."""

import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, NamedTuple

from adanalytics_server.storage.damage import DamagedFile
from adanalytics_server.storage.joined_rows import count_rows, some_rows
from adanalytics_server.storage.month_text import generation_of, text_path
from adanalytics_server.storage.store import first_key

_OPEN = ord("{")
# Of a chunk: a comma follows, but behind the last one that was read.
_ENDS = (b"},", b"}")


class HourReplaced(RuntimeError):
    """Rows vanished while they were read, because their hour was replaced; read again."""


class Span(NamedTuple):
    """``n`` visible rows of an hour (since 1970), from sequence number ``first`` on."""

    hour: int
    first: int
    n: int


# A chunk's row of the index, and of its rows how many are skipped and how many taken. These and the
# next are plain tuples: a page has a hundred of them, and names would cost as much as reading it.
_Row = tuple[int, int, int, int]
_Part = tuple[_Row, int, int]


def read_month(
    connection: sqlite3.Connection, folder: Path, month: str, spans: Iterable[Span]
) -> list[bytes]:
    """Read the rows of spans of one month, in order: pieces of rows with commas between them.

    Raises:
        HourReplaced: a row that the ledger counted when the spans were read is gone.
        DamagedFile: the texts are not where they should be.
    """
    connection.execute("BEGIN")
    try:
        generation = generation_of(connection)
        parts = [part for run in _runs(spans) for part in _parts(connection, month, run)]
    finally:
        connection.execute("ROLLBACK")
    path = text_path(folder, month, generation)
    try:
        # Without a buffer: one call of the system, straight into the bytes that are returned.
        with path.open("rb", buffering=0) as file:
            return list(_Reader(path, file).pieces(parts))
    except FileNotFoundError as error:
        if generation_of(connection) != generation:
            raise HourReplaced(f"{path.name} was written anew while it was read") from error
        raise DamagedFile(path, "it is missing") from error


def _runs(spans: Iterable[Span]) -> Iterator[list[Span]]:
    """Group the spans of hours that follow each other: their chunks are one range of keys."""
    run: list[Span] = []
    for span in spans:
        if run and span.hour != run[-1].hour + 1:
            yield run
            run = []
        run.append(span)
    if run:
        yield run


def _parts(connection: sqlite3.Connection, month: str, run: list[Span]) -> Iterator[_Part]:
    low, last = first_key(run[0].hour, run[0].first), run[-1]
    chunks: Iterator[_Row] = connection.execute(
        "SELECT key, n, position, length FROM chunks"
        " WHERE key >= (SELECT MAX(key) FROM chunks WHERE key <= ?) AND key < ? ORDER BY key",
        (low, first_key(last.hour, last.first) + last.n),
    )
    chunk = next(chunks, None)
    for hour, first, count in run:
        at = first_key(hour, first)
        high = at + count
        while at < high:
            # What lies between was replaced, or is not yet visible.
            while chunk is not None and chunk[0] + chunk[1] <= at:
                chunk = next(chunks, None)
            if chunk is None or chunk[0] > at:
                raise HourReplaced(
                    f"{month}.db has not all rows of hour {hour % 24}: they were replaced"
                    " while they were read, or the file is damaged"
                )
            key, rows, _, _ = chunk
            take = min(key + rows, high) - at
            yield chunk, at - key, take
            at += take


class _Reader:
    """Reads parts of an open file of texts."""

    def __init__(self, path: Path, file: IO[bytes]) -> None:
        self._path = path
        self._file = file

    def pieces(self, parts: Iterable[_Part]) -> Iterator[bytes]:
        """Read neighbouring chunks at once, and cut those of which not all rows are wanted."""
        run: list[_Row] = []
        after = -1
        for chunk, skip, take in parts:
            _, rows, position, length = chunk
            if run and (take < rows or position != after):
                yield self._read(run)
                run = []
            if take == rows:
                run.append(chunk)
                after = position + length + 1
            else:
                yield self._cut(chunk, skip, take)
        if run:
            yield self._read(run)

    def _cut(self, chunk: _Row, skip: int, take: int) -> bytes:
        text = self._read([chunk])
        if count_rows(text) != chunk[1]:
            raise DamagedFile(self._path, "a chunk has not as many rows as it should")
        return some_rows(text, skip, take)

    def _read(self, run: list[_Row]) -> bytes:
        (_, _, start, _), (_, _, position, length) = run[0], run[-1]
        self._file.seek(start)
        text = self._file.read(position + length - start)
        if len(text) < position + length - start:
            raise DamagedFile(self._path, "its end is missing")
        for _, _, position, length in run:
            end = position - start + length
            if text[position - start] != _OPEN or text[end - 1 : end + 1] not in _ENDS:
                raise DamagedFile(self._path, "what is in it are no events")
        return text
