"""Check that a finished file is the export that was ordered, complete, and count its rows.

A file is read once, in bounded memory. Its own form shows most of what can be wrong: another format
or an error in its place, a record cut in two, an end that is missing. What a file cannot show by
itself is in `Content.doubt`; then only a number of rows from elsewhere can confirm it.
"""

import csv
import os
import re
from codecs import BOM_UTF8
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from datetime import date, tzinfo
from itertools import chain
from typing import BinaryIO

import msgspec
from msgspec.structs import replace

from adanalytics_client._base.compression import GZIP_MAGIC, UNPACKED_AT_ONCE, DamagedBody, Gunzip
from adanalytics_client._base.spelling import fold, separator_of
from adanalytics_client._events.times import days_in
from adanalytics_client._json.exact import parse
from adanalytics_client._json.fields import FieldNames
from adanalytics_client._json.rows import stated_error
from adanalytics_client.errors import DownloadError, Remedy

# A local file header of APPNOTE.TXT, section 4.3.7, and the end of an archive without files.
_ZIP = (b"PK\3\4", b"PK\5\6")
# https://parquet.apache.org/docs/file-format/
_PARQUET = b"PAR1"
_FOOTER_END = 8
_JSON_LINES = frozenset({"jsonl", "ndjson", "jsonlines"})
_AT_ONCE = 256 * 1024
# Bytes of one record; more are no record, and would not stay within the memory.
_LONGEST_RECORD = 64 * 1024 * 1024
_LONGEST_HEADER = 1024 * 1024
_DAY_COLUMN = "event_date"
_DAY = re.compile(rb"\d{4}-\d\d-\d\d")
# A cell that is no name: a number, a day or a time, a word of JSON, markup. A sentence has a stop.
_VALUE = re.compile(
    r"[-+]?[\d.,]*\d(?:[eE][-+]?\d+)?|\d{4}-\d\d-\d\d.*|true|false|null|[{\[<].*|.*[.!?:]",
    re.IGNORECASE | re.DOTALL,
)

LOOK_AT_FILE = Remedy(
    "Try the download later, or open its address in a browser to see what the service says.",
    code="look_at_file",
)
"""The remedy for a response that is not the file."""

AGAIN = Remedy("Download it again.", code="download_again")
"""The remedy for a file that another download may bring whole."""

_HOLE = bytes(16)
_MARK_OF_LINE = b"\n" + BOM_UTF8
_NO_LENGTH = "the service did not announce its length"


class Content(msgspec.Struct, frozen=True):
    """What a file turned out to hold.

    Attributes:
        rows: how many events; None for a format that is not counted.
        doubt: why a number of rows from elsewhere must confirm the file; empty if none needs to.
        is_closed: whether the last record is known to be whole, as its line end shows. CSV may end
            without one (RFC 4180, section 2), and a cut in its last field looks the same.
        is_framed: whether a length, a checksum or HTTP itself showed the end of the body.
        days: the days of some of its events, the first and the last ones among them.
        columns: the names of its columns; none for a format without columns.
    """

    rows: int | None
    doubt: str = ""
    is_closed: bool = True
    is_framed: bool = True
    days: frozenset[date] = frozenset()
    columns: Sequence[str] = ()


class FileOrder(msgspec.Struct, frozen=True):
    """The content that was ordered: the format ("" for any), its days, and whether it is gzip.

    Days are those of `zone`, in fields that `names` knows.
    """

    format: str
    start: date
    end: date
    names: FieldNames
    zone: tzinfo
    packed: bool = False

    def times(self, columns: Collection[str]) -> list[str]:
        """Return the columns that are known to have the day or the time of events."""
        names = (self.names.sent(part, columns) for part in (_DAY_COLUMN, "event_time"))
        return [name for name in names if name is not None]

    @property
    def is_text(self) -> bool:
        """Whether files of the format are text, so that gzip around it was not asked for."""
        return fold(self.format) in {"", "csv", *_JSON_LINES}


