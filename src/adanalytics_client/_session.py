"""What all operations of one client share."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from adanalytics_client._config import Config
from adanalytics_client._credentials import Credentials
from adanalytics_client._deadline import Deadline
from adanalytics_client._effects import Clock
from adanalytics_client._hooks import Observer
from adanalytics_client._quota import Quota, QuotaState
from adanalytics_client._quota_log import Store
from adanalytics_client._quota_records import Moment
from adanalytics_client._secret import Secret
from adanalytics_client._url import redact_url


@dataclass(frozen=True, slots=True)
class Session:
    """The settings, the shared state, and the sources of time and chance.

    `jitter` gives numbers from 0 to 1, evenly; `hurry` ends whatever is longer.
    """

    config: Config
    credentials: Credentials
    quota: Quota
    observer: Observer
    clock: Clock
    jitter: Callable[[], float]
    hurry: Deadline | None = None

    @classmethod
    def open(
        cls,
        config: Config,
        *,
        store: Store,
        observer: Observer,
        clock: Clock,
        jitter: Callable[[], float],
        others: Iterable[Secret] = (),
    ) -> "Session":
        """A session in which nothing was sent yet.

        `store` is where sends are logged; `others` are secrets that are none of the service.
        """
        quota = Quota(
            config.limit,
            reserve=config.reserve,
            store=store,
            now=lambda: Moment(clock.time(), clock.monotonic()),
        )
        credentials = Credentials(config.credential, others)
        return cls(config, credentials, quota, observer, clock, jitter)

    def deadline(self) -> Deadline:
        """The deadline of a request that begins now."""
        budget = self.config.retry.budget
        moment = self.clock.monotonic() + budget
        if self.hurry is not None and self.hurry.moment < moment:
            return replace(self.hurry)
        return Deadline(self.clock, moment, f"RetryPolicy(budget={budget:g})")

    def limit_of(self, deadline: Deadline | None) -> str | None:
        """What ended something for lack of time, as in code; None where a lent client did."""
        if deadline is not None and deadline.cut:
            return deadline.name
        timeout = self.config.timeout
        return None if timeout is None else f"timeout={timeout:g}"

    def address(self, resource: str) -> str:
        """The address of a resource of the partner."""
        return self.config.base.partner(self.config.partner, resource)

    def shown(self, url: str) -> str:
        """An address as anybody may see it: without a signature, and without an echoed secret."""
        return self.credentials.redact(redact_url(url))

    def quota_state(self) -> QuotaState:
        """What is left of the quota now; run it inside `Atomic`."""
        return self.quota.state()
