"""The settings of a server: one frozen value that is passed down, never a global."""

from dataclasses import dataclass
from pathlib import Path

from .dialect import REFERENCE, Dialect


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of one server.

    Attributes:
        data: folder with ``state.db`` and one numbered folder per partner; created if missing.
        rate_limit: requests to the Partner API per hour, for each API key and for each user with a
            login token; 0 means no limit.
        export_inline_max: an export of up to this many rows is finished as soon as it is requested.
        loose: accept unknown query parameters instead of answering 400.
        any_host: accept every name in the ``Host`` header, for a server reached by host name. By
            default, accept only localhost and IP addresses.
        docs: offer the ``/docs`` page, which shows the API and can send requests to it.
        cors: origins whose pages may read the API, such as ``http://localhost:5173``.
        test_controls: offer ``/_control/*`` to move the clock, arm faults and reset the server. Use
            it for tests only, because it needs no credential.
        dialect: the shapes of responses that the public description of the API leaves open.

    Raises:
        ValueError: a number is negative.
    """

    data: Path
    rate_limit: int = 1000
    export_inline_max: int = 50_000
    loose: bool = False
    any_host: bool = False
    docs: bool = False
    cors: tuple[str, ...] = ()
    test_controls: bool = False
    dialect: Dialect = REFERENCE

    def __post_init__(self) -> None:
        for name in ("rate_limit", "export_inline_max"):
            if (number := getattr(self, name)) < 0:
                raise ValueError(f"{name}={number}: pass a whole number, 0 or more")