def read_content(file: BinaryIO, order: FileOrder, *, has_frame: bool, has_digest: bool) -> Content:
    """Check a file; see the module.

    Args:
        file: the finished file; its position afterwards is its end.
        order: the content that it must have.
        has_frame: whether a length, a checksum or HTTP itself showed the end of the body.
        has_digest: whether the file has the length or the checksum that its order stated.

    Raises:
        DownloadError: for a file that is not the export that was ordered, or not all of it.
    """
    reader = _reader(file, order)
    try:
        content = reader(file, order)
    except DamagedBody as error:
        problem = _incomplete(f"{error}")
    except DownloadError as error:
        problem = error
        # A service may ignore the format; an error in place of the file has no rows.
        if error.remedy.code == LOOK_AT_FILE.code and (form := _form_of(file, order)):
            text = f"The file is {form}, not {order.format or 'csv'}."
            problem = DownloadError(text, remedy=f"Order {form}, or pull pages.")
    else:
        is_text = reader in {_read_csv, _read_lines}
        return replace(
            content,
            doubt=content.doubt or ("" if has_frame or not is_text else _NO_LENGTH),
            is_closed=content.is_closed or has_digest,
            is_framed=has_frame,
        )
    finally:
        file.seek(0, os.SEEK_END)
    # Without the frames that hold bytes of the file, which may echo a credential.
    raise problem.with_traceback(None)


def _form_of(file: BinaryIO, order: FileOrder) -> str:
    """Return the format of another file with events than the one that was ordered, or nothing."""
    for form, reader in (("parquet", _read_parquet), ("csv", _read_csv), ("jsonl", _read_lines)):
        with suppress(DownloadError, DamagedBody):
            content = reader(file, replace(order, format=form))
            # One object without a day may be a message of the service.
            is_message = content.rows == 1 and not content.days
            if content.rows and not content.doubt and not is_message:
                return form
    return ""


def _reader(file: BinaryIO, order: FileOrder) -> Callable[[BinaryIO, FileOrder], Content]:
    form = fold(order.format)
    file.seek(0)
    if file.read(len(_ZIP[0])) in _ZIP:
        return _refuse_zip
    file.seek(0)
    if form == "parquet" or (not form and file.read(len(_PARQUET)) == _PARQUET):
        return _read_parquet
    if form in {"csv", ""}:
        return _read_csv
    return _read_lines if form in _JSON_LINES else _read_other


def incomplete(text: str) -> DownloadError:
    """Return the error of a file that did not arrive as it is."""
    return DownloadError(text, remedy=AGAIN)


def _incomplete(problem: str) -> DownloadError:
    return incomplete(f"The file is incomplete ({problem}).")


def _other(form: str, problem: str, remedy: str = LOOK_AT_FILE) -> DownloadError:
    # Its bytes are not shown: they may echo a credential.
    text = f"The file does not begin like a {form or 'csv'} file: {problem}."
    return DownloadError(text, remedy=remedy)


def _text(file: BinaryIO, order: FileOrder) -> Iterator[bytes]:
    """Yield a text by pieces, without a byte order mark."""
    for number, piece in enumerate(_pieces(file, order)):
        yield piece if number else piece.removeprefix(BOM_UTF8)


def _pieces(file: BinaryIO, order: FileOrder) -> Iterator[bytes]:
    """Yield the bytes of a file, decompressed if it is gzip."""
    file.seek(0)
    magic = file.read(len(GZIP_MAGIC))
    is_gzip = magic == GZIP_MAGIC
    # The transfer has removed one layer already, so what is left is what was ordered.
    if magic and order.is_text and is_gzip != order.packed:
        if is_gzip:
            raise _other(order.format, "it is gzip inside gzip")
        # The service may not know the compression, which its documents do not name.
        text = "Order it without compression, under a name that does not end in .gz."
        raise _other(f"{order.format}.gz", "it is not compressed", text)
    file.seek(0)
    pieces = iter(lambda: file.read(_AT_ONCE), b"")
    if not is_gzip:
        yield from pieces
        return
    gunzip = Gunzip()
    for piece in pieces:
        yield from gunzip.pieces(piece, UNPACKED_AT_ONCE)
    gunzip.finish()


