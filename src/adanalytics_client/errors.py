"""Every error the client raises, as plain data that pickles and says what to do.

```
AdAnalyticsError
├── ConfigurationError          an argument or setting is wrong; nothing was sent
├── TransportError              no response arrived
│   └── RequestTimeout
├── StatusError                 the service answered with an error status
│   ├── InvalidRequest          400, 413, 415, 422 and other 4xx
│   ├── AuthenticationError     401
│   ├── PermissionDenied        403
│   ├── NotFound                404, 405, 410
│   ├── RateLimited             429, or 403 with Retry-After
│   └── ServerError             5xx
├── ProtocolError               a response arrived but is not as promised
├── QuotaExceeded               no request may be sent now, and waiting is not allowed
├── ExportError
│   ├── ExportFailed
│   ├── ExportTimeout
│   └── ExportExpired
├── DownloadError               a file did not arrive complete
│   └── ChecksumMismatch
└── DatasetError                a dataset cannot be read or written
    ├── DatasetDamaged          its own records are not as written
    ├── DatasetInUse            another process works on it
    └── UnsuitablePlace         a place that cannot hold a dataset
```
"""

from datetime import datetime


class AdAnalyticsError(Exception):
    """The base of every error here; catch it to catch them all.

    Attributes:
        message: what happened and what to do.
        request_id: the `X-Request-Id` of the last response, for the service's support.
        attempts: how many times the request was sent; 0 when nothing was.
        url: the address asked, without the values of a signed query.

    Examples:
        >>> str(AdAnalyticsError("It broke.", request_id="r-1", attempts=2))
        'It broke. (request id r-1, 2 attempts)'
    """

    def __init__(
        self,
        message: str,
        *,
        request_id: str | None = None,
        attempts: int = 0,
        url: str | None = None,
    ) -> None:
        # Half a surrogate pair, which JSON may hold, would keep the error from being printed.
        self.message: str = message.encode("utf-8", "backslashreplace").decode()
        super().__init__(self.message)
        self.request_id = request_id
        self.attempts = attempts
        self.url = url

    def __str__(self) -> str:
        facts = [
            f"request id {self.request_id}" if self.request_id else "",
            f"{self.attempts} attempts" if self.attempts > 1 else "",
            self.url or "",
        ]
        details = ", ".join(fact for fact in facts if fact)
        return f"{self.message} ({details})" if details else self.message


__all__ = [
    "AdAnalyticsError",
    "AuthenticationError",
    "ChecksumMismatch",
    "ConfigurationError",
    "DatasetDamaged",
    "DatasetError",
    "DatasetInUse",
    "DownloadError",
    "ExportError",
    "ExportExpired",
    "ExportFailed",
    "ExportTimeout",
    "InvalidRequest",
    "NotFound",
    "PermissionDenied",
    "ProtocolError",
    "QuotaExceeded",
    "RateLimited",
    "RequestTimeout",
    "ServerError",
    "StatusError",
    "TransportError",
    "UnsuitablePlace",
]


class ConfigurationError(AdAnalyticsError):
    """An argument, setting or environment variable is missing or wrong; nothing was sent.

    Examples:
        >>> client.events("2026-01-32")
        Traceback (most recent call last):
        ConfigurationError: start: '2026-01-32' is not in the calendar. Write YYYY-MM-DD, ...
    """


class TransportError(AdAnalyticsError):
    """No complete response arrived: refused, reset, cut short, or the name did not resolve.

    Examples:
        >>> once = RetryPolicy(attempts=1)
        >>> Client("http://127.0.0.1:9", api_key="...", partner="acme", retry=once).dates()
        Traceback (most recent call last):
        TransportError: The client could not connect to 127.0.0.1:9: Connection refused. ...
    """


class RequestTimeout(TransportError):
    """No byte arrived within `timeout` seconds, or the retry budget ran out waiting.

    Examples:
        >>> try:
        ...     summary = client.summary("2025-01-01", "2026-12-31")
        ... except RequestTimeout:
        ...     summary = client.summary("2026-01-01", "2026-12-31")
    """


class StatusError(AdAnalyticsError):
    """The service answered with an error status.

    Attributes:
        status: the HTTP status code.
        reason: the service's own words, shortened and with credentials removed.

    Examples:
        >>> try:
        ...     Client("https://stats.example", api_key="...", partner="nobody").dates()
        ... except StatusError as error:
        ...     error.status, error.reason, error.attempts
        (404, 'Not Found', 1)
    """

    def __init__(
        self,
        message: str,
        *,
        status: int = 0,
        reason: str = "",
        request_id: str | None = None,
        attempts: int = 0,
        url: str | None = None,
    ) -> None:
        super().__init__(message, request_id=request_id, attempts=attempts, url=url)
        self.status = status
        self.reason = reason


class InvalidRequest(StatusError):
    """The service refused a parameter; sending the same again will not help.

    Examples:
        >>> client.start_export("2026-01-15", format="xlsx")
        Traceback (most recent call last):
        InvalidRequest: The service refused the request (400: Bad Request; format should be ...
    """


class AuthenticationError(StatusError):
    """The key, token or login is invalid or expired.

    Examples:
        >>> Client("https://stats.example", api_key="deleted", partner="acme").dates()
        Traceback (most recent call last):
        AuthenticationError: The credential was refused (401: Unauthorized). ...
    """


class PermissionDenied(StatusError):
    """The credential is valid but may not read this partner.

    Examples:
        >>> with suppress(PermissionDenied):  # and go on with the partners that may be read
        ...     written = client.events("2026-01-15").write("acme.jsonl")
    """


