"""The retry policy: when to send again, and how long to wait before."""

from dataclasses import dataclass
from random import random

from adanalytics_client._base.validation import check_number, check_seconds, whole

FIRST_PAUSE = 1.0
LONGEST_PAUSE = 60.0
"""Seconds between two checks whether something is ready."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """The limits on how often, and for how long, the client sends a failed request again.

    The upper limit for the wait before retry `n`, counted from 0, is `first_wait * 2**n`, but at
    most `longest_wait`. Each wait is a random time below its limit ("full jitter",
    https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/). A longer
    `Retry-After` from the service takes precedence.

    A 429 that states no time is no failed attempt. All clients with the key then wait, and one
    request at a time asks again, 20 s, 1, 3 and 6 minutes after the 429, then every 10 minutes and
    5 s after each full hour. These pauses are for `longest_wait=30`, and are scaled with it.

    Attributes:
        attempts: the maximum number of times that a request is sent, at least 1.
        first_wait: the upper limit for the first wait, in seconds.
        longest_wait: the largest upper limit for a wait, in seconds. The pauses during `patience`,
            and those after a 429 that states no time, are in proportion to it.
        budget: the maximum time for one request, in seconds, including its login, redirects and
            retries, but not waits for quota. An attempt that would exceed the budget is cut short,
            even if `timeout` allows more. Once the budget is used up, no request is sent.
        patience: how many seconds a pull, after its first page, waits while the service is down or
            failing (no connection, 500 and above), once its `attempts` are used up; it then pauses
            for `longest_wait`. The default is long enough for a deployment of the service.

    Raises:
        ConfigurationError: for a number that is out of range.

    Examples:
        >>> patient = RetryPolicy(attempts=10, longest_wait=120, budget=1800)
        >>> Client("https://stats.example", api_key="...", partner="acme", retry=patient)
        Client('https://stats.example', partner='acme')
    """

    attempts: int = 5
    first_wait: float = 0.5
    longest_wait: float = 30.0
    budget: float = 300.0
    patience: float = 120.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "attempts", whole(self.attempts))
        check_number("RetryPolicy: attempts", self.attempts, 1)
        check_seconds("RetryPolicy: first_wait", self.first_wait, zero=True)
        check_seconds("RetryPolicy: longest_wait", self.longest_wait, zero=True)
        check_seconds("RetryPolicy: budget", self.budget, zero=False)
        check_seconds("RetryPolicy: patience", self.patience, zero=True)

    def bound(self, repeat: int) -> float:
        """Return the upper limit, in seconds, of the wait before retry `repeat` (0 is the first).

        Examples:
            >>> [RetryPolicy().bound(repeat) for repeat in (0, 1, 2, 10)]
            [0.5, 1.0, 2.0, 30.0]
        """
        return min(self.longest_wait, self.first_wait * 2.0 ** min(repeat, 60))

    def wait(self, repeat: int, retry_after: float | None) -> float:
        """Return the seconds before retry number `repeat`, or `retry_after` if that is longer.

        Examples:
            >>> 0 <= RetryPolicy().wait(2, retry_after=None) < 2
            True
            >>> RetryPolicy().wait(2, retry_after=60.0)
            60.0
        """
        return max(retry_after or 0.0, self.bound(repeat) * random())  # noqa: S311  # not a secret


def pause_before(poll: int) -> float:
    """Return the seconds before poll number `poll`, from 0: at most about 60 polls an hour."""
    return min(LONGEST_PAUSE, FIRST_PAUSE * 1.5 ** min(poll, 60))


RetryPolicy.__module__ = "adanalytics_client"