def _read_csv(file: BinaryIO, order: FileOrder) -> Content:
    """Count the records after the header; each must have as many fields as the header."""
    table = _CsvTable(order)
    for piece in _text(file, order):
        table.add(piece)
    return table.content()


class _CsvTable:
    """Reads CSV (RFC 4180) by pieces: text in quotes is dropped, so every line is a record."""

    def __init__(self, order: FileOrder) -> None:
        self._order = order
        self._in_quotes = False
        self._rest = b""
        self._header = b""
        self._names: list[str] = []
        self._separator = b","
        self._edge = b""
        self._second_header = re.compile(b"")
        self._end = b""
        self._rows = 0
        self._places: list[tuple[str, int]] = []
        self._days = _Days(order)

    def add(self, piece: bytes) -> None:
        """Read on; the first record is the header."""
        if self._names:
            self._read(piece)
            return
        self._header += piece
        end = _end_of_record(self._header)
        if end:
            header, rest = self._header[:end], self._header[end:]
            self._begin(header)
            self._sample(rest.partition(b"\n")[0])
            self._read(rest)
        # A file without line ends is no CSV, and must not fill the memory.
        elif len(self._header) > _LONGEST_HEADER:
            raise _other("csv", "its first line is not a header row")

    def content(self) -> Content:
        """Return the rows after the last piece."""
        if not self._names and not self._header.strip():
            return Content(0, "it is empty")
        if not self._names:
            self._begin(self._header)
        if self._in_quotes:
            raise _incomplete(f"record {self._rows + 1} ends inside quotes")
        self._sample(self._end.rstrip(b"\r\n").rpartition(b"\n")[2])
        is_closed = not self._rest.strip(b"\r")
        self._refuse_header(b"\n")
        # The last record may lack its line end, which CSV allows.
        self._count([self._rest] if self._rest else [])
        if not self._rows and any(name != name.strip() for name in self._names):
            raise _other("csv", "its first line is not a header row")
        return Content(
            self._rows,
            is_closed=is_closed,
            days=frozenset(self._days.dates),
            columns=tuple(self._names),
        )

    def _begin(self, header: bytes) -> None:
        self._header = header = header.rstrip(b"\r\n")
        if b"\0" in header:
            raise _other("csv", "it is not text in UTF-8")
        self._separator = separator_of(header)
        try:
            lines = [header.decode()]
            (self._names,) = csv.reader(lines, delimiter=self._separator.decode(), strict=True)
        except (UnicodeDecodeError, ValueError, csv.Error):
            self._names = []
        if not _is_header(self._names):
            raise _other("csv", "its first line is not a header row")
        self._places = [(name, self._names.index(name)) for name in self._order.times(self._names)]
        # A service that joins several files may forget to leave out their headers.
        second_header = rb"\n(?:\xef\xbb\xbf)?" + re.escape(header) + rb"\r?\n"
        self._second_header, self._edge = re.compile(second_header), b"\n"

    def _read(self, piece: bytes) -> None:
        self._refuse_header(piece)
        # A text may have a zero byte. Many are a hole, which may hide any number of records.
        if _HOLE in piece:
            raise _incomplete("it has a run of zero bytes")
        self._end = (self._end + piece)[-_AT_ONCE:]
        parts = piece.split(b'"')
        self._rest += b"".join(parts[self._in_quotes :: 2])
        self._in_quotes ^= len(parts) % 2 == 0
        *lines, self._rest = self._rest.split(b"\n")
        if len(self._rest) > _LONGEST_RECORD:
            raise _incomplete("it has no line ends")
        self._count(lines)

    def _sample(self, line: bytes) -> None:
        """Read the days of a record that may have quotes; of a part of one, there are none."""
        try:
            cells = next(csv.reader([line.decode()], delimiter=self._separator.decode()), [])
        except (UnicodeDecodeError, csv.Error):
            return
        if len(cells) == len(self._names):
            for name, place in self._places:
                self._days.add(name, cells[place].encode())

    def _refuse_header(self, piece: bytes) -> None:
        text = self._edge + piece
        if self._second_header.search(text):
            raise DownloadError(
                "The file has its header row twice.", remedy="Report it to the service."
            )
        if _MARK_OF_LINE in text:
            # It would become a part of the first field of that record.
            raise DownloadError(
                "The file has a byte order mark at the begin of a record, as if several files were "
                "joined.",
                remedy="Report it to the service.",
            )
        self._edge = text[-len(self._header) - 6 :]

    def _count(self, lines: list[bytes]) -> None:
        separators = len(self._names) - 1
        counts = [line.count(self._separator) for line in lines]
        if counts.count(separators) < len(lines):
            # An empty line is no record.
            lines = [line for line in lines if line.strip(b"\r")]
            for number, line in enumerate(lines, self._rows + 1):
                fields = line.count(self._separator) + 1
                if fields != len(self._names):
                    text = "The file is incomplete or not quoted as in RFC 4180"
                    problem = f"{fields} fields, but the header has {len(self._names)}"
                    raise incomplete(f"{text} (record {number} has {problem}).")
        self._rows += len(lines)
        # The days of every line would take longer than the download.
        for line in (*lines[:1], *lines[-1:]):
            cells = line.split(self._separator)
            for name, place in self._places:
                self._days.add(name, cells[place])


