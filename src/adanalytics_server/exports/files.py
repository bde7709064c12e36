"""Write the events of a range to one file: streamed, hashed, renamed when complete."""

import csv
import gzip
import hashlib
import io
import os
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import IO, Literal, NamedTuple, cast

import msgspec

from adanalytics_server.dialect import Row, RowChange
from adanalytics_server.storage.chunks import decode_rows
from adanalytics_server.storage.days import DayRange
from adanalytics_server.storage.durable import make_folder, rename
from adanalytics_server.storage.events import EVENT_FIELDS
from adanalytics_server.storage.pages import Span, read_in_parts, read_spans
from adanalytics_server.storage.store import PartnerStore

from .parquet import write_parquet

# Rows read at a time; a multiple of the rows of a chunk.
PART_ROWS = 1_024

_encode = msgspec.json.Encoder(order="sorted").encode


class ExportStopped(Exception):
    """The server is stopping; the job starts again after the restart."""


class ExportedFile(NamedTuple):
    """A finished file: rows of events, bytes on disk, and the SHA-256 of those bytes in hex."""

    row_count: int
    size_bytes: int
    sha256: str


def _write_csv(rows: Iterator[Row], file: IO[bytes]) -> None:
    """Write a header row, also without events, and one row (RFC 4180) per event.

    Null is an empty cell, a boolean ``true`` or ``false``, and ``key_values`` compact JSON with
    sorted keys.
    """
    text = io.TextIOWrapper(file, "utf-8", newline="")
    writer = csv.writer(text)
    first = next(rows, None)
    # A dialect has columns of its own.
    writer.writerow(first.keys() if first else EVENT_FIELDS)
    for row in chain([first] if first else [], rows):
        writer.writerow(map(_cell, row.values()))
    # The file stays open, and everything is in it.
    text.detach()


def _cell(value: object) -> object:
    return value if value is None or isinstance(value, str) else _encode(value).decode()


def _write_jsonl(rows: Iterator[Row], file: IO[bytes]) -> None:
    file.writelines(msgspec.json.encode(row) + b"\n" for row in rows)


Write = Callable[[Iterator[Row], IO[bytes], str], None]


def _in_gzip(write: Callable[[Iterator[Row], IO[bytes]], None]) -> Write:
    """Return a function that writes a file of text, and compresses it as a whole if asked to."""

    def write_text(rows: Iterator[Row], file: IO[bytes], compression: str) -> None:
        if compression == "none":
            write(rows, file)
            return
        # One member, without a time, so that the same rows give the same bytes.
        with gzip.GzipFile("", "wb", compresslevel=1, fileobj=file, mtime=0) as member:
            write(rows, cast("IO[bytes]", member))

    return write_text


class FileFormat(NamedTuple):
    """A format of exported files.

    Attributes:
        media_type: the type of a file that is not compressed as a whole.
        write: writes rows to an open file, with a compression: ``none`` or ``gzip``.
        has_types: the file has typed columns of the documented fields, is compressed inside, and
            needs pyarrow.
    """

    media_type: str
    write: Write
    has_types: bool = False


FormatName = Literal["csv", "jsonl", "parquet"]
FORMATS: dict[FormatName, FileFormat] = {
    "csv": FileFormat("text/csv; charset=utf-8", _in_gzip(_write_csv)),
    "jsonl": FileFormat("application/x-ndjson", _in_gzip(_write_jsonl)),
    "parquet": FileFormat("application/vnd.apache.parquet", write_parquet, has_types=True),
}
# Of a file that is compressed as a whole.
GZIP_TYPE = "application/gzip"


def write_export(
    store: PartnerStore,
    days: DayRange,
    target: Path,
    *,
    form: FormatName,
    compression: str,
    change: RowChange | None = None,
    stopping: Callable[[], bool] = lambda: False,
) -> ExportedFile:
    """Write the events of a range to ``target``, replacing it in one step at the end.

    The file has the events that exist when writing begins. Until it is finished, its name ends in
    ``.part``. ``change`` is that of a dialect. ``stopping`` is asked before each part.

    Raises:
        OSError: the disk is full or not writable; no file is left behind.
        ExportStopped: ``stopping`` returned true; no file is left behind.
        HourReplaced: an hour was replaced during the read; no file is left behind.
    """
    make_folder(target.parent)
    # Downloads serve only the final name, so a half-written file is never sent.
    part = target.with_name(target.name + ".part")
    spans = read_spans(store, days)
    count = sum(span.n for span in spans)
    rows = _read_rows(store, spans, stopping)
    try:
        if change is not None:
            # A dialect may merge events into one row.
            changed_rows = change([*rows])
            count, rows = len(changed_rows), iter(changed_rows)
        with part.open("wb") as raw:
            FORMATS[form].write(rows, raw, compression)
            raw.flush()
            os.fsync(raw.fileno())
        with part.open("rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
        result = ExportedFile(count, part.stat().st_size, sha256)
        rename(part, target)
    finally:
        part.unlink(missing_ok=True)
    return result


def _read_rows(
    store: PartnerStore, spans: list[Span], stopping: Callable[[], bool]
) -> Iterator[Row]:
    for pieces in read_in_parts(store, spans, rows=PART_ROWS):
        if stopping():
            raise ExportStopped
        yield from decode_rows(pieces)
