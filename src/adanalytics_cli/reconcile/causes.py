"""The cause of a gap: what, done to our figures, makes all of them equal to theirs."""

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date, datetime, timedelta, timezone, tzinfo
from decimal import Decimal
from functools import partial
from itertools import combinations
from math import log10
from typing import Literal, NamedTuple, TypeVar
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from adanalytics_cli.core.periods import days_of
from adanalytics_client._base.quantities import counted

from .figures import DAY, OwnFigures, add, start_of
from .headings import MONEY
from .statement import Figures, Group, Key

Kind = Literal[
    "rounding",
    "unit",
    "time zone",
    "filtered traffic",
    "missing days",
    "missing hours",
    "renaming",
    "open days",
]
# Zones with half an hour or less; those with 45 minutes are in use at these three offsets.
_OFFSETS = sorted({*range(-12 * 60, 14 * 60 + 1, 30), 5 * 60 + 45, 8 * 60 + 45, 12 * 60 + 45})
# A period in which the clocks change has no single offset. One zone of each rule in use.
_CHANGING = (
    "America/New_York",
    "America/Chicago",
    "America/Denver",
    "America/Los_Angeles",
    "America/Halifax",
    "America/St_Johns",
    "America/Santiago",
    "Europe/London",
    "Europe/Berlin",
    "Europe/Athens",
    "Asia/Jerusalem",
    "Australia/Sydney",
    "Australia/Adelaide",
    "Pacific/Auckland",
)
_UNITS = {
    Decimal(100): "in hundredths, such as cents",
    Decimal(1000): "in thousandths, or a price per thousand",
    Decimal(10) ** 6: "in millionths (micros)",
    Decimal(10) ** 9: "in billionths (nanos)",
    Decimal("0.001"): "in thousands",
    Decimal("0.000001"): "in millions",
}
# The least evidence of a cause, as a power of ten: one accident in thirty looks like it.
_EVIDENCE = 1.5
# Floating-point numbers of a spreadsheet are exact up to here.
_DIGITS = 8

Expectation = Callable[[Key], Figures | None]
"""What theirs would be by a cause; None where it cannot be known."""
T = TypeVar("T")


class Cause(NamedTuple):
    """A cause of the gap, in words."""

    kind: Kind
    text: str


