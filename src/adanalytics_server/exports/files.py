"""Write the events of a range to one file: streamed, hashed on the way, renamed when whole."""

import gzip
import hashlib
import io
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from adanalytics_server.exports.csv import CSV_HEADER, csv_rows
from adanalytics_server.exports.parquet import ParquetEvents
from adanalytics_server.storage.chunks import as_lines
from adanalytics_server.storage.days import DayRange
from adanalytics_server.storage.pages import HourReplaced, Span, read_in_parts, read_spans
from adanalytics_server.storage.store import PartnerStore

# Rows in memory at a time, whatever the size of the export; a multiple of those in a chunk.
PART_ROWS = 1_024
_ATTEMPTS = 3


class ExportStopped(Exception):
    """The server is stopping; the job begins again after its restart."""


@dataclass(frozen=True, slots=True)
class ExportedFile:
    """A finished file: rows of events, bytes on disk, and the SHA-256 of those bytes in hex."""

    row_count: int
    size_bytes: int
    sha256: str


class _HashingFile(io.RawIOBase):
    """Hashes and counts the bytes that are written to a file."""

    def __init__(self, target: IO[bytes]) -> None:
        self._target = target
        self.sha256 = hashlib.sha256()
        self.size = 0

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        with memoryview(cast("bytes", data)) as chunk:
            self._target.write(chunk)
            self.sha256.update(chunk)
            self.size += chunk.nbytes
            return chunk.nbytes


def write_export(
    store: PartnerStore,
    days: DayRange,
    target: Path,
    *,
    form: str,
    compression: str,
    stopping: Callable[[], bool] = lambda: False,
) -> ExportedFile:
    """Write the events of a range to ``target``, replacing it in one step at the end.

    Args:
        store: the partner's files.
        days: the range; the file has the events that it holds when writing begins.
        target: the final path; the unfinished file is beside it, with ``.part`` at the end.
        form: ``csv``, ``jsonl`` or ``parquet``.
        compression: ``none`` or ``gzip``: around csv and jsonl (one member, level 1, no time
            stamp in it), of the pages inside a parquet file.
        stopping: called every ``PART_ROWS`` rows; true makes the writer give up.

    Raises:
        OSError: the disk is full or cannot be written; no file is left behind.
        ExportStopped: ``stopping`` returned true; no file is left behind.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(target.name + ".part")
    try:
        finished = _write_with_retries(store, days, part, form, compression, stopping)
        part.replace(target)
        _sync_folder(target.parent)
    finally:
        part.unlink(missing_ok=True)
    return finished


def _write_with_retries(
    store: PartnerStore,
    days: DayRange,
    part: Path,
    form: str,
    compression: str,
    stopping: Callable[[], bool],
) -> ExportedFile:
    """Write a file, and begin again when an hour was replaced while it was read."""
    attempts = 0
    while True:
        spans = read_spans(store, days)
        parts = _until(stopping, read_in_parts(store, spans, rows=PART_ROWS))
        try:
            return _write(parts, spans, part, form=form, compression=compression)
        except HourReplaced:
            attempts += 1
            if attempts == _ATTEMPTS:
                raise


def _write(
    parts: Iterator[list[bytes]], spans: list[Span], part: Path, *, form: str, compression: str
) -> ExportedFile:
    with part.open("wb") as raw:
        hashing = _HashingFile(raw)
        out = cast("IO[bytes]", hashing)
        if form == "parquet":
            ParquetEvents().write(parts, out, compression=compression)
        else:
            texts = _csv(parts) if form == "csv" else _jsonl(parts)
            with ExitStack() as stack:
                if compression == "gzip":
                    wrapped = gzip.GzipFile("", "wb", compresslevel=1, fileobj=out, mtime=0)
                    out = cast("IO[bytes]", stack.enter_context(wrapped))
                for text in texts:
                    out.write(text)
        raw.flush()
        os.fsync(raw.fileno())
    return ExportedFile(sum(span.n for span in spans), hashing.size, hashing.sha256.hexdigest())


def _jsonl(parts: Iterator[list[bytes]]) -> Iterator[bytes]:
    for pieces in parts:
        for piece in pieces:
            yield as_lines(piece)
            yield b"\n"


def _csv(parts: Iterator[list[bytes]]) -> Iterator[bytes]:
    yield CSV_HEADER
    for pieces in parts:
        yield csv_rows(pieces)


def _until(stopping: Callable[[], bool], parts: Iterator[list[bytes]]) -> Iterator[list[bytes]]:
    for pieces in parts:
        if stopping():
            raise ExportStopped
        yield pieces


def _sync_folder(folder: Path) -> None:
    """Make a rename durable: without this the name can be lost with the power."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
