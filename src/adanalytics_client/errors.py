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
├── QuotaExceeded               the client's own request window is used up
├── ExportError
│   ├── ExportFailed
│   ├── ExportTimeout
│   └── ExportExpired
└── DownloadError               a file did not arrive whole
    └── ChecksumMismatch
```
"""

from datetime import datetime


class AdAnalyticsError(Exception):
    """The base of every error here.

    Attributes:
        message: what happened and what to do.
        request_id: the service's `X-Request-Id` of the last answer, for its support.
        attempts: how many times the request was sent; 0 when nothing was.
        url: the address asked, without the values of a signed query.

    Example:
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
        super().__init__(message)
        self.message = message
        self.request_id = request_id
        self.attempts = attempts
        self.url = url

    def __str__(self) -> str:
        facts = [
            f"request id {self.request_id}" if self.request_id else "",
            f"{self.attempts} attempts" if self.attempts > 1 else "",
            self.url or "",
        ]
        told = ", ".join(fact for fact in facts if fact)
        return f"{self.message} ({told})" if told else self.message


class ConfigurationError(AdAnalyticsError):
    """An argument, setting or environment variable is missing or wrong; nothing was sent."""


class TransportError(AdAnalyticsError):
    """No complete answer arrived: refused, reset, cut short, or the name did not resolve."""


class RequestTimeout(TransportError):
    """No byte arrived within `timeout` seconds, or the retry budget ran out waiting."""


class StatusError(AdAnalyticsError):
    """The service answered with an error status.

    Attributes:
        status: the HTTP status code.
        reason: the service's own words, shortened and with credentials removed.
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
    """The service refused a parameter; sending the same again will not help."""


class AuthenticationError(StatusError):
    """The key, token or login is invalid or expired."""


class PermissionDenied(StatusError):
    """The credential is valid but may not read this partner."""


class NotFound(StatusError):
    """The partner or the path does not exist on this service."""


class RateLimited(StatusError):
    """The service asked to slow down and the wait is longer than allowed.

    Attributes:
        retry_after: seconds the service asked to wait, or None when it did not say.
    """

    retry_after: float | None = None


class ServerError(StatusError):
    """The service failed, and still did after the retries."""


class ProtocolError(AdAnalyticsError):
    """An answer arrived whole but is not what was promised, for example without rows."""


class QuotaExceeded(AdAnalyticsError):
    """The client's own window of requests is used up and waiting is not allowed.

    Attributes:
        resumes_at: when the next request may be sent, in UTC.
    """

    def __init__(self, message: str, *, resumes_at: datetime | None = None) -> None:
        super().__init__(message)
        self.resumes_at = resumes_at


class ExportError(AdAnalyticsError):
    """A bulk export did not yield a file.

    Attributes:
        export_id: the service's id of the export, where it gave one.
        status: the service's last status word.
    """

    export_id: str | None = None
    status: str | None = None


class ExportFailed(ExportError):
    """The service says that the export failed; the message carries its reason."""


class ExportTimeout(ExportError):
    """The export was not done within the time given; waiting again goes on with it."""


class ExportExpired(ExportError):
    """The exported file is no longer offered; start the export again."""


class DownloadError(AdAnalyticsError):
    """A file did not arrive whole; an older file of the same name is untouched.

    Attributes:
        part: where what has arrived is kept; the same download goes on from there. None when
            nothing of it can be used.
    """

    part: str | None = None


class ChecksumMismatch(DownloadError):
    """A file arrived with the right length and other bytes than the service announced."""
