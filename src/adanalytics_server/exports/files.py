"""Write the events of a range to one file: streamed, hashed, renamed when complete."""

import csv
import gzip
import hashlib
import io
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from typing import IO, NamedTuple, cast

import msgspec

from adanalytics_server.dialect import Row, RowChange
from adanalytics_server.storage.chunks import as_lines
from adanalytics_server.storage.days import DayRange
from adanalytics_server.storage.durable import make_folder, rename
from adanalytics_server.storage.events import EVENT_FIELDS, LogEvent
from adanalytics_server.storage.pages import read_in_parts, read_spans
from adanalytics_server.storage.store import PartnerStore

from .parquet import ROWS_PER_GROUP, ParquetEvents

# Rows held in memory at a time; a multiple of the rows of a chunk.
PART_ROWS = 1_024
_CSV_HEADER = ",".join(EVENT_FIELDS).encode() + b"\r\n"

_decode = msgspec.json.Decoder(list[LogEvent]).decode
_encode_sorted = msgspec.json.Encoder(order="sorted").encode


class ExportStopped(Exception):
    """The server is stopping; the job starts again after the restart."""


class ExportedFile(NamedTuple):
    """A finished file: rows of events, bytes on disk, and the SHA-256 of those bytes in hex."""

    row_count: int
    size_bytes: int
    sha256: str


def write_export(
    store: PartnerStore,
    days: DayRange,
    target: Path,
    *,
    form: str,
    compression: str,
    change: RowChange | None = None,
    stopping: Callable[[], bool] = lambda: False,
) -> ExportedFile:
    """Write the events of a range to ``target``, replacing it in one step at the end.

    The file has the events that exist when writing begins. Until it is finished, its name ends in
    ``.part``. ``gzip`` goes around csv and jsonl (one member, level 1, no timestamp), and inside a
    parquet file around its pages. ``change`` is that of a dialect, for csv and jsonl only.
    ``stopping`` is asked before each part.

    Raises:
        OSError: the disk is full or not writable; no file is left behind.
        ExportStopped: ``stopping`` returned true; no file is left behind.
        HourReplaced: an hour was replaced during the read; no file is left behind.
    """
    make_folder(target.parent)
    # Downloads serve only the final name, so a half-written file is never sent.
    part = target.with_name(target.name + ".part")
    try:
        spans = read_spans(store, days)
        rows = ROWS_PER_GROUP if form == "parquet" else PART_ROWS
        parts = _until(stopping, read_in_parts(store, spans, rows=rows))
        count = sum(span.n for span in spans)
        texts: Iterable[bytes] = ()
        # A dialect changes decoded events; all other formats copy the stored text.
        if change is not None:
            file_rows = change(
                [
                    event
                    for pieces in parts
                    for event in msgspec.json.decode(b"[" + b",".join(pieces) + b"]")
                ]
            )
            count, texts = len(file_rows), _row_texts(file_rows, form=form)
        elif form == "csv":
            texts = chain([_CSV_HEADER], map(_csv_rows, parts))
        elif form == "jsonl":
            pieces = chain.from_iterable(parts)
            texts = (text for piece in pieces for text in (as_lines(piece), b"\n"))
        with part.open("wb") as raw:
            if form == "parquet":
                ParquetEvents().write(parts, raw, compression=compression)
            else:
                _write(texts, raw, compression=compression)
            raw.flush()
            os.fsync(raw.fileno())
        with part.open("rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        result = ExportedFile(count, part.stat().st_size, sha256)
        rename(part, target)
    finally:
        part.unlink(missing_ok=True)
    return result


def _write(texts: Iterable[bytes], raw: IO[bytes], *, compression: str) -> None:
    with ExitStack() as stack:
        stream: IO[bytes] = raw
        if compression == "gzip":
            gzip_file = gzip.GzipFile("", "wb", compresslevel=1, fileobj=raw, mtime=0)
            stream = cast("IO[bytes]", stack.enter_context(gzip_file))
        for text in texts:
            stream.write(text)


def _row_texts(rows: list[Row], *, form: str) -> Iterator[bytes]:
    """Yield the texts of rows with any fields: a number as in JSON, the rest as ``_csv_rows``."""
    if form == "jsonl":
        yield from (msgspec.json.encode(row) + b"\n" for row in rows)
        return
    buffer = io.StringIO(newline="")
    # A dialect has columns of its own; an empty file still needs a header row.
    writer = csv.DictWriter(buffer, fieldnames=list(rows[0]) if rows else EVENT_FIELDS)
    writer.writeheader()
    for row in rows:
        writer.writerow({name: _cell(value) for name, value in row.items()})
    yield buffer.getvalue().encode()


def _cell(value: object) -> object:
    if value is None or isinstance(value, str):
        return value
    return _encode_sorted(value).decode()


def _csv_rows(texts: list[bytes]) -> bytes:
    """Write one CSV row (RFC 4180) per stored event; ``csv`` decides which cells to quote.

    Null is an empty cell, a boolean ``true`` or ``false``, and ``key_values`` compact JSON with
    sorted keys. Each text is the stored JSON of one or more events, separated by commas.
    """
    buffer = io.StringIO(newline="")
    write_row = csv.writer(buffer).writerow
    for event in _decode(b"[" + b",".join(texts) + b"]"):
        event_id, time, day, hour, arrival, kind, auction, *cells, is_filtered, key_values = (
            msgspec.structs.astuple(event)
        )
        # UUIDs, times and the event type need no quotes. They are half of a row, and most of the
        # cost of a row is the csv module, which checks every character.
        buffer.write(f"{event_id},{time},{day},{hour},{arrival},{kind},{auction},")
        cells += ["true" if is_filtered else "false", _encode_sorted(key_values).decode()]
        write_row(cells)
    return buffer.getvalue().encode()


def _until(stopping: Callable[[], bool], parts: Iterator[list[bytes]]) -> Iterator[list[bytes]]:
    for pieces in parts:
        if stopping():
            raise ExportStopped
        yield pieces