def _end_of_record(text: bytes) -> int:
    """Return where the first record ends, after its line end; 0 if that has not come."""
    end = text.find(b"\n") + 1
    while end and text.count(b'"', 0, end) % 2:
        end = text.find(b"\n", end) + 1
    return end


def _is_header(names: list[str]) -> bool:
    """Return whether the cells of a first record can be names: several, distinct, no values.

    One may be empty: that of a column of line numbers.
    """
    is_name = not any(_VALUE.fullmatch(name.strip()) for name in names)
    return 1 < len(names) == len(set(names)) and is_name


class _Days:
    """The days of some events of a file, which its order must include."""

    def __init__(self, order: FileOrder) -> None:
        self._order = order
        self.dates: set[date] = set()

    def add(self, name: str, text: bytes) -> None:
        """Read a field of an event, with quotes or without."""
        order, text = self._order, text.strip().strip(b'"')
        if name == _DAY_COLUMN and _DAY.fullmatch(text):
            day = text.decode()
            if not str(order.start) <= day <= str(order.end):
                raise DownloadError(
                    f"The file has events of {day}, but {order.start} to {order.end} was ordered.",
                    remedy="Order it again, or report it to the service.",
                )
        self.dates |= days_in(text, order.zone) | days_in(b'"%b"' % text, order.zone)


_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])
_VALID = msgspec.json.Decoder(msgspec.Raw)


def _read_lines(file: BinaryIO, order: FileOrder) -> Content:
    """Count JSON lines; each must be one object."""
    rows, rest, first, last, days = 0, b"", b"", b"", _Days(order)
    # The last line may lack its end.
    for piece in chain(_text(file, order), (b"\n",)):
        *lines, rest = (rest + piece).split(b"\n")
        if len(rest) > _LONGEST_RECORD:
            raise _incomplete("it has no line ends")
        lines = _objects(lines, rows, order, days)
        rows, first, last = rows + len(lines), first or b"".join(lines[:1]), (lines or [last])[-1]
    if not rows:
        return Content(0, "it is empty")
    # A service that fails while it writes may end the file with its error.
    names = _OBJECT.decode(last)
    error = stated_error([{name: parse(bytes(names[name])) for name in names if _is_error(name)}])
    if error and rows > 1 and not names.keys() & _OBJECT.decode(first).keys():
        raise _incomplete("its last line is an error")
    doubt = "its only line has an error" if error and rows == 1 else ""
    return Content(rows, doubt, days=frozenset(days.dates))


