"""What a table of events amounts to: its tally, its ids, and whether it belongs to one hour."""

from decimal import Decimal
from types import ModuleType
from typing import TYPE_CHECKING, Any

from adanalytics_client.dataset.arrow_events import Table
from adanalytics_client.dataset.arrow_library import arrow_module
from adanalytics_client.dataset.hours import Hour
from adanalytics_client.dataset.totals import COLUMN_OF_TYPE, Tally

if TYPE_CHECKING:
    import pyarrow as pa

_COUNTED = ["event_type", "revenue", "cost"]


def tally_of(table: Table) -> Tally | None:
    """Counts and money of the events that are not filtered; None where they do not show both."""
    compute = arrow_module("pyarrow.compute")
    if table.num_rows and _lacks(table, "event_type", "is_filtered"):
        return None
    counted = table.select(_COUNTED).filter(compute.invert(table["is_filtered"]))
    pairs = compute.value_counts(counted["event_type"]).to_pylist()
    counts = {COLUMN_OF_TYPE.get(each["values"], "other"): each["counts"] for each in pairs}
    return Tally(counts, _sum(compute, counted["revenue"]), _sum(compute, counted["cost"]))


def is_of_hour(table: Table, hour: Hour) -> bool:
    """Whether every event is of `hour`, as far as the events say."""
    compute = arrow_module("pyarrow.compute")
    if not table.num_rows or _lacks(table, "event_date", "event_hour"):
        return True
    ends = compute.min_max(table["event_hour"]).as_py()
    days = compute.min_max(table["event_date"]).as_py()
    return {*ends.values()} == {hour.hour} and {*days.values()} == {hour.day}


class Ids:
    """The ids of one hour, to find events that came twice; about 100 bytes an event."""

    def __init__(self) -> None:
        self._arrow = arrow_module()
        self._chunks: list[Any] = []

    def add(self, table: Table) -> None:
        """Note the ids of a table."""
        # A copy: a column may share its memory with all others of its table.
        ids = table["event_id"].chunks
        self._chunks.append(self._arrow.concat_arrays([*ids, ids[0].slice(0, 0)]))

    def repeated(self) -> int:
        """How many events have an id that an earlier one has; events without an id have none."""
        ids = self._arrow.chunked_array(self._chunks, self._arrow.string())
        known = len(ids) - ids.null_count
        distinct = arrow_module("pyarrow.compute").count_distinct(ids, mode="only_valid").as_py()
        return int(known - distinct)


def _lacks(table: Table, *names: str) -> bool:
    return any(table[name].null_count for name in names)


def _sum(compute: ModuleType, column: "pa.ChunkedArray") -> Decimal:
    total = compute.sum(column).as_py()
    return total if isinstance(total, Decimal) else Decimal(0)
