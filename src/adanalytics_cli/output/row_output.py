"""Write rows in the requested format, or charts, to stdout or a file."""

import codecs
import csv
import io
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, ClassVar

from adanalytics_cli.console.terminal import NOWHERE, Terminal, look_at
from adanalytics_cli.core.invocation import Invocation
from adanalytics_client._json.exact import csv_cells, json_text, utf8

from .formats import REGIONS, Output, is_picture
from .output_file import open_output

if TYPE_CHECKING:
    from adanalytics_cli.console.table_view import Column, Total


def csv_line(values: Sequence[object], region: str | None = None) -> bytes:
    r"""Encode one line: nothing for None, true and false, compact JSON for an object or a list.

    RFC 4180 ends lines with CR LF, as events are written; short lists, which shells read line
    by line, end with LF alone.
    """
    buffer = io.StringIO()
    separator, mark = REGIONS[region or "us"]
    cells = csv_cells(values)
    if mark != ".":
        cells = [
            str(cell).replace(".", mark) if isinstance(value, Decimal | float) else cell
            for value, cell in zip(values, cells, strict=True)
        ]
    # A terminator of LF alone would leave a CR inside a cell without its quotes.
    csv.writer(buffer, delimiter=separator, lineterminator="\r\n").writerow(cells)
    return utf8(f"{buffer.getvalue()[:-2]}\n")


Row = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Listing:
    """Rows to write, and what is known of them.

    Attributes:
        rows: the rows; with `names`, csv, json and workbooks are written row by row.
        columns: the columns of a table.
        note: a line below a table.
        facts: the facts of a workbook's second sheet.
        totals: the totals below the columns of a sheet.
        names: the fields of other formats; by default every field that came, also unknown ones.
        title: the name of the sheet.
    """

    rows: Iterable[Row]
    columns: Sequence["Column"] = ()
    note: str = ""
    facts: Row = field(default_factory=dict)
    totals: "Mapping[str, Total]" = field(default_factory=dict)
    names: Sequence[str] | None = None
    title: str = "rows"


@dataclass(frozen=True, slots=True)
class RowWriter(ABC):
    """Writes rows in one format; the attributes are the arguments of `write_rows`."""

    listing: Listing
    names: Sequence[str]
    output: Output
    invocation: Invocation
    raw: BinaryIO | None

    @abstractmethod
    def write(self, rows: Iterable[Row]) -> int:
        """Write the rows and return how many there were."""


class TableRows(RowWriter):
    """A table of aligned columns, or of Markdown."""

    def write(self, rows: Iterable[Row]) -> int:
        from adanalytics_cli.console.table_view import render_markdown, render_table

        rows, terminal = [*rows], _terminal(self.output.path, self.invocation)
        render = render_markdown if self.output.form.is_document else render_table
        text = render(self.listing.columns, rows, terminal, self.listing.note)
        with open_output(self.output.path, raw=self.raw) as stream:
            stream.write(terminal.encode(text))
        return len(rows)


class TextRows(RowWriter):
    """Rows that become text one by one, so that memory does not depend on their number."""

    pieces_around: ClassVar[int] = 0
    """The pieces that `encode` yields besides one for each row."""

    @abstractmethod
    def encode(self, rows: Iterable[Row]) -> Iterator[bytes]:
        """Encode row by row; a row may lack some of the columns `names`."""

    def write(self, rows: Iterable[Row]) -> int:
        pieces = 0
        with open_output(self.output.path, raw=self.raw) as stream:
            for piece in self.encode(rows):
                stream.write(piece)
                pieces += 1
        return pieces - self.pieces_around


class CsvRows(TextRows):
    """CSV, as spreadsheets of the `region` open it."""

    pieces_around = 1

    def encode(self, rows: Iterable[Row]) -> Iterator[bytes]:
        region = self.output.region
        # By the mark a spreadsheet knows UTF-8.
        yield codecs.BOM_UTF8 * bool(region) + csv_line(self.names, region)
        for row in rows:
            yield csv_line([row.get(name) for name in self.names], region)


class JsonRows(TextRows):
    """One JSON list, with a line for each row."""

    pieces_around = 1

    def encode(self, rows: Iterable[Row]) -> Iterator[bytes]:
        separator = b"[\n"
        for row in rows:
            yield separator + utf8(json_text(row))
            separator = b",\n"
        yield b"\n]\n" if separator == b",\n" else b"[]\n"


class JsonlRows(TextRows):
    """JSON lines."""

    def encode(self, rows: Iterable[Row]) -> Iterator[bytes]:
        for row in rows:
            yield utf8(json_text(row)) + b"\n"


def write_rows(
    listing: Listing, output: Output, invocation: Invocation, raw: BinaryIO | None = None
) -> int:
    """Write the rows to stdout or a file, and return how many there were.

    `raw` is as for `open_output`.
    """
    rows, names = listing.rows, listing.names
    if names is None:
        rows = [*rows]
        names = list(dict.fromkeys(name for row in rows for name in row))
        names = names or [column.key for column in listing.columns]
    return output.form.row_writer()(listing, names, output, invocation, raw).write(rows)


def facts_about(partners: Iterable[str], days: Iterable[date]) -> dict[str, object]:
    """Return the partners and the period of rows for a workbook; without days it has none."""
    dates: Sequence[date | None] = sorted(days) or [None]
    partner = ", ".join(dict.fromkeys(partners))
    return {"partner": partner, "first day": dates[0], "last day": dates[-1]}


def write_summary_table(rows: Sequence[Row], path: Path | None, names: Sequence[str]) -> int:
    """Write the columns `names` of a summary, by default all, as parquet, to stdout or `path`.

    Return how many rows there were. The currency and the period have their columns also without
    rows.
    """
    from adanalytics_client.tables import summary_table

    table = summary_table(rows)
    import pyarrow as pa
    from pyarrow import parquet

    kinds = {"currency": pa.string(), "start_date": pa.date32(), "end_date": pa.date32()}
    for name, kind in kinds.items():
        facts = (row.get(name) for row in rows)
        # A service may state its currency as an object.
        plain = [fact if isinstance(fact, str | date | None) else json_text(fact) for fact in facts]
        values = pa.array(plain, kind)
        columns = [column for column in table.column_names if column != name]
        table = table.select(columns).append_column(name, values)
    table = table.select(list(names)) if names else table
    with open_output(path) as stream:
        parquet.write_table(table, stream, compression="zstd")
    return len(rows)


def write_chart(
    draw: Callable[[Terminal], Sequence[str]], output: Path | None, invocation: Invocation
) -> None:
    """Write the lines that `draw` makes for the terminal.

    In a file, lines are 80 columns wide, without colour; `.svg`, `.png` and `.html` become a
    picture.
    """
    if output and is_picture(output):
        from .picture import CANVAS, draw_picture

        picture = draw_picture(draw(CANVAS), output)
        with open_output(output) as stream:
            stream.write(picture)
        return
    with open_output(output) as stream:
        terminal = _terminal(output, invocation)
        text = "".join(f"{line.rstrip()}\n" for line in draw(terminal))
        stream.write(terminal.encode(text))


def _terminal(path: Path | None, invocation: Invocation) -> Terminal:
    return NOWHERE if path else look_at(sys.stdout, invocation.color)
