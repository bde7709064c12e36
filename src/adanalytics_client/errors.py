"""Every error the client raises, as plain data that pickles and says what to do.

```
AdAnalyticsError
├── ConfigurationError          an argument or setting is wrong; nothing was sent
├── TransportError              no answer arrived
│   └── RequestTimeout
├── StatusError                 the service answered with an error status
│   ├── InvalidRequest          400, 413, 415, 422 and other 4xx
│   ├── AuthenticationError     401
│   ├── PermissionDenied        403
│   ├── NotFound                404, 405, 410
│   ├── RateLimited             429, or 403 with Retry-After
│   └── ServerError             5xx
├── ProtocolError               an answer arrived but is not what was promised
├── QuotaExceeded               no request may be sent now, and waiting is not allowed
├── ExportError
│   ├── ExportFailed
│   ├── ExportTimeout
│   └── ExportExpired
└── DownloadError               a file did not arrive whole
    └── ChecksumMismatch
```
"""

from datetime import datetime

from adanalytics_client._error import AdAnalyticsError
from adanalytics_client.export_errors import (
    ChecksumMismatch,
    DownloadError,
    ExportError,
    ExportExpired,
    ExportFailed,
    ExportTimeout,
)

__all__ = [
    "AdAnalyticsError",
    "AuthenticationError",
    "ChecksumMismatch",
    "ConfigurationError",
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
]


class ConfigurationError(AdAnalyticsError):
    """An argument, setting or environment variable is missing or wrong; nothing was sent.

    Example:
        >>> client.events("2026-01-32")
        Traceback (most recent call last):
        ConfigurationError: start: 2026-01-32 is not a day of the calendar.
    """


class TransportError(AdAnalyticsError):
    """No complete answer arrived: refused, reset, cut short, or the name did not resolve.

    Example:
        >>> once = RetryPolicy(attempts=1)
        >>> Client("http://127.0.0.1:9", api_key="...", partner="acme", retry=once).dates()
        Traceback (most recent call last):
        TransportError: The client could not connect to 127.0.0.1:9: Connection refused. ...
    """


class RequestTimeout(TransportError):
    """No byte arrived within `timeout` seconds, or the retry budget ran out waiting.

    Example:
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

    Example:
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

    Example:
        >>> client.start_export("2026-01-15", format="xlsx")
        Traceback (most recent call last):
        InvalidRequest: The service refused the request (400: Bad Request; format should be ...
    """


class AuthenticationError(StatusError):
    """The key, token or login is invalid or expired.

    Example:
        >>> Client("https://stats.example", api_key="deleted", partner="acme").dates()
        Traceback (most recent call last):
        AuthenticationError: The credential was refused (401: Unauthorized). ...
    """


class PermissionDenied(StatusError):
    """The credential is valid but may not read this partner.

    Example:
        >>> with suppress(PermissionDenied):  # and go on with the partners that may be read
        ...     written = client.events("2026-01-15").write("acme.jsonl")
    """


class NotFound(StatusError):
    """The partner or the path does not exist on this service.

    Example:
        >>> Client("https://stats.example/v9", api_key="...", partner="acme").dates()
        Traceback (most recent call last):
        NotFound: Not found (404). Check the partner and base_url. ...
    """


class RateLimited(StatusError):
    """The service asked to slow down and the wait is longer than allowed.

    Attributes:
        retry_after: seconds the service asked to wait, or None when it did not say.

    Example:
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

    Example:
        >>> with reference_client(faults=["503 always"], clock=MovableClock()) as client:
        ...     client.dates()
        Traceback (most recent call last):
        ServerError: The service failed (503: ...). Try later. (request id ..., 5 attempts, ...
    """


class ProtocolError(AdAnalyticsError):
    """An answer arrived whole but is not what was promised, for example without rows.

    Attributes:
        unreadable: whether it was no JSON at all, such as a proxy's page; asking later may help.

    Example:
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

    Example:
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
