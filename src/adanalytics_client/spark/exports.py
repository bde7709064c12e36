"""Read events from bulk exports: the driver orders them, and tasks download their files.

A day is one export. Its files come from signed addresses, which cost no request of the quota and
need no credential, so executors have neither.
"""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import InputPartition

from adanalytics_client._base.clock import SystemClock
from adanalytics_client._base.dates import Period
from adanalytics_client._base.observer import Observer
from adanalytics_client._base.quantities import counted
from adanalytics_client._base.urls import BaseUrl
from adanalytics_client._call.config import Config
from adanalytics_client._call.retry import RetryPolicy
from adanalytics_client._call.session import Session
from adanalytics_client._exports import Delivery, SavedExport, read_saved
from adanalytics_client._io import Proxies, SyncDriver
from adanalytics_client._quota import open_store
from adanalytics_client.dataset import Hour
from adanalytics_client.dataset.days import ServiceDays
from adanalytics_client.dataset.layout import hours_of
from adanalytics_client.dataset.tables import EventTables, Table, hour_keys
from adanalytics_client.errors import AdAnalyticsError, ProtocolError
from adanalytics_client.jobs import ExportJob
from adanalytics_client.spark.columns import Columns
from adanalytics_client.spark.kept_exports import ORDER_ANEW, KeptExports
from adanalytics_client.spark.settings import Environment, Settings

# The only format that the service documents.
_FORMAT = "csv"
_EVERY_HOUR = tuple(range(24))


@dataclass(frozen=True)
class FileOfDay(InputPartition):
    """A file of a day's export.

    Attributes:
        day: the day.
        export: the export with this file only; it holds the signed address.
        hours: the hours to read.
    """

    day: date
    export: SavedExport = field(repr=False)
    hours: tuple[int, ...]

    def __str__(self) -> str:
        return str(self.day)


def plan_exports(
    settings: Settings,
    environment: Environment,
    span: Period,
    is_wanted: Callable[[Hour], bool],
    batch: str,
) -> list[InputPartition]:
    """Order and await an export of each wanted day that has data, and list their files.

    It costs two requests, and for each day an order and the questions whether it is done. An export
    that an earlier read ordered serves again while the summary of its day is unchanged. Each batch
    of a stream orders its own, because nothing would read an event again that was missing.

    Raises:
        ExportError: when an export fails, or is not done in time.
        AdAnalyticsError: when the service refuses.
    """
    parts: list[InputPartition] = []
    with settings.client(environment) as client:
        kept, ordered = KeptExports(client, batch), []
        # All are ordered before the first is awaited, so that the service prepares them together.
        for state in ServiceDays(client.connection, span, ()).days.values():
            if hours := tuple(each.hour for each in hours_of(state.day) if is_wanted(each)):
                with _naming(state.day):
                    job = kept.find(state) or client.start_export(state.day, format=_FORMAT)
                ordered.append((state, job, hours))
        for state, job, hours in ordered:
            with _naming(state.day):
                job.wait(timeout=settings.timeout)
            kept.keep(state, job)
            parts += _files_of(job, hours)
        kept.remove_expired()
    return parts


def read_file(settings: Settings, columns: Columns, part: FileOfDay) -> Iterator[pa.RecordBatch]:
    """Download a file and read its events; the disk must hold it, the memory a few blocks.

    Raises:
        ExportExpired: when its address has expired.
        DownloadError: when it does not arrive complete.
        ProtocolError: for a cell that its column cannot hold, and when events are missing.
    """
    stated, rows = part.export.status.row_count, 0
    with TemporaryDirectory(prefix="adanalytics-") as folder:
        for table in EventTables().from_csv(_download(settings, part, Path(folder))):
            rows += table.num_rows
            for batch in _of_hours(table, part).to_batches():
                yield columns.convert(batch)
    if stated not in (None, rows):
        raise ProtocolError(
            f"The export of {part.day} has {counted(rows, 'event')}, not {stated:,}. {ORDER_ANEW}"
        )


@contextmanager
def _naming(day: date) -> Iterator[None]:
    try:
        yield
    except AdAnalyticsError as error:
        error.add_note(f"It concerns the export of {day}.")
        raise


def _files_of(job: ExportJob, hours: tuple[int, ...]) -> Iterator[FileOfDay]:
    saved = read_saved(job.to_json())
    status = saved.status
    # The rows of one file among several are not stated, and no task can renew its address.
    alone = replace(
        status,
        row_count=status.row_count if len(status.files) == 1 else None,
        poll_url=None,
        repeats=False,
        answer={},
    )
    for file in status.files:
        export = replace(saved, status=replace(alone, files=(file,)))
        yield FileOfDay(saved.order.start, export, hours)


def _download(settings: Settings, part: FileOfDay, folder: Path) -> Path:
    """Download a file with a client that has no credential."""
    export, clock = part.export, SystemClock()
    config = Config(
        base=BaseUrl.parse(export.base_url),
        credential=None,
        partner=export.partner,
        timeout=None,
        retry=RetryPolicy(),
        limit=None,
        reserve=0,
        on_limit=settings.on_limit,
        max_wait=settings.max_wait,
    )
    session = Session.open(
        config,
        store=open_store("memory", config.quota_name, {}),
        observer=Observer(),
        clock=clock,
        jitter=random.random,
        others=Proxies.of_environment().secrets(),
    )
    driver = SyncDriver(None, config.base, clock=clock, redact=session.credentials.redact)
    delivery = Delivery(session, export.order, export.status)
    try:
        return driver.run(delivery.run(folder / f"{part.day}.{_FORMAT}", timeout=settings.timeout))
    finally:
        driver.close()


def _of_hours(table: Table, part: FileOfDay) -> Table:
    if part.hours == _EVERY_HOUR:
        return table
    keys = hour_keys(table)
    if keys is None:
        raise ProtocolError(
            f"Some events of {part.day} have no event_date and event_hour; read whole days."
        )
    midnight = 24 * (part.day - date(1970, 1, 1)).days
    wanted = pa.array([midnight + hour for hour in part.hours], pa.int32())
    return table.filter(pc.is_in(keys, wanted))
