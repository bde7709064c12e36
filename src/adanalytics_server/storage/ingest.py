"""Store sorted records in a partner's files: idempotent, atomic, in order, with rollups.

Bodies go to the files of the months first. They stay invisible there until the ledger's
transaction, with the counts, ids and rollups, commits as the last step. A process killed in between
leaves rows that nothing refers to; the next load of that hour removes them.
"""

import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby, islice

from .chunks import append_rows, remove_rows, split_pieces
from .damage import DamagedFile
from .events import Record, decode_event, record_of
from .pages import HourReplaced, Span, read_in_parts
from .rollups import Rollups
from .store import PartnerStore, first_key, hour_of_time, month_of_hour

# Records held in memory at a time.
BATCH = 5_000


@dataclass(slots=True)
class Ingested:
    """The result of a load: rows stored, rows skipped for their known id, days touched.

    ``changed`` counts the skipped rows with other values than the event of that id has.
    """

    stored: int = 0
    duplicates: int = 0
    changed: int = 0
    replaced_hours: int = 0
    days: set[int] = field(default_factory=set)


def ingest(
    store: PartnerStore,
    records: Iterable[Record],
    *,
    replace_hours: Collection[int] = (),
    names: Mapping[tuple[int, int], str] | None = None,
) -> Ingested:
    """Store records, sorted by ``(time, event_id)``, in one atomic step.

    At most ``BATCH`` records of an hour are held at once. The hours of ``replace_hours`` (since
    1970) are emptied first, so that an event may move from one to another. ``names`` has the name
    of each ``(dimension, id)``.

    Raises:
        sqlite3.OperationalError: another load has locked the partner's files.
        DiskFull: the disk is full; nothing was stored.
        DamagedFile: a file is unreadable, or an hour to replace has lost rows.
    """
    outcome = Ingested()
    with store.writing("ledger") as ledger:
        ledger.execute("UPDATE revision SET number = number + 1")
        (revision,) = ledger.execute("SELECT number FROM revision").fetchone()
        rollups = Rollups()
        old_spans = {
            hour: _forget(store, ledger, rollups, hour) for hour in sorted(set(replace_hours))
        }
        outcome.replaced_hours = sum(1 for span in old_spans.values() if span.n)
        by_month = groupby(records, key=lambda record: month_of_hour(hour_of_time(record.time)))
        for month, month_records in by_month:
            with store.writing(month) as chunks:
                writer = _MonthWriter(store, ledger, chunks, rollups, outcome, revision)
                for hour, hour_records in groupby(
                    month_records, key=lambda record: hour_of_time(record.time)
                ):
                    writer.write(hour, hour_records, old_span=old_spans.get(hour))
        rollups.write(ledger)
        # The newest name of an id wins.
        rows = [(dimension, number, name) for (dimension, number), name in (names or {}).items()]
        ledger.executemany("INSERT OR REPLACE INTO names VALUES (?, ?, ?)", rows)
    _remove_replaced(store, old_spans.values())
    return outcome


