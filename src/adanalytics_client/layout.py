"""How `split="auto"` lays out days as queries, given about how many events they have; no I/O.

For programs that plan pulls of their own, as `adanalytics sync` does.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date

from adanalytics_client._slices import Stretch, runs_of

__all__ = ["DEEPEST", "Stretch", "lay_out", "requests_of"]

DEEPEST = 20
"""The most full pages that auto plans for one query: 200,000 events with pages of 10,000.

The pages of one query come one after the other, and late data move those behind them, so a query
should end some day; but each cut costs a request for a page that is not full. At this depth that is
one request in twenty.
"""


def lay_out(
    days: Sequence[date], counts: Mapping[date, int], *, size: int, hour: int | None
) -> list[Stretch]:
    """Runs of small days as one query each, days of more than `DEEPEST` pages by the hour.

    Args:
        days: the days to ask for, in order; a run also spans the gaps between them.
        counts: events of a day, about; a day that is missing has none.
        size: events of a full page.
        hour: the only hour that is asked for; its days cannot be cut further.

    Example:
        >>> days = [date(2026, 1, 1), date(2026, 1, 2), date(2026, 1, 3)]
        >>> [each.cut for each in lay_out(days, {days[2]: 900_000}, size=10_000, hour=None)]
        ['whole', 'hour']
    """
    laid: list[Stretch] = []
    for group in _groups(days, counts, DEEPEST * size):
        if counts.get(group[0], 0) <= DEEPEST * size:
            laid.append(Stretch(group[0], group[-1], "whole"))
        elif hour is None:
            laid += [Stretch(run[0], run[-1], "hour") for run in runs_of(group)]
        else:
            laid += [Stretch(day, day, "whole") for day in group]
    return laid


def _groups(days: Iterable[date], counts: Mapping[date, int], most: int) -> Iterator[list[date]]:
    """Days that go together: neighbours above `most`, and runs that stay within it."""
    group: list[date] = []
    filled = 0
    for day in days:
        count = counts.get(day, 0)
        large, all_large = count > most, filled > most
        if group and (large != all_large or (not large and filled + count > most)):
            yield group
            group, filled = [], 0
        group.append(day)
        filled = filled + count
    if group:
        yield group


def requests_of(
    stretches: Iterable[Stretch],
    counts: Mapping[date, int],
    *,
    size: int,
    hour: int | None = None,
) -> int:
    """Pages of a layout, supposing that each hour of a day has as many events as the others.

    Example:
        >>> stretch = Stretch(date(2026, 1, 1), date(2026, 1, 30), "whole")
        >>> requests_of([stretch], {date(2026, 1, 7): 145_000}, size=10_000)
        15
    """
    days = sorted(counts)
    total = 0
    for stretch in stretches:
        inside = [counts[day] for day in days if stretch.start <= day <= stretch.end]
        empty = (stretch.end - stretch.start).days + 1 - len(inside)
        if stretch.cut == "whole":
            total += _pages(sum(inside), size)
        elif stretch.cut == "hour" and hour is None:
            total += 24 * empty + sum(_pages_by_hour(count, size) for count in inside)
        else:
            total += empty + sum(_pages(count, size) for count in inside)
    return total


def _pages(events: int, size: int) -> int:
    return max(1, -(-events // size))


def _pages_by_hour(events: int, size: int) -> int:
    """Pages of 24 hours that share the events evenly; an hour without any takes one, too."""
    hourly, rest = divmod(events, 24)
    return rest * _pages(hourly + 1, size) + (24 - rest) * _pages(hourly, size)
