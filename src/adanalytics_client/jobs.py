"""A bulk export under way."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Self

from adanalytics_client._base.choices import Check

from ._exports.download import ExportDownload
from ._exports.saved import SavedJob, read_saved
from ._exports.status import ONE_HOUR, ExportStatus
from ._exports.wait import ask_status, wait_for
from ._io.sync_driver import SyncDriver

if TYPE_CHECKING:
    from .client import Client


class ExportJob(SavedJob[SyncDriver]):
    """A bulk export from `Client.start_export`: get its status, wait for it, or download it.

    Examples:
        >>> job = client.start_export("2026-01-01", "2026-01-31", format="csv")
        >>> job.wait(timeout=3600).row_count
        600
        >>> job.download("jan.csv")
        PosixPath('jan.csv')
    """

    @classmethod
    def from_json(cls, client: "Client", text: str) -> Self:
        """Return the job that `to_json` saved, possibly in another process; this sends no request.

        Raises:
            ConfigurationError: for text that is not from `to_json`, or for an export from a service
                or partner other than the client's.

        Examples:
            >>> kept = job.to_json()
            >>> ExportJob.from_json(client, kept).export_id == job.export_id
            True
        """
        connection = client.connection
        return cls(read_saved(text).check(connection.session.config), connection)

    def status(self) -> ExportStatus:
        """Ask the service for the status once, unless the export is known to have ended.

        Raises:
            ExportExpired: when the files of the export are no longer available.
            AdAnalyticsError: when the request fails.

        Examples:
            >>> job.status().phase.value
            'done'
        """
        connection = self._connection()
        return self._keep(
            connection.driver.run(ask_status(connection.session, self.order, self.last_status))
        )

    def wait(self, *, timeout: float = ONE_HOUR) -> ExportStatus:
        """Wait until the export is done.

        Args:
            timeout: the maximum wait in seconds, by default 3600.

        Raises:
            ExportFailed: when the export fails; the message contains the service's reason.
            ExportExpired: when the files of the export are no longer available.
            ExportTimeout: when the export is not done in time; call `wait` again to wait longer.
            ServerError, TransportError: if the service is still failing when the timeout expires.
            ProtocolError: when a response cannot be understood, or the last one names no file.

        Examples:
            >>> job.wait(timeout=600).done
            True
        """
        connection = self._connection()
        order_and_status = self.order, self.last_status
        waiting = wait_for(connection.session, *order_and_status, timeout=timeout, keep=self._keep)
        return self._keep(connection.driver.run(waiting))

    def download(self, path: str | os.PathLike[str], *, check: Check = "auto") -> Path:
        """Download the exported file, waiting for the export first if necessary.

        Received bytes are kept in a file beside `path`, with the suffix `.part`. An interrupted
        download continues from these bytes, even in another run or after the same export has been
        requested again. Only a complete file replaces an existing one. An expired download address
        is renewed. For an export of several files, `path` must be an existing folder.

        The files must have the format that was ordered, and as many events as were announced. These
        are also compared with the service's own count of the days, which takes one more request;
        `last_status` then has both numbers.

        Args:
            path: the file to write, or a folder for all files under their own names.
            check: `none` to leave out the request for the service's count. With `auto` and
                `always` it is sent last, and days that are not over may have more events by then.

        Raises:
            ConfigurationError: when `path` cannot be a file, when there are several files and
                `path` is not a folder.
            OSError: when `path` cannot be written; this is checked before any wait.
            ExportError: when the export fails, expires or is not done in time.
            DownloadError: when the file does not arrive complete, is not what was ordered, or has
                another number of events than the service states. The error's `part` is the file of
                received bytes, and its `__cause__` is the service's error, if any, such as a 503.
            StatusError, TransportError: when the service fails or refuses the request, and no bytes
                were kept.
            AuthenticationError, RequestLimitReached: when the credential is refused or the request
                limit is reached, even if bytes were kept; a later call continues from them.

        Examples:
            >>> job.download("day.csv").stat().st_size
            82412
        """
        connection = self._connection()
        download = ExportDownload(connection.session, self.order, self.last_status, check)
        try:
            return connection.driver.run(download.run(Path(path), timeout=ONE_HOUR))
        finally:
            self._keep(download.status)


ExportJob.__module__ = "adanalytics_client"
