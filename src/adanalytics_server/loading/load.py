"""Load a file of events: read and check everything, then store it in one step."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Literal, NamedTuple

from adanalytics_server.storage.damage import room_for
from adanalytics_server.storage.days import day_of_number
from adanalytics_server.storage.events import Record
from adanalytics_server.storage.ingest import ingest
from adanalytics_server.storage.store import PartnerStore, hour_of_time

from .mapping import Mapping
from .records import FieldError, Normalizer, named
from .rows import GivenRows, LoadError, RowSource, open_rows
from .sorting import MOST_BYTES, RecordSorter

# Rows between two reports: about ten reports a second.
ROWS_BETWEEN_REPORTS = 5_000
Stage = Literal["reading", "storing", "generating"]


class Progress(NamedTuple):
    """The progress of loading or generating events.

    Attributes:
        stage: ``reading`` rows of a file, ``storing`` events, ``generating`` and storing them.
        rows: rows or events done in this stage.
        fraction: the done part of the stage, 0.0 to 1.0; by bytes if the rows are not counted.
    """

    stage: Stage
    rows: int
    fraction: float


OnProgress = Callable[[Progress], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadReport:
    """The result of loading a file.

    Attributes:
        rows: all rows of the file.
        not_taken: rows that a condition left out.
        stored: new events.
        duplicates: events whose id was already stored, or came twice in the file.
        changed: those of them that have other values than the stored event of their id.
        days: days with new events, in order.
        replaced_hours: hours whose old events were removed.
        ignored_columns: columns that set no field, in order.
        times_without_zone: timestamps without a zone, read as UTC.
    """

    rows: int
    not_taken: int
    stored: int
    duplicates: int
    changed: int
    days: tuple[date, ...]
    replaced_hours: int
    ignored_columns: tuple[str, ...]
    times_without_zone: int


def load_file(
    store: PartnerStore,
    file: Path | GivenRows,
    *,
    partner_id: str,
    currency: str,
    mapping: Mapping,
    replace_hours: bool = False,
    progress: OnProgress | None = None,
    most_bytes: int = MOST_BYTES,
) -> LoadReport:
    """Load a .csv, .jsonl, .ndjson (each also .gz) or .parquet file, or rows, whole or not at all.

    Loading the same rows again, in any order, adds nothing. The partner's files are locked only
    after every row has been checked. A row of another partner or in another currency is an error.

    With ``replace_hours``, the old events of every hour in the file are removed. ``progress`` is
    called every few thousand rows, and at the end of each stage. Rows are sorted in ``most_bytes``
    of memory; the rest goes to temporary files.

    Raises:
        LoadError: the file or one of its rows is bad; nothing was loaded.
        sqlite3.OperationalError: another load has locked the partner's files.
        DiskFull: the disk is full; nothing was loaded.
    """
    report = progress or (lambda _: None)
    normalizer = Normalizer(partner_id=partner_id, currency=currency, mapping=mapping)
    path, source = (file, open_rows(file)) if isinstance(file, Path) else (Path("events"), file)
    sorter, identified = RecordSorter(most_bytes), RecordSorter(most_bytes)
    with room_for(store.folder / "temporary files"), closing(source), sorter, identified:
        reader = _Reader(path, source, normalizer, mapping)
        reader.read_into(sorter, report)
        records = sorter
        if reader.lacks_ids:
            for record in named(sorter):
                identified.add(record)
            records = identified
        # All rows are read and checked before the first is stored, so a bad file changes nothing.
        row_count = reader.rows - reader.not_taken
        outcome = ingest(
            store,
            reporting(records, "storing", total=row_count, report=report),
            replace_hours=reader.hours if replace_hours else (),
            names=normalizer.names,
        )
        return LoadReport(
            rows=reader.rows,
            not_taken=reader.not_taken,
            stored=outcome.stored,
            duplicates=outcome.duplicates,
            changed=outcome.changed,
            days=tuple(day_of_number(number) for number in sorted(outcome.days)),
            replaced_hours=outcome.replaced_hours,
            ignored_columns=normalizer.ignored(source.columns),
            times_without_zone=normalizer.times_without_zone,
        )


@dataclass(slots=True)
class _Reader:
    """Reads all rows of a file into a sorter and locates a bad one; ``hours`` are since 1970.

    It ``lacks_ids`` if a row has none.
    """

    _path: Path
    _source: RowSource
    _normalizer: Normalizer
    _mapping: Mapping
    rows: int = 0
    not_taken: int = 0
    lacks_ids: bool = False
    hours: set[int] = field(default_factory=set)

    def read_into(self, sorter: RecordSorter, report: OnProgress) -> None:
        line = None
        try:
            if self._source.has_header:
                self._normalizer.check_columns(self._source.columns)
            for row in self._source.rows():
                line = row.line
                self.rows += 1
                if self.rows % ROWS_BETWEEN_REPORTS == 0:
                    report(Progress("reading", self.rows, self._source.fraction_read()))
                if self._mapping.takes(row.values):
                    record = self._normalizer.record(row.values)
                    self.hours.add(hour_of_time(record.time))
                    self.lacks_ids |= not record.event_id
                    sorter.add(record)
                else:
                    self.not_taken += 1
            if not self._source.has_header and self.rows:
                # Only after the last row is it certain that a required column is missing.
                line = None
                self._normalizer.check_columns(self._source.columns)
        except FieldError as error:
            raise LoadError(self._path, error.message, line, error.field) from error
        report(Progress("reading", self.rows, 1.0))


def reporting(
    records: Iterable[Record], stage: Stage, *, total: int, report: OnProgress, start: int = 0
) -> Iterator[Record]:
    """Pass records through and report progress; ``start`` of the ``total`` came before."""
    for number, record in enumerate(records, start=start + 1):
        if number % ROWS_BETWEEN_REPORTS == 0 or number == total:
            report(Progress(stage, number, number / total))
        yield record
