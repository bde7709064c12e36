"""A bulk export under way."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Self

from adanalytics_client._export import ExportStatus
from adanalytics_client._export_order import ONE_HOUR
from adanalytics_client._kept_job import KeptJob
from adanalytics_client._saved import read_saved
from adanalytics_client._sync import SyncDriver

if TYPE_CHECKING:
    from adanalytics_client.client import Client


class ExportJob(KeptJob[SyncDriver]):
    """What `Client.start_export` gives: ask for its status, wait, download.

    Example:
        >>> job = client.start_export("2026-01-01", "2026-01-31", format="csv")
        >>> job.wait(timeout=3600).row_count
        600
        >>> job.download("jan.csv")
        PosixPath('jan.csv')
    """

    @classmethod
    def from_json(cls, client: "Client", text: str) -> Self:
        """The job that `to_json` kept, also of another process; nothing is sent.

        Raises:
            ConfigurationError: for other text, or an export of another service or partner than the
                client's.

        Example:
            >>> kept = job.to_json()
            >>> ExportJob.from_json(client, kept).export_id == job.export_id
            True
        """
        session, driver = client._session, client._driver  # noqa: SLF001  # made for its jobs, too
        return cls(read_saved(text).check(session.config), (session, driver))

    def status(self) -> ExportStatus:
        """Ask the service once; free when the export is known to have ended.

        Raises:
            ExportExpired: when its files are no longer offered.
            AdAnalyticsError: when the service cannot be asked.

        Example:
            >>> job.status().phase.value
            'done'
        """
        from adanalytics_client._exporting import ask_again

        session, driver = self._client()
        self._status = driver.run(ask_again(session, self._order, self._status))
        return self._status

    def wait(self, *, timeout: float = ONE_HOUR) -> ExportStatus:
        """Wait until the export is done.

        Args:
            timeout: seconds to wait at most.

        Raises:
            ExportFailed: with the service's reason.
            ExportExpired: when its files are no longer offered.
            ExportTimeout: when it is not done in time; waiting again goes on.
            ServerError, TransportError: when the service still fails at the end of that time.
            ProtocolError: when its answers make no sense, or name no file in the end.

        Example:
            >>> job.wait(timeout=600).done
            True
        """
        from adanalytics_client._waiting import wait_for

        session, driver = self._client()
        waiting = wait_for(session, self._order, self._status, timeout=timeout, heard=self._learn)
        self._status = driver.run(waiting)
        return self._status

    def download(self, path: str | os.PathLike[str]) -> Path:
        """Fetch the exported file, after waiting for it if that was not done.

        What has arrived lies beside `path` with the suffix `.part`, and a download that broke off
        goes on from there, also in another run and for a job made anew by the same order; a file
        that is already there is replaced only by a whole one. An address that has expired is asked
        for anew. An export of several files needs an existing folder.

        Raises:
            ConfigurationError: when `path` cannot be a file, or is none of a folder for several, or
                when these are more files than the process may have open.
            OSError: when `path` cannot be written; seen before it waits.
            ExportError: when the export did not end well.
            DownloadError: when the file does not arrive whole; `part` tells what is kept of it. Its
                cause is the service's error where there was one, such as a 503 in the middle.
            StatusError, TransportError: when the service fails or refuses and nothing is kept.
            AuthenticationError, QuotaExceeded, and RateLimited with `on_limit="raise"`: also when
                something is kept, which the same call goes on from.

        Example:
            >>> job.download("day.csv").stat().st_size
            82412
        """
        from adanalytics_client._download import Delivery

        session, driver = self._client()
        delivery = Delivery(session, self._order, self._status)
        try:
            return driver.run(delivery.run(Path(path), timeout=ONE_HOUR))
        finally:
            self._status = delivery.status
