"""Calendar days and periods, in UTC and with both ends included, as the service takes them."""

import calendar
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import ClassVar

from adanalytics_client.errors import ConfigurationError

Day = str | int | date
"""A day in any accepted form: a `datetime.date`, a number such as 20260115, or text that
`Period.parse` reads.

A `datetime`, a `pandas.Timestamp` or a `numpy.datetime64` stands for its day in UTC. Without a time
zone, the value is read as UTC.
"""

LATENESS = timedelta(hours=2)
"""How long after its end an hour may still get events.

The service's data are about an hour old, and come in hourly batches.
"""

# date.fromisoformat alone would also accept 2026-W03-4.
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}|\d{8}", re.ASCII)
_MONTHS = re.compile(r"(\d{4})(?:-(\d{2})|-Q([1-4]))?", re.ASCII)
_WEEK = re.compile(r"(\d{4})-W(\d{2})", re.ASCII)
_DAYS_AGO = re.compile(r"-(\d{1,5})(d?)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Period:
    """The days that a word such as `last-month` stands for, in UTC and with both ends included.

    Attributes:
        first: the first day.
        last: the last day.
        until: the last day to use when no end is given; None means the day `last`. If an end is
            given, `-7d` means the day seven days ago; otherwise, it means the last seven days.
        since: the first day to use when no end is given; None means the day `first`.
        months: 1 for a month, 3 for a quarter, 12 for a year, 0 otherwise.
        weeks: 1 for a week, which begins on Monday (ISO 8601), 0 otherwise.

    Examples:
        >>> print(Period.parse("yesterday", today=date(2026, 3, 9)).first)
        2026-03-08
    """

    FORMS: ClassVar[str] = (
        "YYYY-MM-DD, today, yesterday, -7d, last-week, this-month, last-month, mtd, 2026-01, "
        "2026-W47, 2026-Q3, 2026 or two of them as A..B"
    )

    first: date
    last: date
    until: date | None = None
    since: date | None = None
    months: int = 0
    weeks: int = 0

    @classmethod
    def parse(cls, value: object, today: date) -> "Period":
        """Parse a day, `today`, `yesterday`, a number of days ago such as `-7d`, or a whole period.

        Write months as `2026-01`, `2026-Q3`, `2026`, `this-month` or `last-month`, and weeks, which
        begin on Monday, as `2026-W47` or `last-week`. If a period has begun but is not over yet,
        only its days up to today count. `mtd` is the month without today; on its first day, that is
        the month before. `A..B` is a range from one of these to another.

        Raises:
            ConfigurationError: for any other form, or a day that does not exist.

        Examples:
            >>> month = Period.parse("2026-02", today=date(2026, 3, 9))
            >>> f"{month.first}..{month.last}"
            '2026-02-01..2026-02-28'
            >>> year = Period.parse("2026", today=date(2026, 3, 9))
            >>> f"{year.first}..{year.last}"
            '2026-01-01..2026-03-09'
            >>> week = Period.parse("-7d", today=date(2026, 3, 9))
            >>> f"{week.first}, alone {week.since}..{week.until}"
            '2026-03-02, alone 2026-03-03..2026-03-09'
            >>> week = Period.parse("2026-W10", today=date(2026, 3, 9))
            >>> f"{week.first}..{week.last}"
            '2026-03-02..2026-03-08'
        """
        text = value.strip() if isinstance(value, str) else ""
        begin, is_range, end = text.partition("..")
        if is_range:
            return cls._range(cls.parse(begin, today), cls.parse(end, today))
        days_ago = _DAYS_AGO.fullmatch(text)
        # `-7` may mean seven days ago or a negative number, so it is asked for.
        if days_ago and not days_ago[2]:
            raise ConfigurationError(f"'{text}' is not a date.", remedy=f"Did you mean {text}d?")
        try:
            if single_day := _plain_day(value):
                return cls(single_day, single_day)
            if days_ago:
                day = today - timedelta(days=int(days_ago[1]))
                return cls(day, day, since=min(day + timedelta(days=1), today), until=today)
            if text in {"today", "yesterday"}:
                day = today - timedelta(days=text == "yesterday")
                return cls(day, day)
            if text == "mtd":
                yesterday = today - timedelta(days=1)
                return cls(yesterday.replace(day=1), yesterday, months=1)
            if text in {"this-month", "last-month"}:
                return cls._whole_months(add_months(today, -(text == "last-month")), 1, today)
            if text == "last-week":
                return cls._week(today - timedelta(days=today.weekday() + 7), today)
            if week := _WEEK.fullmatch(text):
                return cls._week(date.fromisocalendar(int(week[1]), int(week[2]), 1), today)
            if words := _MONTHS.fullmatch(text):
                year, month, quarter = words.groups()
                first = date(int(year), int(month or 3 * int(quarter or 1) - 2), 1)
                return cls._whole_months(first, 1 if month else 3 if quarter else 12, today)
        # A form that fits and a day that does not exist, such as 2026-02-30 or the year 0.
        except (ValueError, OverflowError):
            raise ConfigurationError(
                f"'{value}' is not in the calendar.", remedy=f"Write {cls.FORMS}."
            ) from None
        quotation = f"'{text}'" if isinstance(value, str) else repr(value)
        raise ConfigurationError(f"{quotation} is not a date.", remedy=f"Write {cls.FORMS}.")

    @classmethod
    def _range(cls, begin: "Period", end: "Period") -> "Period":
        if end.last < begin.first:
            raise ConfigurationError(
                f"'{begin.first}..{end.last}' ends before it begins.", remedy="Swap its ends."
            )
        return cls(begin.first, end.last, months=_months_through(begin, end))

    @classmethod
    def _week(cls, monday: date, today: date) -> "Period":
        sunday = monday + timedelta(days=6)
        return cls(monday, min(sunday, today) if monday <= today else sunday, weeks=1)

    @classmethod
    def _whole_months(cls, start: date, months: int, today: date) -> "Period":
        first = start.replace(day=1)
        last = add_months(first, months - 1, last=True)
        return cls(first, min(last, today) if first <= today else last, months=months)

    def through(self, end: "Period | None") -> tuple[date, date]:
        """Return the first and last day of this period, or of the range from this period to `end`.

        Examples:
            >>> week = Period.parse("-7d", today=date(2026, 3, 9))
            >>> [f"{day:%d}" for day in (*week.through(None), *week.through(week))]
            ['03', '09', '02', '02']
        """
        if end:
            return self.first, end.last
        return self.since or self.first, self.until or self.last

    def before(
        self, end: "Period | None" = None, *, until: date | None = None
    ) -> tuple[date, date]:
        """Return the first and last day of the preceding period; `end` extends this one to a range.

        That is the same number of days from the beginning of the month, quarter, year or week
        before, which may be shorter, or else the same number of days right before. A range from a
        month to a month moves back by its number of months.

        Examples:
            >>> march = Period.parse("2026-03", today=date(2026, 3, 9))
            >>> week = Period.parse("-7d", today=date(2026, 3, 9))
            >>> [f"{each.before()[0]}..{each.before()[1]}" for each in (march, week)]
            ['2026-02-01..2026-02-09', '2026-02-24..2026-03-02']
        """
        first, last = self.through(end)
        length = min(last, until or last) - first
        months, weeks = self.months, self.weeks
        if end:
            # A range of months moves back by months, whose lengths differ.
            months, weeks = _months_through(self, end), 0
        if months:
            begin = add_months(first, -months)
        else:
            begin = first - (timedelta(weeks=weeks) or length + timedelta(days=1))
        return begin, min(begin + length, first - timedelta(days=1))


def _months_through(begin: Period, end: Period) -> int:
    """Return the months from a period of months through another one; 0 if either has none."""
    if not (begin.months and end.months):
        return 0
    years = end.first.year - begin.first.year
    return 12 * years + end.first.month - begin.first.month + end.months


def add_months(day: date, months: int, *, last: bool = False) -> date:
    """Return the same day of another month, or the `last` one of it, also where it is shorter.

    Raises:
        ValueError: for a year outside the calendar.
    """
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    longest = calendar.monthrange(year, month + 1)[1]
    return date(year, month + 1, longest if last else min(day.day, longest))


def _plain_day(value: object) -> date | None:
    """Read any form of one day but the words for days; None for anything else.

    Raises:
        ValueError, OverflowError: for a day that is not in the calendar.
    """
    if isinstance(value, datetime) and value.tzinfo:
        value = value.astimezone(UTC)
    text = str(value).strip()
    if isinstance(value, datetime) or type(value).__name__ == "datetime64":
        text = text[:10]
    return date.fromisoformat(text) if _DAY.fullmatch(text) else None


def to_day(value: object, name: str) -> date:
    """Return a day without a word for it; see `Day`.

    Raises:
        ConfigurationError: for any other form, or a day that does not exist.
    """
    with suppress(ValueError, OverflowError):
        if day := _plain_day(value):
            return day
    raise ConfigurationError(
        f"{name}={value!r} is not a day.", remedy="Pass a date, or text like 2026-01-15."
    )


def to_range(start: Day, end: Day | None, *, today: date) -> tuple[date, date]:
    """Turn a start and an optional end into two days in order.

    Raises:
        ConfigurationError: for a wrong day, or an end before the start.
    """
    period = _period(start, "start", today)
    ends = None if end is None else _period(end, "end", today)
    first, last = period.through(ends)
    check_order(first, last)
    return first, last


def check_order(first: date, last: date) -> None:
    """Check that two days are in order; raise ConfigurationError otherwise."""
    if last < first:
        raise ConfigurationError(f"end {last} is before start {first}.", remedy="Swap them.")


def _period(value: Day, name: str, today: date) -> Period:
    try:
        return Period.parse(value, today)
    except ConfigurationError as error:
        raise error.amended(message=f"{name}: {error.message}") from None


def days_between(first: date, last: date) -> Iterator[date]:
    """Yield every day from `first` to `last`, both included."""
    for offset in range((last - first).days + 1):
        yield first + timedelta(days=offset)


def runs_of(days: Iterable[date]) -> Iterator[list[date]]:
    """Group ordered days into runs without gaps."""
    run: list[date] = []
    for day in days:
        if run and (day - run[-1]).days > 1:
            yield run
            run = []
        run.append(day)
    if run:
        yield run


@lru_cache(maxsize=64)
def read_http_date(text: str | None) -> float | None:
    """Return the moment of a date in a header, in seconds since 1970; None if it has none."""
    try:
        moment = parsedate_to_datetime(text or "")
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (TypeError, ValueError, OverflowError):
        return None


Period.__module__ = "adanalytics_client"


# The years 2001 to 2033, below the numbers that are a day and its hour, such as 2026011513.
EPOCH = re.compile(r"(1[0-9]{9})((?:[0-9]{3}){0,3})(?:\.([0-9]+))?")
# In plain notation a larger exponent could fill the memory.
_MOST_DIGITS = 40


def from_epoch(value: object) -> datetime | None:
    """Return the time of a number of seconds, milliseconds or less since 1970, by its digits.

    A Decimal may have an exponent, as in Java's 1.76848230925E12.

    Examples:
        >>> print(from_epoch("1768482309250"))
        2026-01-15 13:05:09.250000+00:00
    """
    is_short = isinstance(value, Decimal) and abs(value.adjusted()) < _MOST_DIGITS
    if not (epoch := EPOCH.fullmatch(f"{value:f}" if is_short else str(value))):
        return None
    decimals = f"{epoch[2]}{epoch[3] or ''}"
    begin = datetime.fromtimestamp(int(epoch[1]), UTC)
    return begin + timedelta(microseconds=int(decimals[:6].ljust(6, "0")))


ISO_DAY = re.compile(r"\d{4}-\d\d-\d\d(?=[T ]|$)", re.ASCII)
"""A day of ISO 8601, alone or in front of a clock."""


def moment_of(value: object) -> datetime | None:
    """Return the time that a text or a number states; one without a zone counts as UTC.

    Examples:
        >>> print(moment_of("2026-01-15 13:05:09"))
        2026-01-15 13:05:09+00:00
    """
    text = str(value)
    with suppress(ValueError):
        moment = from_epoch(value)
        if moment is None and ISO_DAY.match(text):
            moment = datetime.fromisoformat(text)
        return moment if moment is None or moment.tzinfo else moment.replace(tzinfo=UTC)
    return None