# The rows of an hour in the file of its month, by sequence number. Readers see the rows in
# brackets, which the ledger counts:
#
#   before a load                             [1 2 3]
#   rows added, the month committed           [1 2 3] 4 5
#   appended: the ledger committed            [1 2 3 4 5]
#   or replaced: the ledger committed          1 2 3 [4 5]
#   the replaced rows removed                        [4 5]
#
# A killed load leaves rows outside the brackets; the next load of the hour removes them.
@dataclass
class _MonthWriter:
    """Writes the hours of one month inside the caller's transactions."""

    _store: PartnerStore
    _ledger: sqlite3.Connection
    _chunks: sqlite3.Connection
    _rollups: Rollups
    _outcome: Ingested
    _revision: int

    def write(self, hour: int, records: Iterator[Record], *, old_span: Span | None) -> None:
        """Append the records of an hour to its rows, or store them in place of ``old_span``."""
        span = old_span or _visible(self._ledger, hour)
        self._remove_unseen(span)
        first = span.end if old_span else span.first
        end = span.end
        # Hashes, as an hour may have more rows than memory holds. Equal rows are adjacent.
        changed_hashes, last = set(), 0
        while batch := list(islice(records, BATCH)):
            additions = self._without_known(batch)
            if len(additions) < len(batch):
                self._outcome.duplicates += len(batch) - len(additions)
                stored_hashes = {last, *(hash(record.body) for record in additions)}
                changed_hashes |= {hash(record.body) for record in batch} - stored_hashes
            last = hash(batch[-1].body)
            rows = [record.body for record in additions]
            append_rows(self._chunks, first_key(hour, first), first_key(hour, end), rows)
            self._rollups.add(hour // 24, additions)
            end += len(additions)
        if changed_hashes and not old_span:
            for bodies in _bodies_of(self._store, span):
                changed_hashes.difference_update(map(hash, bodies))
        self._outcome.changed += len(changed_hashes)
        if end == span.end:
            return
        self._outcome.stored += end - span.end
        self._outcome.days.add(hour // 24)
        self._ledger.execute(
            "INSERT OR REPLACE INTO hours VALUES (?, ?, ?, ?)",
            (hour, first, end - first, self._revision),
        )

    def _remove_unseen(self, span: Span) -> None:
        """Remove rows that a killed load or an unfinished replacement left behind."""
        remove_rows(self._chunks, first_key(span.hour, 0), first_key(span.hour, span.first))
        remove_rows(self._chunks, first_key(span.hour, span.end), first_key(span.hour + 1, 0))

    def _without_known(self, batch: list[Record]) -> list[Record]:
        """Store the ids of a batch and return the records whose id is new."""
        add = "INSERT OR IGNORE INTO event_ids VALUES (?)"
        return [
            record for record in batch if self._ledger.execute(add, (record.event_id,)).rowcount
        ]


def _visible(ledger: sqlite3.Connection, hour: int) -> Span:
    row = ledger.execute("SELECT first, n FROM hours WHERE hour = ?", (hour,)).fetchone()
    return Span(hour, *(row or (0, 0)))


def _forget(store: PartnerStore, ledger: sqlite3.Connection, rollups: Rollups, hour: int) -> Span:
    """Take an hour out of the ledger and return it; its bodies stay for current readers."""
    span = _visible(ledger, hour)
    if not span.n:
        return span
    for bodies in _bodies_of(store, span):
        # Neither ids nor rollups need the time.
        records = [record_of(decode_event(body), body, time=0) for body in bodies]
        ledger.executemany(
            "DELETE FROM event_ids WHERE event_id = ?", [(record.event_id,) for record in records]
        )
        rollups.add(hour // 24, records, sign=-1)
    ledger.execute(
        "UPDATE hours SET first = first + n, n = 0, revision = (SELECT number FROM revision)"
        " WHERE hour = ?",
        (hour,),
    )
    return span


def _bodies_of(store: PartnerStore, span: Span) -> Iterator[list[bytes]]:
    try:
        for pieces in read_in_parts(store, [span], rows=BATCH):
            yield split_pieces(pieces)
    except HourReplaced as error:
        # No other process can have replaced them: the ledger is locked.
        path = store.folder / f"{month_of_hour(span.hour)}.db"
        raise DamagedFile(path, "rows of an hour are missing") from error


def _remove_replaced(store: PartnerStore, old_spans: Iterable[Span]) -> None:
    """Delete replaced rows, which no new reader can find."""
    obsolete = [span for span in old_spans if span.n]
    for month, spans in groupby(obsolete, key=lambda span: month_of_hour(span.hour)):
        # The ledger is locked first everywhere, so no two writers wait for each other.
        with store.writing("ledger"), store.writing(month) as chunks:
            for hour, first, n in spans:
                remove_rows(chunks, first_key(hour, first), first_key(hour, first + n))
