"""How the totals of a day changed when it was restated."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from itertools import pairwise

from adanalytics_client._json.fields import COLUMN_OF_TYPE

from .hours.totals import AMOUNTS, OTHER, Figure, Totals, figure_text
from .records.manifest import DayRecord, FormerTotals

EVENTS = "events"
"""The number of all events of a day, filtered ones included, among its figures."""

# Figures on a line for people.
_MOST_TEXTS = 2


@dataclass(frozen=True, slots=True)
class DayChange:
    """A day whose events the service restated after they had been pulled.

    Attributes:
        day: the day.
        noticed_at: the moment of the first request of the sync that noticed it, in UTC.
        before: the former figures that changed: `events`, the events of each type by the name of
            their column in a summary, and the sums of fields by the name of the field; None for a
            field without numbers only, and for one that no event had.
        after: the figures that replaced them, by the same names.

    Examples:
        >>> at = datetime(2026, 1, 20, 12, tzinfo=UTC)
        >>> print(DayChange(date(2026, 1, 12), at, {"events": 12000}, {"events": 11940}))
        2026-01-12 restated: 11,940 events instead of 12,000
    """

    day: date
    noticed_at: datetime
    before: Mapping[str, Figure | None]
    after: Mapping[str, Figure | None]

    def __str__(self) -> str:
        texts = []
        for name, before in self.before.items():
            after = _text(self.after[name])
            figure = f"{after} events" if name == EVENTS else f"{name} {after}"
            texts.append(f"{figure} instead of {_text(before)}")
        rest = f", and {len(texts) - _MOST_TEXTS} more" if len(texts) > _MOST_TEXTS else ""
        return f"{self.day} restated: {', '.join(texts[:_MOST_TEXTS])}{rest}"


def _text(figure: Figure | None) -> str:
    return "no sum" if figure is None else figure_text(figure)


def changes_of(record: DayRecord) -> list[DayChange]:
    """List the changes of a day in the order in which they were noticed."""
    states = [*record.former]
    if record.is_settled:
        states.append(FormerTotals(record.rows, record.totals, datetime.max.replace(tzinfo=UTC)))
    changes = []
    for earlier, later in pairwise(states):
        before, after = _figures(earlier), _figures(later)
        names = dict.fromkeys((*before, *after))
        if earlier.totals is None or later.totals is None:
            names = {EVENTS: None}
        # Without events, every sum is 0, and what has no sum on the other side has none.
        before = {name: before.get(name, None if earlier.rows else 0) for name in names}
        after = {name: after.get(name, None if later.rows else 0) for name in names}
        if not (earlier.rows and later.rows):
            names = dict.fromkeys(name for name in names if None not in (before[name], after[name]))
        changed = [name for name in names if before[name] != after[name]]
        if changed:
            changes.append(
                DayChange(
                    record.day,
                    earlier.noticed_at.astimezone(UTC),
                    {name: before[name] for name in changed},
                    {name: after[name] for name in changed},
                )
            )
    return changes


def _figures(state: FormerTotals) -> dict[str, Figure | None]:
    """Return the figures of a day, those that people look at first in front."""
    totals = state.totals or Totals()
    # Events without a type may have a counter of that name.
    counts = {name: totals.sums.get(name, 0) for name in (*COLUMN_OF_TYPE.values(), OTHER)}
    counts |= totals.counts
    money = {name: totals.sums[name] for name in AMOUNTS if name in totals.sums}
    figures: dict[str, Figure | None] = {EVENTS: state.rows, **money, **totals.sums, **counts}
    # A field may have this name, too.
    figures[EVENTS] = state.rows
    return figures
