"""Tables for people: the columns that fit the terminal, numbers to the right."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import NamedTuple

import click
from rich.cells import cell_len, set_cell_size

from adanalytics_cli.core.prose import wrapped
from adanalytics_client._base.escaping import visible
from adanalytics_client._json.exact import csv_cells

from .terminal import Terminal

Row = Mapping[str, object]
_GAP = 2
_NARROWEST_FIRST_COLUMN = 12
_MARKS, _ESCAPED = re.compile(r"([\\`*_{}\[\]<>|~])"), r"\\\1"
_LINE, _CUT = "─", "…"


def plain(value: object) -> str:
    """Write a value as in CSV, a dash where there is none."""
    if value is None:
        return "-"
    return str(csv_cells([value])[0])


def count(value: object) -> str:
    """Write a whole number with thousands marked."""
    return f"{value:,}" if isinstance(value, int) else plain(value)


def thousands(value: object) -> str:
    """Write an amount with all its digits and with thousands marked."""
    return f"{value:,f}" if isinstance(value, Decimal) else plain(value)


@dataclass(frozen=True, slots=True)
class Amount:
    """Write an amount with thousands marked and so many digits, rounded half to even."""

    digits: int

    def __call__(self, value: object) -> str:
        return f"{value:z,.{self.digits}f}" if isinstance(value, Decimal) else plain(value)


def percent(value: object) -> str:
    """Write a fraction as an exact percentage: 0.012300 is `1.2300 %`."""
    if isinstance(value, Decimal):
        return f"{value.scaleb(2):f} %"
    return plain(value)


class Column(NamedTuple):
    """One column of a table: the key of its values, its format, and its heading if not the key.

    Numbers stand to the right: a column with a format of its own, and one that says so. On a narrow
    terminal the columns with the highest `rank` leave first, from the right.
    """

    key: str
    show: Callable[[object], str] = plain
    heading: str = ""
    to_the_right: bool = False
    rank: int = 1

    @property
    def title(self) -> str:
        return self.heading or self.key

    @property
    def is_right(self) -> bool:
        return self.to_the_right or self.show is not plain


class Total(NamedTuple):
    """The total of a column of a sheet: its sum, or the ratio of the totals of two columns."""

    numerator: str = ""
    denominator: str = ""
    factor: int = 1


class Cell(NamedTuple):
    """A value that is shown in its own way, not in that of its column."""

    value: object
    show: Callable[[object], str]


def render_table(
    columns: Sequence[Column], rows: Sequence[Row], terminal: Terminal, note: str = ""
) -> str:
    """Draw `rows` in the width of the terminal, or in full when stdout is not a terminal.

    The line below names the columns that do not fit.
    """
    lines = _lines(columns, rows)
    widths = [max(map(cell_len, column)) for column in zip(*lines, strict=True)]
    places = [*range(len(columns))]
    if terminal.interactive:
        places = _fitting(columns, widths, terminal.width)
        if len(rows) == 1 and len(places) < len(columns):
            # A line for each column, since the single row is wider than the terminal.
            width = max(map(cell_len, lines[0]))
            turned = [f"{title:<{width}}  {cell}" for title, cell in zip(*lines, strict=True)]
            return _text(turned, note, terminal)
        # Only the first column gives way; a number must never lose a digit.
        width = sum(widths[index] + _GAP for index in places[1:])
        widths[0] = min(widths[0], terminal.width - width)
    omission = ", ".join(column.key for index, column in enumerate(columns) if index not in places)
    if omission:
        note = " ".join([note, f"No room for: {omission}."]).strip()
    mark = _CUT if terminal.can_show(_CUT) else "~"
    heading, *body = (
        (" " * _GAP).join(
            in_cells(line[place], widths[place], mark, to_the_right=columns[place].is_right)
            for place in places
        )
        for line in lines
    )
    line = (_LINE if terminal.can_show(_LINE) else "-") * cell_len(heading)
    heading = heading.rstrip()
    heading = click.style(heading, bold=True) if terminal.color else heading
    return _text([heading, line, *body], note, terminal)


def _lines(columns: Sequence[Column], rows: Sequence[Row]) -> list[list[str]]:
    """Return the headings and the cells of each row as text."""
    cells = ([visible(column.show(row.get(column.key))) for column in columns] for row in rows)
    return [[visible(column.title) for column in columns], *cells]


def _text(lines: Sequence[str], note: str, terminal: Terminal) -> str:
    # Text from the service must not move the cursor.
    note = visible(note)
    notes = (wrapped(note, terminal.width) if terminal.interactive else note).splitlines()
    if terminal.color:
        notes = [click.style(text, dim=True) for text in notes]
    return "".join(f"{line.rstrip()}\n" for line in [*lines, *notes])


def render_markdown(
    columns: Sequence[Column], rows: Sequence[Row], _terminal: Terminal, note: str = ""
) -> str:
    """Draw `rows` as a table of GitHub Flavored Markdown, as chats and wikis show it.

    https://github.github.com/gfm/#tables-extension-
    """
    heading, *cells = _lines(columns, rows)
    rule = ["--:" if column.is_right else "---" for column in columns]
    # What Markdown would read as its own sign is escaped.
    lines = [
        f"| {' | '.join(_MARKS.sub(_ESCAPED, cell) for cell in line)} |"
        for line in (heading, rule, *cells)
    ]
    return "".join(f"{line}\n" for line in [*lines, "", visible(note)]).rstrip("\n") + "\n"


def in_cells(text: str, width: int, mark: str, *, to_the_right: bool = False) -> str:
    """Return `text` in exactly `width` cells; what is too long ends in `mark`."""
    missing = width - cell_len(text)
    if missing < 0:
        return set_cell_size(text, width - 1) + mark
    return " " * missing + text if to_the_right else text + " " * missing


def _fitting(columns: Sequence[Column], widths: Sequence[int], available: int) -> list[int]:
    """Return the indices of the columns that fit; the first one always stays."""
    places = [*range(len(columns))]
    first = min(widths[0], max(_NARROWEST_FIRST_COLUMN, available // 3))
    while places[1:] and first + sum(widths[index] + _GAP for index in places[1:]) > available:
        places.remove(max(places[1:], key=lambda index: (columns[index].rank, index)))
    return places
