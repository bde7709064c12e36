"""A real server inside the process, for tests and demonstrations.

It listens on a free port of the loopback interface and runs in a thread. Requests go through the
complete server: routing, authentication, limits, storage.
"""

import tempfile
from collections.abc import Iterable
from contextlib import ExitStack
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Self

try:
    from .app import create_app
except ModuleNotFoundError as error:
    text = f"{error.name} is missing: pip install 'adanalytics[server]'"
    raise ModuleNotFoundError(text, name=error.name) from error
from .clock import Clock
from .control.controls import ControlError, Controls
from .faults import Fault, dialect_of, service_choice
from .remote import FIRST_DAY, ControlledServer, RemoteServer, event
from .seed.generate import Sample
from .serving.running import LocalServerError, ServerThread
from .settings import Settings

__all__ = [
    "FIRST_DAY",
    "ControlError",
    "LocalServer",
    "LocalServerError",
    "RemoteServer",
    "Sample",
    "event",
]


class LocalServer(ControlledServer):
    """A reference server on a free loopback port, with one partner, one admin and one key.

    Args:
        partner: the id of the partner to create.
        currency: the ISO 4217 code of the partner's currency.
        sample: the events to generate at the start; with ``None``, the server starts empty.
        data: the server's data folder; ``None`` creates a temporary one.
        rate_limit: requests per hour for each key, and for each user with a login token; 0 means no
            limit.
        export_inline_max: an export of up to this many rows is finished as soon as it is requested.
        loose: accept unknown query parameters.
        clock: the server's clock; keep a reference to it if you want to move the clock.
        faults: the faults to arm at the start, as sentences or as ``Fault`` objects.
        dialect: the names of dialects, separated by commas.
        service: the file of a service whose responses the server imitates, as
            ``adanalytics doctor --probe`` writes it, or the name of one in the package, such as
            ``counters``.

    Raises:
        ValueError: a number is negative.
        FaultError: a fault is invalid.
        DialectError: a dialect is unknown, two dialects contradict each other or the service file,
            or the file is wrong.

    Attributes:
        settings: the settings of the application that the server runs.

    Examples:
        >>> with LocalServer(sample=Sample(days=1, events_per_day=100)) as server:
        ...     server.url, server.api_key, server.partner
    """

    def __init__(
        self,
        *,
        partner: str = "acme",
        currency: str = "USD",
        sample: Sample | None = None,
        data: str | PathLike[str] | None = None,
        rate_limit: int = 1000,
        export_inline_max: int = 50_000,
        loose: bool = False,
        clock: Clock | None = None,
        faults: Iterable[str | Fault] = (),
        dialect: str = "reference",
        service: str | PathLike[str] | None = None,
    ) -> None:
        self.partner = partner
        self.clock = clock or Clock()
        self._currency = currency
        self._sample = sample
        self._controls = Controls(self.clock)
        self.faults, self.journal = self._controls.faults, self._controls.journal
        self._faults = tuple(faults)
        self.faults.add(*self._faults)
        self._data = data
        self.settings: Settings = Settings(
            data=Path(data or ""),
            rate_limit=rate_limit,
            export_inline_max=export_inline_max,
            loose=loose,
            test_controls=True,
            dialect=dialect_of(dialect, None if service is None else service_choice(service)),
        )
        self._cleanup = ExitStack()

    def __enter__(self) -> Self:
        try:
            if self._data is None:
                scratch = tempfile.TemporaryDirectory(prefix="adanalytics-")
                folder = Path(self._cleanup.enter_context(scratch))
                self.settings = replace(self.settings, data=folder)
            app = create_app(self.settings, clock=self.clock, controls=self._controls)
            thread = ServerThread(app)
            self._cleanup.callback(thread.stop)
            self.url = thread.url
            self._prepare(self._currency, self._sample)
            thread.call(self._controls.begin())
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop the server and remove its temporary folder; further calls do nothing."""
        # Requests that a fault delays would delay the shutdown too.
        self.faults.clear()
        self._cleanup.close()
        # For the next start.
        self.faults.add(*self._faults)
