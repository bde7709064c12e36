"""The other side's figures by day, campaign and demand tag, read from their report."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from itertools import islice
from pathlib import Path

from adanalytics_cli.core.command import near_or_known
from adanalytics_cli.core.errors import CommandError, SettingsError
from adanalytics_cli.core.periods import span
from adanalytics_client._base.quantities import counted
from adanalytics_client._json.fields import GROUPS, ID_OF, GroupBy

from .cells import Cell, Layout, Line, layouts_of
from .headings import FIGURES, MONEY, currency_of, fields_of
from .values import NUMBERS, ORDERS, cell_at, days_of, is_fraction, is_total, number_of

_HEADING_WITHIN = 50
Key = tuple[date | None, tuple[str, ...]]
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
        rows: the figures of each key, whose groups are as written there.
        parts: how many rows of the file were added up for a key.
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
    remarks: list[str] = field(default_factory=list)

    @property
    def names_of(self) -> list[GroupBy]:
        """Return the groups that have names in place of ids, such as `campaign`."""
        sides = {
            name: [group[index] for _, group in self.rows] for index, name in enumerate(self.fields)
        }
        return [name for name in ID_OF if not all(map(str.isdecimal, sides.get(name, ())))]


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
    figures = [name for name in FIGURES if name in table.columns]
    if not figures:
        raise table.unmapped("a figure", "impressions")
    figures = table.read(figures)
    numbers, mark = table.numbers(figures)
    # Also where the keys have no day, the rows of other days are left out.
    day_column = table.columns.get("day")
    places = [*([] if day_column is None else [day_column]), *(table.columns[f] for f in fields)]
    if _is_sum(numbers) and all(cell_at(table.lines[-1], place) is None for place in places):
        table.leave_out("of totals")
        table.lines.pop()
        numbers.pop()
    days: Sequence[date | None] = [None] * len(numbers)
    order = ""
    if day_column is not None:
        known_days, order = table.days(day_column, period)
        full_period = (min(known_days), max(known_days))
        first, last = period or full_period
        if not any(first <= day <= last for day in known_days):
            raise CommandError(
                f"{path} has no row of {span(first, last)}; it has {span(*full_period)}.",
                remedy="Give another PERIOD, or leave it out.",
            )
        days = known_days
    elif period is not None:
        first, last = period
    else:
        raise SettingsError(
            f"{path} names no days, so the period is not known.",
            remedy="Give the PERIOD that it covers, such as 2026-01.",
        )
    scales = [
        max(0, *(-int(row[index].as_tuple().exponent) for row in numbers))
        for index in range(len(figures))
    ]
    statement = Statement(keys, fields, figures, scales, first, last, table.currency())
    zeros = (Decimal(0),) * len(figures)
    signatures: dict[object, int] = {}
    for line, day, values in zip(table.lines, days, numbers, strict=True):
        if day and not first <= day <= last:
            table.leave_out("of other days")
            continue
        key = (
            day if "day" in keys else None,
            tuple(str(cell_at(line, table.columns[name]) or "") for name in fields),
        )
        line_before = signatures.setdefault((key, table.signature(line)), line[0])
        if line_before != line[0]:
            raise CommandError(
                f"{path}, rows {line_before} and {line[0]}: nothing tells these rows of "
                f"{' '.join(map(str, filter(None, (day, *key[1]))))} apart.",
                remedy="Delete one, or add them up.",
            )
        sums = map(Decimal.__add__, statement.rows.get(key, zeros), values)
        statement.rows[key] = tuple(sums)
        statement.parts[key] = statement.parts.get(key, 0) + 1
    reading = ", ".join(filter(None, (table.layout.name, mark and f"decimal {mark}", order)))
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
    columns: dict[str, int]
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
                tables.setdefault(most, []).append(cls(path, layout, row, lines[row], {}))
        if not tables:
            begin = ", ".join(str(cell) for cell in first if cell)
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
                cells = (
                    cell_at(line, place)
                    for line in islice(self.layout.lines(), self.rows_above + 1, 99)
                )
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
            raise self.unmapped("a day, a campaign or a demand tag", "day")
        # A summary has one grouping: of a campaign and its tag, the campaign is what people
        # compare.
        if not by and not both_groups:
            first = next((key for key in keys if key in ID_OF), None)
            keys = [key for key in keys if key not in ID_OF or key == first]
        return [key for key in GROUPS if key in (by or keys)]

    def leave_out(self, noun: str) -> None:
        self.omissions[noun] = self.omissions.get(noun, 0) + 1

    def read(self, figures: Sequence[str]) -> list[str]:
        """Read the lines with figures, without those of totals; return the figures not blank.

        Raises:
            CommandError: if there is none.
        """
        text_places = [place for name, place in self.columns.items() if name not in figures]
        for line in islice(self.layout.lines(), self.rows_above + 1, None):
            first = next((cell for cell in line[1] if cell), None)
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

    def numbers(self, figures: Sequence[str]) -> tuple[list[Figures], str]:
        """Return the figures of each line, and the name of their decimal mark if it shows.

        The mark is the one with which all numbers can be read, and all counts are whole.

        Raises:
            CommandError: for text that is no number, and if both marks are possible.
        """
        places = [self.columns[name] for name in figures]
        # 1.234 is a thousand or one and a bit. All cells are read with either mark at once, and a
        # mark that does not fit a cell is out.
        readings: dict[str, list[Figures]] = {mark: [] for mark in NUMBERS}
        for line in self.lines:
            cells = [cell_at(line, place) for place in places]
            rows = {mark: [number_of(cell, mark) for cell in cells] for mark in readings}
            fitting = {
                mark: tuple(number for number in row if number is not None)
                for mark, row in rows.items()
                if None not in row
            }
            if not fitting:
                place = next(row.index(None) for row in rows.values())
                raise self._no_number(line[0], cells[place], places[place])
            readings = {mark: readings[mark] for mark in fitting}
            for mark, row in fitting.items():
                readings[mark].append(row)
        marks = [*readings]
        # Both marks fit, with other values: counts have to be whole, which most often decides.
        if len(marks) > 1 and readings["."] != readings[","]:
            counts = [indexes for indexes, name in enumerate(figures) if name not in MONEY]
            marks = [
                mark
                for mark in marks
                if all(
                    row[index] == row[index].to_integral_value()
                    for row in readings[mark]
                    for index in counts
                )
            ]
            if len(marks) != 1:
                sample = next(
                    cell_at(line, place)
                    for index, line in enumerate(self.lines)
                    for n, place in enumerate(places)
                    if readings["."][index][n] != readings[","][index][n]
                )
                raise CommandError(
                    f"{self.path}: '{sample}' may be {number_of(sample, '.'):f} or "
                    f"{number_of(sample, ','):f}.",
                    remedy="Export the report without thousands separators.",
                )
        mark = marks[0]
        differ = len(marks) < len(NUMBERS)
        return readings[mark], ("point" if mark == "." else "comma") if differ else ""

    def _no_number(self, number: int, cell: Cell, place: int) -> CommandError:
        place_text = f"{self.path}, row {number}, {self.heading[place]}: '{cell}'"
        if str(cell).startswith("="):
            remedy = "Open the file in a spreadsheet, save it, and run this again."
            return CommandError(f"{place_text} is a formula without a value.", remedy=remedy)
        return CommandError(
            f"{place_text} is not a number like those above it.",
            remedy="Correct it, or leave the column out: --map FIELD=",
        )

    def days(self, place: int, period: tuple[date, date] | None) -> tuple[list[date], str]:
        """Return the day of each line, and how days are written if it could be otherwise.

        Raises:
            CommandError: for text that is no day, and if day and month could be swapped.
        """
        # As with numbers: each order of day and month is kept until a row refutes it.
        readings: dict[str, list[date]] = {order: [] for order in ORDERS}
        for line in self.lines:
            dates = days_of(cell_at(line, place))
            for order in [*readings]:
                if order in dates:
                    readings[order].append(dates[order])
                elif len(readings) > 1:
                    del readings[order]
                else:
                    raise CommandError(
                        f"{self.path}, row {line[0]}, {self.heading[place]}: "
                        f"'{cell_at(line, place) or ''}' is not a day like those above it.",
                        remedy="Write days as 2026-01-31, in every row.",
                    )
        (order, days), *alternatives = readings.items()
        if not alternatives:
            return days, f"days as {order}"
        # Both orders give the same days, such as 01/01.
        if days == alternatives[0][1]:
            return days, ""
        days_inside = [
            (order, days)
            for order, days in readings.items()
            if period and all(period[0] <= day <= period[1] for day in days)
        ]
        if len(days_inside) != 1:
            raise CommandError(
                f"{self.path}: '{cell_at(self.lines[0], place)}' may be {days[0]} or "
                f"{alternatives[0][1][0]}, and no other row tells day from month.",
                remedy="Give the PERIOD that all rows lie in, or write days as 2026-01-31.",
            )
        return days_inside[0][1], f"days as {days_inside[0][0]}"

    def signature(self, line: Line) -> tuple[Cell, ...]:
        """Return what tells a row from others of its key: every cell but figures and rates."""
        figures = {self.columns[name] for name in FIGURES if name in self.columns}
        return tuple(
            cell
            for place, cell in enumerate(line[1])
            if place not in figures and not is_fraction(cell)
        )

    def currency(self) -> str | None:
        """Return the currency that the heading of an amount names."""
        places = [self.columns[name] for name in MONEY if name in self.columns]
        return currency_of([str(self.heading[place]) for place in places])

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
