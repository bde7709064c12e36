"""The rows of a reconciliation, the worst first, and what is said about them."""

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import NamedTuple

from adanalytics_cli.console.table_view import Cell, Column, count, plain
from adanalytics_cli.core.invocation import Invocation
from adanalytics_cli.core.periods import span, spans_of
from adanalytics_cli.core.prose import listed
from adanalytics_cli.output.formats import FORMATS, Format, Output
from adanalytics_cli.output.row_output import Listing, facts_about, write_rows
from adanalytics_client._base.quantities import counted

from .causes import CauseSearch
from .figures import DAY
from .headings import MONEY
from .statement import Key

# More would push the totals and the cause off the screen.
_ROWS_OF_TABLE = 20
_NAMES_SHOWN = 5
# With more, none is likely to be the cause.
_MOST_CAUSES = 2
# Two more than most currencies, so that rounding shows.
_DIGITS_OF_MONEY = 4
_VALUES = ("theirs", "ours", "difference")

Row = dict[str, object]


class Gap(NamedTuple):
    """One figure of a key, or of all keys together, on both sides."""

    figure: str
    theirs: Decimal
    ours: Decimal
    key: Key | None = None
    side: str = ""
    is_above: bool = False

    @property
    def difference(self) -> Decimal:
        return self.theirs - self.ours

    @property
    def percent(self) -> Decimal | None:
        """Return the difference in percent of ours; None if ours is 0."""
        if not self.ours:
            return None
        return Decimal(format(self.difference * 100 / abs(self.ours), "z.2f"))


