"""The client's errors, as plain data that can be pickled; each error says what to do.

```
AdAnalyticsError
├── ConfigurationError      an argument or setting is wrong; nothing was sent
├── TransportError          no response arrived
│   └── RequestTimeout
├── StatusError             the service answered with an error status
│   ├── InvalidRequest      400, 413, 415, 422 and other 4xx
│   ├── AuthenticationError 401
│   ├── PermissionDenied    403
│   ├── NotFound            404, 405, 410
│   ├── RateLimited         429, or 403 with Retry-After
│   └── ServerError         5xx, 408, 425
├── RequestLimitReached     no request may be sent without a longer wait
│   ├── QuotaExceeded       by the client's own count, so none was sent
│   └── RateLimited         by the response to a request
├── ProtocolError           a response arrived but is not as promised
├── ExportError
│   ├── ExportFailed
│   ├── ExportTimeout
│   └── ExportExpired
└── DownloadError           a file did not arrive complete
    └── ChecksumMismatch
```
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple, Self


class FieldProblem(NamedTuple):
    """What the service says about one field of a request; `field` is "" if no field is named.

    Examples:
        >>> FieldProblem("hour", "should be at most 23").field
        'hour'
    """

    field: str
    message: str


class Remedy(str):
    """What to do about an error: a text, and a code for programs that word it in their own way.

    Attributes:
        code: what kind of remedy it is, such as `rows_key`; "" if it has no code.
        option: the argument of Python that the text names; "" if it names none.
        value: what the text says about this very case, such as a value for the argument.

    Examples:
        >>> remedy = Remedy("Pass memory='4GB'.", code="memory", option="memory", value="4GB")
        >>> f"{remedy} Or give --{remedy.option} {remedy.value}."
        "Pass memory='4GB'. Or give --memory 4GB."
    """

    __slots__ = ("code", "option", "value")
    code: str
    option: str
    value: str

    def __new__(cls, text: str = "", *, code: str = "", option: str = "", value: str = "") -> Self:
        remedy = super().__new__(cls, text)
        remedy.code, remedy.option, remedy.value = code, option, value
        return remedy


class _RemedyField:
    """An attribute that takes any text and gives a `Remedy`."""

    def __get__(self, error: "AdAnalyticsError | None", kind: type) -> Remedy:
        # Without an error this is the default of the dataclass.
        remedy: Remedy = vars(error)["remedy"] if error else Remedy()
        return remedy

    def __set__(self, error: "AdAnalyticsError", text: str) -> None:
        vars(error)["remedy"] = text if isinstance(text, Remedy) else Remedy(text)


@dataclass(eq=False, repr=False, kw_only=True)
class AdAnalyticsError(Exception):
    """The base class of all errors of the client; catch it to catch them all.

    Attributes:
        message: what happened.
        remedy: what to do about it, as a `Remedy`; "" if nothing is known to help.
        request_id: the `X-Request-Id` of the last response, to quote to the service's support team.
        attempts: how many times the request was sent; 0 if it was never sent.
        url: the requested address, without the values in a signed query string.
        body: the first 64 KiB of the response's body as text, without secrets.
        headers: the response's headers, keyed by lower-case name, without secrets or cookies.

    `body` and `headers` are empty for an error without a response of its own, such as a failed
    export. The last response about an export is in its job's `last_status.answer`.

    Examples:
        >>> error = AdAnalyticsError("It broke.", remedy="Try later.", request_id="r-1", attempts=2)
        >>> str(error)
        'It broke. Try later. (request id r-1, 2 attempts)'
    """

    message: str = field(kw_only=False)
    if TYPE_CHECKING:
        # It takes any text, and gives a `Remedy`.
        remedy: _RemedyField = _RemedyField()
    else:
        remedy: Remedy = _RemedyField()
    request_id: str | None = None
    attempts: int = 0
    url: str | None = None
    body: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # Half a surrogate pair, which JSON may hold, would keep the error from being printed.
        self.message = self.message.encode("utf-8", "backslashreplace").decode()
        super().__init__(self.message)

    @property
    def facts(self) -> str:
        """Return the request id, number of attempts and address, as far as they are known."""
        facts = [
            f"request id {self.request_id}" if self.request_id else "",
            f"{self.attempts} attempts" if self.attempts > 1 else "",
            self.url or "",
        ]
        return ", ".join(fact for fact in facts if fact)

    def __str__(self) -> str:
        facts = f"({self.facts})" if self.facts else ""
        return " ".join(part for part in (self.message, self.remedy, facts) if part)

    def amended(self, **facts: object) -> Self:
        """Set attributes that became known only after the error was made.

        The same error is returned, so that its traceback and its cause are kept.

        Examples:
            >>> str(AdAnalyticsError("It broke.").amended(attempts=3))
            'It broke. (3 attempts)'
        """
        for name, fact in facts.items():
            setattr(self, name, fact)
        self.__post_init__()
        return self


class ConfigurationError(AdAnalyticsError, ValueError):
    """An argument, setting or environment variable is missing or wrong; nothing was sent.

    It is a ValueError, too, as Python's own functions raise for a wrong value.
    """


class TransportError(AdAnalyticsError):
    """No complete response arrived: the connection failed or broke, or the host is unknown."""


class RequestTimeout(TransportError):
    """No byte arrived within `timeout` seconds, or a wait exceeded the retry budget.

    Examples:
        >>> try:
        ...     summary = client.summary("2025-01-01", "2026-12-31")
        ... except RequestTimeout:
        ...     summary = client.summary("2026-01-01", "2026-12-31")
    """


@dataclass(eq=False, repr=False, kw_only=True)
class StatusError(AdAnalyticsError):
    """The service answered with an error status.

    Attributes:
        status: the HTTP status code.
        reason: the service's own words, shortened and with credentials removed.
        errors: what the service says about each field, from `details` or `errors` in the body.

    Examples:
        >>> try:
        ...     days = client.dates()
        ... except StatusError as error:
        ...     print(error.status, error.reason, *error.errors)
    """

    status: int = 0
    reason: str = ""
    errors: tuple[FieldProblem, ...] = ()


class InvalidRequest(StatusError):
    """The service refused a parameter; sending the same request again will not help."""


class AuthenticationError(StatusError):
    """The key, token or login is invalid or expired."""


class PermissionDenied(StatusError):
    """The credential is valid but does not allow reading this partner's data.

    Examples:
        >>> with suppress(PermissionDenied):  # and go on with the partners that may be read
        ...     written = client.events("2026-01-15").write("acme.jsonl")
    """


class NotFound(StatusError):
    """The partner or the path does not exist on this service."""


@dataclass(eq=False, repr=False, kw_only=True)
class RequestLimitReached(AdAnalyticsError):
    """No request may be sent for now, and waiting would take longer than allowed.

    Attributes:
        resumes_at: when the next request may be sent, in UTC; None when it is not known.

    Examples:
        >>> try:
        ...     written = client.events("2026-01-15").write("day.jsonl")
        ... except RequestLimitReached as error:
        ...     print(f"Go on at {error.resumes_at:%H:%M} UTC.")
    """

    resumes_at: datetime | None = None


class QuotaExceeded(RequestLimitReached):
    """The client's count shows no requests left, or the service has refused an earlier request."""


