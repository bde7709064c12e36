"""What can go wrong with a bulk export and its download; the tree of errors is in `errors`."""

from adanalytics_client._error import AdAnalyticsError


class ExportError(AdAnalyticsError):
    """A bulk export did not yield a file.

    Attributes:
        export_id: the service's id of the export, where it gave one.
        status: the service's last status word.

    Example:
        >>> try:
        ...     path = client.export("2026-01-15", to="day.csv")
        ... except ExportError as error:
        ...     print(f"Export {error.export_id} is {error.status}.")
    """

    def __init__(
        self,
        message: str,
        *,
        export_id: str | None = None,
        status: str | None = None,
        request_id: str | None = None,
        attempts: int = 0,
        url: str | None = None,
    ) -> None:
        super().__init__(message, request_id=request_id, attempts=attempts, url=url)
        self.export_id = export_id
        self.status = status


class ExportFailed(ExportError):
    """The service says that the export failed; the message carries its reason.

    Example:
        >>> with reference_client(faults=["failed export always"]) as client:
        ...     client.export("2026-01-15", to="day.csv")
        Traceback (most recent call last):
        ExportFailed: The export failed: ...
    """


class ExportTimeout(ExportError):
    """The export was not done within the time given; waiting again goes on with it.

    Example:
        >>> try:
        ...     status = job.wait(timeout=600)
        ... except ExportTimeout:
        ...     Path("job.json").write_text(job.to_json())
    """


class ExportExpired(ExportError):
    """The exported file is no longer offered; start the export again.

    Example:
        >>> try:
        ...     path = job.download("day.csv")
        ... except ExportExpired:
        ...     path = client.export("2026-01-15", to="day.csv")
    """


class DownloadError(AdAnalyticsError):
    """A file did not arrive whole; an older file of the same name is untouched.

    Where the service failed after some of it had arrived, its error is the cause (`__cause__`).

    Attributes:
        part: where what has arrived is kept; the same download goes on from there. None when
            nothing of it can be used.

    Example:
        >>> try:
        ...     path = job.download("day.csv")
        ... except DownloadError as error:
        ...     path = job.download("day.csv") if error.part else None
    """

    def __init__(
        self,
        message: str,
        *,
        part: str | None = None,
        request_id: str | None = None,
        attempts: int = 0,
        url: str | None = None,
    ) -> None:
        super().__init__(message, request_id=request_id, attempts=attempts, url=url)
        self.part = part


class ChecksumMismatch(DownloadError):
    """A file arrived with the right length and other bytes than the service announced.

    Example:
        >>> str(ChecksumMismatch("day.csv has another checksum.", part=None, attempts=2))
        'day.csv has another checksum. (2 attempts)'
    """
