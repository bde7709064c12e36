"""The reference server that `testing` starts, and what is seen of its arguments beforehand."""

from collections.abc import Sequence
from datetime import date
from types import ModuleType
from typing import TYPE_CHECKING

from adanalytics_client._checks import is_whole
from adanalytics_client._dates import Day, to_day
from adanalytics_client.errors import ConfigurationError

if TYPE_CHECKING:
    from adanalytics_server.clock import Clock as ServerClock
    from adanalytics_server.local import LocalServer


def reference_server(
    *,
    seed: int,
    start: Day,
    days: int,
    events_per_day: int,
    partner: str,
    limit: int,
    faults: Sequence[str],
    dialect: str,
    clock: "ServerClock | None",
) -> "LocalServer":
    """A server that is not started yet.

    Raises:
        ConfigurationError: when the `server` extra is not installed, or for a wrong argument.
    """
    local = local_server()
    first = to_day(start, "start")
    numbers = (("days", days, 0), ("events_per_day", events_per_day, 1), ("limit", limit, 1))
    for name, value, least in numbers:
        if not is_whole(value, least):
            raise ConfigurationError(f"{name}={value!r}: pass a whole number, at least {least}.")
    for name, text in (("partner", partner), ("dialect", dialect)):
        if not isinstance(text, str):
            raise ConfigurationError(f"{name}={text!r}: pass a text.")
    _check_faults(faults)
    if days and days - 1 > (date.max - first).days:
        raise ConfigurationError(f"days={days} from {first} go beyond {date.max}.")
    sample = local.Sample(start=first, days=days, events_per_day=events_per_day, seed=seed)
    try:
        made: LocalServer = local.LocalServer(
            partner=partner,
            sample=sample if days else None,
            rate_limit=limit,
            faults=faults,
            dialect=dialect,
            clock=clock,
        )
    except ValueError as error:
        raise ConfigurationError(f"{error}.") from None
    return made


def _check_faults(faults: object) -> None:
    if isinstance(faults, str):
        raise ConfigurationError(f"faults={faults!r}: pass a list of faults, such as [{faults!r}].")
    if not isinstance(faults, Sequence) or not all(isinstance(each, str) for each in faults):
        raise ConfigurationError(f"faults={faults!r}: pass a list of faults, such as ['503 once'].")


def running(server: "LocalServer") -> "LocalServer":
    """The server once it listens; only then it sees whether a partner can have that id."""
    try:
        return server.__enter__()
    except ValueError as error:
        raise ConfigurationError(f"partner: {error}.") from None


def local_server() -> ModuleType:
    try:
        from adanalytics_server import local
    except ImportError as error:
        raise ConfigurationError(
            f"The reference server needs {error.name}; "
            "install it with: pip install 'adanalytics[server]'"
        ) from None
    return local
