"""A bulk export under way."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Self

from adanalytics_client._exports import (
    ONE_HOUR,
    Delivery,
    ExportStatus,
    SavedJob,
    ask_status,
    read_saved,
    wait_for,
)
from adanalytics_client._io import SyncDriver

if TYPE_CHECKING:
    from adanalytics_client.client import Client


class ExportJob(SavedJob[SyncDriver]):
    """An ordered export, as `Client.start_export` gives it: ask for its status, wait, download.

    Examples:
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

        Examples:
            >>> kept = job.to_json()
            >>> ExportJob.from_json(client, kept).export_id == job.export_id
            True
        """
        session, driver = client._session, client._driver  # noqa: SLF001  # the client's own jobs
        return cls(read_saved(text).check(session.config), (session, driver))

    def status(self) -> ExportStatus:
        """Ask the service once; free when the export is known to have ended.

        Raises:
            ExportExpired: when its files are no longer offered.
            AdAnalyticsError: when the service cannot be asked.

        Examples:
            >>> job.status().phase.value
            'done'
        """
        session, driver = self._client()
        return self._keep(driver.run(ask_status(session, self.order, self.last_status)))

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

        Examples:
            >>> job.wait(timeout=600).done
            True
        """
        session, driver = self._client()
        asked = self.order, self.last_status
        waiting = wait_for(session, *asked, timeout=timeout, keep=self._keep)
        return self._keep(driver.run(waiting))

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

        Examples:
            >>> job.download("day.csv").stat().st_size
            82412
        """
        session, driver = self._client()
        delivery = Delivery(session, self.order, self.last_status)
        try:
            return driver.run(delivery.run(Path(path), timeout=ONE_HOUR))
        finally:
            self._keep(delivery.status)
