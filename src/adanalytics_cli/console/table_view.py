"""Tables for people: the columns that fit the terminal, numbers to the right."""

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from adanalytics_cli.console.terminal import Terminal
from adanalytics_client._base.escaping import visible
from adanalytics_client._json.encoding import csv_cells

Row = Mapping[str, object]
# One cell is the padding, the other the column line of the box, drawn as a space.
_GAP = 2
_NARROWEST_FIRST_COLUMN = 12
# The characters that rich draws with, and their substitutes in a locale without them.
_LINE, _CUT = "─", "…"
_PLAIN = str.maketrans({_LINE: "-", _CUT: "~"})


def plain(value: object) -> str:
    """Write a value as in CSV, a dash where there is none."""
    if value is None:
        return "-"
    return str(value if isinstance(value, date) else csv_cells([value])[0])


def count(value: object) -> str:
    """Write a whole number with thousands marked."""
    return f"{value:,}" if isinstance(value, int) else plain(value)


def thousands(value: object) -> str:
    """Write an amount with all its digits and with thousands marked."""
    return f"{value:,f}" if isinstance(value, Decimal) else plain(value)


def percent(value: object) -> str:
    """Write a fraction as an exact percentage: 0.012300 is `1.2300 %`."""
    if isinstance(value, Decimal):
        return f"{value.scaleb(2):f} %"
    return plain(value)


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table: the key of its values, its heading and its format.

    On a narrow terminal the columns with the highest `rank` leave first, from the right.
    """

    key: str
    heading: str
    show: Callable[[object], str] = plain
    to_the_right: bool = False
    rank: int = 1


def render_table(
    columns: Sequence[Column], rows: Sequence[Row], terminal: Terminal, *, note: str = ""
) -> str:
    """Draw `rows` in the width of the terminal, or in full when stdout is not a terminal.

    The line below names the columns that do not fit.
    """
    cells = [[visible(column.show(row.get(column.key))) for column in columns] for row in rows]
    widths = [
        max([cell_len(column.heading), *(cell_len(line[index]) for line in cells)])
        for index, column in enumerate(columns)
    ]
    shown = [*range(len(columns))]
    if terminal.interactive:
        shown = _fitting(columns, widths, terminal.width)
        # Only the first column gives way; a number must never lose a digit.
        others = sum(widths[index] + _GAP for index in shown[1:])
        widths[0] = min(widths[0], terminal.width - others)
    left_out = ", ".join(each.key for index, each in enumerate(columns) if index not in shown)
    if left_out:
        note = " ".join([note, f"No room for: {left_out}."]).strip()
    full_width = sum(widths) + _GAP * len(widths)
    console = Console(
        file=io.StringIO(),
        width=terminal.width if terminal.interactive else max(full_width, terminal.width),
        force_terminal=terminal.color,
        color_system="standard" if terminal.color else None,
        highlight=False,
        markup=False,
        emoji=False,
    )
    with console.capture() as drawn:
        console.print(_table(columns, shown, cells, widths))
        if note:
            console.print(Text(visible(note), style="dim"))
    text = drawn.get()
    return text if terminal.can_show(_LINE + _CUT) else text.translate(_PLAIN)


def _fitting(columns: Sequence[Column], widths: Sequence[int], available: int) -> list[int]:
    """Return the indices of the columns that fit; the first one always stays."""
    shown = [*range(len(columns))]
    first = min(widths[0], max(_NARROWEST_FIRST_COLUMN, available // 3))
    while shown[1:] and first + sum(widths[index] + _GAP for index in shown[1:]) > available:
        shown.remove(max(shown[1:], key=lambda index: (columns[index].rank, index)))
    return shown


def _table(
    columns: Sequence[Column],
    shown: Sequence[int],
    cells: Sequence[Sequence[str]],
    widths: Sequence[int],
) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, _GAP - 1, 0, 0), pad_edge=False, show_edge=False)
    for index in shown:
        column = columns[index]
        table.add_column(
            Text(column.heading),
            justify="right" if column.to_the_right else "left",
            no_wrap=True,
            overflow="ellipsis",
            width=widths[index],
        )
    for line in cells:
        table.add_row(*(Text(line[index]) for index in shown))
    return table
