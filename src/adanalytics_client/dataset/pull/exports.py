"""Pull exports: order them, download their files, and sort the events into hours.

An order is kept in the spool until its hours are committed. Large files are sorted in processes of
their own; a task of another machine takes the same steps with one file, or a section.
"""

from collections.abc import Callable, Collection, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from adanalytics_client import ExportJob, errors
from adanalytics_client._base.logs import LOG
from adanalytics_client._base.quantities import counted
from adanalytics_client._export_files import ExportedFile, files_of
from adanalytics_client._json.types import Types
from adanalytics_client._view import View
from adanalytics_client.dataset.hours.events import EventTables, columns_in
from adanalytics_client.dataset.hours.files import join_pieces, write_hours
from adanalytics_client.dataset.hours.sections import Section, beginning_of
from adanalytics_client.dataset.planning import PullQuery
from adanalytics_client.dataset.records.manifest import FinishedHour, Identity
from adanalytics_client.dataset.storage.local import Store, write_errors

from .spool import Spool, Start, folder_of
from .workers import WorkerPool

SECTION_BYTES = 8 * 1024 * 1024
"""The least bytes of a file that are worth a process of their own."""

Sorted = tuple[Sequence[FinishedHour], int]
"""The hours of a file or of a section, and the number of its events."""

OF_AN_EXPORT = (errors.DownloadError, errors.ExportError, errors.ProtocolError)
REFUSED = (errors.InvalidRequest, errors.NotFound, errors.PermissionDenied)
# After these errors, another try with the same order would always fail.
_ORDER_LOST = (*OF_AN_EXPORT, *REFUSED, errors.ConfigurationError)


@dataclass
class ExportFetcher:
    """Orders exports and fetches their hours.

    Unfinished files are in `folder`. Large export files are sorted into hours by up to `workers`
    processes. `types` are the columns that the dataset has so far. A file without one of the
    `columns` is refused.
    """

    client: View
    store: Store
    identity: Identity
    types: Types
    folder: Path
    now: Callable[[], datetime]
    workers: int = 1
    columns: Collection[str] = ()

    def __post_init__(self) -> None:
        self._pool = WorkerPool(self.workers)
        # Parquet needs no parsing, but the service documents only csv.
        self._format = "parquet"

    def close(self) -> None:
        self._pool.close()

    def pull_export(self, spool: Spool) -> list[FinishedHour]:
        """Continue the export that an earlier run ordered, or order one."""
        try:
            if start := spool.start:
                return self._take(start, ExportJob.from_json(self.client, start.job))
        except _ORDER_LOST as error:
            # An export that is not done in a second run may never be.
            if isinstance(error, errors.DownloadError) and error.part:
                raise
        while True:
            start, job = self.order(spool)
            try:
                return self._take(start, job)
            except errors.ExportTimeout:
                raise
            except _ORDER_LOST as error:
                if isinstance(error, errors.DownloadError) and error.part:
                    raise
                spool.clear()
                if job.order.format == "csv":
                    raise
                # Only csv is documented: the fault may be that of another format. Later exports of
                # this run are ordered in csv, too.
                self._format = "csv"

    def order(self, spool: Spool) -> tuple[Start, ExportJob]:
        """Order an export in Parquet, or in csv once the service has refused Parquet."""
        at, query, form = self.now(), spool.query, self._format
        try:
            job = self.client.start_export(query.first, query.last, format=form)
        except errors.InvalidRequest:
            if form == "csv":
                raise
            self._format = "csv"
            return self.order(spool)
        return spool.begin(at, job.to_json()), job

    def _take(self, start: Start, job: ExportJob) -> list[FinishedHour]:
        """Download the files of an export, and sort their events into hours."""
        query, parts, columns = start.query, list[Sorted](), set[str]()
        total, files = job.wait().row_count, files_of(job)
        folder = self.store.local(folder_of(query)) or self.folder
        for number, saved in enumerate(files):
            path = folder / f"{query}-{number}.{job.order.format}"
            with write_errors(str(folder)):
                ExportedFile(saved, self.client.connection).download(path)
            # The stated number is that of the whole export.
            pieces = self._sort(start, path, total if len(files) == 1 else None)
            names = columns_in(path)
            missing = [name for name in self.columns if name not in names]
            # Nulls instead of what only pages have would look like values of the service.
            if missing and any(rows for _, rows in pieces):
                lacking = ", ".join(missing[:3])
                raise errors.ProtocolError(
                    f"The export of {query} has no {lacking}, as events on pages have.",
                    remedy="Pull pages.",
                )
            parts += pieces
            columns.update(names)
        hours = join_parts(query, total, parts, self.store, self.folder, self.identity)
        if missing := [name for name in self.types if name not in columns]:
            text = "The export of %s has no %s, as earlier events have."
            LOG.warning(text, query, ", ".join(missing))
        return hours

    def _sort(self, start: Start, file: Path, total: int | None) -> list[Sorted]:
        """Sort the events of a file into hours, in processes of their own if it is large."""
        size = file.stat().st_size
        count = min(self._pool.most, size // SECTION_BYTES)
        if count > 1:
            # Also a whole file, so that two queries at a time use two cores.
            sections: Sequence[Section | None]
            sections = Section.divide(beginning_of(file), size, count) or [None]
            # A line break in quotes leads to either error, and the system may end a process.
            with suppress(errors.ProtocolError, BrokenExecutor):
                running = [
                    self._pool.submit(
                        sort, start, self.identity, self.types, file, self.folder, section
                    )
                    for section in sections
                ]
                parts = [future.result() for future in running]
                if total in (None, sum(rows for _, rows in parts)):
                    return parts
            if self._pool.closed:
                raise errors.TransportError("The sync was stopped.")
        return [sort(start, self.identity, self.types, file, self.folder)]


def sort(
    start: Start,
    identity: Identity,
    types: Types,
    file: Path,
    folder: Path,
    section: Section | None = None,
) -> Sorted:
    """Sort the events of an export's file, or of a section of it, into the hours of its query.

    `types` are the columns that the dataset has so far.

    Raises:
        ProtocolError: for a file that cannot be read.
    """
    tables = EventTables(identity.names, types)
    events = tables.from_file(file, section)
    return write_hours(start.query, tables, events, folder, identity, start.at)


def join_parts(
    query: PullQuery,
    total: int | None,
    parts: Sequence[Sorted],
    store: Store,
    folder: Path,
    identity: Identity,
) -> list[FinishedHour]:
    """Return the hours of an export from all its parts.

    Raises:
        ProtocolError: when there are not `total` events, or events are repeated: the service may
            store them twice, or have lost others while it wrote the file.
    """
    rows = sum(count for _, count in parts)
    if total not in (None, rows):
        raise errors.ProtocolError(
            f"The export of {query} has {counted(rows, 'event')}, not {total:,}."
        )
    # Each part has all hours of the query, so the pieces of an hour stand at one place.
    pieces = zip(*(hours for hours, _ in parts), strict=True)
    hours = [join_pieces(group, store, folder, identity) for group in pieces]
    if repeated := sum(hour.record.repeated for hour in hours):
        raise errors.ProtocolError(
            f"The export of {query} holds {counted(repeated, 'event')} twice.",
            remedy="Pull pages.",
        )
    return hours
