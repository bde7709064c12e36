"""START and END as people write them, turned into two inclusive days of the service."""

from collections.abc import Collection, Iterable
from datetime import date, timedelta

import click

from adanalytics_client import ConfigurationError, Period
from adanalytics_client._base.dates import runs_of

from .invocation import Invocation, current_invocation
from .prose import listed
from .settings import now_at_service

PERIOD_HELP = (
    f"START and END are {Period.FORMS}; both are inclusive, in UTC or in --zone. END defaults to"
    " START; -7d alone means the last seven days, including today. A period that is not over ends"
    " today."
)

# More gaps than a reader looks up.
_MOST_GAPS = 3


def read_period(
    context: click.Context, parameter: click.Parameter, word: str | None
) -> Period | None:
    """Read a parameter that is a day or a month, as people write them."""
    if word is None:
        return None
    try:
        return Period.parse(word, now_at_service(current_invocation(context)).date())
    except ConfigurationError as error:
        raise click.BadParameter(
            f"{error.message} {error.remedy}", param_hint=_name(parameter)
        ) from error


def read_begun_period(
    context: click.Context, parameter: click.Parameter, word: str | None
) -> Period | None:
    """Read a period that has begun. A mistyped future year would cost 8,760 hourly requests."""
    span = read_period(context, parameter, word)
    now = now_at_service(current_invocation(context))
    if span and span.first > now.date():
        raise click.BadParameter(
            f"{span.first} is in the future. Today is {now:%Y-%m-%d} in {now:%Z}.",
            param_hint=_name(parameter),
        )
    return span


def _name(parameter: click.Parameter) -> str:
    """Return START rather than [START], as click names an optional argument."""
    return parameter.opts[0] if parameter.opts[0].startswith("-") else parameter.opts[0].upper()


def period(invocation: Invocation, start: Period, end: Period | None) -> tuple[date, date]:
    """Return first and last day from START and an optional END, without the days to come.

    Without END the period is START itself: a day, a whole month, or the last days. It says that
    days are left out, because a wrong clock could leave out too many. Raises click.UsageError when
    END is before START.
    """
    first, last = start.through(end)
    if last < first:
        raise click.UsageError(f"END {last} is before START {first}. Swap them.")
    last_day = max(first, now_at_service(invocation).date())
    if last <= last_day:
        return first, last
    invocation.notice(f"{last} is in the future, so the period ends on {last_day}.")
    return first, last_day


def span(first: date, last: date) -> str:
    """Write the days of a period: `2026-01-15`, or `2026-01-15 to 2026-01-21`."""
    return f"{first}" if first == last else f"{first} to {last}"


def spans_of(days: Iterable[date]) -> list[str]:
    """Write ordered days as the periods without gaps that they make."""
    return [span(run[0], run[-1]) for run in runs_of(days)]


def gaps_of(first: date, last: date, days: Collection[date]) -> str:
    """Write the days of a period that are not among these; empty if all are."""
    return listed(spans_of(day for day in days_of(first, last) if day not in days), _MOST_GAPS)


def days_of(first: date, last: date) -> list[date]:
    return [first + timedelta(days=n) for n in range((last - first).days + 1)]


def period_arguments(*, required: bool) -> list[click.Parameter]:
    """Make the arguments START and END; END may always be left out."""
    arguments = (("START", read_begun_period, required), ("END", read_period, False))
    return [
        click.Argument(
            [name.lower()],
            callback=parser,
            required=is_required,
            metavar=name if is_required else f"[{name}]",
            shell_complete=period_words,
        )
        for name, parser, is_required in arguments
    ]


def period_words(context: click.Context, _parameter: click.Parameter, incomplete: str) -> list[str]:
    """Return the words for a period, for the shell."""
    today = current_invocation(context).clock().date()
    months = (f"{today:%Y-%m}", f"{today:%Y}-Q{(today.month + 2) // 3}", f"{today:%Y}")
    words = ("today", "yesterday", "-7d", "-30d", "this-month", "last-month", *months)
    return [word for word in words if word.startswith(incomplete)]