class CauseSearch:
    """Tries each cause on the keys whose groups both sides know, and whose days are over.

    A cause explains the gap if all figures agree after it, up to the rounding of theirs, and if
    this is hardly an accident: the more digits a cause changes to the right ones, the less likely.
    """

    def __init__(self, own: OwnFigures, open_days: Collection[date]) -> None:
        self.own, self.theirs = own, own.statement.rows
        self.names = own.statement.names
        self.ours = {key: own.figures(key) for key in {*own.keys(), *own.statement.rows}}
        theirs, ours = ({group for _, group in side} for side in (own.statement.rows, own.keys()))
        self.groups, self.strangers = theirs & ours, (theirs - ours, ours - theirs)
        self.keys = sorted(key for key in self.ours if key[1] in self.groups)
        self.open_days = open_days
        # A period of open days only is searched, too.
        self.closed = [key for key in self.keys if key[0] not in open_days] or self.keys
        self.units = [
            Decimal(1).scaleb(-min(digits, _DIGITS)) if digits or name in MONEY else Decimal(0)
            for name, digits in zip(self.names, own.statement.decimals, strict=True)
        ]

    def find(self) -> list[Cause]:
        """Return the causes that explain the gap equally well: one, several, or none."""
        if not self._agree(self.closed):
            causes = [*self._causes("unit", self._units())]
            causes += self._causes("filtered traffic", self._filtered())
            causes += self._causes("time zone", self._zones())
            causes += [*self._days_of_theirs()] or self._hours_of_theirs()
            # That days differ which are not whole explains no figure, so it comes last.
            return causes or [*self._days_of_ours()] or [*self._days_not_over()]
        if not self._agree(self.keys):
            return [*self._days_not_over()]
        if all(self.strangers):
            return [*self._renaming()]
        if not any(self.strangers) and any(
            self.ours[key] != self.theirs.get(key, self.own.zeros) for key in self.keys
        ):
            amounts = [
                f"{name} to {digits} decimal digits"
                for name, digits in zip(self.names, self.own.statement.decimals, strict=True)
                if name in MONEY
            ]
            return [Cause("rounding", f"their amounts are rounded: {', '.join(amounts)}")]
        return []

    def within_rounding(self, key: Key, at: int, figure: Decimal) -> bool:
        """Return whether theirs is this figure, up to its rounding."""
        theirs = self.theirs.get(key, self.own.zeros)[at]
        return abs(theirs - figure) <= self.units[at] * self.own.statement.parts.get(key, 1)

    def _agree(self, keys: Iterable[Key]) -> bool:
        return all(
            self.within_rounding(key, *pair) for key in keys for pair in enumerate(self.ours[key])
        )

    def _evidence(self, expectation: Expectation, keys: Iterable[Key]) -> float:
        """Return how unlikely it is that all figures agree by accident, as a power of ten.

        It is 0 if one does not, or if the cause changes nothing. A key for which nothing is
        expected is left out. Figures of one key depend on each other, such as revenue on
        impressions, so all but the best of them count half.
        """
        evidence = 0.0
        for key in keys:
            if (figures := expectation(key)) is None:
                continue
            if not all(self.within_rounding(key, *pair) for pair in enumerate(figures)):
                return 0
            pairs = zip(figures, self.ours.get(key, self.own.zeros), self.units, strict=True)
            # Of the figures that are no further from ours, as many agree as rounding allows.
            changes = [log10(1 + 2 * float(abs(n - o) / (2 * unit or 1))) for n, o, unit in pairs]
            evidence += (max(changes) + sum(changes)) / 2
        return evidence

    def _fitting(self, candidates: Mapping[T, Expectation], keys: Sequence[Key]) -> list[T]:
        """Return the candidates that explain all figures of these keys, if hardly by accident.

        One that fits by less evidence is just as likely, such as where nights have no events.
        """
        evidence = {name: self._evidence(candidates[name], keys) for name in candidates}
        fitting = [name for name in evidence if evidence[name]]
        # The more are tried, the more likely one fits by accident.
        is_likely = fitting and max(evidence.values()) - log10(len(evidence)) > _EVIDENCE
        return fitting if is_likely else []

    def _causes(self, kind: Kind, candidates: Mapping[str, Expectation]) -> list[Cause]:
        return [Cause(kind, text) for text in self._fitting(candidates, self.closed)]

    def _units(self) -> Mapping[str, Expectation]:
        """Another unit of one figure, or of all amounts."""
        # A figure that is 0 everywhere is in any unit.
        figures = zip(*map(self.ours.__getitem__, self.closed), strict=True)
        places = [place for place, column in enumerate(figures) if any(column)]
        money = [place for place in places if self.names[place] in MONEY]
        choices = [*([place] for place in places), *([money] if len(money) > 1 else [])]
        return {
            f"{' and '.join(self.names[place] for place in choice)}: "
            f"theirs is {factor:f} times ours, {unit}": partial(self._in_unit, choice, factor)
            for choice in choices
            for factor, unit in _UNITS.items()
        }

    def _in_unit(self, places: Collection[int], factor: Decimal, key: Key) -> Figures:
        figures = enumerate(self.ours[key])
        return tuple(figure * factor if place in places else figure for place, figure in figures)

    def _filtered(self) -> Mapping[str, Expectation]:
        def unfiltered(key: Key) -> Figures:
            return add(self.ours[key], self.own.figures(key, filtered=True))

        return {"they count filtered (invalid) traffic, too": unfiltered}

    def _zones(self) -> Mapping[str, Expectation]:
        """Days of another zone, as far as we have all of their hours."""
        if self.own.hours is None:
            return {}
        days = [*self.own.days(), self.own.statement.last + DAY]
        zones: dict[tuple[datetime, ...], str] = {}
        for name, zone in _known_zones():
            bounds = (start_of(day).replace(tzinfo=zone).astimezone(self.own.zone) for day in days)
            zones.setdefault(tuple(bound.replace(tzinfo=None) for bound in bounds), name)
        zones.pop(tuple(map(start_of, days)), None)
        return {
            f"their days are those of {name}": partial(self._moved, bounds)
            for bounds, name in zones.items()
        }

    def _moved(self, bounds: Sequence[datetime], key: Key) -> Figures | None:
        offset = (key[0] - self.own.statement.first).days if key[0] else 0
        begin, end = bounds[offset], bounds[offset + 1 if key[0] else -1]
        days = days_of(begin.date(), (end - timedelta(microseconds=1)).date())
        hours = self.own.hours or {}
        # A day without events has no hours.
        is_whole = all(hours.get(day) in {0, 24} for day in days)
        return self.own.between(key, begin, end) if is_whole else None

    def _days_of_theirs(self) -> Iterator[Cause]:
        """Days without a row of theirs, or a run of days that they left out of sums."""
        candidates: Mapping[str, Expectation]
        if "day" in self.own.statement.by:
            # A day without a row of theirs shows by itself; in sums, every run of days is tried.
            missing = {day for day, _ in self.closed if day} - {day for day, _ in self.theirs}

            def without(key: Key) -> Figures:
                return self.own.zeros if key[0] in missing else self.ours[key]

            candidates = {_listed(missing): without}
        else:
            bounds = map(start_of, [*self.own.days(), self.own.statement.last + DAY])
            candidates = {
                _listed(days_of(first.date(), last.date())): removal
                for (first, last), removal in self._removals(bounds).items()
            }
        for days in self._fitting(candidates, self.closed):
            yield Cause("missing days", f"their report lacks {days}")

    def _hours_of_theirs(self) -> Iterator[Cause]:
        """One run of hours without figures of theirs on each day that differs."""
        texts = []
        for day in sorted({key[0] for key in self.closed if key[0] and not self._agree([key])}):
            bounds = (start_of(day) + timedelta(hours=hour) for hour in range(25))
            keys = [key for key in self.closed if key[0] == day]
            runs = self._fitting(self._removals(bounds), keys)
            # Two runs that explain a day equally well explain nothing.
            if len(runs) != 1:
                return
            first, last = runs[0]
            texts.append(f"{first:%Y-%m-%d %H:00} to {last + timedelta(hours=1):%H:00}")
        if texts:
            yield Cause("missing hours", f"their report lacks {', '.join(texts)}")

    def _removals(
        self, bounds: Iterable[datetime]
    ) -> Mapping[tuple[datetime, datetime], Expectation]:
        """Return the removal of each run between two bounds, by its first and last hour."""
        if self.own.hours is None:
            return {}
        moments = sorted({m for group in self.groups for m in self.own.valid[group].moments})
        removals = {}
        for begin, end in combinations(bounds, 2):
            # Runs that differ by hours without events are one.
            if inner := moments[bisect_left(moments, begin) : bisect_left(moments, end)]:
                ends = inner[0].replace(minute=0), inner[-1].replace(minute=0)
                removals[ends] = partial(self._without, begin, end)
        return removals

    def _without(self, begin: datetime, end: datetime, key: Key) -> Figures:
        return tuple(map(Decimal.__sub__, self.ours[key], self.own.between(key, begin, end)))

    def _days_of_ours(self) -> Iterator[Cause]:
        """Days that we have in part or not at all, while all others agree."""
        hours = self.own.hours or {}
        ours = {moment.date() for series in self.own.valid.values() for moment in series.moments}
        counts = {day: hours.get(day, 24) if day in ours else 0 for day in self.own.days()}
        short = [key for key in self.closed if key[0] and counts[key[0]] < 24]
        # Data that we lack can only make our figures smaller.
        is_less = all(
            figure <= target
            for key in short
            for figure, target in zip(
                self.ours[key], self.theirs.get(key, self.own.zeros), strict=True
            )
        )
        if short and is_less and self._agree(key for key in self.closed if key not in short):
            days = {f"{day}": counts[day] for day, _ in short if day}
            texts = [f"{day} ({n} of 24 hours)" if n else day for day, n in sorted(days.items())]
            kind: Kind = "missing hours" if any(days.values()) else "missing days"
            yield Cause(kind, f"our data lack {', '.join(texts)}")

    def _days_not_over(self) -> Iterator[Cause]:
        days = {key[0] for key in self.keys if not self._agree([key])}
        if days <= {*self.open_days}:
            yield Cause("open days", f"only days that are not over differ: {_listed(days)}")

    def _renaming(self) -> Iterator[Cause]:
        """Other names of theirs, each with the figures of exactly one group of ours."""
        pairs, evidence = dict[Group, Group](), 0.0
        theirs, ours = self.strangers
        for name in sorted(theirs):
            matches = {other: self._likeness(name, other) for other in ours}
            likely = [other for other in ours if matches[other]]
            # A name is paired only if its figures are those of one group, and no other name has it.
            if len(likely) != 1 or likely[0] in pairs.values():
                return
            pairs[name] = likely[0]
            evidence += matches[likely[0]] - log10(len(ours))
        if evidence > _EVIDENCE:
            labels = {group: ", ".join(label) for group, label in self.own.labels.items()}
            names = [f"'{labels[name]}' is our '{labels[pairs[name]]}'" for name in pairs]
            yield Cause("renaming", f"{counted(len(names), 'name')} differ: {', '.join(names)}")

    def _likeness(self, name: Group, other: Group) -> float:
        """Return how unlikely it is that the figures agree by accident; 0 if they do not."""
        days = {day for day, group in self.ours if group in {name, other}} - {*self.open_days}
        keys = [(day, name) for day in days]
        return self._evidence(lambda key: self.own.figures((key[0], other)), keys)


def _known_zones() -> Iterator[tuple[str, tzinfo]]:
    for minutes in _OFFSETS:
        zone = timezone(timedelta(minutes=minutes))
        yield ("UTC" if minutes == 0 else str(zone)), zone
    # Windows has no zones without the package tzdata.
    with suppress(ZoneInfoNotFoundError):
        for name in _CHANGING:
            yield name, ZoneInfo(name)


def _listed(days: Iterable[date | None]) -> str:
    names = sorted({str(day) for day in days if day})
    return ", ".join(names) if len(names) <= 3 else f"{names[0]} to {names[-1]} ({len(names)} days)"
