"""The hours with data: a row for each day, or a calendar, and the hours without."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from functools import partial
from itertools import chain, groupby

from adanalytics_cli.console.table_view import Column, count
from adanalytics_cli.core.invocation import Invocation
from adanalytics_cli.core.periods import span
from adanalytics_cli.core.settings import now_at_service
from adanalytics_client._base.quantities import counted

from .calendar_chart import HOURS, Coverage, calendar_lines
from .formats import Output
from .row_output import Listing, Row, facts_about, write_chart, write_rows

HourCounts = Mapping[int, int | None]
"""The events of the hours of a day that were pulled; None for some, of an unknown number."""


def write_hours(
    counts: Mapping[str, Mapping[date, HourCounts]],
    note: str,
    output: Output,
    invocation: Invocation,
    chart: bool,
) -> str:
    """Write a row for each day of each partner, or draw one calendar; return what was written."""
    now = now_at_service(invocation)
    if chart:
        (days,) = counts.values()
        hours = {day: _filled(hours) for day, hours in days.items()}
        # Days to come are no gap, and today is one only once it has data.
        last = max([min(days), *(day for day in days if hours[day] or day < now.date())])
        gaps = [*gaps_of({day: days[day] for day in days if day <= last}, now)]
        coverage = Coverage(hours, min(days), last, gaps)
        write_chart(partial(calendar_lines, coverage, note), output.path, invocation)
        return "1 chart"
    rows = {
        partner: [
            {
                "date": day,
                "hours": _filled(hours),
                "events": None if None in hours.values() else sum(n or 0 for n in hours.values()),
                "missing": ", ".join(gap.partition(" ")[2] for gap in gaps_of({day: hours}, now)),
            }
            for day, hours in days.items()
        ]
        for partner, days in counts.items()
    }
    columns = [
        Column("date"),
        Column("hours", to_the_right=True),
        Column("events", count),
        Column("missing"),
    ]
    return write_days(rows, columns, chain(*counts.values()), note, output, invocation)


def write_days(
    rows_by_partner: Mapping[str, Sequence[Row]],
    columns: Sequence[Column],
    days: Iterable[date],
    note: str,
    output: Output,
    invocation: Invocation,
) -> str:
    """Write the rows of each partner, with its name if there are several; return how many."""
    is_several = len(rows_by_partner) > 1
    rows = [
        {**({"partner": partner} if is_several else {}), **row}
        for partner, partner_rows in rows_by_partner.items()
        for row in partner_rows
    ]
    columns = [*[Column("partner")] * is_several, *columns]
    facts = facts_about(rows_by_partner, days)
    write_rows(Listing(rows, columns, note, facts, title="dates"), output, invocation)
    return counted(len(rows), "day")


def gaps_of(days: Mapping[date, HourCounts], now: datetime) -> Iterator[str]:
    """Yield the hours that are over and have no events; whole days in a row are one gap."""
    states = {day: _states(day, hours, now) for day, hours in days.items()}

    def state_of(day: date) -> str:
        return states[day][0] if len(states[day]) == HOURS and len({*states[day]}) == 1 else ""

    for state, group in groupby(days, state_of):
        # A whole missing month is one line, not thirty.
        same = [*group]
        if state:
            yield f"{span(same[0], same[-1])} {state}"
            continue
        for day in same:
            for gap, run in groupby(range(len(states[day])), states[day].__getitem__):
                hours = [*run]
                if gap:
                    yield f"{day} {hours[0]:02}:00 to {hours[-1]:02}:59 {gap}"


def _states(day: date, hours: HourCounts, now: datetime) -> list[str]:
    """Return the problem of each hour of the day that is over, empty for one with events."""
    end = HOURS if day < now.date() else now.hour if day == now.date() else 0
    # An hour that was pulled and is empty may be right; one that was not pulled is the dataset's
    # gap.
    problems = ["no events" if hour in hours else "not pulled" for hour in range(end)]
    return ["" if hours.get(hour, 0) != 0 else problem for hour, problem in enumerate(problems)]


def _filled(hours: HourCounts) -> int:
    return sum(events != 0 for events in hours.values())
