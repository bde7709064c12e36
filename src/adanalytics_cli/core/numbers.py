"""Numbers as values of options, with their bounds in words."""

import math
from typing import Any

import click


def _bounds(numbers: click.IntRange | click.FloatRange) -> str:
    if numbers.max is not None:
        return f"{numbers.min} to {numbers.max}"
    return f"above {numbers.min}" if numbers.min_open else f"{numbers.min} or more"


class WholeNumber(click.IntRange):
    """A whole number of at least `min`, and at most `max` where there is one."""

    def convert(
        self,
        value: Any,  # noqa: ANN401  # text of the command line, or a default that is a number
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> int:
        """Read the number; raises click.BadParameter for another one and for other text."""
        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            self.fail(f"give a whole number, {_bounds(self)}, not '{value}'.", param, ctx)

    _describe_range = _bounds


class Number(click.FloatRange):
    """A finite number of at least `min`, or above it with `min_open`."""

    def convert(
        self,
        value: Any,  # noqa: ANN401  # text of the command line, or a default that is a number
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> float:
        """Read the number; raises click.BadParameter for another one and for other text."""
        try:
            number = super().convert(value, param, ctx)
        except click.BadParameter:
            number = math.nan
        # For click, inf and nan lie in every range that has no maximum.
        if not math.isfinite(number):
            self.fail(f"give a number {_bounds(self)}, not '{value}'.", param, ctx)
        return number

    _describe_range = _bounds
