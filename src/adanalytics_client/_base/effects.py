"""The effects that an operation may request.

An operation is a generator: it yields effects and receives their results. It does no I/O, starts no
thread and reads no clock itself. The order of its steps is written once and run by either driver. A
driver answers `Send` with a `Reply` or a `Failure`: a transport failure is a value, so the decision
to retry stays pure.
"""

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple, Protocol, TypeVar

from .dates import read_http_date
from .secrets import Secret

T = TypeVar("T")
Job = TypeVar("Job")
Outcome_contra = TypeVar("Outcome_contra", contravariant=True)
Page_co = TypeVar("Page_co", covariant=True)

LARGEST_BODY = 256 * 1024 * 1024
"""The most bytes of one response held in memory, after decoding."""

Pairs = tuple[tuple[str, str], ...]
"""The names and values of headers, or of a query."""


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request.

    Attributes:
        credential: becomes the Authorization header just before sending.
        timeout: seconds without a byte that end the request; None leaves that to the driver.
    """

    method: str
    url: str
    headers: Pairs = ()
    body: bytes | None = field(default=None, repr=False)
    credential: Secret | None = None
    timeout: float | None = None


@dataclass(frozen=True, slots=True)
class ResponseHead:
    """Status and headers of a response; header names are lower case."""

    status: int
    headers: Mapping[str, str] = field(repr=False)

    def get(self, name: str) -> str | None:
        return self.headers.get(name)

    @property
    def sent_at(self) -> float | None:
        """Return the `Date` of the response, in seconds since 1970; None without one."""
        return read_http_date(self.get("date"))

    @property
    def length(self) -> int | None:
        """Return the stated bytes of the body as it is sent; None without them."""
        text = self.get("content-length") or ""
        return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else None

    @property
    def encoding(self) -> str:
        """The encoding of the body in lower case; "" if it is not encoded."""
        name = (self.get("content-encoding") or "").strip().lower()
        return "" if name == "identity" else name

    @property
    def media_type(self) -> str:
        """The media type of the body without parameters, in lower case; "" if there is none."""
        return (self.get("content-type") or "").partition(";")[0].strip().lower()


@dataclass(frozen=True, slots=True)
class Reply:
    """A complete response: its head, and its decoded body (empty when a sink took or refused it).

    Attributes:
        head: status and headers.
        body: a bytearray if the reader of the reply may change it.
    """

    head: ResponseHead
    body: bytes | bytearray = field(default=b"", repr=False)

    @property
    def status(self) -> int:
        return self.head.status


class FailureKind(Enum):
    """Why no complete response arrived."""

    UNREACHABLE = "no connection"
    UNTRUSTED = "the certificate is not trusted"
    NOT_TLS = "the server does not speak TLS"
    PROXY_LOGIN = "a proxy asks for a login"
    TIMEOUT = "no answer in time"
    BROKEN = "the connection broke before an answer"
    MALFORMED = "the reply is not valid HTTP"
    TRUNCATED = "the body ended too early"
    TOO_LARGE = "the body is too large for memory"
    UNREADABLE = "the encoding of the body is damaged or unknown"


@dataclass(frozen=True, slots=True)
class Failure:
    """A request without a complete response.

    Attributes:
        kind: why.
        arrived: False only when the service cannot have seen the request.
        detail: further details, if known.
        proxy: the proxy that the request went through, if known.
        head: the beginning of the response, if its body is damaged.
    """

    kind: FailureKind
    arrived: bool
    detail: str = field(default="", repr=False)
    proxy: str | None = None
    head: "ResponseHead | None" = field(default=None, repr=False)


class Sink(Protocol):
    """Receives a body piece by piece, so that it is not collected in memory."""

    def accept(self, head: ResponseHead) -> bool | None:
        """Return True to get the pieces, False to have the body collected, None to leave it."""

    def write(self, piece: bytes) -> bool:
        """Take a piece of the body as received, not decoded; return False to refuse the rest."""


class Send(NamedTuple):
    """Send a request; the result is `Reply | Failure`. `deadline` is on the monotonic clock."""

    request: Request
    deadline: float | None = None
    sink: Sink | None = None


class Sleep(NamedTuple):
    """Wait until a time on the monotonic clock; the wait ends early when the work is abandoned."""

    until: float


class Atomic(NamedTuple):
    """Run a short function on shared state, never two such functions at the same time."""

    action: Callable[[], Any]


class Exclusive(NamedTuple):
    """Run an operation, never two exclusive operations of this client at the same time.

    The result is the operation's, or a `Failure` if the others are not done at `deadline`, on the
    monotonic clock.
    """

    operation: Callable[[], "Operation[Any]"]
    deadline: float | None = None


class Offload(NamedTuple):
    """Run a slow function (files, a large parse) where it blocks nothing else."""

    action: Callable[[], Any]


Effect = Send | Sleep | Atomic | Exclusive | Offload
Operation = Generator[Effect, Any, T]


class Fanout(Protocol[Job, Outcome_contra, Page_co]):
    """Chooses which of many operations to start next, and which result to hand out next."""

    @property
    def finished(self) -> bool:
        """Return whether nothing is in flight, waiting, or left to start."""

    def start(self) -> Job | None:
        """Return a job to start now, or None when enough are in flight."""

    def receive(self, job: Job, outcome: Outcome_contra | BaseException, /) -> None:
        """Take the outcome of a job."""

    def ready(self) -> Page_co | None:
        """Return the next result in order, or None when it has not arrived."""
