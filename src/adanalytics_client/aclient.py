"""The client for asyncio programs; the same names as in `client`."""

import os
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Self

from ._base.dates import Day
from ._base.urls import Params
from ._call import requests as _requests
from ._client_base import ClientBase
from ._io.async_driver import AsyncDriver
from ._io.http import AsyncHttpClient
from ._json.exact import Json
from ._shapes.service import ServiceProfile

# Exports and queries are imported by the methods that start them: most programs need only one.
if TYPE_CHECKING:
    from ._events.dedupe import SeenEvents
    from ._events.typed import M
    from .aevents import AsyncEventQuery
    from .ajobs import AsyncExportJob
    from .models import Summary
    from .types import Check, GroupBy, OnDrift, Split


class AsyncClient(ClientBase[AsyncHttpClient, AsyncDriver]):
    """The client for asyncio, with the arguments of `Client` and methods that you await.

    One client serves one event loop in one process. After its first request, the client raises
    ConfigurationError if it is used in another loop or in a forked child. `http` is an httpx or
    httpx2 `AsyncClient`.

    Examples:
        >>> async with AsyncClient("https://stats.example", api_key="...", partner="acme") as acme:
        ...     await acme.dates()
        [datetime.date(2026, 1, 15), datetime.date(2026, 1, 16)]
    """

    _driver = AsyncDriver

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Like `Client.close`, but awaited."""
        if not self._shares:
            await self.connection.driver.close()
            self._session.quota.store.close()

    async def aclose(self) -> None:
        """Close the client, like `close`; `contextlib.aclosing` needs a method of this name.

        Examples:
            >>> await client.aclose()
        """
        await self.close()

    async def log_in(self) -> str:
        """Like `Client.log_in`, but awaited."""
        return await self.connection.driver.run(_requests.log_in(self._session))

    async def dates(self) -> list[date]:
        """Like `Client.dates`, but awaited."""
        from ._lists.dates import dates

        return await self.connection.driver.run(dates(self._session))

    async def summary(
        self,
        start: Day,
        end: Day | None = None,
        *,
        group_by: "GroupBy | None" = None,
        params: Params | None = None,
    ) -> "Summary":
        """Like `Client.summary`, but awaited."""
        from ._lists.summary import summary

        operation = summary(self._session, start, end, group_by=group_by, params=params)
        return await self.connection.driver.run(operation)

    async def probe(self, *, with_export: bool = False) -> ServiceProfile:
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
            >>> profile = await client.probe()
            >>> profile.rows_key, profile.pages.total, profile.zone
            ('data', 'meta.total', 'UTC')
        """
        from ._probe.probe import probe

        operation = probe(self._session, with_export=with_export)
        return await self.connection.driver.run(operation)

    async def request(
        self, method: str, path: str, *, params: Params | None = None, json: Json = None
    ) -> _requests.Response:
        """Like `Client.request`, but awaited."""
        operation = _requests.request(self._session, method, path, params, json)
        return await self.connection.driver.run(operation)

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
    ) -> "AsyncEventQuery[M]":
        """Like `Client.events`; do not await this call: nothing is sent until the query is read.

        Examples:
            >>> events = [event async for event in client.events("2026-01-15")]
            >>> len(events)
            300
        """
        from ._events.query import EventRequest, plan_pull
        from .aevents import AsyncEventQuery

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
        return AsyncEventQuery(plan_pull(request, self._session), self.connection)

    async def start_export(
        self,
        start: Day,
        end: Day | None = None,
        *,
        format: str = "csv",  # noqa: A002  # the service's own name for it
        compression: str | None = None,
    ) -> "AsyncExportJob":
        """Like `Client.start_export`, but awaited."""
        from ._exports.order import start_export
        from .ajobs import AsyncExportJob

        operation = start_export(
            self._session, start, end, file_format=format, compression=compression
        )
        return AsyncExportJob(await self.connection.driver.run(operation), self.connection)

    async def export(
        self,
        start: Day,
        end: Day | None = None,
        *,
        to: str | os.PathLike[str],
        format: str | None = None,  # noqa: A002  # the service's own name for it
        compression: str | None = None,
        timeout: float = 3600.0,  # noqa: ASYNC109  # the same name as in Client
        check: "Check" = "auto",
        progress: bool = False,
    ) -> Path:
        """Like `Client.export`, but awaited."""
        from ._exports.download import ExportDownload, check_download
        from ._progress import displayed

        form, packing = check_download(to, timeout, format, compression, check)
        job = await self.start_export(start, end, format=form, compression=packing)
        with displayed(self._session, progress=progress) as session:
            download = ExportDownload(session, job.order, job.last_status, check)
            return await self.connection.driver.run(download.run(Path(to), timeout=timeout))


AsyncClient.__module__ = "adanalytics_client"
