"""The state that all operations of one client share, and the driver that runs them."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Generic, TypeVar

from adanalytics_client._base.clock import Clock, ClockCheck
from adanalytics_client._base.deadline import Deadline
from adanalytics_client._base.logs import hide_secrets
from adanalytics_client._base.observer import Observer
from adanalytics_client._base.secrets import Secret
from adanalytics_client._base.urls import Resource, redact_url
from adanalytics_client._quota.store import QuotaStore
from adanalytics_client._quota.window import Moment, Quota

from .config import Config
from .credentials import Credentials

D = TypeVar("D")


@dataclass(frozen=True, slots=True)
class Session:
    """The settings, the shared state and the source of time.

    Attributes:
        limit: after it is no deadline.
        days_with_events: days of which a query of that day alone has brought events.
    """

    config: Config
    credentials: Credentials
    quota: Quota
    observer: Observer
    clock: Clock
    clock_check: ClockCheck
    limit: Deadline | None = None
    days_with_events: set[date] = field(default_factory=set, compare=False)

    @classmethod
    def open(
        cls,
        config: Config,
        *,
        store: QuotaStore,
        observer: Observer,
        clock: Clock,
        secrets: Iterable[Secret] = (),
    ) -> "Session":
        """Return a new session, in which nothing was sent yet.

        `store` keeps the log of sends; `secrets` are secrets that do not belong to the service.
        """
        quota = Quota(
            config.quota.limit,
            reserve=config.quota.reserve,
            store=store,
            now=lambda: Moment(clock.time(), clock.monotonic()),
            longest_wait=config.retry.longest_wait,
        )
        credentials = Credentials(config.credential, secrets)
        hide_secrets(credentials)
        return cls(config, credentials, quota, observer, clock, ClockCheck(clock))

    def with_config(self, config: Config, observer: Observer | None = None) -> "Session":
        """Return a session with other settings for the same service, login and quota."""
        quota = replace(
            self.quota, reserve=config.quota.reserve, longest_wait=config.retry.longest_wait
        )
        return replace(self, config=config, quota=quota, observer=observer or self.observer)

    def deadline(self) -> Deadline:
        """Return the deadline of a request that begins now."""
        budget = self.config.retry.budget
        moment = self.clock.monotonic() + budget
        if self.limit is not None and self.limit.moment < moment:
            return replace(self.limit)
        return Deadline(self.clock, moment, f"RetryPolicy(budget={budget:g})")

    def limit_of(self, deadline: Deadline | None) -> str | None:
        """Return the setting that ended a request, as in code; None if the HTTP client did."""
        if deadline is not None and deadline.is_the_cause:
            return deadline.name
        timeout = self.config.timeout
        return None if timeout is None else f"timeout={timeout:g}"

    def today(self) -> date:
        """Return the day that it is at the service."""
        return self.config.service.now(self.clock.time()).date()

    def address(self, resource: Resource) -> str:
        return self.config.base.partner(self.config.partner, resource)

    def shown(self, url: str) -> str:
        """Return an address that is safe to show: without a signature or an echoed secret."""
        return self.credentials.redact(redact_url(url))


@dataclass(frozen=True, slots=True)
class Connection(Generic[D]):
    """What a client hands to the objects that stand on it: queries, exports, datasets and Spark."""

    session: Session
    driver: D
