"""A client with its own reference server, to test programs that use this library.

The server listens on a free loopback port. It speaks real HTTP and applies the API's rules, but no
request leaves the machine. The server needs the `server` extra.
"""

import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack, ExitStack
from datetime import UTC, date, datetime
from functools import partial
from math import ceil
from os import PathLike
from types import ModuleType
from typing import TYPE_CHECKING, Any, Self

from ._base.dates import Day, to_day
from ._base.validation import check_number, invalid
from ._io.async_driver import in_thread
from ._quota.policy import QuotaPolicy
from ._shapes.service import ServiceProfile
from .aclient import AsyncClient
from .client import Client
from .errors import ConfigurationError

if TYPE_CHECKING:
    from adanalytics_server.clock import Clock as ServerClock
    from adanalytics_server.local import LocalServer
    from adanalytics_server.remote import ControlledServer

FIRST_DAY = date(2026, 1, 15)

# Real seconds of a pause: the server's own work, and other operations, need a moment.
_PAUSE = 0.01


# Signatures in addresses, also within JSON, where an ampersand may be escaped.
_SIGNED = re.compile(r"(?i)((?:[?&]|\\u0026)[\w-]*(?:signature|credential|token)=)([^&\"\\\s]+)")


def _unsigned(text: str) -> str:
    # Of the same length, so that Content-Length stays right.
    return _SIGNED.sub(lambda match: match[1] + "x" * len(match[2]), text)


def _scrub_request(request: Any) -> Any:  # noqa: ANN401  # vcrpy has no types
    request.uri = _unsigned(request.uri)
    return request


def _scrub_response(response: dict[str, Any]) -> dict[str, Any]:
    body = response["body"]
    body["string"] = _unsigned(body["string"].decode("latin-1")).encode("latin-1")
    headers = response["headers"].items()
    response["headers"] = {name: [_unsigned(text) for text in texts] for name, texts in headers}
    return response


VCR_OPTIONS: dict[str, Any] = {
    "filter_headers": ["authorization"],
    "decode_compressed_response": True,
    "before_record_request": _scrub_request,
    "before_record_response": _scrub_response,
}
"""Options for `vcr.VCR(**VCR_OPTIONS)`, which keep keys and signed addresses out of cassettes."""


class MovableClock:
    """A clock, shared by a client and its server, that stands still until it is moved.

    When the client waits for quota or before a retry, the clock moves ahead, so that no real time
    passes. It moves only while every operation that runs on it waits, so never while a request is
    in flight, and then to the end of the earliest wait. So the same program always ends at the same
    time. Several clients may share a clock.

    Args:
        now: the time at which the clock starts, with a time zone; by default the current time.

    Raises:
        ConfigurationError: when the `server` extra is not installed, or for a time without a zone.

    Examples:
        >>> clock = MovableClock(datetime(2026, 1, 20, tzinfo=UTC))
        >>> clock.advance(3600)
        >>> clock.now
        datetime.datetime(2026, 1, 20, 1, 0, tzinfo=datetime.timezone.utc)
    """

    def __init__(self, now: datetime | None = None) -> None:
        self.of_server: ServerClock = _local_server().Clock()
        start: object = datetime.now(UTC) if now is None else now
        if not isinstance(start, datetime) or start.tzinfo is None:
            raise invalid(
                "now",
                now,
                "Pass a datetime with a time zone, such as datetime(2026, 1, 20, tzinfo=UTC).",
            )
        self.of_server.freeze(start)
        self._lock = threading.Lock()
        self._running = 0
        self._waits: list[float] = []

    @classmethod
    def of(cls, server: "ControlledServer") -> Self:
        """Stop the server's clock and return it as a `MovableClock`; `server.reset()` restarts it.

        Examples:
            >>> from adanalytics_server.local import LocalServer
            >>> with LocalServer() as server:
            ...     clock = MovableClock.of(server)
            ...     clock.advance(3600)
            ...     server.clock.now == clock.now
            True
        """
        shared = cls()
        shared.of_server = server.clock
        shared.of_server.freeze()
        return shared

    @property
    def now(self) -> datetime:
        """Return the current time of the client and the server, in UTC."""
        return self.of_server.now

    def advance(self, seconds: float) -> None:
        """Move the clock of the client and the server forward by `seconds`.

        Move it between calls: amid a pull, requests are under way, and all of them time out.

        Examples:
            >>> clock = MovableClock(datetime(2026, 1, 20, tzinfo=UTC))
            >>> clock.advance(90)
            >>> f"{clock.now:%H:%M:%S}"
            '00:01:30'
        """
        self.of_server.advance(seconds)

    def time(self) -> float:
        """Return the current time in seconds since 1970-01-01 UTC."""
        return self.of_server.now.timestamp()

    def monotonic(self) -> float:
        """Return what `time()` returns; it decreases only if the server's clock is set back."""
        return self.time()

    def sleeping(self, until: float) -> Iterator[float]:
        """Move the clock to `until` once nothing else runs; yield short real pauses meanwhile.

        Examples:
            >>> clock = MovableClock(datetime(2026, 1, 20, tzinfo=UTC))
            >>> pauses = list(clock.sleeping(clock.monotonic() + 3600))
            >>> sum(pauses) < 1, clock.now.hour
            (True, 1)
        """
        with self._lock:
            self._waits.append(until)
        try:
            while self.monotonic() < until:
                self._move()
                yield _PAUSE
        finally:
            with self._lock:
                self._waits.remove(until)

    def running(self, change: int) -> None:
        """Count the operations that run; one that waits in `sleeping` still counts."""
        with self._lock:
            self._running += change

    def _move(self) -> None:
        """Move the clock to the end of the earliest wait, if every operation waits."""
        with self._lock:
            earliest = min(self._waits)
            if self._running <= len(self._waits) and self.monotonic() < earliest:
                # The server counts milliseconds; a shorter move might never end the wait.
                moment = ceil(earliest * 1000) / 1000
                self.of_server.set(datetime.fromtimestamp(moment, tz=UTC))