def _is_error(name: str) -> bool:
    return fold(name) in {"error", "errors"}


def _objects(lines: list[bytes], rows: int, order: FileOrder, days: _Days) -> list[bytes]:
    """Return the lines that are not empty, each of which must be a JSON object."""
    lines = [line for line in lines if line.strip()]
    for number, line in enumerate(lines, rows + 1):
        try:
            line.decode()
            _VALID.decode(line)
            is_object = line.lstrip().startswith(b"{")
        except (msgspec.DecodeError, UnicodeDecodeError):
            is_object = False
        if not is_object:
            if number == 1:
                raise _other(order.format, "its first line is not a JSON object")
            raise _incomplete(f"line {number} is not a JSON object")
    for line in (*lines[:1], *lines[-1:]):
        event = _OBJECT.decode(line)
        for name in order.times(event):
            days.add(name, bytes(event[name]))
    return lines


def _read_parquet(file: BinaryIO, order: FileOrder) -> Content:
    """Check the footer, which comes last and says where everything else is."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    has_magic = file.read(len(_PARQUET)) == _PARQUET
    if not has_magic:
        raise _other("parquet", "its first bytes are not PAR1")
    file.seek(max(size - _FOOTER_END, 0))
    end = file.read()
    # The file ends with the footer's length and PAR1. A cut file fails here, without pyarrow.
    footer = size - _FOOTER_END - int.from_bytes(end[:4], "little")
    if not end.endswith(_PARQUET) or footer < len(_PARQUET):
        raise _incomplete("its footer is missing")
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import read_metadata
    except ImportError:
        return Content(None)
    try:
        file.seek(0)
        metadata = read_metadata(file)
    except (ArrowException, OSError):
        raise _incomplete("its footer cannot be read") from None
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    days, times = _Days(order), order.times(metadata.schema.names)
    for group in groups:
        for number in range(group.num_columns):
            column = group.column(number)
            begin = column.dictionary_page_offset or column.data_page_offset
            # A file that lost bytes in its middle keeps a readable footer.
            if begin + column.total_compressed_size > footer:
                raise _incomplete("it is shorter than its footer says")
            if (name := column.path_in_schema) in times and column.is_stats_set:
                # The statistics bound all days of the group, so no row has to be read. A time would
                # be one of pandas, which takes half a second to import.
                is_raw, bounds = column.physical_type == "INT64", column.statistics
                raw_bounds = (bounds.min_raw, bounds.max_raw)
                for value in raw_bounds if is_raw else (bounds.min, bounds.max):
                    days.add(name, str(value).encode())
    columns = tuple(metadata.schema.to_arrow_schema().names)
    return Content(metadata.num_rows, days=frozenset(days.dates), columns=columns)


def _refuse_zip(_: BinaryIO, order: FileOrder) -> Content:
    raise DownloadError(
        f"The file is a zip archive, and no {order.format or 'csv'} file.",
        remedy="Order another format, or download its address and unpack it yourself.",
    )


def _read_other(file: BinaryIO, order: FileOrder) -> Content:
    """Check what every format has: some bytes, the end of gzip, and of JSON both ends."""
    begin = end = b""
    for piece in _pieces(file, order):
        begin, end = begin or piece.lstrip()[:1], (end + piece).rstrip()[-1:]
    if not begin:
        raise _other(order.format, "it is empty")
    if fold(order.format) == "json" and (begin, end) not in {(b"[", b"]"), (b"{", b"}")}:
        raise _other("json", "it is not one JSON document")
    return Content(None)
