"""Pull exports: order them, download their files, and sort the events into hours.

An order is kept in the spool until its hours are committed. The files of a large export are sorted
in several processes; a task of another machine takes the same steps with one file, or a section.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

from adanalytics_client import errors
from adanalytics_client._base.clock import SystemClock
from adanalytics_client._base.observer import Observer
from adanalytics_client._base.quantities import counted
from adanalytics_client._base.urls import BaseUrl
from adanalytics_client._call.config import Config
from adanalytics_client._call.session import Connection, Session
from adanalytics_client._exports.download import Delivery
from adanalytics_client._exports.order import start_export
from adanalytics_client._exports.saved import SavedExport, read_saved
from adanalytics_client._exports.status import ONE_HOUR
from adanalytics_client._exports.transfer import FileRange, StoredFile
from adanalytics_client._io.http import given_up
from adanalytics_client._io.proxies import Proxies
from adanalytics_client._io.sync_driver import SyncDriver
from adanalytics_client._json.types import Types
from adanalytics_client._quota.store import open_store as open_quota
from adanalytics_client.dataset.hours.events import EventTables
from adanalytics_client.dataset.hours.files import join_pieces, write_hours
from adanalytics_client.dataset.hours.sections import Section
from adanalytics_client.dataset.planning import Query
from adanalytics_client.dataset.pull.spool import Spool, Start, folder_of
from adanalytics_client.dataset.pull.workers import WorkerPool
from adanalytics_client.dataset.records.manifest import FinishedHour, Identity
from adanalytics_client.dataset.storage.local import Store
from adanalytics_client.jobs import ExportJob

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
    """Orders exports and fetches their hours; large files are sorted by the processes of `pool`."""

    connection: Connection[SyncDriver]
    store: Store
    identity: Identity
    types: Types
    folder: Path
    now: Callable[[], datetime]
    pool: WorkerPool
    # Parquet needs no parsing, but the service documents only csv.
    _format: str = "parquet"

    def pull(self, spool: Spool) -> list[FinishedHour]:
        """Continue the export that an earlier run ordered, or order one."""
        try:
            if start := spool.start:
                saved = read_saved(start.job).check(self.connection.session.config)
                return self._take(start, ExportJob(saved, self.connection))
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
                # Only csv is documented: the fault may be that of another format.
                self._format = "csv"

    def order(self, spool: Spool) -> tuple[Start, ExportJob]:
        """Order an export in Parquet, or in csv once the service has refused Parquet."""
        at, query, form = self.now(), spool.query, self._format
        ordered = start_export(
            self.connection.session, query.first, query.last, file_format=form, compression=None
        )
        try:
            job = ExportJob(self.connection.driver.run(ordered), self.connection)
        except errors.InvalidRequest:
            if form == "csv":
                raise
            self._format = "csv"
            return self.order(spool)
        return spool.begin(at, job.to_json()), job

    def _take(self, start: Start, job: ExportJob) -> list[FinishedHour]:
        """Download the files of an export, and sort their events into hours."""
        query, parts = start.query, list[Sorted]()
        total, files = job.wait().row_count, files_of(job)
        folder = self.store.local(folder_of(query)) or self.folder
        for number, export in enumerate(files):
            path = folder / f"{query}-{number}.{job.order.format}"
            download(export, self.connection, path)
            parts += self._sort(start, path, total if len(files) == 1 else None)
        return join_parts(query, total, parts, self.store, self.folder, self.identity)

    def _sort(self, start: Start, file: Path, total: int | None) -> list[Sorted]:
        """Sort the events of a file into hours, in processes of their own if it is large."""
        most = min(self.pool.most, file.stat().st_size // SECTION_BYTES)
        if sections := Section.of_file(file, most):
            # A line break in quotes leads to either error, and the system may end a process.
            with suppress(errors.ProtocolError, BrokenExecutor):
                running = [
                    self.pool.submit(
                        sort, start, self.identity, self.types, file, self.folder, section
                    )
                    for section in sections
                ]
                parts = [future.result() for future in running]
                if total in (None, sum(rows for _, rows in parts)):
                    return parts
            if self.pool.closed:
                raise given_up()
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
    """
    tables = EventTables(identity.names, types)
    events = tables.from_file(file, section)
    return write_hours(start.query, tables, events, folder, identity, start.at)


def join_parts(
    query: Query,
    total: int | None,
    parts: Sequence[Sorted],
    store: Store,
    folder: Path,
    identity: Identity,
) -> list[FinishedHour]:
    """Return the hours of an export from all its parts.

    Raises:
        ProtocolError: when there are not `total` events, or events are repeated.
    """
    rows = sum(count for _, count in parts)
    if total not in (None, rows):
        raise errors.ProtocolError(
            f"The export of {query} has {counted(rows, 'event')}, not {total:,}."
        )
    pieces = zip(*(hours for hours, _ in parts), strict=True)
    hours = [join_pieces(each, store, folder, identity) for each in pieces]
    if repeated := sum(each.repeated for each in hours):
        raise errors.ProtocolError(
            f"The export of {query} holds {counted(repeated, 'event')} twice."
        )
    return hours


def files_of(job: ExportJob) -> list[SavedExport]:
    """Split an export of several files into one export per file."""
    saved = read_saved(job.to_json())
    if len(saved.status.files) == 1:
        return [saved]
    # The rows of one file among several are not stated.
    status = replace(saved.status, row_count=None)
    return [replace(saved, status=replace(status, files=(each,))) for each in saved.status.files]


def download(saved: SavedExport, connection: Connection[SyncDriver], path: Path) -> Path:
    if connection.session.config.credential is None:
        saved = _not_renewed(saved)
    # The hours are compared with the service by themselves.
    delivery = Delivery(
        connection.session, saved.order, saved.status, check="none", any_format=True
    )
    return connection.driver.run(delivery.run(path, timeout=ONE_HOUR))


def receive(
    into: BinaryIO,
    wanted: range,
    saved: SavedExport,
    connection: Connection[SyncDriver],
    known: StoredFile | None = None,
) -> StoredFile | None:
    """Receive a range of the bytes of a file; return the version that they are of."""
    saved, sink = _not_renewed(saved), FileRange(into, wanted, known)
    delivery = Delivery(connection.session, saved.order, saved.status)
    connection.driver.run(delivery.fetch_range(sink))
    return sink.known


def _not_renewed(saved: SavedExport) -> SavedExport:
    """Return an export for a connection without a credential, which could renew its address."""
    # Where the status was polled, that address has answered before, and not the file's.
    exists = saved.status.address_exists and saved.status.poll_url is None
    status = replace(saved.status, address_exists=exists, poll_url=None)
    return replace(saved, status=status)


def bare_connection(export: SavedExport) -> Connection[SyncDriver]:
    """Return a connection for downloads from signed addresses, without a credential."""
    base, clock = BaseUrl.parse(export.base_url), SystemClock()
    config = Config(base, credential=None, partner=export.partner)
    session = Session.open(
        config,
        store=open_quota("memory", config.quota_name, {}),
        observer=Observer(),
        clock=clock,
        others=Proxies.of_environment().secrets(),
    )
    redact = session.credentials.redact
    return Connection(session, SyncDriver(None, base, clock=clock, redact=redact))