class reference_client:  # noqa: N801  # used like a function
    """A client with its own reference server, which is filled with generated events.

    `with` gives a `Client`, and `async with` gives an `AsyncClient`.

    Args:
        seed: the same seed gives the same events.
        start: the first day with data: a date, `YYYY-MM-DD` or a number such as 20260115; by
            default 2026-01-15.
        days: the number of days with data; with 0, the server starts empty.
        events_per_day: the number of events on each day.
        partner: the id of the partner.
        limit: how many requests per hour the server allows; the client counts them in memory.
        faults: the faults to arm on the server, each as a sentence, such as `503 once per hour`.
        dialect: the dialect of the server's responses, such as `hints` or
            `fields-camel,page-ignored`.
        service: the file of a service that the server imitates, as `adanalytics doctor --probe`
            writes it, or a name of one in the package, such as `counters`. The client reads it as
            its `ServiceProfile`.
        clock: a movable clock for client and server; by default, both use the machine's time.

    Raises:
        ConfigurationError: when the `server` extra is not installed, or for an invalid argument.

    Examples:
        >>> with reference_client(seed=7, faults=["503 once per hour"]) as client:
        ...     len(list(client.events("2026-01-15")))
        2000
        >>> async with reference_client(seed=7) as client:
        ...     await client.dates()
        [datetime.date(2026, 1, 15)]
    """

    def __init__(
        self,
        *,
        seed: int = 0,
        start: Day = FIRST_DAY,
        days: int = 1,
        events_per_day: int = 2_000,
        partner: str = "acme",
        limit: int = 1000,
        faults: Sequence[str] = (),
        dialect: str = "reference",
        service: str | PathLike[str] | None = None,
        clock: MovableClock | None = None,
    ) -> None:
        local, first = _local_server(), to_day(start, "start")
        check_number("days", days, 0)
        check_number("events_per_day", events_per_day, 1)
        check_number("limit", limit, 1)
        if isinstance(faults, str):
            # To a type checker it is a list of texts, too.
            raise invalid("faults", faults, "Pass a list of faults, such as ['503 once'].")
        if days and days - 1 > (date.max - first).days:
            raise ConfigurationError(
                f"days={days} from {first} go beyond {date.max}.", remedy="Pass fewer days."
            )
        sample = local.Sample(start=first, days=days, events_per_day=events_per_day, seed=seed)
        self._clock = clock
        self._stack, self._async_stack = ExitStack(), AsyncExitStack()
        try:
            self._server: LocalServer = local.LocalServer(
                partner=partner,
                sample=sample if days else None,
                rate_limit=limit,
                faults=faults,
                dialect=dialect,
                service=service,
                clock=clock.of_server if clock else None,
            )
        except ValueError as error:
            raise ConfigurationError(f"{error}.") from None
        self._profile = _profile(service)

    def __enter__(self) -> Client:
        _start(self._server)
        self._stack.callback(self._server.close)
        options = _options(self._server, self._clock) | self._profile
        client = Client(self._server.url, **options)
        return self._stack.enter_context(client)

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    async def __aenter__(self) -> AsyncClient:
        # The server runs its own event loop, so it must start in another thread.
        try:
            await in_thread(partial(_start, self._server))
        except BaseException:
            await in_thread(self._server.close)
            raise
        self._async_stack.push_async_callback(in_thread, self._server.close)
        options = _options(self._server, self._clock) | self._profile
        client = AsyncClient(self._server.url, **options)
        return await self._async_stack.enter_async_context(client)

    async def __aexit__(self, *_: object) -> None:
        await self._async_stack.aclose()


def _start(server: "LocalServer") -> None:
    """Start the server, which checks the partner's id only then."""
    try:
        server.__enter__()
    except ValueError as error:
        raise ConfigurationError(f"partner: {error}") from None


def _options(server: "ControlledServer", clock: MovableClock | None) -> dict[str, Any]:
    """Return the arguments of both clients."""
    return {
        "api_key": server.api_key,
        "partner": server.partner,
        "quota": QuotaPolicy(
            limit=server.rate_limit or None, on_limit="wait" if clock else None, log="memory"
        ),
        "clock": clock,
    }


def _profile(service: str | PathLike[str] | None) -> dict[str, ServiceProfile]:
    """Return the argument of both clients for the file that the server read."""
    if service is None:
        return {}
    from adanalytics_server.faults.service_file import service_path

    return {"service": ServiceProfile.read(service_path(service))}


def _local_server() -> ModuleType:
    try:
        from adanalytics_server import local
    except ImportError as error:
        raise ConfigurationError(
            f"The reference server needs {error.name}.",
            remedy="Install it with: pip install 'adanalytics[server]'",
        ) from None
    return local
