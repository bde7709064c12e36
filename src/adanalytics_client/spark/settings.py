"""The options of a read, checked once."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Literal, TypeVar, get_args
from uuid import uuid4

from adanalytics_client._base.validation import check_seconds, is_whole
from adanalytics_client._call.config import OnLimit
from adanalytics_client._exports import ONE_HOUR
from adanalytics_client.client import Client
from adanalytics_client.errors import ConfigurationError
from adanalytics_client.spark.quota import with_leases

W = TypeVar("W", bound=str)

Via = Literal["export", "pages"]
"""How events are read: from bulk exports, or page by page."""

Environment = Callable[[], Mapping[str, str]]
"""Returns the variables, with the credential.

Keep no local variable of it: error reports show local variables.
"""

# Spark writes options in this style, and does not distinguish capital letters.
_OPTIONS = (
    *("partner", "start", "end", "hour", "baseUrl", "via", "timeout", "lookback"),
    *("maxRequests", "quotaServer", "onLimit", "maxWait", "rowsKey"),
)
_OF_PAGES = ("maxRequests", "quotaServer", "rowsKey")


@dataclass(frozen=True, slots=True)
class Settings:
    """The options of a read; `AdAnalyticsDataSource` documents them."""

    start: str
    end: str | None
    hour: int | None
    partner: str | None
    base_url: str | None
    via: Via
    timeout: float
    lookback: int | None
    max_requests: int
    quota_server: str
    on_limit: OnLimit
    max_wait: float
    rows_key: str | None

    @classmethod
    def read(cls, options: Mapping[str, str], environment: Environment) -> "Settings":
        """Read Spark's options, and the driver's environment where they say nothing.

        Raises:
            ConfigurationError: naming the option that is unknown, missing or wrong.
        """
        held = environment()
        partner, base_url = held.get("ADANALYTICS_PARTNER"), held.get("ADANALYTICS_BASE_URL")
        del held
        names = {name.lower(): name for name in _OPTIONS}
        if unknown := sorted(options.keys() - names.keys()):
            raise ConfigurationError(
                f"Unknown option {unknown[0]!r}. Options: {', '.join(sorted(_OPTIONS))}."
            )
        given = {names[name]: text for name, text in options.items()}
        via = _choice(given, "via", get_args(Via))
        wrong = [name for name in _OF_PAGES if name in given and via != "pages"]
        if wrong:
            raise ConfigurationError(f"{wrong[0]} is an option of via=pages; leave it out.")
        lacking = [name for name in _OF_PAGES[:2] if name not in given and via == "pages"]
        if lacking:
            raise ConfigurationError(
                f"via=pages needs {lacking[0]}: start a QuotaServer in the driver, and pass its "
                "address as quotaServer, and the most requests of this load() as maxRequests."
            )
        if "start" not in given:
            raise ConfigurationError("start is missing: pass the first day, such as 2026-01-15.")
        return cls(
            start=given["start"],
            end=given.get("end"),
            hour=_whole(given, "hour", least=0, most=23) if "hour" in given else None,
            partner=given.get("partner", partner),
            base_url=given.get("baseUrl", base_url),
            via=via,
            timeout=_seconds(given, "timeout", ONE_HOUR),
            lookback=_whole(given, "lookback", least=0) if "lookback" in given else None,
            max_requests=_whole(given, "maxRequests", least=1) if via == "pages" else 0,
            quota_server=given.get("quotaServer", ""),
            on_limit=_choice(given, "onLimit", get_args(OnLimit)),
            max_wait=_seconds(given, "maxWait", 7200.0),
            rows_key=given.get("rowsKey"),
        )

    @contextmanager
    def client(self, environment: Environment, *, read_id: str | None = None) -> Iterator[Client]:
        """A client for one process.

        Args:
            environment: returns the credential.
            read_id: names the read whose `maxRequests` counts its requests; by default a new one.
        """
        with Client.from_env(
            environment(),
            base_url=self.base_url,
            partner=self.partner,
            on_limit=self.on_limit,
            max_wait=self.max_wait,
        ) as client:
            if self.via == "export":
                yield client
                return
            yield with_leases(
                client,
                self.quota_server,
                read_id=read_id or uuid4().hex,
                max_requests=self.max_requests,
            )


def _choice(given: Mapping[str, str], name: str, choices: tuple[W, ...]) -> W:
    """One of several words; the first is the default."""
    chosen = given.get(name, choices[0])
    for each in choices:
        if each == chosen:
            return each
    raise ConfigurationError(f"{name}={chosen!r}: choose {' or '.join(choices)}.")


def _whole(given: Mapping[str, str], name: str, *, least: int, most: int | None = None) -> int:
    text = given[name]
    number = int(text) if text.isascii() and text.isdigit() else None
    if not is_whole(number, least, most):
        bound = f"at least {least}" if most is None else f"from {least} to {most}"
        raise ConfigurationError(f"{name}={text!r}: pass a whole number, {bound}.")
    return int(text)


def _seconds(given: Mapping[str, str], name: str, default: float) -> float:
    text = given.get(name)
    try:
        seconds = default if text is None else float(text)
    except ValueError:
        raise ConfigurationError(f"{name}={text!r}: pass a number of seconds.") from None
    check_seconds(name, seconds, zero=True)
    return seconds
