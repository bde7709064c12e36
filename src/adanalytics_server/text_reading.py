"""The texts of a month's events, read: where the rows of a span are, as few reads as possible."""

import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, NamedTuple

from adanalytics_server.damage import DamagedFile
from adanalytics_server.month_text import Chunk, generation_of, split_rows, text_path
from adanalytics_server.store import first_key

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


class _Part(NamedTuple):
    """``take`` rows of a chunk, without the first ``skip`` ones."""

    chunk: Chunk
    skip: int
    take: int
    is_whole: bool


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
    found = connection.execute(
        "SELECT key, n, position, length FROM chunks"
        " WHERE key >= (SELECT MAX(key) FROM chunks WHERE key <= ?) AND key < ? ORDER BY key",
        (low, first_key(last.hour, last.first) + last.n),
    )
    chunks = map(Chunk._make, found)
    chunk = next(chunks, None)
    for hour, first, count in run:
        at = first_key(hour, first)
        high = at + count
        while at < high:
            # What lies between was replaced, or is not yet visible.
            while chunk is not None and chunk.key + chunk.n <= at:
                chunk = next(chunks, None)
            if chunk is None or chunk.key > at:
                raise HourReplaced(
                    f"{month}.db has not all rows of hour {hour % 24}: they were replaced"
                    " while they were read, or the file is damaged"
                )
            take = min(chunk.key + chunk.n, high) - at
            yield _Part(chunk, at - chunk.key, take, take == chunk.n)
            at += take


class _Reader:
    """Reads parts of an open file of texts."""

    def __init__(self, path: Path, file: IO[bytes]) -> None:
        self._path = path
        self._file = file

    def pieces(self, parts: Iterable[_Part]) -> Iterator[bytes]:
        """Read neighbouring chunks at once, and cut those of which not all rows are wanted."""
        run: list[Chunk] = []
        after = -1
        for part in parts:
            chunk = part.chunk
            if run and not (part.is_whole and chunk.position == after):
                yield self._read(run)
                run = []
            if part.is_whole:
                run.append(chunk)
                after = chunk.position + chunk.length + 1
            else:
                yield self._cut(part)
        if run:
            yield self._read(run)

    def _cut(self, part: _Part) -> bytes:
        rows = split_rows(self._read([part.chunk]))
        if len(rows) != part.chunk.n:
            raise DamagedFile(self._path, "a chunk has not as many rows as it should")
        return b",".join(rows[part.skip : part.skip + part.take])

    def _read(self, run: list[Chunk]) -> bytes:
        start = run[0].position
        self._file.seek(start)
        text = self._file.read(run[-1].end - start)
        if len(text) < run[-1].end - start:
            raise DamagedFile(self._path, "its end is missing")
        for _, _, position, length in run:
            first = position - start
            if text[first] != _OPEN or text[first + length - 1 : first + length + 1] not in _ENDS:
                raise DamagedFile(self._path, "what is in it are no events")
        return text
