"""A bulk export under way, for the asynchronous world; the same names as in `jobs`."""

import os
from pathlib import Path

from adanalytics_client._async import AsyncDriver
from adanalytics_client._download import download
from adanalytics_client._export import ExportStatus
from adanalytics_client._exporting import ExportOrder, ask_again
from adanalytics_client._session import Session
from adanalytics_client._waiting import wait_for
from adanalytics_client.jobs import ONE_HOUR


class AsyncExportJob:
    """What `AsyncClient.start_export` gives: ask for its status, wait, download.

    Example:
        >>> job = await client.start_export("2026-01-01", "2026-01-31", format="csv")
        >>> (await job.wait(timeout=3600)).row_count
        150000
        >>> await job.download("jan.csv")
        PosixPath('jan.csv')
    """

    def __init__(
        self, order: ExportOrder, status: ExportStatus, session: Session, driver: AsyncDriver
    ) -> None:
        self._order = order
        self._status = status
        self._session = session
        self._driver = driver

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._status!r})"

    @property
    def export_id(self) -> str | None:
        """The service's id of the export, where it gave one."""
        return self._status.export_id

    @property
    def last_status(self) -> ExportStatus:
        """What was last learned; costs no request."""
        return self._status

    async def status(self) -> ExportStatus:
        """Ask the service once; free when the export is known to have ended.

        Raises:
            ExportExpired: when its files are no longer offered.
            AdAnalyticsError: when the service cannot be asked.
        """
        self._status = await self._driver.run(ask_again(self._session, self._order, self._status))
        return self._status

    async def wait(
        self,
        *,
        timeout: float = ONE_HOUR,  # noqa: ASYNC109 - the same name as in ExportJob
    ) -> ExportStatus:
        """Wait until the export is done.

        Args:
            timeout: seconds to wait at most.

        Raises:
            ExportFailed: with the service's reason.
            ExportExpired: when its files are no longer offered.
            ExportTimeout: when it is not done in time; waiting again goes on.
        """
        self._status = await self._driver.run(
            wait_for(self._session, self._order, self._status, timeout=timeout)
        )
        return self._status

    async def download(self, path: str | os.PathLike[str]) -> Path:
        """Fetch the exported file, after waiting for it if that was not done.

        What has arrived lies beside `path` with the suffix `.part`; a file that is already there is
        replaced only by a whole one. An export of several files needs an existing folder.

        Raises:
            ConfigurationError: when `path` cannot be a file, or is none of a folder for several.
            ExportError: when the export did not end well.
            DownloadError: when the file does not arrive whole.
        """
        status = await self.wait()
        return await self._driver.run(download(self._session, status, Path(path)))
