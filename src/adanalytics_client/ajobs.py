"""A bulk export under way, for the asynchronous world; the same names as in `jobs`."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, Self

from adanalytics_client._async import AsyncDriver
from adanalytics_client._download import Delivery
from adanalytics_client._export import ExportStatus
from adanalytics_client._exporting import ExportOrder, ask_again
from adanalytics_client._saved import SavedExport, read_saved
from adanalytics_client._session import Session
from adanalytics_client._waiting import ONE_HOUR, wait_for

if TYPE_CHECKING:
    from adanalytics_client.aclient import AsyncClient


class AsyncExportJob:
    """What `AsyncClient.start_export` gives: ask for its status, wait, download.

    Example:
        >>> job = await client.start_export("2026-01-01", "2026-01-31", format="csv")
        >>> (await job.wait(timeout=3600)).row_count
        600
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

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "A job is bound to a client and its credential; keep job.to_json() and go on with "
            "AsyncExportJob.from_json(client, text)."
        )

    @classmethod
    def from_json(cls, client: "AsyncClient", text: str) -> Self:
        """The job that `to_json` kept, also of another process; nothing is sent.

        Raises:
            ConfigurationError: for other text, or an export of another service or partner than the
                client's.

        Example:
            >>> kept = job.to_json()
            >>> AsyncExportJob.from_json(client, kept).export_id == job.export_id
            True
        """
        # Both are of one world; a user has no business with what a client is made of.
        session, driver = client._session, client._driver  # noqa: SLF001
        saved = read_saved(text).check(session.config)
        return cls(saved.order, saved.status, session, driver)

    def to_json(self) -> str:
        """The job as text, to go on with it elsewhere.

        It holds no credential, but maybe signed addresses: whoever has one can read the export
        until the address expires.

        Example:
            >>> with open("job.json", "w") as file:
            ...     written = file.write(job.to_json())
        """
        config = self._session.config
        saved = SavedExport(config.base.text, config.partner or "", self._order, self._status)
        return saved.to_json()

    @property
    def order(self) -> ExportOrder:
        """What the export holds."""
        return self._order

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

        Example:
            >>> (await job.wait(timeout=600)).done
            True
        """
        self._status = await self._driver.run(
            wait_for(self._session, self._order, self._status, timeout=timeout)
        )
        return self._status

    async def download(self, path: str | os.PathLike[str]) -> Path:
        """Fetch the exported file, after waiting for it if that was not done.

        What has arrived lies beside `path` with the suffix `.part`, and a download that broke off
        goes on from there, also in another run and for a job made anew by the same order; a file
        that is already there is replaced only by a whole one. An address that has expired is asked
        for anew. An export of several files needs an existing folder.

        Raises:
            ConfigurationError: when `path` cannot be a file, or is none of a folder for several.
            ExportError: when the export did not end well.
            DownloadError: when the file does not arrive whole; `part` tells what is kept of it.

        Example:
            >>> (await job.download("day.csv")).stat().st_size
            82412
        """
        delivery = Delivery(self._session, self._order, await self.wait())
        try:
            return await self._driver.run(delivery.run(Path(path)))
        finally:
            self._status = delivery.status
