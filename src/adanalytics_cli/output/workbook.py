"""Rows as an Excel workbook: a sheet with the rows, and a sheet that tells where they come from."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cache
from math import isfinite
from tempfile import TemporaryDirectory

import xlsxwriter
from xlsxwriter.exceptions import FileCreateError
from xlsxwriter.utility import xl_col_to_name, xl_rowcol_to_cell

from adanalytics_cli.console.table_view import Amount, Cell, Total, count, percent, plain
from adanalytics_cli.core.errors import CommandError
from adanalytics_client._json.exact import csv_cells, utf8

from .formats import SHEET_ROWS
from .output_file import is_device, open_output
from .row_output import Row, RowWriter

Show = Callable[[object], str]

# A number of a sheet is a double, of which Excel shows and keeps 15 digits.
_DIGITS = 15
_LONGEST_TEXT = 32_767
_COLUMNS = 16_384
_AMOUNT, _COUNT, _WHOLE, _PERCENT = "#,##0.00#######", "#,##0", "0", "0.00####%"
_DAY, _MOMENT = "yyyy-mm-dd", "yyyy-mm-dd hh:mm:ss.000"
_WIDEST, _NARROWEST = 50, 10
_WIDTH_OF = {_DAY: 11, _MOMENT: 23}


class WorkbookRows(RowWriter):
    """An Excel workbook.

    Numbers, days and times (in UTC) become cells of their type, everything else text, never a
    formula. A number of more than 15 digits becomes text, too: the second sheet and a remark tell
    in which columns, because a sum leaves text out. The columns say which numbers are percentages
    and counts; a Cell says it for its own value, also how many digits of money to show. Below the
    rows, formulas have the totals of the rows that the filter of the heading shows, without those
    of columns with such text. Memory use does not depend on the number of rows; they wait on the
    disk, beside the file.
    """

    def write(self, rows: Iterable[Row]) -> int:
        """Write the rows and return how many there were.

        Raises CommandError for more rows than a sheet takes, and for a text that no cell holds;
        then nothing is written.
        """
        listing, path = self.listing, self.output.path
        facts = {**listing.facts, "time zone": "UTC", "made": self.invocation.clock()}
        target_folder = None if path is None or is_device(path) else path.resolve().parent
        with (
            open_output(path) as stream,
            TemporaryDirectory(dir=target_folder, prefix=".xlsx-") as folder,
        ):
            book = xlsxwriter.Workbook(stream, {"constant_memory": True, "tmpdir": folder})
            book.use_zip64()
            shows = {column.key: column.show for column in listing.columns}
            try:
                columns = [shows.get(name, plain) for name in self.names]
                data = _Sheet(book, listing.title, self.names, columns)
                data.fill([row.get(name) for name in self.names] for row in rows)
                data.finish(listing.totals)
                notes = _Sheet(book, "about", ("about", "value"), (plain, plain))
                notes.fill(fact for fact in facts.items() if fact[1] is not None)
                subject = f"numbers of more than {_DIGITS} digits, in {', '.join(data.long)}"
                if data.long:
                    notes.fill([("text", subject)])
                book.close()
                if data.long:
                    text = f"Text, because a sheet would round them: {subject}."
                    self.invocation.notice(text)
            except FileCreateError as error:
                # The error of the system, which names the problem.
                raise error.__context__ or error from None
            finally:
                # Also after an error: the temporary files of the sheets.
                for sheet in book.worksheets():
                    if sheet.row_data_fh and not sheet.row_data_fh.closed:
                        sheet.row_data_fh.close()
            return data.rows


class _Sheet:
    """A sheet that is written row by row.

    Attributes:
        rows: the number of rows below the heading.
        long: the columns with numbers that are text because they have too many digits.
    """

    def __init__(
        self, book: xlsxwriter.Workbook, title: str, names: Sequence[str], shows: Sequence[Show]
    ) -> None:
        self._sheet, self._names, self._shows = book.add_worksheet(title), names, shows
        self._format = cache(
            lambda look, bold: book.add_format({"num_format": look, "bold": bold, "top": int(bold)})
        )
        self._sums: defaultdict[str, int | Decimal] = defaultdict(int)
        # Each column keeps the last number format.
        self._formats: defaultdict[str, str] = defaultdict(lambda: _AMOUNT)
        if len(names) > _COLUMNS:
            raise CommandError(
                f"There are {len(names):,} columns, and a sheet takes {_COLUMNS:,}.",
                remedy="Choose some with --columns, or write csv or parquet.",
            )
        self._widths = [max(_NARROWEST, len(name) + 2) for name in names]
        self.rows = 0
        self.long: dict[str, None] = {}
        self._sheet.freeze_panes(1, 0)
        bold = book.add_format({"bold": True, "bottom": 1})
        for index, name in enumerate(names):
            self._sheet.write_string(0, index, name, bold)

    def fill(self, rows: Iterable[Sequence[object]]) -> None:
        for values in rows:
            self.rows += 1
            # Excel would drop the rest without a word.
            if self.rows > SHEET_ROWS:
                raise CommandError(
                    f"There are more than {SHEET_ROWS:,} rows, and a sheet takes no more.",
                    remedy="Ask for fewer days, or write csv or parquet.",
                )
            for index, (value, show) in enumerate(zip(values, self._shows, strict=True)):
                cell = value if isinstance(value, Cell) else Cell(value, show)
                if cell.value is not None:
                    self._put(index, *cell)
        for index, width in enumerate(self._widths):
            self._sheet.set_column(index, index, width)

    def finish(self, totals: Mapping[str, Total]) -> None:
        """Add the buttons of filters, and a row of totals where a first column has room for it."""
        if not self.rows:
            return
        self._sheet.autofilter(0, 0, self.rows, len(self._names) - 1)
        if not totals or self._names[0] in totals:
            return
        row = self.rows + 1
        self._sheet.write_string(row, 0, "total", self._format("General", True))
        for index, name in enumerate(self._names):
            if name not in totals:
                continue
            numerator, below, factor = totals[name]
            # A sum leaves text out.
            if self.long.keys() & {name, numerator, below}:
                continue
            value: object = self._sums[name]
            if not numerator:
                column = xl_col_to_name(index)
                # 109: the sum of the rows that are not hidden.
                formula = f"=SUBTOTAL(109,{column}2:{column}{self.rows + 1})"
            elif {numerator, below} <= {*self._names}:
                numerator_cell, denominator_cell = (
                    xl_rowcol_to_cell(row, self._names.index(n)) for n in (numerator, below)
                )
                formula = (
                    f'=IF({denominator_cell}=0,"",{numerator_cell}*{factor}/{denominator_cell})'
                )
                parts = self._sums[numerator] * factor, self._sums[below]
                value = parts[0] / parts[1] if parts[1] else ""
            else:
                continue
            self._sheet.write_formula(
                row, index, formula, self._format(self._formats[name], True), value
            )

    def _put(self, index: int, value: object, show: Show) -> None:
        if isinstance(value, bool):
            self._sheet.write_boolean(self.rows, index, value)
        # A cell is a float, which would round more than 15 digits in silence.
        elif isinstance(value, int | Decimal) and _is_long(value):
            self.long[self._names[index]] = None
            self._text(index, value)
        elif isinstance(value, int):
            self._number(index, value, _COUNT if show is count else _WHOLE)
        elif isinstance(value, Decimal) and value.is_finite() and isfinite(float(value)):
            look = _PERCENT if show is percent else _AMOUNT
            if isinstance(show, Amount):
                look = f"#,##{Decimal(0):.{show.digits}f}"
            self._number(index, value, look)
        elif isinstance(value, float) and isfinite(value):
            self._sheet.write_number(self.rows, index, value)
        # A sheet has no days before 1900.
        elif isinstance(value, date) and value.year >= 1900:
            look = _MOMENT if isinstance(value, datetime) else _DAY
            if isinstance(value, datetime) and value.tzinfo:
                value = value.astimezone(UTC).replace(tzinfo=None)
            self._widths[index] = max(self._widths[index], _WIDTH_OF[look])
            self._sheet.write_datetime(self.rows, index, value, self._format(look, False))
        else:
            self._text(index, value)

    def _number(self, index: int, value: int | Decimal, look: str) -> None:
        name = self._names[index]
        self._sums[name] += value
        self._formats[name] = look
        self._sheet.write_number(self.rows, index, value, self._format(look, False))

    def _text(self, index: int, value: object) -> None:
        text = str(csv_cells([value])[0])
        # Half a surrogate pair is escaped, as in csv.
        text = text if text.isascii() else utf8(text).decode()
        if len(text) > _LONGEST_TEXT:
            raise CommandError(
                f"{self._names[index]} in row {self.rows + 1} has {len(text):,} characters, and a "
                f"cell takes {_LONGEST_TEXT:,}.",
                remedy="Leave the column out, or write csv or parquet.",
            )
        self._widths[index] = min(max(self._widths[index], len(text) + 1), _WIDEST)
        self._sheet.write_string(self.rows, index, text)


def _is_long(number: int | Decimal) -> bool:
    """Return whether a number has more digits than that of a sheet; zeros at its ends are none."""
    if isinstance(number, int):
        return len(str(abs(number))) > _DIGITS
    return len(bytes(number.as_tuple().digits).strip(b"\0")) > _DIGITS
