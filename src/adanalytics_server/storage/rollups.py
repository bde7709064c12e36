"""Rollups: the sums per day and dimension that loads write and summaries read.

Money is split into units and nanos so that no column and no sum can overflow 64 bits. A normal day
of a large partner is far from the limit, a bad amount in a file is not.
"""

import sqlite3
from collections import defaultdict
from collections.abc import Iterable

from .dimensions import DIMENSIONS, TOTAL
from .events import Record
from .money import NANOS
from .schema import COUNTERS, MEASURES

_REVENUE = len(COUNTERS)
_COST = _REVENUE + 1
_UPSERT = (
    f"INSERT INTO rollups (dimension, day, id_is_null, id, {', '.join(MEASURES)})"  # noqa: S608  # column names only
    f" VALUES ({', '.join('?' * (4 + len(MEASURES)))})"
    " ON CONFLICT DO UPDATE SET "
    + ", ".join(f"{measure} = {measure} + excluded.{measure}" for measure in MEASURES)
)

Key = tuple[int, int, int | None]


class Rollups:
    """The sums of a load in memory: one row per dimension, day and id."""

    def __init__(self) -> None:
        self._sums: dict[Key, list[int]] = defaultdict(lambda: [0] * (len(COUNTERS) + 2))

    def add(self, day: int, records: Iterable[Record], *, sign: int = 1) -> None:
        """Add records of one day (days since 1970); ``sign=-1`` subtracts them.

        Filtered traffic is served as events and left out of every summary.
        """
        numbers = [TOTAL, *(dimension.number for dimension in DIMENSIONS)]
        for record in records:
            if record.is_filtered:
                continue
            for dimension, number in zip(numbers, (0, *record.ids), strict=True):
                row = self._sums[dimension, day, number]
                row[record.event_type] += sign
                row[_REVENUE] += sign * record.revenue
                row[_COST] += sign * (record.cost or 0)

    def write(self, ledger: sqlite3.Connection) -> None:
        """Add the sums to the stored ones, inside the load's transaction."""
        ledger.executemany(
            _UPSERT,
            (
                (
                    dimension,
                    day,
                    number is None,
                    number or 0,
                    *row[:_REVENUE],
                    *divmod(row[_REVENUE], NANOS),
                    *divmod(row[_COST], NANOS),
                )
                for (dimension, day, number), row in self._sums.items()
            ),
        )
