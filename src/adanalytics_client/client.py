"""The client for ordinary, synchronous programs."""

import os
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Self

from ._base.dates import Day
from ._base.urls import Params
from ._call import requests as _requests
from ._client_base import ClientBase
from ._io.http import HttpClient
from ._io.sync_driver import SyncDriver
from ._json.exact import Json
from ._shapes.service import ServiceProfile

# Exports and queries are imported by the methods that start them: most programs need only one.
if TYPE_CHECKING:
    from ._events.dedupe import SeenEvents
    from ._events.typed import M
    from .events import EventQuery
    from .jobs import ExportJob
    from .models import Summary
    from .types import Check, GroupBy, OnDrift, Split


class Client(ClientBase[HttpClient, SyncDriver]):
    """A thread-safe connection to the service for one partner; it is also a context manager.

    A forked child can keep using the client, which then opens new connections (but see `http`).

    Args:
        base_url: the service's address, such as `https://stats.example`, including any path prefix.
        api_key: an API key.
        email: an account's e-mail. The client logs in if necessary, and again if its token expires.
        password: the password of the account.
        token: a token from an earlier login.
        partner: the partner to read data for; every method that reads data needs it.
        timeout: how many seconds a request may wait for data; by default `http`'s timeout, or 60.
        retry: how many times, and for how long, to try a request; see `RetryPolicy`.
        quota: how many requests the client may send, where it counts them, and how long it waits
            for more; see `QuotaPolicy`.
        service: what you know about the service, such as its time zone: a `ServiceProfile`, or the
            path of its file, which is read now; it is the only file that the constructor reads.
        observer: an object that is notified of requests, retries, waits and more; see `Observer`.
        http: an httpx or httpx2 `Client` to send with. It is neither changed nor closed. Its
            transport, proxies, TLS settings, hooks and timeouts apply. `http`'s headers go only to
            the service's own origin. Its cookies, auth, base_url, params and `Authorization` header
            are never used. A forked child needs its own `http`, or it could read its parent's
            responses.
        clock: the source of the current time; for tests.

    Raises:
        ConfigurationError: when an argument is missing or wrong; nothing has been sent yet. Pass
            exactly one of `api_key`, `token`, or `email` with `password`.

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
        """Abandon running requests and close the connections, but leave the `http=` client open.

        For a client from `with_options` or `for_partner`, this method does nothing.

        Examples:
            >>> client.close()
        """
        if not self._shares:
            self.connection.driver.close()
            self._session.quota.store.close()

    def log_in(self) -> str:
        """Log in if necessary, and return the token, which you can pass as `token=` for 7 days.

        Raises:
            ConfigurationError: when the client was not made with `email` and `password`.
            AdAnalyticsError: when the service cannot be reached or refuses the login.

        Examples:
            >>> about = {"base_url": "https://stats.example", "partner": "acme"}
            >>> with Client(**about, email=email, password=password) as person:
            ...     token = person.log_in()
        """
        return self.connection.driver.run(_requests.log_in(self._session))

    def dates(self) -> list[date]:
        """Return the days that have data.

        Raises:
            AdAnalyticsError: when the request fails or is refused, or the response is unexpected.

        Examples:
            >>> client.dates()
            [datetime.date(2026, 1, 15), datetime.date(2026, 1, 16)]
        """
        from ._lists.dates import dates

        return self.connection.driver.run(dates(self._session))

    def summary(
        self,
        start: Day,
        end: Day | None = None,
        *,
        group_by: "GroupBy | None" = None,
        params: Params | None = None,
    ) -> "Summary":
        """Return aggregated metrics for the days from `start` to `end`, both included.

        Args:
            start: as for `events`.
            end: as for `events`.
            group_by: the grouping, of `GroupBy`; by default one row of totals.
            params: further query parameters that the service accepts, such as `{"campaign_id": 7}`.

        Raises:
            ConfigurationError: for a wrong day or grouping.
            AdAnalyticsError: when the request fails or is refused, or the response is unexpected.

        Examples:
            >>> client.summary("2026-01-01", "2026-01-31", group_by="campaign").rows[0].ecpm
            Decimal('1.407724')
        """
        from ._lists.summary import summary

        operation = summary(self._session, start, end, group_by=group_by, params=params)
        return self.connection.driver.run(operation)

    def probe(self, *, with_export: bool = False) -> ServiceProfile:
        """Ask the service what its public documents leave open, and return it as a profile.

        This sends at most 12 GET requests about one day with few events, each once, and reads at
        most 10,000 of its events, or 50 per page if it has more. What they cannot tell stays
        unknown. The client's own `service` is not used, except a `rows_key` that you stated.

        Args:
            with_export: also order a bulk export of the day, wait for it, and compare its rows
                with the events.

        Raises:
            ProtocolError: when neither events nor summaries can be read.
            AdAnalyticsError: when the service cannot be reached or refuses the credential, or the
                request limit is reached.

        Examples:
            >>> profile = client.probe()
            >>> profile.rows_key, profile.pages.total, profile.zone
            ('data', 'meta.total', 'UTC')
        """
        from ._probe.probe import probe

        operation = probe(self._session, with_export=with_export)
        return self.connection.driver.run(operation)

    def request(
        self, method: str, path: str, *, params: Params | None = None, json: Json = None
    ) -> _requests.Response:
        """Send a request of your own to any path of the service.

        This client's credential, quota and retries apply, and failures raise the usual exceptions.
        A `POST` or `PATCH` that the service may have carried out is not sent again.

        Args:
            method: `GET`, `HEAD`, `PUT`, `DELETE`, `POST` or `PATCH`.
            path: a path below `base_url`, such as `/api/partners/acme/ad-analytics/dates`.
            params: the query parameters.
            json: the body: None, a bool, int, Decimal or str, or a dict or list of these.

        Raises:
            ConfigurationError: for a wrong method or path.
            AdAnalyticsError: when the service is unreachable, refuses the request or sends no JSON.

        Examples:
            >>> path = f"/api/partners/{client.partner}/ad-analytics/dates"
            >>> client.request("GET", path).data
            {'dates': ['2026-01-15', '2026-01-16']}
        """
        operation = _requests.request(self._session, method, path, params, json)
        return self.connection.driver.run(operation)

    def events(
        self,
        start: Day,
        end: Day | None = None,
        *,
        hour: int | None = None,
        split: "Split" = "hourly",
        per_page: int | None = None,
        concurrency: int = 4,
        model: "type[M] | None" = None,
        max_events: int | None = None,
        resume: str | None = None,
        seen: "SeenEvents | None" = None,
        on_drift: "OnDrift" = "raise",
        check: "Check" = "auto",
        params: Params | None = None,
    ) -> "EventQuery[M]":
        """Return a query for the log-level events from `start` to `end`, both included.

        Nothing is sent until the query is read.

        Args:
            start: the first day: a date or datetime (of Python, pandas or numpy), `YYYY-MM-DD`, a
                number such as 20260115, `today`, `yesterday`, a month such as `2026-01`, or a
                number of days ago such as `-7d`. Days are in UTC; the client's clock says which day
                is `today`.
            end: the last day, in any form that `start` allows; a month means its last day. By
                default, it is the last day that `start` covers; without `end`, a `start` of `-7d`
                covers the last seven days, including today.
            hour: pull only this hour, 0 to 23, of each day.
            split: with `hourly`, there is one query per hour, as the service advises for days with
                many events; with `daily`, one per day; with `none`, one for the whole range. `auto`
                begins with the whole range and continues with days or hours if there are too many
                pages: a day with few events costs one request with `auto`, and 24 with `hourly`.
            per_page: events per page, 1 to 10,000; by default the value in the `resume` token.
                Without a token, the default is 10,000 or `max_events`, whichever is less.
            concurrency: the maximum number of requests in flight, 1 to 64. The first page is
                fetched on its own, so reading just one event costs only one request. After that,
                the number of requests in flight doubles with each page that you read.
            model: the type of an event: any type that pydantic validates; by default `Event`.
            max_events: stop after this many events. With a limit, pages are fetched one at a time,
                so that no page is fetched unnecessarily.
            resume: the `token` of a page of the same query; the pull continues after that page, or
                repeats that page if `max_events` cut it short.
            seen: ids of events to skip, from earlier pulls; the pull adds the ids of new events.
            on_drift: what to do if events differ in number from what the service states, or if it
                states that a response is not whole. `raise` repeats a query with missing events up
                to twice, yields the events that are new, and raises ProtocolError if the numbers
                still differ; `warn` accepts the events that arrived and logs a warning.
            check: when to compare the pull as a whole with the service's own count of the range,
                which costs one request at the end. `auto` compares what becomes a file, and other
                pulls only in doubt, such as when a page states no total; `always` compares each
                pull; `none` compares none, and each query only with its own total. A pull with
                `max_events` or `params` is not compared, and one of an `hour` only in doubt, such
                as without events of a day, with the count of its days.
            params: further query parameters that the service accepts, such as `{"campaign_id": 7}`;
                a `resume` token works only with the same `params`.

        Raises:
            ConfigurationError: when an argument is wrong; the error names it.

        Examples:
            >>> client.events("2026-01-01", "2026-01-31").plan.least_requests
            744
        """
        from ._events.query import EventRequest, plan_pull
        from .events import EventQuery

        request = EventRequest(
            start=start,
            end=end,
            hour=hour,
            split=split,
            per_page=per_page,
            concurrency=concurrency,
            model=model,
            max_events=max_events,
            resume=resume,
            seen=seen,
            on_drift=on_drift,
            check=check,
            params=params,
        )
        return EventQuery(plan_pull(request, self._session), self.connection)

    def start_export(
        self,
        start: Day,
        end: Day | None = None,
        *,
        format: str = "csv",  # noqa: A002  # the service's own name for it
        compression: str | None = None,
    ) -> "ExportJob":
        """Start a bulk export of all events from `start` to `end`, both included.

        Args:
            start: as for `events`.
            end: as for `events`.
            format: `csv`, or another format that the service supports.
            compression: a compression such as `gzip`; by default, the parameter is not sent,
                because the service does not document it.

        Raises:
            ConfigurationError: for an invalid day.
            AdAnalyticsError: when the service cannot be reached or refuses the request. After a
                lost connection, the request is not repeated, since the export may have started.

        Examples:
            >>> job = client.start_export("2026-01-01", "2026-01-31")
            >>> job.wait(timeout=3600).row_count
            600
        """
        from ._exports.order import start_export
        from .jobs import ExportJob

        operation = start_export(
            self._session, start, end, file_format=format, compression=compression
        )
        return ExportJob(self.connection.driver.run(operation), self.connection)

    def export(
        self,
        start: Day,
        end: Day | None = None,
        *,
        to: str | os.PathLike[str],
        format: str | None = None,  # noqa: A002  # the service's own name for it
        compression: str | None = None,
        timeout: float = 3600.0,
        check: "Check" = "auto",
        progress: bool = False,
    ) -> Path:
        """Start a bulk export, wait for it and download it.

        Args:
            start: as for `events`.
            end: as for `events`.
            to: the file to write, or a folder, as for `ExportJob.download`. An existing file is
                replaced only by a complete one.
            format: as for `start_export`. The default follows the suffix of `to`, such as `.csv`,
                `.jsonl`, `.ndjson` or `.parquet`, and is csv for other suffixes.
            compression: as for `start_export`. The default is gzip if `to` ends in `.gz`.
            timeout: the longest wait for the export, in seconds.
            check: as for `ExportJob.download`.
            progress: show the bytes received and any waits, on a terminal or in a notebook.

        Raises:
            ConfigurationError: for a wrong day, path or timeout, or if the suffix of `to`
                contradicts the format or compression; nothing is sent.
            OSError: when `to` cannot be written; this is checked before anything is sent.
            ExportError: when the export fails, expires or is not done in time.
            DownloadError, StatusError, TransportError: as for `ExportJob.download`.

        Examples:
            >>> client.export("2026-01-01", "2026-01-31", to="jan.csv")
            PosixPath('jan.csv')
        """
        from ._exports.download import ExportDownload, check_download
        from ._progress import displayed

        form, packing = check_download(to, timeout, format, compression, check)
        job = self.start_export(start, end, format=form, compression=packing)
        with displayed(self._session, progress=progress) as session:
            download = ExportDownload(session, job.order, job.last_status, check)
            return self.connection.driver.run(download.run(Path(to), timeout=timeout))


Client.__module__ = "adanalytics_client"
