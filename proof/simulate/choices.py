"""The decisions of one world, which a seed makes, a list repeats, and shrinking makes simpler."""

import random
from collections.abc import Callable, Sequence
from itertools import count
from typing import TypeVar

T = TypeVar("T")

MOST_TRIES = 1_500
"""How many simpler worlds are tried after a failure."""


class Choices:
    """Numbers below a bound, one after the other; 0 is always the simplest decision.

    Attributes:
        made: the numbers so far, which repeat the world as `given`.
    """

    def __init__(self, seed: int, given: Sequence[int] | None = None) -> None:
        self._random = random.Random(seed)
        self._given = given
        self.made: list[int] = []

    def below(self, bound: int) -> int:
        """Return a number from 0 to `bound - 1`."""
        if self._given is None:
            number = int(self._random.random() * bound)
        else:
            at = len(self.made)
            number = self._given[at] % bound if at < len(self._given) else 0
        self.made.append(number)
        return number

    def of(self, options: Sequence[T]) -> T:
        """Return one of the options; the first is the simplest."""
        return options[self.below(len(options))]

    def happens(self, percent: int) -> bool:
        """Return whether something unusual happens."""
        return self.below(100) >= 100 - percent


def shrink(made: Sequence[int], fails: Callable[[Sequence[int]], bool]) -> list[int]:
    """Return the shortest and then smallest list of decisions found that still fails."""
    tries = count()
    best = [*made]

    def better(candidate: list[int]) -> bool:
        nonlocal best
        if candidate == best or next(tries) >= MOST_TRIES or not fails(candidate):
            return False
        best = candidate
        return True

    improved = True
    while improved:
        improved = False
        size = len(best)
        while size >= 1:
            at = len(best) - size
            while at >= 0:
                improved |= better(best[:at] + best[at + size :])
                improved |= any(best[at : at + size]) and better(
                    best[:at] + [0] * size + best[at + size :]
                )
                at -= size
            size //= 2
        for at in range(len(best)):
            while (
                at < len(best) and best[at] and better([*best[:at], best[at] // 2, *best[at + 1 :]])
            ):
                improved = True
    while best and best[-1] == 0:
        best.pop()
    return best
