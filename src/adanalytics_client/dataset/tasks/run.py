"""Run a task: download its file, check it, and sort its events into hours that no reader sees.

A sync of one machine takes the same steps (`fetch`): it downloads with its own connection, and
sorts large files in several processes. `join_parts` puts the parts of an export together;
`staging` commits their hours.
"""

from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory, TemporaryFile
from typing import BinaryIO

from adanalytics_client._base.clock import SystemClock
from adanalytics_client._base.compression import GZIP_MAGIC
from adanalytics_client._base.observer import Observer
from adanalytics_client._base.quantities import counted
from adanalytics_client._base.urls import BaseUrl
from adanalytics_client._call.config import Config
from adanalytics_client._call.session import Connection, Session
from adanalytics_client._exports.download import Delivery
from adanalytics_client._exports.saved import SavedExport, read_saved
from adanalytics_client._exports.status import ONE_HOUR
from adanalytics_client._exports.transfer import FileRange, StoredFile
from adanalytics_client._io.proxies import Proxies
from adanalytics_client._io.sync_driver import SyncDriver
from adanalytics_client._quota.store import open_store as open_quota
from adanalytics_client._version import __version__
from adanalytics_client.dataset.hours.events import EventTables
from adanalytics_client.dataset.hours.files import join_pieces, write_hours
from adanalytics_client.dataset.hours.sort import HourUnknown
from adanalytics_client.dataset.planning import Query
from adanalytics_client.dataset.pull.spool import folder_of, read_start
from adanalytics_client.dataset.records.layout import PartFormat
from adanalytics_client.dataset.records.manifest import FinishedHour
from adanalytics_client.dataset.storage.local import Store, open_store
from adanalytics_client.dataset.tasks.sections import Section
from adanalytics_client.dataset.tasks.task import Part, Task
from adanalytics_client.errors import AdAnalyticsError, DatasetError, ProtocolError

TASK_BYTES = 64 * 1024 * 1024
"""The least bytes of a file that are worth a task of their own."""


def run_task(task: Task) -> Part:
    if task.version != __version__:
        raise DatasetError(
            f"The task was planned by adanalytics {task.version}; this machine has {__version__}.",
            remedy="Install the same version on every machine.",
        )
    store, kept = open_store(task.place), folder_of(task.start.query)
    start = read_start(store, kept)
    if start is None or replace(start, job="") != task.start:
        raise DatasetError(
            f"{task.place} does not have the plan of this task on this machine.",
            remedy="Give every machine the same storage under this name. If it has: another "
            "sync ended the plan, so plan again.",
        )
    name, export = f"{kept}/{token_hex(8)}", read_saved(task.export)
    # It fails without the right to write, before anything is downloaded.
    store.write(f"{name}/begun", b"\n", lasting=False)
    bare = bare_connection(export)
    with TemporaryDirectory(prefix="adanalytics-") as scratch, closing(bare.driver):
        # With the plan, what a killed task left is removed, too.
        folder = store.local(name) or Path(scratch)
        file = folder / "export"
        if (stored := task.stored) and task.section:

            def fetch(into: BinaryIO, wanted: range) -> None:
                _receive(FileRange(into, wanted, stored), export, bare)

            task.section.collect(file, stored.size, fetch)
        else:
            download(export, bare, file)
        try:
            part = sort(task, file, folder)
        except ProtocolError as error:
            if not task.section or isinstance(error, HourUnknown):
                raise
            # Perhaps it begins or ends inside a line, after a line break in quotes.
            part = Part(task.start, task.number, task.of, task.stated, 0, ())
        file.unlink()
        hours = list[FinishedHour]()
        for hour in part.hours:
            hidden = hour.file and f"{name}/{Path(hour.file).name}"
            if hour.file and hidden:
                store.move_in(hour.file, hidden)
            hours.append(replace(hour, file=hidden))
    return replace(part, hours=tuple(hours))


def download(saved: SavedExport, connection: Connection[SyncDriver], path: Path) -> Path:
    if connection.session.config.credential is None:
        saved = _not_renewed(saved)
    # The hours are compared with the service by themselves.
    delivery = Delivery(
        connection.session, saved.order, saved.status, check="none", any_format=True
    )
    return connection.driver.run(delivery.run(path, timeout=ONE_HOUR))


def _not_renewed(saved: SavedExport) -> SavedExport:
    """Return an export for a connection without a credential, which could renew its address."""
    # Where the status was polled, that address has answered before, and not the file's.
    exists = saved.status.address_exists and saved.status.poll_url is None
    status = replace(saved.status, address_exists=exists, poll_url=None)
    return replace(saved, status=status)


def divide(tasks: Sequence[Task]) -> list[Task]:
    """Divide each large file into several tasks, if the service can send ranges of the file."""
    pieces = [piece for task in tasks for piece in _sections_of(task)]
    return [replace(piece, number=number, of=len(pieces)) for number, piece in enumerate(pieces)]


def _sections_of(task: Task) -> list[Task]:
    # Without a stated number of events nothing tells that all sections arrived: a checksum is that
    # of the complete file. And gzip can be read from its beginning only.
    export = read_saved(task.export)
    size = export.status.files[0].size_bytes
    if task.stated is None or (size is not None and size < 2 * TASK_BYTES):
        return [task]
    # A problem with the file is for the task to report.
    with suppress(AdAnalyticsError), TemporaryFile() as file:
        bare = bare_connection(export)
        with closing(bare.driver):
            stored = _receive(FileRange(file, range(4)), export, bare)
        file.seek(0)
        if stored and not file.read().startswith(GZIP_MAGIC):
            sections = Section.of_size(stored.size, stored.size // TASK_BYTES)
            return [replace(task, section=each, stored=stored) for each in sections] or [task]
    return [task]


def _receive(
    wanted: FileRange, saved: SavedExport, connection: Connection[SyncDriver]
) -> StoredFile | None:
    saved = _not_renewed(saved)
    delivery = Delivery(connection.session, saved.order, saved.status)
    connection.driver.run(delivery.fetch_range(wanted))
    return wanted.known


def sort(task: Task, file: Path, folder: Path) -> Part:
    start, tables = task.start, EventTables().from_file(file, task.section)
    hours, rows = write_hours(start.query, tables, folder, task.identity, start.at)
    return Part(start, task.number, task.of, task.stated, rows, tuple(hours))


def join_parts(
    query: Query, parts: Sequence[Part], store: Store, folder: Path, form: PartFormat
) -> list[FinishedHour]:
    """Return the hours of an export from all its parts.

    Raises:
        ProtocolError: when parts or events are missing, or events are repeated.
    """
    if not parts or parts[0].of > len({part.number for part in parts}):
        raise ProtocolError(f"Some tasks of the export of {query} delivered no part.")
    stated, rows = parts[0].stated, sum(part.rows for part in parts)
    if stated is not None and stated != rows:
        raise ProtocolError(f"The export of {query} has {counted(rows, 'event')}, not {stated:,}.")
    pieces = zip(*(part.hours for part in parts), strict=True)
    hours = [join_pieces(each, store, folder, form) for each in pieces]
    if repeated := sum(each.repeated for each in hours):
        raise ProtocolError(f"The export of {query} holds {counted(repeated, 'event')} twice.")
    return hours


def files_of(saved: SavedExport) -> list[SavedExport]:
    """Split an export of several files into one export per file."""
    if len(saved.status.files) == 1:
        return [saved]
    # The rows of one file among several are not stated.
    status = replace(saved.status, row_count=None)
    return [replace(saved, status=replace(status, files=(each,))) for each in saved.status.files]


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
