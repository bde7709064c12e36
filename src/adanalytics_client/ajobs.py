"""A bulk export under way, for asyncio programs; the same names as in `jobs`."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Self

from adanalytics_client._base.choices import Check

from ._exports.download import ExportDownload
from ._exports.saved import SavedJob, read_saved
from ._exports.status import ONE_HOUR, ExportStatus
from ._exports.wait import ask_status, wait_for
from ._io.async_driver import AsyncDriver

if TYPE_CHECKING:
    from .aclient import AsyncClient


class AsyncExportJob(SavedJob[AsyncDriver]):
    """A bulk export from `AsyncClient.start_export`: get its status, wait for it, or download it.

    Examples:
        >>> job = await client.start_export("2026-01-01", "2026-01-31", format="csv")
        >>> (await job.wait(timeout=3600)).row_count
        600
        >>> await job.download("jan.csv")
        PosixPath('jan.csv')
    """

    @classmethod
    def from_json(cls, client: "AsyncClient", text: str) -> Self:
        """Like `ExportJob.from_json`, but for an `AsyncClient`."""
        connection = client.connection
        return cls(read_saved(text).check(connection.session.config), connection)

    async def status(self) -> ExportStatus:
        """Like `ExportJob.status`, but awaited."""
        connection = self._connection()
        return self._keep(
            await connection.driver.run(
                ask_status(connection.session, self.order, self.last_status)
            )
        )

    async def wait(
        self,
        *,
        timeout: float = ONE_HOUR,  # noqa: ASYNC109  # the same name as in ExportJob
    ) -> ExportStatus:
        """Like `ExportJob.wait`, but awaited."""
        connection = self._connection()
        order_and_status = self.order, self.last_status
        waiting = wait_for(connection.session, *order_and_status, timeout=timeout, keep=self._keep)
        return self._keep(await connection.driver.run(waiting))

    async def download(self, path: str | os.PathLike[str], *, check: Check = "auto") -> Path:
        """Like `ExportJob.download`, but awaited."""
        connection = self._connection()
        download = ExportDownload(connection.session, self.order, self.last_status, check)
        try:
            return await connection.driver.run(download.run(Path(path), timeout=ONE_HOUR))
        finally:
            self._keep(download.status)


AsyncExportJob.__module__ = "adanalytics_client"
