"""The client for ordinary, synchronous programs."""

import os
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Self

from adanalytics_client import _operations
from adanalytics_client._connection import Connection
from adanalytics_client._dates import Day
from adanalytics_client._lent import HttpClient
from adanalytics_client._sync import SyncDriver

# What orders or reads something is imported where that begins: most programs do one of them.
if TYPE_CHECKING:
    from adanalytics_client._seen import SeenEvents
    from adanalytics_client._typed import M
    from adanalytics_client.events import EventQuery
    from adanalytics_client.jobs import ExportJob
    from adanalytics_client.models import Summary


class Client(Connection[HttpClient, SyncDriver]):
    """A connection to the service for one partner; thread-safe, and a context manager.

    A forked child may go on with it, over connections of its own.

    Args:
        base_url: where the service is, such as `https://stats.example`, with any path prefix.
        api_key: an API key; or
        email, password: an account, logged in when first needed and again when its token expires;
        token: or a token from an earlier login. Exactly one of the three.
        partner: whose data to read; needed by every method.
        timeout: seconds without a byte that end a request; by default those of `http`, or 60.
        retry: how often and how long to try; see `RetryPolicy`.
        limit: requests an hour that the service allows this key, or None for no count.
        reserve: how many of them to leave for people and programs that use the same key.
        on_limit: `wait` for the hour to go on, or `raise` QuotaExceeded or RateLimited.
        max_wait: seconds; a longer wait for requests raises instead. By default two hours: the
            hour of the limit can take longer when others are quicker, or were killed.
        quota_log: where sends are counted: `shared` by all processes of this user, in
            `$XDG_STATE_HOME/adanalytics/quota`; in `memory`, by this client alone; or a `Path`,
            another folder to share.
        observer: told about requests, repeats, waits, pages and bytes.
        http: a ready `httpx.Client` to send with, neither changed nor closed. Its
            transport, proxies, TLS settings, hooks and timeouts count, and its headers on the
            service's own origin; never its cookies, `Authorization`, auth, base_url or params.
            A forked child needs another one: it would read its parent's answers through this one.
        clock: where time comes from; for tests.
        jitter: numbers from 0 to 1 that spread repeats; for tests.

    Raises:
        ConfigurationError: naming the argument that is missing or wrong; nothing is sent yet.

    Example:
        >>> with Client("https://stats.example", api_key="...", partner="acme") as client:
        ...     client.dates()
        [datetime.date(2026, 1, 15), datetime.date(2026, 1, 16)]
    """

    def _drive(self, http: HttpClient | None) -> SyncDriver:
        session = self._session
        return SyncDriver(
            http,
            session.config.base,
            clock=session.clock,
            timeout=session.config.timeout,
            redact=session.credentials.redact,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Give up what is under way and close the connections; `http=` is left open.

        Example:
            >>> client.close()
        """
        self._driver.close()

    def log_in(self) -> str:
        """Log in, unless that is done, and give the token: good as `token=` for 7 days.

        Raises:
            ConfigurationError: when the client was not made with `email` and `password`.
            AdAnalyticsError: when the service cannot be reached or refuses.

        Example:
            >>> about = {"base_url": "https://stats.example", "partner": "acme"}
            >>> with Client(**about, email=email, password=password) as person:
            ...     token = person.log_in()
        """
        return self._driver.run(_operations.log_in(self._session))

    def dates(self) -> list[date]:
        """The days that have data.

        Raises:
            AdAnalyticsError: when the service cannot be reached, refuses, or answers otherwise.

        Example:
            >>> client.dates()
            [datetime.date(2026, 1, 15), datetime.date(2026, 1, 16)]
        """
        return self._driver.run(_operations.dates(self._session))

    def summary(
        self, start: Day, end: Day | None = None, *, group_by: str | None = None
    ) -> "Summary":
        """Aggregated metrics of the days from `start` to `end`, both included.

        Args:
            start, end: as for `events`.
            group_by: `day`, `campaign` or `demand_tag`; by default one row of totals.

        Raises:
            ConfigurationError: for a wrong day or grouping.
            AdAnalyticsError: when the service cannot be reached, refuses, or answers otherwise.

        Example:
            >>> client.summary("2026-01-01", "2026-01-31", group_by="campaign").rows[0].ecpm
            Decimal('1.407724')
        """
        asked = _operations.summary(self._session, start, end, group_by=group_by)
        return self._driver.run(asked)

    def events(
        self,
        start: Day,
        end: Day | None = None,
        *,
        hour: int | None = None,
        split: str = "hourly",
        per_page: int | None = None,
        concurrency: int = 4,
        ordered: bool = True,
        model: "type[M] | None" = None,
        rows_key: str | None = None,
        max_events: int | None = None,
        resume: str | None = None,
        seen: "SeenEvents | None" = None,
    ) -> "EventQuery[M]":
        """Log-level events of the days from `start` to `end`, both included; lazy.

        Args:
            start: `YYYY-MM-DD` or a date, UTC.
            end: the same; by default `start`.
            hour: only this hour, 0 to 23, of each day.
            split: `hourly` asks for each hour by itself, as the service advises for large days;
                `daily` for each day; `none` for the whole range at once; `auto` begins with the
                range and asks for days or hours instead where those are too many pages.
            per_page: events a page, 1 to 10,000; by default that of the token of `resume`, else
                10,000, or `max_events` where that is less.
            concurrency: requests in flight, 1 to 64.
            ordered: keep the order of the plan; False gives pages as they arrive.
            model: the type of an event, anything pydantic can validate; by default `Event`.
            rows_key: the name of the list of events, or its path such as `report.body.events`,
                where the service's answer leaves it open.
            max_events: stop after so many; pages are then fetched one at a time, none in vain.
            resume: the `token` of a page of the same query, to go on after that page.
            seen: leaves out events that an earlier pull brought, by `event_id`, and learns of
                those of this one.

        Raises:
            ConfigurationError: naming the argument that is wrong.

        Example:
            >>> client.events("2026-01-01", "2026-01-31").plan.least_requests
            744
        """
        from adanalytics_client._pull import make_pull
        from adanalytics_client.events import EventQuery

        pull = make_pull(
            start,
            end,
            hour=hour,
            split=split,
            per_page=per_page,
            concurrency=concurrency,
            ordered=ordered,
            model=model,
            rows_key=rows_key,
            max_events=max_events,
            resume=resume,
            seen=seen,
            partner=self._session.config.partner,
        )
        return EventQuery(pull, self._session, self._driver)

    def start_export(
        self,
        start: Day,
        end: Day | None = None,
        *,
        format: str = "csv",  # noqa: A002  # the service's own name for it
        compression: str | None = None,
    ) -> "ExportJob":
        """Start a bulk export of all events of the days from `start` to `end`, both included.

        Args:
            start, end: as for `events`.
            format: `csv`, or another that the service knows.
            compression: sent only when given, as the service documents none.

        Raises:
            ConfigurationError: for a wrong day.
            AdAnalyticsError: when the service cannot be reached or refuses. A lost connection is
                not tried again, since the export may have started.

        Example:
            >>> job = client.start_export("2026-01-01", "2026-01-31")
            >>> job.wait(timeout=3600).row_count
            600
        """
        from adanalytics_client._exporting import start_export
        from adanalytics_client.jobs import ExportJob

        asked = start_export(self._session, start, end, file_format=format, compression=compression)
        return ExportJob(self._driver.run(asked), (self._session, self._driver))

    def export(
        self,
        start: Day,
        end: Day | None = None,
        *,
        to: str | os.PathLike[str],
        format: str = "csv",  # noqa: A002  # the service's own name for it
        compression: str | None = None,
        timeout: float = 3600.0,
    ) -> Path:
        """Start a bulk export, wait for it and download it.

        Args:
            start, end: as for `events`.
            to: the file to make; one that exists is replaced only by a whole one.
            format, compression: as for `start_export`.
            timeout: seconds to wait for the export at most.

        Raises:
            ConfigurationError: for a wrong day, path or timeout; nothing is sent.
            OSError: when `to` cannot be written; seen before anything is sent.
            ExportError: when the export does not end well in time.
            DownloadError, StatusError, TransportError: as for `ExportJob.download`.

        Example:
            >>> client.export("2026-01-01", "2026-01-31", to="jan.csv")
            PosixPath('jan.csv')
        """
        from adanalytics_client._download import Delivery
        from adanalytics_client._export_order import check_delivery

        check_delivery(to, timeout)
        job = self.start_export(start, end, format=format, compression=compression)
        delivery = Delivery(self._session, job.order, job.last_status)
        return self._driver.run(delivery.run(Path(to), timeout=timeout))