class Reconciliation:
    """The figures of both sides, and which differ by more than `tolerance` percent of ours."""

    def __init__(self, search: CauseSearch, tolerance: Decimal, source: str, partner: str) -> None:
        self.search, self.tolerance, self.source, self.partner = search, tolerance, source, partner
        self.own, self.causes = search.own, search.find()
        self.statement = self.own.statement
        self.totals, self.gaps = list[Gap](), list[Gap]()
        labels = self.own.labels
        self.only_theirs, self.only_ours = (
            [", ".join(labels[group]) for group in sorted(groups)] for groups in search.strangers
        )
        for place, name in enumerate(self.statement.names):
            theirs, ours = (
                sum((row[place] for row in side.values()), Decimal(0))
                for side in (search.theirs, search.ours)
            )
            self.totals.append(Gap(name, theirs, ours, is_above=self._is_above(theirs, ours)))
        for key in sorted(search.ours):
            sides = zip(search.theirs.get(key, self.own.zeros), search.ours[key], strict=True)
            side = "both" if any(search.ours[key]) else "theirs"
            side = side if key in search.theirs else "ours"
            for place, (theirs, ours) in enumerate(sides):
                is_above = self._is_above(theirs, ours)
                is_above &= not search.within_rounding(key, place, ours)
                name = self.statement.names[place]
                self.gaps.append(Gap(name, theirs, ours, key, side, is_above))
        # A large difference of a small figure matters less than a small one of a large figure.
        scales = {gap.figure: max(abs(gap.ours), abs(gap.theirs)) or 1 for gap in self.totals}
        self.gaps.sort(key=lambda gap: abs(gap.difference) / scales[gap.figure], reverse=True)

    def _is_above(self, theirs: Decimal, ours: Decimal) -> bool:
        return abs(theirs - ours) * 100 > self.tolerance * abs(ours)

    def describe(self, gap: Gap) -> str:
        """Return a gap in words."""
        key = " ".join(str(part) for part in self._key_of(gap).values())
        percent = "" if gap.percent is None else f" ({gap.percent} %)"
        digits = self._digits(gap.figure)
        values = f"{gap.theirs:.{digits}f} of theirs, {gap.ours:.{digits}f} of ours"
        return f"{gap.figure} of {key}: {values}{percent}"

    def above(self) -> list[Gap]:
        """Return what differs by more than the tolerance, the totals last."""
        return [gap for gap in (*self.gaps, *self.totals) if gap.is_above]

    def write(self, output: Output, invocation: Invocation) -> None:
        """Write the figures, worst first; the notes are below a table, else on stderr."""
        form = output.form
        notes = [*self._notes()]
        for line in self.statement.remarks:
            invocation.notice(line)
        columns = self._columns(for_table=form.is_table)
        if form.is_table:
            # A table is for what differs; files have all rows, for programs.
            gaps = [gap for gap in self.gaps if gap.difference]
            rest = len(gaps) - _ROWS_OF_TABLE
            text = f"Not shown: {counted(rest, 'row')}. Write csv, json or xlsx for all."
            notes += [text] if rest > 0 else []
            rows = [self._row(gap, form) for gap in (*gaps[:_ROWS_OF_TABLE], *self.totals)]
            names = None
        else:
            for note in notes:
                invocation.notice(note)
            rows = [self._row(gap, form) for gap in self.gaps]
            names = [*(column.key for column in columns), "side", "above"]
        facts, note = self._about(notes), " ".join(notes)
        listing = Listing(rows, columns, note, facts, names=names, title="reconcile")
        write_rows(listing, output, invocation)

    def _columns(self, *, for_table: bool) -> list[Column]:
        """Return the columns; in a table the names come first, which give way to numbers."""
        by = self.statement.by
        names = sorted(by, key="day".__eq__) if for_table else by
        keys = [Column(name, heading=name.replace("_", " "), rank=0) for name in names]
        ranks = zip((*_VALUES, "percent"), (0, 0, 1, 0), strict=True)
        values = [Column(name, to_the_right=True, rank=rank) for name, rank in ranks]
        return [*keys, Column("figure", rank=0), *values]

    def _row(self, gap: Gap, form: Format) -> Row:
        """Return a row: rounded for people; exact, and for programs as text, in a file."""
        row = self._key_of(gap) | {"figure": gap.figure}
        for name in _VALUES:
            value = getattr(gap, name)
            if form.is_table:
                row[name] = f"{value:z,.{self._digits(gap.figure)}f}"
            elif gap.figure in MONEY or value % 1:
                row[name] = format(value, "f") if form.has_text_amounts else value
            else:
                row[name] = Cell(int(value), count) if form.is_typed else int(value)
        if not form.is_table:
            return row | {"percent": gap.percent, "side": gap.side, "above": gap.is_above}
        sign = "+" if gap.difference > 0 else ""
        percent = plain(None) if gap.percent is None else f"{sign}{gap.percent} %"
        return row | {"difference": f"{sign}{row['difference']}", "percent": percent}

    def _key_of(self, gap: Gap) -> Row:
        by = self.statement.by
        if gap.key is None:
            return {min(by, key="day".__eq__): "total"}
        day, group = gap.key
        labels = iter(self.own.labels[group])
        return {name: day if name == "day" else next(labels) for name in by}

    def _digits(self, figure: str) -> int:
        """Return the digits to show of a figure: those of theirs, and some more of money."""
        decimals = self.statement.decimals[self.search.names.index(figure)]
        return max(decimals, _DIGITS_OF_MONEY) if figure in MONEY else decimals

    def _notes(self) -> Iterator[str]:
        """Yield what was compared, what only one side has, and the cause."""
        figures, statement = self.own, self.statement
        yield from self._cause()
        money = f", money in {figures.currency}" if figures.currency else ""
        excess = sum(gap.is_above for gap in self.gaps)
        yield (
            f"{span(statement.first, statement.last)} in {figures.zone}{money}: "
            f"{counted(len(self.gaps), 'figure')} of {counted(len(self.search.ours), 'key')} "
            f"compared, {excess:,} above {self.tolerance:f} %."
        )
        for side, names in (("theirs", self.only_theirs), ("ours", self.only_ours)):
            # Without campaigns or tags all of a side is one group.
            if names and statement.fields:
                yield f"Only {side}: {_few(names)}."
        # Their report by campaign cannot have these, and the reader wonders where they went.
        if any(figures.unassigned):
            gaps = (
                f"{n:f} {name}"
                for name, n in zip(self.search.names, figures.unassigned, strict=True)
            )
            group = " or ".join(name.replace("_", " ") for name in statement.by if name != "day")
            yield f"Left out, of ours without a {group}: {', '.join(gaps)}."
        if statement.currency and figures.currency and statement.currency != figures.currency:
            yield f"Their amounts are in {statement.currency}, ours in {figures.currency}."
        if self.search.open_days:
            yield f"Not over yet: {_few(spans_of(self.search.open_days))}."
        days_without = [
            day for day in figures.days() if figures.hours is not None and day not in figures.hours
        ]
        if days_without:
            yield f"The dataset lacks {_few(spans_of(days_without))}."

    def _cause(self) -> Iterator[str]:
        texts = [cause.text for cause in self.causes]
        # More than two that fit equally well are a guess, which a reader would take for a finding.
        if 0 < len(texts) <= _MOST_CAUSES:
            yield f"Cause: {'either ' if len(texts) > 1 else ''}{', or '.join(texts)}."
        elif texts:
            yield f"No cause is named, because {len(texts)} explain the gap equally well."
        elif self.above():
            yield "No single cause that could be tried explains the gap."
            hours, days = self.own.hours, {self.statement.first - DAY, self.statement.last + DAY}
            # The reader must know which causes were never looked at.
            if hours is None:
                yield (
                    "Not tried: another time zone, filtered traffic and missing hours. They need "
                    "the events: sync these days and the day on either side, then add --in DIR."
                )
            elif not days <= hours.keys():
                yield (
                    "Another time zone was tried only in part, because the dataset lacks a day "
                    "before or after these."
                )

    def as_json(self) -> Row:
        """Return everything as one object."""
        figures, statement = self.own, self.statement
        return {
            "source": self.source,
            "partner": self.partner,
            "start_date": statement.first,
            "end_date": statement.last,
            "currency": figures.currency,
            "by": [*statement.by],
            "tolerance_percent": self.tolerance,
            "above": len(self.above()),
            "causes": [
                cause._asdict() for cause in self.causes if len(self.causes) <= _MOST_CAUSES
            ],
            "notes": [*statement.remarks, *self._notes()],
            "only_theirs": self.only_theirs,
            "only_ours": self.only_ours,
            "totals": [self._row(gap, FORMATS["json"]) for gap in self.totals],
            "rows": [self._row(gap, FORMATS["json"]) for gap in self.gaps],
        }

    def _about(self, notes: Sequence[str]) -> Row:
        statement = self.statement
        totals = {
            f"total {gap.figure}": f"{gap.theirs:f} theirs, {gap.ours:f} ours"
            for gap in self.totals
        }
        days = (statement.first, statement.last)
        lines = enumerate((*statement.remarks, *notes), 1)
        return (
            {"source": self.source, **facts_about([self.partner], days)}
            | {"currency": self.own.currency, "tolerance": f"{self.tolerance:f} %"}
            | totals
            | {f"note {number}": line for number, line in lines}
        )


def _few(names: Iterable[str]) -> str:
    return listed(sorted(names), _NAMES_SHOWN)
