"""The format of numbers, amounts, times and sizes on the pages."""

from collections.abc import Iterable
from decimal import Decimal

from adanalytics_server.clock import rfc3339

_UNITS = ((10**12, "T"), (10**9, "B"), (10**6, "M"), (10**3, "k"))


def counted(number: int, noun: str) -> str:
    """Write a number with its noun.

    >>> counted(1, "event"), counted(1200, "event")
    ('1 event', '1,200 events')
    """
    return f"{number:,} {noun if number == 1 else f'{noun}s'}"


def amount(money: str | Decimal) -> str:
    """Write a rounded amount: two digits after the point, four below one unit."""
    exact = Decimal(money)
    return f"{exact:,.4f}" if 0 < abs(exact) < 1 else f"{exact:,.2f}"


def exact_amount(money: str) -> str:
    """Write an amount to the last digit."""
    return f"{Decimal(money):,f}"


def compact(number: Decimal) -> str:
    """Write a round number for the end of an axis."""
    for size, suffix in _UNITS:
        if abs(number) >= size:
            return f"{(number / size).normalize():f}{suffix}"
    return f"{number.normalize():f}"


def instant(milliseconds: int) -> str:
    """Write an instant to the minute, as UTC."""
    return f"{rfc3339(milliseconds)[:16].replace('T', ' ')} UTC"


def duration(seconds: int) -> str:
    """Write a waiting time in seconds or minutes, rounded up."""
    return f"{seconds} s" if seconds < 60 else f"{-(-seconds // 60)} min"


def hour_list(hours: Iterable[int]) -> str:
    """Write hours of a day, consecutive hours as a range."""
    runs: list[list[int]] = []
    for hour in hours:
        if runs and runs[-1][-1] == hour - 1:
            runs[-1].append(hour)
        else:
            runs.append([hour])
    return ", ".join(
        f"{run[0]:02d}" if len(run) == 1 else f"{run[0]:02d} to {run[-1]:02d}" for run in runs
    )
