"""Read events from bulk exports: the driver plans, and tasks download the files.

A day is one export. Its files come from signed addresses, which cost no request of the quota and
need no credential, so executors have neither.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import DataSourceReader, InputPartition

from adanalytics_client._base.clock import SystemClock
from adanalytics_client._base.files import state_folder
from adanalytics_client._base.observer import Observer
from adanalytics_client._base.quantities import counted
from adanalytics_client._base.urls import BaseUrl
from adanalytics_client._call.config import Config
from adanalytics_client._call.retry import RetryPolicy
from adanalytics_client._call.session import Session
from adanalytics_client._exports.download import Delivery
from adanalytics_client._exports.saved import SavedExport, read_saved
from adanalytics_client._io.proxies import Proxies
from adanalytics_client._io.sync_driver import SyncDriver
from adanalytics_client._quota.store import open_store
from adanalytics_client.dataset.tables import HOUR_COLUMNS, EventTables, Table, hour_keys
from adanalytics_client.errors import (
    AdAnalyticsError,
    ConfigurationError,
    ExportExpired,
    ProtocolError,
)
from adanalytics_client.jobs import ExportJob
from adanalytics_client.spark.columns import SparkColumns
from adanalytics_client.spark.orders import FORMAT, Orders, WaitLog
from adanalytics_client.spark.scratch import scratch_folder
from adanalytics_client.spark.settings import Environment, Settings

_ORDER_ANEW = "Call load() again, which orders the export anew."


@dataclass(frozen=True)
class FileOfDay(InputPartition):
    """A file of a day's export, which is an export of this file only, with its signed address."""

    day: date
    export: SavedExport = field(repr=False)

    def __str__(self) -> str:
        return str(self.day)


class ExportReader(DataSourceReader):
    """Plans a read of days on the driver, and reads their files in tasks.

    It holds no credential. It takes no filters from Spark: up to 4.3, a filter of one query also
    limits the other queries of the same `load()` (docs/explanation/reasons.md).
    """

    def __init__(self, settings: Settings, columns: SparkColumns, environment: Environment) -> None:
        self._settings, self._columns, self._environment = settings, columns, environment

    def partitions(self) -> list[InputPartition]:
        """Order and await an export of each day that has data, and list their files.

        It costs a request for the days, and for each an order and the polls of its status. Orders
        of an earlier plan that failed are not repeated.

        Raises:
            ExportError: when an export fails, or is not done in time.
            AdAnalyticsError: when the service refuses.
        """
        settings, waits = self._settings, WaitLog()
        try:
            folder = state_folder(self._environment()) / "orders"
        except RuntimeError:
            # No home folder is known, as in some containers.
            folder = None
        with settings.client(self._environment, waits) as client:
            query = client.events(settings.start, settings.end, split="daily")
            days = [each.start for each in query.plan.only_days(client.dates()).slices]
            orders = Orders(client, waits, folder, timeout=settings.timeout)
            jobs = [*orders.jobs(days)]
        return [file for day, job in jobs for file in _files_of(day, job)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Download a file and yield its events; the disk must hold it, the memory a few blocks.

        Raises:
            ExportExpired: when its address has expired.
            DownloadError: when it does not arrive complete.
            ProtocolError: for a cell that its column cannot hold, and when events are missing.
        """
        # Spark makes an empty partition when there are none.
        if not isinstance(partition, FileOfDay):
            return
        try:
            yield from self._read(partition)
        except AdAnalyticsError as error:
            error.add_note(f"The task was reading {partition}.")
            if isinstance(error, ExportExpired):
                error.add_note(f"Spark keeps the addresses of a load(). {_ORDER_ANEW}")
            if isinstance(error, ConfigurationError):
                error.add_note(
                    "Executors download from signed addresses only. Sync the events of this "
                    "service, and read the dataset with Spark."
                )
            raise

    def _read(self, part: FileOfDay) -> Iterator[pa.RecordBatch]:
        stated, rows = part.export.status.row_count, 0
        hour = self._settings.hour
        needed = {*self._columns.schema.names, *(() if hour is None else HOUR_COLUMNS)}
        with scratch_folder() as folder:
            file = _download(self._settings, part, folder)
            for table in EventTables().from_csv(file, needed):
                rows += table.num_rows
                for batch in _of_hour(table, part.day, hour).to_batches():
                    yield self._columns.convert(batch)
        if stated not in (None, rows):
            raise ProtocolError(
                f"The export of {part.day} has {counted(rows, 'event')}, not {stated:,}. "
                f"{_ORDER_ANEW}"
            )


def _files_of(day: date, job: ExportJob) -> Iterator[FileOfDay]:
    saved = read_saved(job.to_json())
    status = saved.status
    # The rows of one file among several are not stated, and no task can renew its address.
    alone = replace(
        status,
        row_count=status.row_count if len(status.files) == 1 else None,
        # Where the status was polled, its address has answered before, and not the file's.
        address_exists=status.address_exists and status.poll_url is None,
        poll_url=None,
        order_is_idempotent=False,
        answer={},
    )
    for file in status.files:
        yield FileOfDay(day, replace(saved, status=replace(alone, files=(file,))))


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
        return driver.run(delivery.run(folder / f"{part.day}.{FORMAT}", timeout=settings.timeout))
    finally:
        driver.close()


def _of_hour(table: Table, day: date, hour: int | None) -> Table:
    if hour is None:
        return table
    keys = hour_keys(table)
    if keys is None:
        raise ProtocolError(
            f"Some events of {day} have no event_date and event_hour; read whole days."
        )
    return table.filter(pc.equal(keys, 24 * (day - date(1970, 1, 1)).days + hour))
