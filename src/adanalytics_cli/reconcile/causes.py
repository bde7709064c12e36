"""The cause of a gap: what, done to our figures, makes all of them equal to theirs."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import date, datetime, timedelta, timezone, tzinfo
from decimal import Decimal
from itertools import combinations
from math import log10
from typing import Literal, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from adanalytics_cli.core.periods import days_of
from adanalytics_client._base.quantities import counted

from .figures import DAY, Group, OwnFigures, add, start_of
from .headings import MONEY
from .statement import Figures, Key

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
# The most likely accident that is still taken for a cause, as a power of ten.
_ACCIDENT = -2
# Floating-point numbers of a spreadsheet are exact up to here.
_DIGITS = 8

Expectation = Callable[[Key], Figures | None]


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
        self.own, self.theirs = own, own.theirs
        self.names = own.statement.names
        self.ours = {key: own.figures(key) for key in {*own.keys(), *own.theirs}}
        theirs, ours = ({group for _, group in side} for side in (own.theirs, own.keys()))
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
        if self.keys and self._evidence(self.ours.get, self.closed) is None:
            causes = [*self._units(), *self._filtered(), *self._zones()]
            causes += [*self._days_of_theirs()] or self._hours_of_theirs()
            # That days differ which are not whole explains no figure, so it comes last.
            return causes or [*self._days_of_ours()] or [*self._days_not_over()]
        if self._evidence(self.ours.get, self.keys) is None:
            return [*self._days_not_over()]
        if all(self.strangers):
            return [*self._renaming()]
        if not any(self.strangers) and any(
            self.ours[key] != self.theirs.get(key, self.own.zeros) for key in self.keys
        ):
            return [Cause("rounding", f"their amounts are rounded: {self._digits()}")]
        return []

    def within_rounding(self, key: Key, at: int) -> bool:
        """Return whether one figure of a key agrees up to the rounding of theirs."""
        theirs, ours = (side.get(key, self.own.zeros)[at] for side in (self.theirs, self.ours))
        return abs(theirs - ours) <= self._slack(key, at)

    def _slack(self, key: Key, at: int) -> Decimal:
        return self.units[at] * self.own.parts.get(key, 1)

    def _agrees(self, key: Key) -> bool:
        return all(self.within_rounding(key, at) for at in range(len(self.names)))

    def _digits(self) -> str:
        amounts = [
            f"{name} to {digits} decimal digits"
            for name, digits in zip(self.names, self.own.statement.decimals, strict=True)
            if name in MONEY
        ]
        return ", ".join(amounts)

    def _evidence(self, expectation: Expectation, keys: Iterable[Key]) -> float | None:
        """Return how unlikely an accident is, as a power of ten; None if a figure disagrees.

        Theirs may be rounded to the nearest or towards zero, and then all are. A key for which
        nothing is expected is left out. Figures of one key depend on each other, so all but the
        best count half.
        """
        is_nearest = towards_zero = True
        evidence = 0.0
        for key in keys:
            figures = expectation(key)
            if figures is None:
                continue
            theirs = self.theirs.get(key, self.own.zeros)
            ours = self.ours.get(key, self.own.zeros)
            changes = []
            for place, (figure, target) in enumerate(zip(figures, theirs, strict=True)):
                slack, rest = self._slack(key, place), figure - target
                is_nearest = is_nearest and abs(rest) <= slack / 2
                overshoot = rest if figure >= 0 else -rest
                towards_zero = towards_zero and (0 <= overshoot < slack or rest == 0)
                change = abs(figure - ours[place]) / (self.units[place] or 1)
                changes.append(log10(1 + 2 * float(change)))
            # One report rounds all of its figures or cuts all of them, not some of each.
            if not is_nearest and not towards_zero:
                return None
            changes.sort(reverse=True)
            # Figures of one key depend on each other, such as revenue on impressions: the others
            # count half.
            evidence += changes[0] + sum(changes[1:]) / 2
        return evidence

    def _explains(self, expectation: Expectation, keys: Iterable[Key], tries: int) -> bool:
        evidence = self._evidence(expectation, keys)
        return evidence is not None and log10(tries) - evidence < _ACCIDENT

    def _units(self) -> Iterator[Cause]:
        """Another unit of one figure, or of all amounts."""
        # A figure that is 0 everywhere is in any unit.
        places = [
            place
            for place in range(len(self.names))
            if any(self.ours[key][place] for key in self.closed)
        ]
        choices = [[place] for place in places]
        money = [place for place in places if self.names[place] in MONEY]
        choices += [money] if len(money) > 1 else []
        for choice in choices:
            for factor, unit in _UNITS.items():

                def scaled(
                    key: Key, choice: Sequence[int] = choice, factor: Decimal = factor
                ) -> Figures:
                    figures = enumerate(self.ours[key])
                    return tuple(
                        figure * factor if place in choice else figure for place, figure in figures
                    )

                if self._explains(scaled, self.closed, len(choices) * len(_UNITS)):
                    names = " and ".join(self.names[place] for place in choice)
                    text = f"{names}: theirs is {factor:f} times ours, {unit}"
                    yield Cause("unit", text)

    def _filtered(self) -> Iterator[Cause]:
        def unfiltered(key: Key) -> Figures:
            return add(self.ours[key], self.own.filtered_figures(key))

        if self._explains(unfiltered, self.closed, 1):
            yield Cause("filtered traffic", "they count filtered (invalid) traffic, too")

    def _zones(self) -> Iterator[Cause]:
        """Days of another zone, as far as we have all of their hours."""
        if self.own.hours is None:
            return
        days = [*self.own.days(), self.own.statement.last + DAY]
        zones: dict[tuple[datetime, ...], str] = {}
        for name, zone in _known_zones():
            zones.setdefault(tuple(self._bound(day, zone) for day in days), name)
        zones.pop(tuple(map(start_of, days)), None)
        fitting = {}
        for bounds, name in zones.items():

            def moved(key: Key, bounds: Sequence[datetime] = bounds) -> Figures | None:
                offset = (key[0] - self.own.statement.first).days if key[0] else 0
                begin, end = bounds[offset], bounds[offset + 1 if key[0] else -1]
                return self.own.between(key, begin, end) if self._has(begin, end) else None

            fitting[name] = self._evidence(moved, self.closed) or 0
        # One that fits by less evidence is just as likely, such as where nights have no events.
        if max(fitting.values()) - log10(len(zones)) > -_ACCIDENT:
            for name in filter(fitting.get, fitting):
                yield Cause("time zone", f"their days are those of {name}")

    def _bound(self, day: date, zone: tzinfo) -> datetime:
        """Return when a day of a zone begins, in the zone of our days."""
        begin = start_of(day).replace(tzinfo=zone)
        return begin.astimezone(self.own.zone).replace(tzinfo=None)

    def _has(self, begin: datetime, end: datetime) -> bool:
        hours, last = self.own.hours or {}, end - timedelta(microseconds=1)
        days = days_of(begin.date(), last.date())
        # A day without events has no hours.
        return all(hours.get(day, -1) in {0, 24} for day in days)

    def _days_of_theirs(self) -> Iterator[Cause]:
        """Days without a row of theirs, or a run of days that they left out of sums."""
        if "day" in self.own.statement.by:
            # A day without a row of theirs shows by itself; in sums, every run of days is tried.
            days = {day for day, _ in self.theirs}
            missing = [day for day in self.own.days() if day not in days]

            def without(key: Key) -> Figures:
                return self.own.zeros if key[0] in missing else self.ours[key]

            if self._explains(without, self.closed, 1):
                yield Cause("missing days", f"their report lacks {_listed(missing)}")
        elif self.own.hours is not None:
            runs = [*combinations([*self.own.days(), self.own.statement.last + DAY], 2)]
            for begin, end in self._removals(
                [(start_of(a), start_of(b)) for a, b in runs], self.closed
            ):
                missing = [day for day in self.own.days() if begin.date() <= day <= end.date()]
                yield Cause("missing days", f"their report lacks {_listed(missing)}")

    def _hours_of_theirs(self) -> Iterator[Cause]:
        """One run of hours without figures of theirs on each day that differs."""
        if self.own.hours is None or "day" not in self.own.statement.by:
            return
        texts = []
        for day in sorted({key[0] for key in self.closed if key[0] and not self._agrees(key)}):
            moments = [start_of(day) + timedelta(hours=hour) for hour in range(25)]
            runs = [*combinations(moments, 2)]
            removals = self._removals(runs, [key for key in self.closed if key[0] == day])
            # Two runs that explain a day equally well explain nothing.
            if len(removals) != 1:
                return
            begin, last = removals[0]
            texts.append(f"{begin:%Y-%m-%d %H:00} to {last + timedelta(hours=1):%H:00}")
        if texts:
            yield Cause("missing hours", f"their report lacks {', '.join(texts)}")

    def _removals(
        self, runs: Sequence[tuple[datetime, datetime]], keys: Sequence[Key]
    ) -> list[tuple[datetime, datetime]]:
        """Return the first and the last hour with events of each run whose removal explains all.

        Runs that differ by hours without events are one.
        """
        moments = sorted(
            {moment for group in self.groups for moment in self.own.valid[group].moments}
        )
        removals = {}
        for begin, end in runs:

            def without(key: Key, begin: datetime = begin, end: datetime = end) -> Figures:
                loss = self.own.between(key, begin, end)
                return tuple(map(Decimal.__sub__, self.ours[key], loss))

            if evidence := self._evidence(without, keys):
                inner = [moment for moment in moments if begin <= moment < end]
                removals[_hour(inner[0]), _hour(inner[-1])] = evidence
        # The more runs are tried, the more likely one fits by accident.
        is_likely = max(removals.values(), default=0) - log10(len(runs)) > -_ACCIDENT
        return sorted(removals) if is_likely else []

    def _days_of_ours(self) -> Iterator[Cause]:
        """Days that we have in part or not at all, while all others agree."""
        hours = self.own.hours
        ours = {moment.date() for series in self.own.valid.values() for moment in series.moments}
        short = {
            day: "" if hours is None or day not in ours else f" ({hours.get(day, 0)} of 24 hours)"
            for day in self.own.days()
            if day not in ours or (hours is not None and 0 < hours.get(day, 0) < 24)
        }
        rest = [key for key in self.closed if key[0] not in short]
        missing_keys = [key for key in self.closed if key[0] in short]
        # Data that we lack can only make our figures smaller.
        is_less = all(
            figure <= target
            for key in missing_keys
            for figure, target in zip(
                self.ours[key], self.theirs.get(key, self.own.zeros), strict=True
            )
        )
        if missing_keys and is_less and self._evidence(self.ours.get, rest) is not None:
            days = sorted({key[0] for key in missing_keys if key[0]})
            kind: Kind = "missing hours" if any(short[day] for day in days) else "missing days"
            yield Cause(kind, f"our data lack {', '.join(f'{day}{short[day]}' for day in days)}")

    def _days_not_over(self) -> Iterator[Cause]:
        days = {key[0] for key in self.keys if not self._agrees(key)}
        if days <= {*self.open_days}:
            yield Cause("open days", f"only days that are not over differ: {_listed(days)}")

    def _renaming(self) -> Iterator[Cause]:
        """Other names of theirs, each with the figures of exactly one group of ours."""
        pairs, evidence = dict[Group, Group](), 0.0
        theirs, ours = self.strangers
        for name in sorted(theirs):
            matches = {our_name: self._likeness(name, our_name) for our_name in ours}
            likely = [our_name for our_name, likeness in matches.items() if likeness]
            # A name is paired only if its figures are those of one group, and no other name has it.
            if len(likely) != 1 or likely[0] in pairs.values():
                return
            pairs[name] = likely[0]
            evidence += matches[likely[0]] - log10(len(ours))
        if evidence > -_ACCIDENT:
            names = [
                f"'{self._label(their_name)}' is our '{self._label(pairs[their_name])}'"
                for their_name in pairs
            ]
            text = f"{counted(len(names), 'name')} differ: {', '.join(names)}"
            yield Cause("renaming", text)

    def _label(self, group: Group) -> str:
        return ", ".join(self.own.labels[group])

    def _likeness(self, name: Group, other: Group) -> float:
        """Return how unlikely it is that the figures agree by accident; 0 if they do not."""
        days = {day for day, group in self.ours if group in {name, other}} - {*self.open_days}
        keys = [(day, name) for day in days]
        return self._evidence(lambda key: self.own.figures((key[0], other)), keys) or 0


def _known_zones() -> Iterator[tuple[str, tzinfo]]:
    for minutes in _OFFSETS:
        zone = timezone(timedelta(minutes=minutes))
        yield ("UTC" if minutes == 0 else str(zone)), zone
    for name in _CHANGING:
        try:
            yield name, ZoneInfo(name)
        except ZoneInfoNotFoundError:
            # Windows has no zones without the package tzdata.
            return


def _hour(moment: datetime) -> datetime:
    return moment.replace(minute=0)


def _listed(days: Iterable[date | None]) -> str:
    names = sorted({str(day) for day in days if day})
    return ", ".join(names) if len(names) <= 3 else f"{names[0]} to {names[-1]} ({len(names)} days)"
