"""Spellings of services: of names, and of the cells of a CSV."""

from collections.abc import Iterable
from functools import lru_cache

# A longer text is a message, which would only take memory.
_LONGEST_NAME = 100


def fold(name: str) -> str:
    """Return the letters and digits of a name, in lower case.

    Examples:
        >>> fold("eventTime") == fold("event_time")
        True
    """
    return _fold_name(name) if len(name) <= _LONGEST_NAME else _letters(name)


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.lower()))


_fold_name = lru_cache(maxsize=1024)(_letters)


def separator_of(header: bytes) -> bytes:
    """Return the byte between the cells of a CSV file, which its header has outside quotes."""
    outside = b"".join(header.split(b'"')[::2])
    return max((b",", b";", b"\t", b"|"), key=outside.count)


def twins_of(names: Iterable[str]) -> list[list[str]]:
    """Return the names that are spellings of the same one, together."""
    by_fold = dict[str, list[str]]()
    for name in names:
        by_fold.setdefault(fold(name), []).append(name)
    return [spellings for spellings in by_fold.values() if len(spellings) > 1]
