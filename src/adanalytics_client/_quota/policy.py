"""The quota policy: how many requests to send, and what to do when they are used up."""

import os
from dataclasses import dataclass
from typing import Literal

from adanalytics_client._base.validation import (
    check_choice,
    check_number,
    check_seconds,
    invalid,
    whole,
)

QuotaLog = Literal["shared", "memory"] | os.PathLike[str]
"""Where requests are counted: `shared` (across the user's processes), `memory`, or a folder."""

OnLimit = Literal["wait", "raise"]
"""What to do when the hour's requests are used up."""


@dataclass(frozen=True, slots=True)
class QuotaPolicy:
    """How many requests the client may send, where it counts them, and how long it waits for more.

    Attributes:
        limit: requests per hour that the service allows this key (or, with a token or a login, this
            user), or None for no limit.
        reserve: how many requests per hour to leave for other users of the same key.
        on_limit: at the limit, or after a 429, `wait` until requests are available again, or
            `raise` QuotaExceeded or RateLimited, whose `resumes_at` says when to try again. The
            default is the value of `ADANALYTICS_ON_LIMIT`, or `wait`.
        max_wait: the longest wait for quota, in seconds; a longer wait raises an error. The default
            is 7200, because requests of other processes, even of killed ones, can make a wait
            exceed one hour. After a 429 that states no time, it is the longest time in which a call
            waits for the end of the limit; see `RetryPolicy`.
        log: where to count sent requests. With `shared`, all processes of this user share the count
            in `$XDG_STATE_HOME/adanalytics/quota`; with a `Path`, they share it in that folder;
            with `memory`, the client counts only its own requests. The default is the value of
            `ADANALYTICS_QUOTA_LOG`, or `shared`.

    Raises:
        ConfigurationError: for a value that is not valid; the error names it.

    Examples:
        >>> nightly = QuotaPolicy(reserve=200, on_limit="raise")
        >>> Client("https://stats.example", api_key="...", partner="acme", quota=nightly)
        Client('https://stats.example', partner='acme')
    """

    limit: int | None = 1000
    reserve: int = 0
    on_limit: OnLimit | None = None
    max_wait: float = 7200.0
    log: QuotaLog | None = None

    def __post_init__(self) -> None:
        for name in ("limit", "reserve"):
            object.__setattr__(self, name, whole(getattr(self, name)))
        check_seconds("QuotaPolicy: max_wait", self.max_wait, zero=True)
        limit = self.limit
        check_number("QuotaPolicy: limit", limit, 1, none="no limit")
        check_number("QuotaPolicy: reserve", self.reserve, 0)
        if limit is not None and self.reserve >= limit:
            raise invalid("QuotaPolicy: reserve", self.reserve, f"Pass less than limit={limit}.")
        if self.on_limit is not None:
            check_choice("QuotaPolicy: on_limit", self.on_limit, OnLimit)
        if self.log not in (None, "shared", "memory") and not isinstance(self.log, os.PathLike):
            raise invalid(
                "QuotaPolicy: log",
                self.log,
                "Choose 'shared' or 'memory', or pass the Path of a folder.",
            )


QuotaPolicy.__module__ = "adanalytics_client"
