"""The other side's figures by day, campaign and so on, read from their report."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from decimal import Decimal
from itertools import chain, islice
from pathlib import Path
from typing import Any
from unicodedata import normalize

from adanalytics_cli.console.table_view import plain
from adanalytics_cli.core.command import near_or_known
from adanalytics_cli.core.errors import CommandError, SettingsError
from adanalytics_cli.core.periods import span
from adanalytics_client._base.quantities import counted
from adanalytics_client._json.fields import GROUPS, ID_OF, GroupBy

from .cells import Cell, Layout, Line, layouts_of
from .headings import CURRENCIES, FIGURES, MONEY, currencies_of, fields_of
from .values import DAYS, NUMBERS, Notation, cell_at, days_of, is_rate, is_total

_HEADING_WITHIN = 50
# Characters of a cell or a heading in an error. JSON, which is no report, may be one line.
_SHOWN = 100
Group = tuple[str, ...]
Key = tuple[date | None, Group]
Figures = tuple[Decimal, ...]


@dataclass(slots=True)
class Statement:
    """What the report says.

    Attributes:
        by: the columns of a key, of `GROUPS`.
        fields: the fields of the groups in a key, such as `campaign_id`.
        names: the figures, of `FIGURES`.
        decimals: the most decimal digits of each figure.
        first, last: the days of the period.
        currency: the currency that a heading names.
        rows: the figures of each key.
        parts: how many rows of the file were added up for a key.
        labels: the words of each group as written there.
        remarks: how the file was read, and what of it was left out.
    """

    by: Sequence[str]
    fields: Sequence[str]
    names: Sequence[str]
    decimals: Sequence[int]
    first: date
    last: date
    currency: str | None
    rows: dict[Key, Figures] = field(default_factory=dict)
    parts: dict[Key, int] = field(default_factory=dict)
    labels: dict[Group, Group] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)

    @property
    def names_of(self) -> list[GroupBy]:
        """Return the groups that have names in place of ids, such as `campaign`."""
        sides = {
            name: [group[index] for _, group in self.rows] for index, name in enumerate(self.fields)
        }
        return [name for name in ID_OF if not all(map(str.isdecimal, sides.get(name, ())))]

    def part(self, places: Sequence[int]) -> "Statement":
        """Return the statement without the figures that we do not have, and say so.

        Raises:
            CommandError: if none is left.
        """
        missing = [name for place, name in enumerate(self.names) if place not in places]
        if not missing:
            return self
        remark = f"Not compared, because ours are unknown or no numbers: {', '.join(missing)}."
        if not places:
            raise CommandError(remark, remedy="Compare figures that adanalytics summary shows.")
        names = [self.names[place] for place in places]
        decimals = [self.decimals[place] for place in places]
        rows = {key: tuple(row[place] for place in places) for key, row in self.rows.items()}
        remarks = [*self.remarks, remark]
        return replace(self, names=names, decimals=decimals, rows=rows, remarks=remarks)


def folded(value: object) -> str:
    """Return a word of a group without the capitals, spaces and forms that tell none apart."""
    text = normalize("NFC", str("" if value is None else value))
    text = " ".join(text.casefold().split())
    return "" if text in {"(none)", "(not set)", "(no name)", "none", "null", "-"} else text


def read_statement(
    path: Path,
    by: Sequence[str],
    period: tuple[date, date] | None,
    names: Mapping[str, str],
    sheet: str | None,
    *,
    both_groups: bool,
) -> Statement:
    """Read the report; `names` are headings by the field that they stand for.

    Without `by` the keys are those of the file, a demand tag beside a campaign only if
    `both_groups`. Without a `period` it has the days of the file.

    Raises:
        CommandError, SettingsError: what cannot be read, or is ambiguous, and what to do.
    """
    table = _Table.find(path, names, sheet)
    keys = table.keys(by, both_groups=both_groups)
    fields = [f"{key}_id" if f"{key}_id" in table.columns else key for key in keys if key != "day"]
    figures = table.read()
    counts = [index for index, name in enumerate(figures) if name not in MONEY]
    numbers, mark = table.column(
        NUMBERS,
        [table.columns[name] for name in figures],
        lambda rows: all(row[at] == row[at].to_integral_value() for row in rows for at in counts),
    )
    # Also where the keys have no day, the rows of other days are left out.
    key_places = [table.columns[name] for name in ("day", *fields) if name in table.columns]
    if _is_sum(numbers) and all(cell_at(table.lines[-1], place) is None for place in key_places):
        table.leave_out("of totals")
        table.lines.pop()
        numbers.pop()
    days: Sequence[date | None] = [None] * len(numbers)
    order = ""
    if "day" in table.columns:
        rows, order = table.column(
            DAYS,
            [table.columns["day"]],
            lambda rows: (
                period is not None and all(period[0] <= day <= period[1] for (day,) in rows)
            ),
        )
        days = known_days = [day for (day,) in rows]
        full_period = min(known_days), max(known_days)
        first, last = period or full_period
        if not any(first <= day <= last for day in known_days):
            raise CommandError(
                f"{path} has no row of {span(first, last)}; it has {span(*full_period)}.",
                remedy="Give another PERIOD, or leave it out.",
            )
    elif period is not None:
        first, last = period
    else:
        raise SettingsError(
            f"{path} names no days, so the period is not known.",
            remedy="Give the PERIOD that it covers, such as 2026-01.",
        )
    scales = [
        max(0, *(-int(number.as_tuple().exponent) for number in column))
        for column in zip(*numbers, strict=True)
    ]
    statement = Statement(keys, fields, figures, scales, first, last, table.currency())
    zeros = (Decimal(0),) * len(figures)
    signatures: dict[object, int] = {}
    for line, day, values in zip(table.lines, days, numbers, strict=True):
        if day and not first <= day <= last:
            table.leave_out("of other days")
            continue
        words = tuple(str(cell_at(line, table.columns[name]) or "") for name in fields)
        key = day if "day" in keys else None, tuple(map(folded, words))
        line_before = signatures.setdefault((key, table.signature(line)), line[0])
        if line_before != line[0]:
            raise CommandError(
                f"{path}, rows {line_before} and {line[0]}: nothing tells these rows of "
                f"{' '.join(map(str, filter(None, (day, *words))))} apart.",
                remedy="Delete one, or add them up.",
            )
        label = tuple(word or "(none)" for word in words)
        statement.labels.setdefault(key[1], label)
        statement.rows[key] = tuple(map(Decimal.__add__, statement.rows.get(key, zeros), values))
        statement.parts[key] = statement.parts.get(key, 0) + 1
    reading = ", ".join(filter(None, (table.layout.name, mark, order)))
    statement.remarks = table.remarks(
        {"day", *keys, *fields, *figures}, reading, len(statement.rows)
    )
    return statement


@dataclass(slots=True)
class _Table:
    """The cells below a heading; `columns` are the places of the known fields."""

    path: Path
    layout: Layout
    rows_above: int
    heading: list[Cell]
    columns: dict[str, int] = field(default_factory=dict)
    lines: list[Line] = field(default_factory=list)
    omissions: dict[str, int] = field(default_factory=dict)

    @classmethod
    def find(cls, path: Path, names: Mapping[str, str], sheet: str | None) -> "_Table":
        """Find the layout and the line with the most known headings."""
        layouts = layouts_of(path)
        if sheet is not None:
            sheet_names = [layout.sheet for layout in layouts if layout.sheet]
            if sheet not in sheet_names:
                hint = near_or_known(sheet, sheet_names, "sheets")
                raise SettingsError(f"{path} has no sheet '{sheet}'.", remedy=hint)
            layouts = [layout for layout in layouts if layout.sheet == sheet]
        tables: dict[int, list[_Table]] = {}
        first: list[Cell] = []
        for layout in layouts:
            lines = [cells for _, cells in islice(layout.lines(), _HEADING_WITHIN)]
            first = first or next(iter(lines), [])
            counts = [sum(bool(fields_of(cell, names)) for cell in cells) for cells in lines]
            most = max(counts, default=0)
            if most:
                # The first such line of a layout; later ones repeat it.
                row = counts.index(most)
                tables.setdefault(most, []).append(cls(path, layout, row, lines[row]))
        if not tables:
            begin = ", ".join(str(cell) for cell in first if cell)[:_SHOWN]
            raise SettingsError(
                f"{path} has no heading that is known. It begins with: {begin or 'nothing'}.",
                remedy="Name its columns: --map day=NAME --map impressions=NAME",
            )
        best = tables[max(tables)]
        if len(best) > 1 and best[0].layout.sheet:
            sheets = ", ".join(table.layout.sheet for table in best)
            raise SettingsError(
                f"{path} has several sheets with figures: {sheets}.",
                remedy="Name one: --sheet NAME",
            )
        best[0].choose(names)
        return best[0]

    def choose(self, names: Mapping[str, str]) -> None:
        """Find the place of each field.

        Raises:
            SettingsError: for a name that is no heading, and for two headings of one field.
        """
        headings = [str(cell or "") for cell in self.heading]
        for name in names.values():
            if name and name.casefold() not in map(str.casefold, headings):
                hint = near_or_known(name, [*filter(None, headings)], "columns")
                raise SettingsError(f"{self.path} has no column '{name}'.", remedy=hint)
        places: dict[str, list[int]] = {}
        for place, cell in enumerate(self.heading):
            fields = fields_of(cell, names)
            if len(fields) > 1:
                # German for day, and the short name of a demand tag.
                rows = islice(self.layout.lines(), self.rows_above + 1, 99)
                cells = (cell_at(line, place) for line in rows)
                is_day = next((bool(days_of(cell)) for cell in cells if cell), False)
                fields = ["day" if is_day else "demand_tag"]
            for name in fields:
                places.setdefault(name, []).append(place)
        for name, several in places.items():
            if len(several) > 1:
                choices = " or ".join(f"'{headings[place]}'" for place in several)
                raise self.unmapped(f"one column for {name}: {choices}", name, ambiguous=True)
            self.columns[name] = several[0]

    def unmapped(self, noun: str, example: str, *, ambiguous: bool = False) -> SettingsError:
        headings = ", ".join(str(cell) for cell in self.heading if cell)
        return SettingsError(
            f"{self.path} has {'more than' if ambiguous else 'no column that is known as'} {noun}.",
            remedy=f"Name it with --map {example}=NAME. Columns: {headings}.",
        )

    def keys(self, by: Sequence[str], *, both_groups: bool) -> list[str]:
        """Return the keys to compare by: `by`, or those that the file has."""
        keys = [key for key in GROUPS if key in self.columns or f"{key}_id" in self.columns]
        for key in by:
            if key not in keys:
                raise self.unmapped(f"the {key}", key)
        if not keys:
            raise self.unmapped(f"one of {', '.join(GROUPS)}", "day")
        # A summary has one grouping: of a campaign and its tag, the campaign is what people
        # compare.
        if not by and not both_groups:
            surplus = [key for key in keys if key in ID_OF][1:]
            keys = [key for key in keys if key not in surplus]
        return [key for key in GROUPS if key in (by or keys)]

    def leave_out(self, noun: str) -> None:
        self.omissions[noun] = self.omissions.get(noun, 0) + 1

    def read(self) -> list[str]:
        """Read the lines with figures, without those of totals; return the figures not blank.

        Raises:
            CommandError, SettingsError: if there is none.
        """
        figures = [name for name in FIGURES if name in self.columns]
        if not figures:
            raise self.unmapped("a figure", "impressions")
        text_places = [place for name, place in self.columns.items() if name not in figures]
        for line in islice(self.layout.lines(), self.rows_above + 1, None):
            first = next(filter(None, line[1]), None)
            if all(cell_at(line, self.columns[name]) is None for name in figures):
                # A row without figures and without a text is only space.
                if first:
                    self.leave_out("without a figure")
            # Added to the rows, a total would double every figure.
            elif is_total(first) or any(is_total(cell_at(line, place)) for place in text_places):
                self.leave_out("of totals")
            else:
                self.lines.append(line)
        if not self.lines:
            raise CommandError(
                f"{self.path} has a heading and no row of figures.",
                remedy="Export the report again.",
            )
        return [
            name
            for name in figures
            if any(cell_at(line, self.columns[name]) is not None for line in self.lines)
        ]

    def column(
        self,
        notation: Notation,
        places: Sequence[int],
        is_likely: Callable[[list[tuple[Any, ...]]], bool],
    ) -> tuple[list[tuple[Any, ...]], str]:
        """Return the values at these places of each line, and how they are written, if it shows.

        They are written in the way in which all of them can be read: 1.234 is a thousand or one
        and a bit, and another cell tells. If there are two ways, one is taken only if its values
        are the likely ones.

        Raises:
            CommandError: for a cell that no way of those above it can read, and if two are likely.
        """
        cells = [[cell_at(line, place) for place in places] for line in self.lines]
        values = [[*map(notation.read, row)] for row in cells]
        ways = [*values[0][0]]
        for line, row in zip(self.lines, values, strict=True):
            for place, options in zip(places, row, strict=True):
                if not (fitting := [way for way in ways if way in options]):
                    raise self._unread(line, place, notation)
                ways = fitting
        readings = {way: [tuple(cell[way] for cell in row) for row in values] for way in ways}
        (way, rows), *others = readings.items()
        if others and rows == others[0][1]:
            return rows, ""
        if others:
            likely = [way for way in ways if is_likely(readings[way])]
            if len(likely) != 1:
                pairs = zip(chain(*cells), chain(*values), strict=True)
                cell, options = next(pair for pair in pairs if len({*pair[1].values()}) > 1)
                choices = " or ".join(plain(options[way]) for way in ways)
                raise CommandError(
                    f"{self.path}: '{cell}' may be {choices}.", remedy=notation.clarity
                )
            way = likely[0]
        return readings[way], f"{notation.title} {way}"

    def _unread(self, line: Line, place: int, notation: Notation) -> CommandError:
        cell = cell_at(line, place) or ""
        rest = " like those above it" if notation.read(cell) else ""
        (field,) = (name for name in self.columns if self.columns[name] == place)
        problem, remedy = f"is not {notation.noun}{rest}", notation.correction.format(field)
        if str(cell).startswith("="):
            problem = "is a formula without a value"
            remedy = "Open the file in a spreadsheet, save it, and run this again."
        return CommandError(
            f"{self.path}, row {line[0]}, {self.heading[place]}: '{cell!s:.{_SHOWN}}' {problem}.",
            remedy=remedy,
        )

    def signature(self, line: Line) -> tuple[Cell, ...]:
        """Return what tells a row from others of its key: every cell but figures and rates."""
        figures = {self.columns[name] for name in FIGURES if name in self.columns}
        return tuple(
            cell for place, cell in enumerate(line[1]) if place not in figures and not is_rate(cell)
        )

    def currency(self) -> str | None:
        """Return the currency of the amounts, if the file names it.

        Raises:
            CommandError: for amounts of several, which would be added up.
        """
        places = [self.columns[name] for name in MONEY if name in self.columns]
        cells: list[Cell] = []
        for place, heading in enumerate(self.heading if places else ()):
            column = [cell for line in self.lines if (cell := cell_at(line, place)) is not None]
            is_other = place not in self.columns.values()
            if place in places or (is_other and CURRENCIES.issuperset(column)):
                cells += [heading, *column]
        currencies = sorted(currencies_of(cells))
        if len(currencies) > 1:
            raise CommandError(
                f"{self.path} has amounts in {' and '.join(currencies)}.",
                remedy="Keep the rows and columns of one currency.",
            )
        return currencies[0] if currencies else None

    def remarks(self, field_names: Iterable[str], reading: str, keys: int) -> list[str]:
        """Say which columns stand for what, how the file was read, and what was left out."""
        fields = {self.columns[name]: name for name in field_names if name in self.columns}
        headings = [(place, cell) for place, cell in enumerate(self.heading) if cell]
        mappings = [f"{cell} = {fields[place]}" for place, cell in headings if place in fields]
        ignored_cells = [str(cell) for place, cell in headings if place not in fields]
        lines = [
            f"{self.path}: {counted(len(self.lines), 'row')}, {counted(keys, 'key')} ({reading}).",
            f"Columns: {', '.join(mappings)}.",
        ]
        lines += [f"Columns not used: {', '.join(ignored_cells)}."] if ignored_cells else []
        if self.rows_above:
            self.omissions["above the heading"] = self.rows_above
        omission = ", ".join(f"{count:,} {noun}" for noun, count in self.omissions.items())
        return [*lines, f"Rows left out: {omission}."] if omission else lines


def _is_sum(rows: Sequence[Figures]) -> bool:
    """Return whether the last row is the sum of the others, up to their rounding."""
    *rest, last = rows
    sums = [sum(column, Decimal(0)) for column in zip(*rest, strict=True)]
    slack = Decimal(len(rows)) / 100
    return bool(rest) and all(abs(a - b) <= slack for a, b in zip(sums, last, strict=True))
