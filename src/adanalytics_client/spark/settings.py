"""The options of a read, checked once."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import cast, get_args

from adanalytics_client._base.observer import Observer
from adanalytics_client._base.validation import check_choice, check_seconds
from adanalytics_client._call.config import OnLimit
from adanalytics_client._exports.status import ONE_HOUR
from adanalytics_client.client import Client
from adanalytics_client.errors import ConfigurationError

Environment = Callable[[], Mapping[str, str]]
"""Returns the variables, with the credential.

Keep no local variable of it: error reports show local variables.
"""

# Spark writes options in this style, and does not distinguish capital letters.
_OPTIONS = ("partner", "start", "end", "hour", "baseUrl", "timeout", "onLimit", "maxWait")


@dataclass(frozen=True, slots=True)
class Settings:
    """The options of a read; `AdAnalyticsDataSource` documents them."""

    start: str
    end: str | None
    hour: int | None
    partner: str | None
    base_url: str | None
    timeout: float
    on_limit: OnLimit
    max_wait: float

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
        if "start" not in given:
            raise ConfigurationError("start is missing: pass the first day, such as 2026-01-15.")
        on_limit = given.get("onLimit", "wait")
        check_choice("onLimit", on_limit, get_args(OnLimit))
        return cls(
            start=given["start"],
            end=given.get("end"),
            hour=_hour(given["hour"]) if "hour" in given else None,
            partner=given.get("partner", partner),
            base_url=given.get("baseUrl", base_url),
            timeout=_seconds(given, "timeout", ONE_HOUR),
            on_limit=cast("OnLimit", on_limit),
            max_wait=_seconds(given, "maxWait", 7200.0),
        )

    def client(self, environment: Environment, observer: Observer) -> Client:
        return Client.from_env(
            environment(),
            base_url=self.base_url,
            partner=self.partner,
            on_limit=self.on_limit,
            max_wait=self.max_wait,
            observer=observer,
        )


def _hour(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) < 24):
        raise ConfigurationError(f"hour={text!r}: pass a whole number, from 0 to 23.")
    return int(text)


def _seconds(given: Mapping[str, str], name: str, default: float) -> float:
    text = given.get(name)
    try:
        seconds = default if text is None else float(text)
    except ValueError:
        raise ConfigurationError(f"{name}={text!r}: pass a number of seconds.") from None
    check_seconds(name, seconds, zero=True)
    return seconds
