"""When to send again, and how long to wait before."""

import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from adanalytics_client._checks import check_seconds, is_whole
from adanalytics_client._effects import Head
from adanalytics_client.errors import ConfigurationError

_DELTA = re.compile(r"\d+(\.\d+)?", re.ASCII)
_RESET = re.compile(r"\d{1,10}(\.\d{1,9})?", re.ASCII)
_RATE_POLICY = re.compile(r'(?:"[^"]*"|[^,"])+')
_RATE_ITEM = re.compile(r";\s*(?P<key>[a-z]+)\s*=\s*(?P<value>\d{1,10})", re.ASCII)

# A year: nobody waits for more, and dates end.
_LONGEST = 366 * 86_400.0

# A reset value above this is a moment, not a number of seconds to wait.
_EPOCH_FROM = 1_000_000_000

FIRST_PAUSE = 1.0
LONGEST_PAUSE = 30.0
"""Seconds between two questions whether something is ready."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and how long a request is tried.

    Waits grow as `first_wait * 2**n` up to `longest_wait`, and each is drawn evenly from zero to
    that ("full jitter", https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/).
    A `Retry-After` of the service wins when it is longer.

    Attributes:
        attempts: how many times a request is sent at most, at least 1.
        first_wait: seconds, the bound of the first wait.
        longest_wait: seconds, the bound that later waits grow to.
        budget: seconds for one request with its login, redirects and repeats; waits for quota do
            not count. A step that would outlast it is cut short, so that a long `timeout` does not
            multiply, and once it is over nothing is sent.

    Raises:
        ConfigurationError: for numbers that make no sense.

    Example:
        >>> patient = RetryPolicy(attempts=10, longest_wait=120, budget=1800)
        >>> Client("https://stats.example", api_key="...", partner="acme", retry=patient)
        Client('https://stats.example', partner='acme')
    """

    attempts: int = 5
    first_wait: float = 0.5
    longest_wait: float = 30.0
    budget: float = 300.0

    def __post_init__(self) -> None:
        if not is_whole(self.attempts, 1):
            raise ConfigurationError(
                f"RetryPolicy: attempts={self.attempts!r}: pass a whole number, at least 1."
            )
        check_seconds("RetryPolicy: first_wait", self.first_wait, zero=True)
        check_seconds("RetryPolicy: longest_wait", self.longest_wait, zero=True)
        check_seconds("RetryPolicy: budget", self.budget, zero=False)

    def bound(self, repeat: int) -> float:
        """The longest wait before repeat number `repeat`, counted from 0, in seconds.

        Example:
            >>> [RetryPolicy().bound(repeat) for repeat in (0, 1, 2, 10)]
            [0.5, 1.0, 2.0, 30.0]
        """
        return min(self.longest_wait, self.first_wait * 2.0 ** min(repeat, 60))

    def wait(self, repeat: int, asked: float | None, jitter: Callable[[], float]) -> float:
        """Seconds before repeat `repeat`; never earlier than the service asked.

        Example:
            >>> RetryPolicy().wait(2, asked=None, jitter=lambda: 0.25)
            0.5
            >>> RetryPolicy().wait(2, asked=60.0, jitter=lambda: 0.25)
            60.0
        """
        return max(asked or 0.0, self.bound(repeat) * jitter())


def pause_before(question: int) -> float:
    """Seconds before asking again, for the time numbered from 0, whether something is ready."""
    return min(LONGEST_PAUSE, FIRST_PAUSE * 1.5 ** min(question, 60))


def retry_after(head: Head, now: float) -> float | None:
    """Seconds the service asks to wait, or None when no header says so in a readable way.

    `Retry-After` (RFC 9110, section 10.2.3, seconds or a date, a year at most) wins, then `t` of
    `RateLimit` (draft-ietf-httpapi-ratelimit-headers), then `X-RateLimit-Reset`.
    """
    stated = _longest_stated(head.get("retry-after"), now)
    if stated is not None:
        return stated
    return _seconds_to_reset(head, rate_items(head.get("ratelimit")), now)


def rate_window(head: Head, now: float) -> tuple[int, float] | None:
    """Requests left and seconds until the window frees up; None unless both are told."""
    items = rate_items(head.get("ratelimit"))
    left = _remaining(head, items)
    reset = None if left is None else _seconds_to_reset(head, items, now)
    return None if left is None or reset is None else (left, reset)


def _seconds_to_reset(head: Head, items: Mapping[str, int], now: float) -> float | None:
    """Seconds until the rate window frees up, from the rate headers alone."""
    if "t" in items:
        return float(items["t"])
    for name in ("ratelimit-reset", "x-ratelimit-reset", "x-rate-limit-reset"):
        value = (head.get(name) or "").strip()
        if _RESET.fullmatch(value):
            number = float(value)
            return max(0.0, number - now) if number > _EPOCH_FROM else number
    return None


def _remaining(head: Head, items: Mapping[str, int]) -> int | None:
    """Requests left in the service's window, from its rate headers."""
    if "r" in items:
        return items["r"]
    for name in ("ratelimit-remaining", "x-ratelimit-remaining", "x-rate-limit-remaining"):
        value = (head.get(name) or "").strip()
        if value.isascii() and value.isdigit() and len(value) <= 10:
            return int(value)
    return None


def rate_items(value: str | None) -> dict[str, int]:
    """The parameters of a `RateLimit` field: `"hour";r=997;t=1800` gives r and t.

    Of several policies the one with the fewest requests left counts.
    """
    policies = [
        {item["key"]: int(item["value"]) for item in _RATE_ITEM.finditer(policy)}
        for policy in _RATE_POLICY.findall(value or "")
    ]
    return min(policies, key=lambda items: items.get("r", sys.maxsize), default={})


def _longest_stated(value: str | None, now: float) -> float | None:
    """The longest of what a header says that may have come several times, and so is a list.

    A date is one also without the name of its day, which a comma follows.
    """
    stated = [_delta_or_date(each.strip(), now) for each in (value or "").split(",")]
    return max((each for each in stated if each is not None), default=None)


def _delta_or_date(text: str, now: float) -> float | None:
    if _DELTA.fullmatch(text):
        return min(float(text), _LONGEST)
    try:
        moment = parsedate_to_datetime(text)
    except (TypeError, ValueError, OverflowError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    seconds = (moment - datetime.fromtimestamp(now, tz=UTC)).total_seconds()
    return min(max(0.0, seconds), _LONGEST)
