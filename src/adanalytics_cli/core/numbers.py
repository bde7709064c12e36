"""Numbers as values of options, with their bounds in words."""

import math
from typing import Any

import click


class _InWords(click.ParamType):  # type: ignore[type-arg]  # not generic in 8.2, the oldest
    """A range of numbers that words its bounds, in its help and its error."""

    noun: str

    def convert(
        self,
        value: Any,  # noqa: ANN401  # text of the command line, or a default that is a number
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> Any:  # noqa: ANN401  # a number of the kind of the range
        """Read the number; raises click.BadParameter for another one and for other text."""
        try:
            number = super().convert(value, param, ctx)
        except click.BadParameter:
            number = math.nan
        # For click, inf and nan lie in every range that has no maximum.
        if number - number != 0:
            text = f"give {self.noun} {self._describe_range()}, not '{value}'."
            self.fail(text, param, ctx)
        return number

    def _describe_range(self: Any) -> str:  # either range
        if self.max is not None:
            return f"{self.min} to {self.max}"
        return f"above {self.min}" if self.min_open else f"{self.min} or more"


class WholeNumber(_InWords, click.IntRange):
    """A whole number of at least `min`, and at most `max` where there is one."""

    noun = "a whole number,"


class Number(_InWords, click.FloatRange):
    """A finite number of at least `min`, or above it with `min_open`."""

    noun = "a number"
