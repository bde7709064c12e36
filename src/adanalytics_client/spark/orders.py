"""Order the exports of a read and wait for them, on the driver.

An order that is not done yet is kept in a file, so that a plan that fails loses only the export
that failed: the next plan waits for the others and does not order them again. The files of a plan
that succeeds are removed, so that the next read orders the days as they are then.
"""

import hashlib
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import date
from pathlib import Path

from adanalytics_client._base.files import make_folder, replacing
from adanalytics_client._base.observer import Observer, WaitStarted
from adanalytics_client._base.quantities import in_minutes
from adanalytics_client._call.exchange import SILENT_WAIT
from adanalytics_client._exports.status import ONE_HOUR, ExportPhase
from adanalytics_client.client import Client
from adanalytics_client.errors import (
    AdAnalyticsError,
    ExportExpired,
    ExportFailed,
    InvalidRequest,
    NotFound,
    PermissionDenied,
    ProtocolError,
)
from adanalytics_client.jobs import ExportJob

FORMAT = "csv"
"""The only format that the service documents."""

_LOG = logging.getLogger("adanalytics_client")
# After these errors, waiting again for the same export would fail again.
_LOST = (ExportExpired, ExportFailed, InvalidRequest, NotFound, PermissionDenied, ProtocolError)


class WaitLog(Observer):
    """Logs the long waits for exports: the process that plans a read has no terminal.

    They are warnings, because Python prints those even if nobody set up its logging.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._day: date | None = None
        self._since = 0.0

    def begin(self, day: date) -> None:
        """Name the day of the waits that follow."""
        self._day, self._since = day, self._now()

    def wait(self, info: WaitStarted) -> None:
        """Log a wait, unless it is short or for the quota, which the client logs itself."""
        what, _, status = info.reason.partition(" ")
        if what == "export" and info.seconds > SILENT_WAIT:
            so_far = in_minutes(self._now() - self._since)
            _LOG.warning("Export of %s %s on the server, %s so far", self._day, status, so_far)


class Orders:
    """The exports of the days of a read; `folder` is for the files of orders, if there is one."""

    def __init__(
        self, client: Client, waits: WaitLog, folder: Path | None, *, timeout: float
    ) -> None:
        self._client, self._waits, self._timeout = client, waits, timeout
        self._folder = folder
        self._compression: str | None = "gzip"

    def jobs(self, days: list[date]) -> Iterator[tuple[date, ExportJob]]:
        """Order the days that no earlier plan has ordered, and yield each when it is done.

        Raises:
            AdAnalyticsError: naming its day; the other orders are kept for an hour beyond
                `timeout`.
        """
        ordered = []
        # Order all before waiting for the first: the service prepares them together.
        for day in days:
            with _naming(day):
                ordered.append((day, self._kept(day) or self._order(day)))
        for day, job in ordered:
            self._waits.begin(day)
            with _naming(day):
                try:
                    job.wait(timeout=self._timeout)
                except _LOST:
                    self._forget(day)
                    raise
            yield day, job
        for day in days:
            self._forget(day)

    def _order(self, day: date) -> ExportJob:
        try:
            job = self._client.start_export(day, format=FORMAT, compression=self._compression)
        except InvalidRequest:
            if self._compression is None:
                raise
            # The service documents no compression: one that refuses it is asked for none.
            self._compression = None
            return self._order(day)
        if job.last_status.phase is ExportPhase.WORKING:
            self._keep(day, job)
        return job

    def _path(self, day: date) -> Path:
        if self._folder is None:
            raise FileNotFoundError
        config = self._client.connection.session.config
        name = f"{config.base.text}\n{config.partner}\n{day}"
        digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
        return self._folder / f"{digest[:32]}.json"

    def _keep(self, day: date, job: ExportJob) -> None:
        # A plan does not fail for want of a place for its orders.
        with suppress(OSError):
            path = self._path(day)
            make_folder(path.parent, mode=0o700)
            with replacing(path, private=True) as file:
                file.write(job.to_json().encode())

    def _kept(self, day: date) -> ExportJob | None:
        with suppress(OSError, ValueError, AdAnalyticsError):
            path = self._path(day)
            if time.time() - path.stat().st_mtime < self._timeout + ONE_HOUR:
                return ExportJob.from_json(self._client, path.read_text("utf-8"))
        return None

    def _forget(self, day: date) -> None:
        with suppress(OSError):
            self._path(day).unlink(missing_ok=True)


@contextmanager
def _naming(day: date) -> Iterator[None]:
    try:
        yield
    except AdAnalyticsError as error:
        error.add_note(f"While exporting {day}.")
        raise
