"""The cells of the other side's report: csv as programs export it, or the sheets of a workbook."""

import csv
import io
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date, datetime, time
from decimal import Decimal
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from adanalytics_cli.core.errors import CommandError, MissingExtra, remedy_of
from adanalytics_client._base.quantities import in_bytes

if TYPE_CHECKING:
    from openpyxl.worksheet.worksheet import Worksheet

MOST_BYTES = 50_000_000
# A workbook is compressed, so its size says little about what it becomes.
_MOST_UNPACKED = 500_000_000
MOST_ROWS = 300_000
_SMALLER = "Keep only the days to reconcile, or add up its rows by day and campaign."
_DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar"}
# Excel shows and keeps 15 digits of a number.
_DIGITS = 15

# What openpyxl and zipfile let pass for a damaged workbook, as seen with some thousand of them:
# both read XML and archives without checking them first.
_DAMAGE = (
    *(ArithmeticError, AttributeError, EOFError, LookupError, NotImplementedError, OSError),
    *(SyntaxError, TypeError, ValueError, zipfile.BadZipFile, zlib.error),
)

Cell = str | date | Decimal | None
Line = tuple[int, list[Cell]]


class Layout(NamedTuple):
    """One way to read a file, as a `sheet` or with a delimiter; `lines` reads it from the start."""

    name: str
    lines: Callable[[], Iterator[Line]]
    sheet: str = ""


def layouts_of(path: Path) -> list[Layout]:
    """Return the ways to read a file; which one is right shows in the heading.

    Raises:
        CommandError: for a file that is too large, no text, or of another kind.
    """
    try:
        size = path.stat().st_size
        if size > MOST_BYTES:
            limit = in_bytes(MOST_BYTES)
            raise CommandError(f"{path} has {in_bytes(size)}, over {limit}.", remedy=_SMALLER)
        content = path.read_bytes()
    except OSError as error:
        raise CommandError(
            f"Cannot read {path}: {error.strerror or error}.", remedy=remedy_of(error)
        ) from error
    # By the content: people send workbooks as .csv and texts as .xls.
    if content.startswith(b"PK"):
        return _sheets(path, content)
    if content.startswith((b"\xd0\xcf\x11\xe0", b"\x1f\x8b", b"%PDF")):
        raise CommandError(
            f"{path} is an old or encrypted workbook, or compressed.",
            remedy="Save it as .xlsx without a password, or as .csv.",
        )
    text, encoding = _decode(content)
    if "\0" in text:
        raise CommandError(f"{path} is not text.", remedy="Give a .csv or .xlsx file.")
    if not text.strip():
        raise CommandError(f"{path} is empty.", remedy="Export the report again.")
    return [
        Layout(f"{name}{encoding}", partial(_csv_lines, path, text, mark))
        for mark, name in _DELIMITERS.items()
    ]


def _decode(content: bytes) -> tuple[str, str]:
    """Return the text, and its encoding for people unless it is UTF-8."""
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16", errors="replace"), ", UTF-16"
    try:
        return content.decode("utf-8-sig"), ""
    except UnicodeDecodeError:
        return content.decode("cp1252", errors="replace"), ", Windows-1252"


def _csv_lines(path: Path, text: str, delimiter: str) -> Iterator[Line]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        # Counted while reading, so that a huge file is refused early.
        for count, cells in enumerate(reader, 1):
            _check_rows(path, count)
            yield reader.line_num, [cell.strip() or None for cell in cells]
    except csv.Error as error:
        raise CommandError(
            f"{path}, line {reader.line_num}: {error}.", remedy="Export the report as csv again."
        ) from error


def _check_rows(path: Path, count: int) -> None:
    if count > MOST_ROWS:
        raise CommandError(f"{path} has more than {MOST_ROWS:,} rows.", remedy=_SMALLER)


def _sheets(path: Path, content: bytes) -> list[Layout]:
    MissingExtra.check("openpyxl", "excel", needed_for="Reading a workbook")
    from openpyxl import load_workbook

    with _naming_damage(path):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            size = sum(entry.file_size for entry in archive.infolist())
        if size > _MOST_UNPACKED:
            raise CommandError(
                f"{path} unpacks to {in_bytes(size)}, over {in_bytes(_MOST_UNPACKED)}.",
                remedy=_SMALLER,
            )
        with warnings.catch_warnings():
            # Of styles and extensions that no figure depends on.
            warnings.simplefilter("ignore")
            values, formulas = (
                load_workbook(io.BytesIO(content), read_only=True, data_only=data_only)
                for data_only in (True, False)
            )
    return [
        Layout(f"sheet {sheet.title}", partial(_sheet_lines, path, sheet, source), sheet.title)
        for sheet, source in zip(values.worksheets, formulas.worksheets, strict=True)
    ]


def _sheet_lines(path: Path, *sheets: "Worksheet") -> Iterator[Line]:
    """Yield the rows that are not blank; a formula without a value is its own text."""
    rows = 0
    with _naming_damage(path):
        rows_of_sheets = (sheet.iter_rows(values_only=True) for sheet in sheets)
        for number, (cells, sources) in enumerate(zip_longest(*rows_of_sheets, fillvalue=()), 1):
            line = [
                _cell(getattr(source, "text", source) if value is None else value)
                for value, source in zip_longest(cells, sources)
            ]
            # A sheet may have a million rows that are formatted and blank.
            if any(cell is not None for cell in line):
                rows += 1
                _check_rows(path, rows)
                yield number, line


@contextmanager
def _naming_damage(path: Path) -> Iterator[None]:
    """Turn what the libraries raise for a damaged archive or its XML into a CommandError."""
    try:
        yield
    except _DAMAGE as error:
        raise CommandError(
            f"{path} is not a workbook that can be read: {error}.", remedy="Save it as .xlsx again."
        ) from error


def _cell(value: object) -> Cell:
    if value is None or isinstance(value, date):
        return value.date() if isinstance(value, datetime) else value
    if isinstance(value, int | float) and not isinstance(value, bool):
        # A workbook stores 0.1 as a float; what its author saw are 15 digits.
        number = Decimal(f"{value:.{_DIGITS}g}" if isinstance(value, float) else value)
        return number.quantize(Decimal(1)) if number == number.to_integral_value() else number
    return (value.isoformat() if isinstance(value, time) else str(value).strip()) or None
