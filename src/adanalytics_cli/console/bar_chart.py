"""Horizontal bars as lines of text, each with its name before it and its exact value behind."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from rich.cells import cell_len, set_cell_size

_NARROWEST_BAR = 4
_LONGEST_NAME = 30


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar; `shown` is the value as text. No bar is drawn for None, zero and less."""

    name: str
    value: Decimal | int | None
    shown: str


@dataclass(frozen=True, slots=True)
class Ink:
    """What a bar is drawn with: whole cells, parts of a cell by growing size, a cut name's end."""

    whole: str
    parts: str
    cut: str


BLOCKS = Ink("█", "▏▎▍▌▋▊▉", "…")
LETTERS = Ink("#", "", "~")


def draw_bars(bars: Sequence[Bar], ink: Ink, *, width: int) -> list[str]:
    """One line a bar, not wider than `width` cells unless the values need it.

    The longest bar fills what names and values leave. Names give way first, values never.

    >>> draw_bars([Bar("a", 2, "2"), Bar("b", 1, "1")], LETTERS, width=8)
    ['a #### 2', 'b ##   1']
    """
    values = max((cell_len(bar.shown) for bar in bars), default=0)
    longest = max((cell_len(bar.name) for bar in bars), default=0)
    room = width - values - 2
    names = min(longest, _LONGEST_NAME, max(room // 2, 1))
    length = max(room - names, _NARROWEST_BAR)
    largest = max((bar.value for bar in bars if bar.value), default=Decimal(0))
    return [
        f"{_name(bar.name, names, ink)} "
        f"{_bar(bar.value, largest, length, ink):<{length}} "
        f"{' ' * (values - cell_len(bar.shown))}{bar.shown}"
        for bar in bars
    ]


def _name(name: str, size: int, ink: Ink) -> str:
    if cell_len(name) <= size:
        return set_cell_size(name, size)
    return set_cell_size(name, size - 1) + ink.cut


def _bar(value: Decimal | int | None, largest: Decimal | int, length: int, ink: Ink) -> str:
    if value is None or value <= 0:
        return ""
    steps = len(ink.parts) + 1
    whole, part = divmod(int(Decimal(value) * length * steps / Decimal(largest)), steps)
    drawn = ink.whole * whole + (ink.parts[part - 1] if part else "")
    # A little is not nothing.
    return drawn or (ink.parts or ink.whole)[0]
