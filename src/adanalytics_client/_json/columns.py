"""The columns of an output: the chosen ones, or all known ones and any others that appear."""

import difflib
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from adanalytics_client._base.validation import invalid
from adanalytics_client.errors import ConfigurationError

from .exact import Json
from .fields import COLUMN_OF_TYPE, DOCUMENTED, EVENT_KINDS, GROUP_KINDS, SUMMARY_KINDS

EVENT_COLUMNS = tuple(EVENT_KINDS)
GROUP_COLUMNS = tuple(GROUP_KINDS)
SUMMARY_COLUMNS = tuple(SUMMARY_KINDS)
METRIC_COLUMNS = SUMMARY_KINDS.keys() - GROUP_KINDS.keys()


def count_events(row: Mapping[str, Any]) -> int | None:
    """Count the events in a summary row by their types; None when it has no counts.

    An event has one type, so the columns of the types add up to the events.
    """
    counts = [row.get(name) for name in COLUMN_OF_TYPE.values()]
    # Some services leave out types without events.
    numbers = [count for count in counts if isinstance(count, int) and not isinstance(count, bool)]
    return sum(max(0, number) for number in numbers) if numbers else None


# A name of at least five letters with one wrong letter is more similar to the right one than this.
_NEAR = 0.8


class Columns:
    """Chosen columns, checked against the events: a name that no event has is an error.

    A name close to that of another column, or a documented name in place of the service's own, is
    an error right after the first events, before the rest of the pull costs any requests. Any other
    name may still appear, so it is checked at the end.

    Args:
        chosen: the names, in the order of the output. A documented one may be in any case, unless
            an event has a field of that very name.
        known: names that need not be in any event.

    Attributes:
        names: the names; after the first rows, as they stand there.
        sent: the names by which the service sends documented fields.

    Raises:
        ConfigurationError: for anything but names, or no names.
    """

    def __init__(self, names: Iterable[str], documented: Iterable[str] = EVENT_COLUMNS) -> None:
        self.names: tuple[str, ...] = tuple(dict.fromkeys(_names(names)))
        self.sent = DOCUMENTED
        self._documented = tuple(documented)
        self._missing: set[str] = set()
        self._first: dict[str, None] = {}

    def choose(self, rows: Sequence[Mapping[str, Json]]) -> tuple[str, ...]:
        """Return the chosen names, unless one is a near miss of a name in the first rows.

        Raises:
            ConfigurationError: for a name that is not in the first rows, but is almost one that is,
                or is the documented one of a field there.
        """
        # On the first page, while a typing mistake has cost one request.
        if rows and not self._first:
            fields = dict.fromkeys(name for row in rows for name in row)
            self._first = dict.fromkeys((*self._documented, *fields))
            self.names = tuple(dict.fromkeys(map(self._in_case, self.names)))
            self._missing = set(self.names).difference(self._first)
            self._refuse_others(fields)
        elif self._missing:
            self._missing.difference_update(name for row in rows for name in row)
        return self.names

    def check(self) -> None:
        """Check, after the last rows, that each name is documented or was in a row.

        Raises:
            ConfigurationError: for a name that was in no row.
        """
        for name in self.names:
            if name in self._missing:
                names = ", ".join(self._first)
                raise ConfigurationError(
                    f"columns: no event of this pull has '{name}'.", remedy=f"Choose from {names}."
                )

    def _in_case(self, name: str) -> str:
        low = name.lower()
        return low if low in self._documented and name not in self._first else name

    def _refuse_others(self, fields: Collection[str]) -> None:
        for name in self.names:
            hint = None if name in fields else self.sent.sent(name, fields)
            if name in self._missing and not hint:
                # A name that is like none may be of a field that appears later.
                matches = difflib.get_close_matches(name, self._first, n=1, cutoff=_NEAR)
                hint = matches[0] if matches else None
            if hint:
                raise ConfigurationError(
                    f"columns: no event so far has '{name}'.",
                    remedy=f"Did you mean '{hint}'? If it may appear later, leave columns "
                    "out to get all columns.",
                )


def _names(columns: object) -> list[str]:
    """Return the names as a list; a string is not a list of letters."""
    if isinstance(columns, Iterable) and not isinstance(columns, str):
        names = list(columns)
        if not names:
            raise ConfigurationError(
                "columns is empty.", remedy="Name at least one, or pass None for all."
            )
        if all(isinstance(name, str) for name in names):
            return names
    raise invalid("columns", columns, "Pass a list of names, such as ['event_time', 'revenue'].")
