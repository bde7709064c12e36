"""Find repeated events: an event is a repeat if it has an id and equals an earlier one.

Ids alone cost little to compare, so the content of events is read only where ids are shared.
"""

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from tempfile import SpooledTemporaryFile

import pyarrow as pa
import pyarrow.compute as pc

from adanalytics_client._events.page import EventId, only_ids
from adanalytics_client._json.fields import DOCUMENTED, FieldNames

from .events import Table, int32s, names_with_values

IDS_HELD = 250_000
"""The most ids of an hour that are held in memory to find repeated ones."""

_HASH_BYTES = 8
_HASHES_READ = 65_536


class Ids:
    """Counts the repeated events of one hour; at most `IDS_HELD` ids are held in memory.

    Attributes:
        without: the number of events without an id.
    """

    def __init__(self, names: FieldNames | None = None) -> None:
        self.without = 0
        self._names = names or DOCUMENTED
        self._hashes = _Hashes()

    def close(self) -> None:
        self._hashes.close()

    def add(self, table: Table) -> None:
        ids = self._ids_of(table)
        if not all(ids):
            ids = [event_id for event_id in ids if event_id is not None]
        hashes = [*map(hash, ids)]
        self.without += table.num_rows - len(hashes)
        self._hashes.add(hashes)

    def shared(self) -> set[int] | None:
        """Return the hashes of ids that several events have; None for more than `IDS_HELD`."""
        return self._hashes.shared()

    def repeated(self, events: Callable[[], Iterable[Table]], shared: set[int] | None) -> int:
        """Count the events that have the id and the content of an earlier one.

        Args:
            events: reads the events that were added once more; it is called if ids are shared.
            shared: the shared ids of all of them.
        """
        # No hash occurs twice, so no event does: most hours end here.
        if shared is not None and not shared:
            return 0
        # Ids that are shared are no repeats yet: an impression and its click may have the same.
        contents = _Hashes()
        try:
            for table in events():
                ids = self._ids_of(table)
                is_suspect = [
                    event_id is not None and (shared is None or hash(event_id) in shared)
                    for event_id in ids
                ]
                if any(is_suspect):
                    rows = table.filter(pa.array(is_suspect, pa.bool_())).to_pylist()
                    contents.add([*map(_content, rows)])
            return contents.count - contents.distinct()
        finally:
            contents.close()

    def _ids_of(self, table: Table) -> list[EventId | None]:
        name = self._names.sent("event_id", names_with_values(table))
        if name is None:
            return [None] * table.num_rows
        column = table[name]
        if pa.types.is_decimal(column.type):
            # Whole numbers that are too long for 64 bits.
            column = column.cast(pa.string())
        return only_ids(column.to_pylist())


def _content(row: dict[str, object]) -> int:
    # A field that is null in one table may be missing in another.
    return hash(repr({name: value for name, value in row.items() if value is not None}))


class _Hashes:
    """Hashes that stand for values, in a file beyond `IDS_HELD`.

    Two of 3 million values share a hash in 1 of 4 million hours.
    """

    def __init__(self) -> None:
        self.count = 0
        self._file = SpooledTemporaryFile(IDS_HELD * _HASH_BYTES)  # noqa: SIM115  # see `close`

    def close(self) -> None:
        self._file.close()

    def add(self, hashes: Sequence[int]) -> None:
        self.count += len(hashes)
        self._file.write(array("q", hashes).tobytes())

    def distinct(self) -> int:
        return sum(int(pc.count_distinct(group).as_py()) for group in self._groups())

    def shared(self) -> set[int] | None:
        """Return the hashes that occur more than once; None for more than `IDS_HELD`."""
        shared = set()
        for group in self._groups():
            if pc.count_distinct(group).as_py() == len(group):
                continue
            values, counts = pc.value_counts(group).flatten()
            shared.update(values.filter(pc.greater(counts, pa.scalar(1))).to_pylist())
            if len(shared) > IDS_HELD:
                return None
        return shared

    def _groups(self) -> Iterator["pa.ChunkedArray"]:
        """Yield the hashes in groups by their last bits, which equal hashes share."""
        groups = 1 << (self.count // IDS_HELD).bit_length()
        last_bits = int32s([groups - 1])[0]
        for group in range(groups):
            chunks = []
            self._file.seek(0)
            while block := self._file.read(_HASHES_READ * _HASH_BYTES):
                size = len(block) // _HASH_BYTES
                hashes = pa.Array.from_buffers(pa.int64(), size, [None, pa.py_buffer(block)])
                is_of_group = pc.equal(pc.bit_wise_and(hashes, last_bits), int32s([group])[0])
                chunks.append(hashes.filter(is_of_group))
            yield pa.chunked_array(chunks, pa.int64())
