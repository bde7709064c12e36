"""The client for ordinary, synchronous programs."""

import os
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Self

from adanalytics_client._base.dates import Day, to_range
from adanalytics_client._base.urls import Params
from adanalytics_client._call import operations as _operations
from adanalytics_client._client_base import ClientBase
from adanalytics_client._io.http import HttpClient
from adanalytics_client._io.sync_driver import SyncDriver
from adanalytics_client._json.exact import Json

# Exports and queries are imported by the methods that start them: most programs need only one.
if TYPE_CHECKING:
    from adanalytics_client._events.dedupe import SeenEvents
    from adanalytics_client._events.drift import OnDrift
    from adanalytics_client._events.plan import Split
    from adanalytics_client._events.typed import M
    from adanalytics_client.events import EventQuery
    from adanalytics_client.jobs import ExportJob
    from adanalytics_client.models import Summary


class Client(ClientBase[HttpClient, SyncDriver]):
    """A connection to the service for one partner; thread-safe, and a context manager.

    A forked child may go on using it, over its own connections.

    Args:
        base_url: where the service is, such as `https://stats.example`, with any path prefix.
        api_key: an API key.
        email: an account, logged in when first needed and again when its token expires.
        password: the password of the account.
        token: a token from an earlier login.
        partner: whose data to read; needed by every method.
        timeout: seconds without a byte after which a request fails; by default as in `http`, or 60.
        retry: how often and how long to try; see `RetryPolicy`.
        limit: requests per hour that the service allows this key, or None for no limit.
        reserve: requests of the limit to leave for people and programs that use the same key.
        on_limit: `wait` until requests are free again, or `raise` QuotaExceeded or RateLimited. By
            default as in the variable `ADANALYTICS_ON_LIMIT`, or `wait`.
        max_wait: seconds; a longer wait for requests raises instead. By default two hours: a wait
            can exceed the hour of the limit when other processes send first, or were killed.
        quota_log: where sent requests are counted: `shared` by all processes of this user, in
            `$XDG_STATE_HOME/adanalytics/quota`; in `memory`, by this client alone; or a `Path`,
            another folder to share. By default as in the variable `ADANALYTICS_QUOTA_LOG`, or
            `shared`.
        observer: is notified of requests, retries, waits, pages and bytes; see `Observer`.
        http: an `httpx.Client`, or one of httpx2, to send with, neither changed nor closed. Its
            transport, proxies, TLS settings, hooks and timeouts apply, and its headers on the
            service's own origin; its cookies, `Authorization`, auth, base_url and params never do.
            A forked child needs another one: with this one it would read its parent's responses.
        clock: the source of the time; for tests.
        jitter: returns numbers from 0 to 1 that spread retries; for tests.

    Raises:
        ConfigurationError: naming the argument that is missing or wrong; nothing is sent yet.
            Pass exactly one of `api_key`, `token`, or `email` with `password`.

    Examples:
        >>> with Client("https://stats.example", api_key="...", partner="acme") as client:
        ...     client.dates()
        [datetime.date(2026, 1, 15), datetime.date(2026, 1, 16)]
    """

    _driver = SyncDriver

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Abandon running requests and close the connections; `http=` is left open.

        A client from `with_options` or `for_partner` closes nothing.

        Examples:
            >>> client.close()
        """
        if not self._shares:
            self.connection.driver.close()
            self.connection.session.quota.store.close()

    def log_in(self) -> str:
        """Log in if necessary, and return the token, which `token=` accepts for 7 days.

        Raises:
            ConfigurationError: when the client was not made with `email` and `password`.
            AdAnalyticsError: when the service cannot be reached or refuses the login.

        Examples:
            >>> about = {"base_url": "https://stats.example", "partner": "acme"}
            >>> with Client(**about, email=email, password=password) as person:
            ...     token = person.log_in()
        """
        return self.connection.driver.run(_operations.log_in(self.connection.session))

    def dates(self) -> list[date]:
        """Return the days that have data.

        Raises:
            AdAnalyticsError: when the service cannot be reached, refuses, or sends something else.

        Examples:
            >>> client.dates()
            [datetime.date(2026, 1, 15), datetime.date(2026, 1, 16)]
        """
        return self.connection.driver.run(_operations.dates(self.connection.session))

    def summary(
        self,
        start: Day,
        end: Day | None = None,
        *,
        group_by: _operations.GroupBy | None = None,
        params: Params | None = None,
    ) -> "Summary":
        """Return aggregated metrics of the days from `start` to `end`, both included.

        Args:
            start: as for `events`.
            end: as for `events`.
            group_by: `day`, `campaign` or `demand_tag`; by default one row of totals.
            params: further query parameters that the service knows, such as `{"campaign_id": 7}`.

        Raises:
            ConfigurationError: for a wrong day or grouping.
            AdAnalyticsError: when the service cannot be reached, refuses, or sends something else.

        Examples:
            >>> client.summary("2026-01-01", "2026-01-31", group_by="campaign").rows[0].ecpm
            Decimal('1.407724')
        """
        asked = _operations.summary(
            self.connection.session, start, end, group_by=group_by, params=params
        )
        return self.connection.driver.run(asked)

    def request(
        self, method: str, path: str, *, params: Params | None = None, json: Json = None
    ) -> _operations.Response:
        """Send a request that no other method sends, to any path of the service.

        The credential, the quota, retries and errors are those of this client. A request that may
        have been carried out (`POST`, `PATCH`) is not sent again.

        Args:
            method: `GET`, `HEAD`, `PUT`, `DELETE`, `POST` or `PATCH`.
            path: such as `/api/partners/acme/ad-analytics/dates`, below `base_url`.
            params: the query parameters.
            json: the body: None, bool, int, Decimal, str, and dicts and lists of them.

        Raises:
            ConfigurationError: for a wrong method or path.
            AdAnalyticsError: when the service cannot be reached, refuses, or sends no JSON.

        Examples:
            >>> path = f"/api/partners/{client.partner}/ad-analytics/dates"
            >>> client.request("GET", path).data
            {'dates': ['2026-01-15', '2026-01-16']}
        """
        asked = _operations.request(self.connection.session, method, path, params, json)
        return self.connection.driver.run(asked)

    def events(
        self,
        start: Day,
        end: Day | None = None,
        *,
        hour: int | None = None,
        split: "Split" = "hourly",
        per_page: int | None = None,
        concurrency: int = 4,
        ordered: bool = True,
        model: "type[M] | None" = None,
        rows_key: str | None = None,
        max_events: int | None = None,
        resume: str | None = None,
        seen: "SeenEvents | None" = None,
        on_drift: "OnDrift" = "raise",
        params: Params | None = None,
    ) -> "EventQuery[M]":
        """Return a query for the log-level events from `start` to `end`, both included.

        Nothing is sent until the query is read.

        Args:
            start: a date or a time, also of pandas or numpy, `YYYY-MM-DD`, 20260115, `today`,
                `yesterday`, a month such as `2026-01`, or a number of days ago such as `-7d`; in
                UTC, by the client's clock.
            end: the same, but a month means its last day. By default the end of `start`; `-7d`
                without an end means the last seven days, including today.
            hour: only this hour, 0 to 23, of each day.
            split: `hourly` queries each hour separately, as the service advises for large days;
                `daily` each day; `none` the whole range at once; `auto` begins with the range and
                turns to days or hours if the range has too many pages.
            per_page: events per page, 1 to 10,000; by default the value in the `resume` token, else
                10,000, or `max_events` if that is less.
            concurrency: requests in flight, 1 to 64. The first page is fetched alone, so a look
                at one event is one request; then the number doubles with each page that you take.
            ordered: keep the order of the plan; False gives pages as they arrive.
            model: the type of an event, anything pydantic can validate; by default `Event`.
            rows_key: the name of the list of events, or its path such as `report.body.events`, for
                responses that leave it unclear.
            max_events: stop after this many; pages are then fetched one at a time, so none is
                wasted.
            resume: the `token` of a page of the same query; the pull continues after that page, or
                with that page again if `max_events` cut it.
            seen: the ids of events from earlier pulls, which are left out; this pull adds its own.
            on_drift: at the end of a query, the number of received events is compared with the
                total in its pages. If some are missing, because pages moved meanwhile, `raise`
                repeats the query up to twice, yields the events that are new, and raises
                ProtocolError if some are still missing; `warn` accepts what arrived and logs it.
                Likewise for queries that were answered without a body, at the end of the pull.
            params: further query parameters that the service knows, such as `{"campaign_id": 7}`;
                they belong to the query that a `resume` token continues. No summary is compared
                with the events then.

        Raises:
            ConfigurationError: naming the argument that is wrong.

        Examples:
            >>> client.events("2026-01-01", "2026-01-31").plan.least_requests
            744
        """
        from adanalytics_client._events.query import EventRequest, plan_pull
        from adanalytics_client.events import EventQuery

        first, last = to_range(start, end, today=self.connection.session.today())
        request = EventRequest(
            start=first,
            end=last,
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
            on_drift=on_drift,
            params=params,
        )
        pull = plan_pull(request, self.connection.session.config.partner)
        return EventQuery(pull, self.connection)

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
            start: as for `events`.
            end: as for `events`.
            format: `csv`, or another that the service knows.
            compression: sent only when given, since the service documents none.

        Raises:
            ConfigurationError: for a wrong day.
            AdAnalyticsError: when the service cannot be reached or refuses. A lost connection is
                not tried again, since the export may have started.

        Examples:
            >>> job = client.start_export("2026-01-01", "2026-01-31")
            >>> job.wait(timeout=3600).row_count
            600
        """
        from adanalytics_client._exports.order import start_export
        from adanalytics_client.jobs import ExportJob

        asked = start_export(
            self.connection.session, start, end, file_format=format, compression=compression
        )
        return ExportJob(self.connection.driver.run(asked), self.connection)

    def export(
        self,
        start: Day,
        end: Day | None = None,
        *,
        to: str | os.PathLike[str],
        format: str | None = None,  # noqa: A002  # the service's own name for it
        compression: str | None = None,
        timeout: float = 3600.0,
        progress: bool = False,
    ) -> Path:
        """Start a bulk export, wait for it and download it.

        Args:
            start: as for `events`.
            end: as for `events`.
            to: the file to write; an existing one is replaced only by a complete one.
            format: as for `start_export`; by default from the suffix of `to`, such as `.csv`,
                `.jsonl`, `.ndjson` or `.parquet`, else csv.
            compression: as for `start_export`; by default gzip if `to` ends in `.gz`.
            timeout: the most seconds to wait for the export.
            progress: show waits and bytes, in a terminal or a notebook.

        Raises:
            ConfigurationError: for a wrong day, path or timeout, or a format or compression that
                the suffix of `to` contradicts; nothing is sent.
            OSError: when `to` cannot be written; checked before anything is sent.
            ExportError: when the export fails, expires or is not done in time.
            DownloadError, StatusError, TransportError: as for `ExportJob.download`.

        Examples:
            >>> client.export("2026-01-01", "2026-01-31", to="jan.csv")
            PosixPath('jan.csv')
        """
        from adanalytics_client._exports.download import Delivery, check_delivery
        from adanalytics_client._progress import displayed

        form, packing = check_delivery(to, timeout, format, compression)
        job = self.start_export(start, end, format=form, compression=packing)
        with displayed(self.connection.session, progress=progress) as session:
            delivery = Delivery(session, job.order, job.last_status)
            return self.connection.driver.run(delivery.run(Path(to), timeout=timeout))


Client.__module__ = "adanalytics_client"
