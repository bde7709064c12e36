"""Write rows in the requested format, or charts, to stdout or a file."""

import codecs
import csv
import io
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from adanalytics_cli.console.terminal import NOWHERE, Terminal, look_at
from adanalytics_cli.core.invocation import Invocation, remark
from adanalytics_cli.output.formats import REGIONS, Format, is_picture
from adanalytics_cli.output.output_file import open_output
from adanalytics_client._json.encoding import csv_cells, json_text, utf8

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


def encode_rows(
    rows: Iterable[Row], form: Format, names: Sequence[str], region: str | None = None
) -> Iterator[bytes]:
    """Encode row by row; `names` are the columns of a csv, and a row may lack some of them."""
    if form == "csv":
        # By the mark a spreadsheet knows UTF-8.
        yield codecs.BOM_UTF8 * bool(region) + csv_line(names, region)
        for row in rows:
            yield csv_line([row.get(name) for name in names], region)
    elif form == "json":
        separator = b"[\n"
        for row in rows:
            yield separator + utf8(json_text(row))
            separator = b",\n"
        yield b"\n]\n" if separator == b",\n" else b"[]\n"
    else:
        for row in rows:
            yield utf8(json_text(row)) + b"\n"


def write_rows(
    rows: Iterable[Row],
    form: Format,
    path: Path | None,
    *,
    invocation: Invocation,
    columns: Sequence["Column"] = (),
    names: Sequence[str] | None = None,
    note: str = "",
    region: str | None = None,
    title: str = "rows",
    facts: Row | None = None,
    totals: "Mapping[str, Total] | None" = None,
    raw: BinaryIO | None = None,
) -> int:
    """Write the rows to stdout or `path`, and return how many there were.

    `columns` and the line `note` are for the table; the other formats have the fields `names`, by
    default every field that came, also unknown ones. With `names`, csv, json and workbooks are
    written row by row. csv is as spreadsheets of the `region` open it. `title` names the sheet of a
    workbook with the row of `totals`; its second sheet has the `facts` about the rows. `raw` is
    as for `open_output`.
    """
    if names is None:
        rows = [*rows]
        names = list(dict.fromkeys(name for row in rows for name in row))
        names = names or [column.key for column in columns]
    if form == "xlsx":
        from adanalytics_cli.output.workbook import write_workbook

        facts = {**(facts or {}), "time zone": "UTC", "made": invocation.clock()}
        facts = {name: fact for name, fact in facts.items() if fact is not None}
        return write_workbook(
            rows,
            path,
            names,
            title=title,
            facts=facts,
            notify=partial(remark, invocation=invocation),
            columns=columns,
            totals=totals,
        )
    with open_output(path, raw=raw) as stream:
        if form == "table":
            from adanalytics_cli.console.table_view import render_markdown, render_table

            rows, terminal = [*rows], _terminal(path, invocation)
            draw = render_markdown if invocation.as_markdown else render_table
            stream.write(terminal.encode(draw(columns, rows, terminal, note=note)))
            return len(rows)
        pieces = 0
        for piece in encode_rows(rows, form, names, region):
            stream.write(piece)
            pieces += 1
    # The heading of csv and the end of a list are pieces, too.
    return pieces if form == "jsonl" else pieces - 1


def facts_about(partners: Iterable[str], days: Iterable[date]) -> dict[str, object]:
    """Return the partners and the period of rows for a workbook; without days it has none."""
    dates: Sequence[date | None] = sorted(days) or [None]
    partner = ", ".join(dict.fromkeys(partners))
    return {"partner": partner, "first day": dates[0], "last day": dates[-1]}


def write_summary_table(rows: Sequence[Row], path: Path | None, names: Sequence[str]) -> None:
    """Write the columns `names` of a summary, by default all, as parquet, to stdout or `path`.

    The currency and the period have their columns also without rows.
    """
    from adanalytics_client.tables import summary_table

    table = summary_table(rows)
    import pyarrow as pa
    from pyarrow import parquet

    kinds = {"currency": pa.string(), "start_date": pa.date32(), "end_date": pa.date32()}
    for name, kind in kinds.items():
        values = pa.array([row.get(name) for row in rows], pa.string()).cast(kind)
        columns = [column for column in table.column_names if column != name]
        table = table.select(columns).append_column(name, values)
    table = table.select(list(names)) if names else table
    with open_output(path) as stream:
        parquet.write_table(table, stream, compression="zstd")


def write_chart(
    draw: Callable[[Terminal], Sequence[str]], output: Path | None, invocation: Invocation
) -> None:
    """Write the lines that `draw` makes for the terminal.

    In a file, lines are 80 columns wide, without colour; `.svg`, `.png` and `.html` become a
    picture.
    """
    if output and is_picture(output):
        from adanalytics_cli.output.picture import CANVAS, draw_picture

        picture = draw_picture(draw(CANVAS), output)
        with open_output(output) as stream:
            stream.write(picture)
        return
    with open_output(output) as stream:
        terminal = _terminal(output, invocation)
        text = "".join(f"{line.rstrip()}\n" for line in draw(terminal))
        stream.write(terminal.encode(text))


def _terminal(path: Path | None, invocation: Invocation) -> Terminal:
    return NOWHERE if path else look_at(sys.stdout, invocation.color, os.environ)
