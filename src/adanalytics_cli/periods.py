"""START and END as people write them, turned into two inclusive UTC dates."""

import calendar
import re
from dataclasses import dataclass
from datetime import date, timedelta

import click

from adanalytics_cli.invocation import current_invocation
from adanalytics_cli.remarks import notice

FORMS = "YYYY-MM-DD, today, yesterday, -7d or a month like 2026-01"
PERIOD_HELP = (
    f"START and END are {FORMS}; both are inclusive, in UTC. Without END the period is START."
)
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_MONTH = re.compile(r"[0-9]{4}-[0-9]{2}")
_DAYS_AGO = re.compile(r"-([0-9]{1,5})d")


@dataclass(frozen=True, slots=True)
class Span:
    """The days that one word stands for, both inclusive, UTC."""

    first: date
    last: date


def read_span(word: str, today: date) -> Span:
    """Read one of the accepted forms; `today` is the current UTC date.

    Raises ValueError, with the accepted forms in its text, for anything else.

    >>> read_span("2026-02", date(2026, 3, 9))
    Span(first=datetime.date(2026, 2, 1), last=datetime.date(2026, 2, 28))
    """
    text = word.strip()
    days_ago = _DAYS_AGO.fullmatch(text)
    named = {"today": 0, "yesterday": 1}.get(text)
    try:
        if days_ago or named is not None:
            day = today - timedelta(days=int(days_ago[1]) if days_ago else named or 0)
            return Span(day, day)
        if _DAY.fullmatch(text):
            day = date.fromisoformat(text)
            return Span(day, day)
        if _MONTH.fullmatch(text):
            first = date.fromisoformat(f"{text}-01")
            length = calendar.monthrange(first.year, first.month)[1]
            return Span(first, first.replace(day=length))
    except (ValueError, OverflowError):
        raise ValueError(f"'{text}' is not in the calendar. Write {FORMS}.") from None
    raise ValueError(f"'{text}' is not a date. Write {FORMS}.")


def _read_argument(
    context: click.Context, parameter: click.Parameter, word: str | None
) -> Span | None:
    if word is None:
        return None
    try:
        return read_span(word, current_invocation(context).clock().date())
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint=_name(parameter)) from error


def _read_start(
    context: click.Context, parameter: click.Parameter, word: str | None
) -> Span | None:
    """START, which must have begun: by the hour, a mistyped year would cost 8,760 requests."""
    span = _read_argument(context, parameter, word)
    if span and span.first > _latest(context):
        today = current_invocation(context).clock().date()
        problem = f"{span.first} lies in the future. Today is {today} in UTC."
        raise click.BadParameter(problem, param_hint=_name(parameter))
    return span


def _name(parameter: click.Parameter) -> str:
    """START rather than [START], which is how click names what may be left out."""
    return parameter.opts[0] if parameter.opts[0].startswith("-") else parameter.opts[0].upper()


def _latest(context: click.Context) -> date:
    """The last day that can have begun: the clock here may be a little behind the service's."""
    return current_invocation(context).clock().date() + timedelta(days=1)


def period(start: Span, end: Span | None) -> tuple[date, date]:
    """First and last day from START and an optional END.

    Without END the period is START itself: a day, or a whole month. Raises
    click.UsageError when END lies before START.
    """
    last = (end or start).last
    if last < start.first:
        raise click.UsageError(
            f"END {last} lies before START {start.first}. Exchange the two dates."
        )
    return start.first, last


def begun_period(context: click.Context, start: Span, end: Span | None) -> tuple[date, date]:
    """`period` without the days to come, which would cost a request an hour and have no events.

    What is left out is said, because a clock that is wrong could leave out too much.
    """
    first, last = period(start, end)
    latest = _latest(context)
    if last <= latest:
        return first, last
    notice(f"Asked is up to {latest}: {last} lies in the future.", context)
    return first, latest


def period_arguments(*, required: bool) -> list[click.Parameter]:
    """The arguments START and END; END may always be left out."""
    start = "START" if required else "[START]"
    return [
        click.Argument(["start"], callback=_read_start, required=required, metavar=start),
        click.Argument(["end"], callback=_read_argument, required=False, metavar="[END]"),
    ]


def date_option(name: str, summary: str) -> click.Option:
    """A required option that is one day, in the same forms as START."""
    return click.Option([name], metavar="DATE", required=True, callback=_read_day, help=summary)


def _read_day(context: click.Context, parameter: click.Parameter, word: str | None) -> date | None:
    span = _read_argument(context, parameter, word)
    return span.first if span else None