class NotFound(StatusError):
    """The partner or the path does not exist on this service.

    Examples:
        >>> Client("https://stats.example/v9", api_key="...", partner="acme").dates()
        Traceback (most recent call last):
        NotFound: Not found (404). Check the partner and base_url. ...
    """


class RateLimited(StatusError):
    """The service asked to slow down and the wait is longer than allowed.

    Attributes:
        retry_after: seconds the service asked to wait, or None when it did not say.

    Examples:
        >>> try:
        ...     days = client.dates()
        ... except RateLimited as error:
        ...     print(f"Try again in {error.retry_after or 3600:.0f} s.")
    """

    def __init__(
        self,
        message: str,
        *,
        retry_after: float | None = None,
        status: int = 0,
        reason: str = "",
        request_id: str | None = None,
        attempts: int = 0,
        url: str | None = None,
    ) -> None:
        super().__init__(
            message, status=status, reason=reason, request_id=request_id, attempts=attempts, url=url
        )
        self.retry_after = retry_after


class ServerError(StatusError):
    """The service failed, and still did after the retries.

    Examples:
        >>> with reference_client(faults=["503 always"], clock=MovableClock()) as client:
        ...     client.dates()
        Traceback (most recent call last):
        ServerError: The service failed (503: ...). Try later. (request id ..., 5 attempts, ...
    """


class ProtocolError(AdAnalyticsError):
    """A complete response arrived but is not as promised, for example without rows.

    Attributes:
        unreadable: whether it was not JSON at all, such as a proxy's page; a later try may help.

    Examples:
        >>> next(client.events("2026-01-15", rows_key="logs").rows())
        Traceback (most recent call last):
        ProtocolError: No list of objects is named 'logs'; name it with rows_key=, such as ...
    """

    unreadable = False


class QuotaExceeded(AdAnalyticsError):
    """No request may be sent for now, and waiting is not allowed.

    The hour's requests are used up, or the service asked to slow down.

    Attributes:
        resumes_at: when the next request may be sent, in UTC.

    Examples:
        >>> try:
        ...     written = client.events("2026-01-15").write("day.jsonl")
        ... except QuotaExceeded as error:
        ...     print(f"Go on at {error.resumes_at:%H:%M} UTC.")
    """

    def __init__(
        self,
        message: str,
        *,
        resumes_at: datetime | None = None,
        request_id: str | None = None,
        attempts: int = 0,
        url: str | None = None,
    ) -> None:
        super().__init__(message, request_id=request_id, attempts=attempts, url=url)
        self.resumes_at = resumes_at


class ExportError(AdAnalyticsError):
    """A bulk export did not yield a file.

    Attributes:
        export_id: the service's id of the export, where it gave one.
        status: the service's last status word.

    Examples:
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

    Examples:
        >>> with reference_client(faults=["failed export always"]) as client:
        ...     client.export("2026-01-15", to="day.csv")
        Traceback (most recent call last):
        ExportFailed: The export failed: ...
    """


class ExportTimeout(ExportError):
    """The export was not done within the given time; wait again to continue.

    Examples:
        >>> try:
        ...     status = job.wait(timeout=600)
        ... except ExportTimeout:
        ...     Path("job.json").write_text(job.to_json())
    """


class ExportExpired(ExportError):
    """The exported file is no longer available; start the export again.

    Examples:
        >>> try:
        ...     path = job.download("day.csv")
        ... except ExportExpired:
        ...     path = client.export("2026-01-15", to="day.csv")
    """


class DownloadError(AdAnalyticsError):
    """A file did not arrive complete; an older file of the same name is untouched.

    If the service failed after part of it had arrived, its error is the cause (`__cause__`).

    Attributes:
        part: the file with the bytes kept; the same download resumes from it. None when no byte can
            be used.

    Examples:
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
    """A file arrived with the right length but not with the bytes that the service announced.

    Examples:
        >>> str(ChecksumMismatch("day.csv has another checksum.", part=None, attempts=2))
        'day.csv has another checksum. (2 attempts)'
    """


class DatasetError(AdAnalyticsError):
    """A dataset cannot be read or written, or is a copy of something else.

    Attributes:
        remedy: what to do about it; `message` says what happened.

    Examples:
        >>> str(DatasetError("There is no dataset at events.", remedy="Make one with a sync."))
        'There is no dataset at events. Make one with a sync.'
    """

    def __init__(
        self,
        message: str,
        *,
        remedy: str = "",
        request_id: str | None = None,
        attempts: int = 0,
        url: str | None = None,
    ) -> None:
        super().__init__(message, request_id=request_id, attempts=attempts, url=url)
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{super().__str__()} {self.remedy}" if self.remedy else super().__str__()


class DatasetDamaged(DatasetError):
    """A dataset does not say what it is a copy of: its identity file is damaged.

    Examples:
        >>> print(DatasetDamaged("dataset.json is damaged.", remedy="Delete this one file."))
        dataset.json is damaged. Delete this one file.
    """


class DatasetInUse(DatasetError):
    """Another process works on the dataset.

    Examples:
        >>> print(DatasetInUse("Another process works on events.", remedy="Wait for its end."))
        Another process works on events. Wait for its end.
    """


class UnsuitablePlace(DatasetError):
    """A place that cannot hold a dataset: a file, or a folder with other files in it.

    Examples:
        >>> print(UnsuitablePlace("events is a file.", remedy="Name a folder."))
        events is a file. Name a folder.
    """
