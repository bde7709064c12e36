"""The files of a finished export, one by one, with or without a client."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, NamedTuple

from ._base.urls import BaseUrl
from ._call.config import Config
from ._call.session import Connection
from ._client_base import connect
from ._exports.download import ExportDownload
from ._exports.saved import SavedExport, read_saved
from ._exports.status import ONE_HOUR
from ._exports.transfer import FileRange, StoredFile
from ._io.sync_driver import SyncDriver
from .jobs import ExportJob

__all__ = ["ExportedFile", "StoredFile", "files_of", "open_signed"]


def files_of(job: ExportJob) -> list[SavedExport]:
    """Split an export of several files into one saved export per file."""
    saved = read_saved(job.to_json())
    if len(files := saved.status.files) == 1:
        return [saved]
    # The rows of one file among several are not stated.
    status = replace(saved.status, row_count=None)
    return [replace(saved, status=replace(status, files=(file,))) for file in files]


@contextmanager
def open_signed(text: str) -> Iterator["ExportedFile"]:
    """Open the text of one of `files_of`, whose address is signed, without a credential.

    Nothing renews the address; one that needs a credential is a ConfigurationError.
    """
    saved = read_saved(text)
    # Where the status was polled, that address has answered before, and not the file's.
    exists = saved.status.address_exists and saved.status.poll_url is None
    status = replace(saved.status, address_exists=exists, poll_url=None)
    config = Config(BaseUrl.parse(saved.base_url), credential=None, partner=saved.partner)
    connection = connect(SyncDriver, config)
    with closing(connection.driver):
        yield ExportedFile(replace(saved, status=status), connection)


class ExportedFile(NamedTuple):
    """A file of a finished export, and the connection to download it."""

    saved: SavedExport
    connection: Connection[SyncDriver]

    @property
    def size(self) -> int | None:
        """Return the announced size in bytes."""
        return self.saved.status.files[0].size_bytes

    def download(self, path: Path) -> Path:
        """Download the complete file, csv or parquet, whichever the service sends."""
        return self.connection.driver.run(self._export_download().run(path, timeout=ONE_HOUR))

    def receive(
        self, into: BinaryIO, bounds: range, file_version: StoredFile | None = None
    ) -> StoredFile | None:
        """Write a range of the file's bytes into the same place of another file.

        Returns:
            The version that the bytes are of; None if the service names none.

        Raises:
            DownloadError: when the service sends anything but the range of `file_version`.
        """
        sink = FileRange(into, bounds, file_version)
        self.connection.driver.run(self._export_download().fetch_range(sink))
        return sink.file_version

    def _export_download(self) -> ExportDownload:
        session, saved = self.connection.session, self.saved
        # Whoever takes single files compares their events by themselves.
        return ExportDownload(session, saved.order, saved.status, check="none", any_format=True)
