"""Where the bars of a chart go, in whole units of a drawing that is stretched in width."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

HEIGHT = 160
COLUMN = 20
# Ends of an axis, times a power of ten: each of them has a round half, of single units too.
_ROUND = (10, 12, 16, 20, 24, 30, 40, 50, 60, 80, 100)
_ROUND_UNITS = (2, 4, 6, 8, 10)


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar, from its upper end down; ``title`` is what it says."""

    x: int
    y: int
    height: int
    title: str


@dataclass(frozen=True, slots=True)
class Tick:
    """A line across the chart and the number it stands for."""

    y: int
    text: str


@dataclass(frozen=True, slots=True)
class BarChart:
    """A bar a day, ``width`` by :data:`HEIGHT` units; ``zero`` is where the bars begin."""

    bars: tuple[Bar, ...]
    ticks: tuple[Tick, ...]
    width: int
    zero: int


def bar_chart(
    values: Sequence[int], titles: Sequence[str], *, tick_text: Callable[[int], str]
) -> BarChart:
    """Lay out a chart.

    Args:
        values: a number a bar; amounts of money in nanos. Negative ones go down from zero.
        titles: what each bar says.
        tick_text: writes a number of the axis.
    """
    top = round_up(max((0, *values)))
    bottom = -round_up(-min((0, *values)))
    if top == bottom:
        top = _ROUND_UNITS[0]

    def y_of(value: int) -> int:
        return (top - value) * HEIGHT // (top - bottom)

    zero = y_of(0)
    bars = []
    for number, (value, title) in enumerate(zip(values, titles, strict=True)):
        end = y_of(value)
        # What is not zero can be seen, however small it is.
        height = max(abs(end - zero), 1 if value else 0)
        upper = zero if value < 0 else zero - height
        bars.append(Bar(number * COLUMN, upper, height, title))
    marks = (top, 0, bottom) if bottom else (top, top // 2, 0)
    ticks = tuple(Tick(y_of(mark), tick_text(mark)) for mark in dict.fromkeys(marks))
    return BarChart(tuple(bars), ticks, len(values) * COLUMN, zero)


def round_up(value: int) -> int:
    """Return the next round number for the end of an axis.

    >>> [round_up(value) for value in (0, 1, 3, 17, 21, 4001)]
    [0, 2, 4, 20, 24, 5000]
    """
    if value <= 0:
        return 0
    scale: int = 10 ** max(0, len(str(value)) - 2)
    steps = _ROUND if value > _ROUND_UNITS[-1] else _ROUND_UNITS
    return next(step * scale for step in steps if step * scale >= value)
