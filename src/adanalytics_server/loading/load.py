"""Load a file of events: read and check everything, then store it in one step."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
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
    with (
        room_for(store.folder / "temporary files"),
        closing(source),
        closing(RecordSorter(most_bytes)) as sorter,
        closing(RecordSorter(most_bytes)) as identified,
    ):
        rows, not_taken, lacks_ids, hours = _read_into(sorter, path, source, normalizer, report)
        records = sorter
        if lacks_ids:
            for record in named(sorter):
                identified.add(record)
            records = identified
        # All rows are read and checked before the first is stored, so a bad file changes nothing.
        outcome = ingest(
            store,
            reporting(records, "storing", total=rows - not_taken, report=report),
            replace_hours=hours if replace_hours else (),
            names=normalizer.names,
        )
        return LoadReport(
            rows=rows,
            not_taken=not_taken,
            stored=outcome.stored,
            duplicates=outcome.duplicates,
            changed=outcome.changed,
            days=tuple(day_of_number(number) for number in sorted(outcome.days)),
            replaced_hours=outcome.replaced_hours,
            ignored_columns=normalizer.ignored(source.columns),
            times_without_zone=normalizer.times_without_zone,
        )


def _read_into(
    sorter: RecordSorter, path: Path, source: RowSource, normalizer: Normalizer, report: OnProgress
) -> tuple[int, int, bool, set[int]]:
    """Read all rows of a file into a sorter, and locate a bad one.

    Return the numbers of rows and of those not taken, whether one lacks an id, and the hours.
    """
    rows, not_taken, lacks_ids, hours = 0, 0, False, set[int]()
    line = None
    try:
        if source.has_header:
            normalizer.check_columns(source.columns)
        for line, values in source.rows():  # noqa: B007  # the error names the line
            rows += 1
            if rows % ROWS_BETWEEN_REPORTS == 0:
                report(Progress("reading", rows, source.fraction_read()))
            record = normalizer.record(values)
            if record is None:
                not_taken += 1
                continue
            hours.add(hour_of_time(record.time))
            lacks_ids |= not record.event_id
            sorter.add(record)
        if not source.has_header and rows:
            # Only after the last row is it certain that a required column is missing.
            line = None
            normalizer.check_columns(source.columns)
    except FieldError as error:
        raise LoadError(path, error.message, line, error.field) from error
    report(Progress("reading", rows, 1.0))
    return rows, not_taken, lacks_ids, hours


def reporting(
    records: Iterable[Record], stage: Stage, *, total: int, report: OnProgress, start: int = 0
) -> Iterator[Record]:
    """Pass records through and report progress; ``start`` of the ``total`` came before."""
    for number, record in enumerate(records, start=start + 1):
        if number % ROWS_BETWEEN_REPORTS == 0 or number == total:
            report(Progress(stage, number, number / total))
        yield record