@dataclass(eq=False, repr=False, kw_only=True)
class RateLimited(RequestLimitReached, StatusError):
    """The service asked the client to slow down, and the wait is longer than allowed.

    Attributes:
        retry_after: the wait that the service asked for, in seconds; None if it did not say.
    """

    retry_after: float | None = None


@dataclass(eq=False, repr=False, kw_only=True)
class ServerError(StatusError):
    """The service still failed after all retries.

    Attributes:
        retry_after: the wait that the service asked for, in seconds; None if it did not say.
    """

    retry_after: float | None = None


class ProtocolError(AdAnalyticsError):
    """A complete response arrived but is not as expected: for example, it lacks the list of rows.

    Attributes:
        unreadable (bool): True if the body is not JSON (perhaps a proxy's page). A retry may help.
    """

    unreadable = False


@dataclass(eq=False, repr=False, kw_only=True)
class ExportError(AdAnalyticsError):
    """A bulk export did not yield a file.

    Attributes:
        export_id: the service's id for the export, if it gave one.
        status: the last status that the service reported for the export.
    """

    export_id: str | None = None
    status: str | None = None


class ExportFailed(ExportError):
    """The service says that the export failed; the message contains the reason."""


class ExportTimeout(ExportError):
    """The export did not finish within the given time; wait again to continue.

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


@dataclass(eq=False, repr=False, kw_only=True)
class DownloadError(AdAnalyticsError):
    """A file did not arrive complete; an older file of the same name is untouched.

    If a request failed after part of the file had arrived, its error is the `__cause__`.

    Attributes:
        part: the file that holds the bytes received so far, from which the same call would resume.
            None if these bytes cannot be used.

    Examples:
        >>> try:
        ...     path = job.download("day.csv")
        ... except DownloadError as error:
        ...     path = job.download("day.csv") if error.part else None
    """

    part: str | None = None


class ChecksumMismatch(DownloadError):
    """A file has the right length, but its checksum differs from the one the service announced.

    Examples:
        >>> try:
        ...     path = job.download("day.csv")
        ... except ChecksumMismatch:
        ...     path = client.export("2026-01-15", to="day.csv")
    """


_CLASSES = [
    value
    for name, value in vars().items()
    if name[0] != "_" and getattr(value, "__module__", "") == __name__
]
# Type checkers would take no name as public if they saw a list that they cannot read.
globals()["__all__"] = [_class.__name__ for _class in _CLASSES]
for _class in _CLASSES:
    _class.__module__ = "adanalytics_client"
