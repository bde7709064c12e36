"""What a type checker makes of the public API; mypy reads this file with all others, strictly.

The functions are never called: what counts is that each line has the type that it claims.
"""

from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, TypedDict, assert_type, get_type_hints

import polars as pl
import pytest

from adanalytics_client import (
    AsyncClient,
    AsyncEventQuery,
    AsyncExportJob,
    Client,
    Event,
    EventQuery,
    ExportJob,
    Page,
    Plan,
    QuotaPolicy,
    Summary,
    SummaryRow,
    TextPage,
)


class Mine(TypedDict):
    """A user's own type of an event."""

    event_id: str


def ordinary(client: Client) -> None:
    assert_type(client.dates(), list[date])
    assert_type(client.log_in(), str)
    assert_type(client.quota.resumes_at, datetime | None)
    query = client.events("2026-01-15")
    assert_type(query, EventQuery[Event])
    assert_type(query.plan, Plan)
    assert_type(query.only_days([date(2026, 1, 15)]), EventQuery[Event])
    for event in query:
        assert_type(event, Event)
        assert_type(event.revenue, Decimal | None)
    assert_type([row["event_id"] for row in client.events("2026-01-15", model=Mine)], list[str])
    for page, text in zip(query.pages(), query.text_pages(), strict=True):
        assert_type(page, Page)
        assert_type(text, TextPage)
        assert_type(text.jsonl, bytes)
    assert_type(query.write("x.csv"), int)
    assert_type(query.to_polars(), pl.DataFrame)
    summary = client.summary("2026-01-15", group_by="day")
    assert_type(summary, Summary)
    assert_type(summary.rows, list[SummaryRow])
    job = client.start_export("2026-01-15")
    assert_type(job, ExportJob)
    assert_type(job.download("x.csv"), Path)
    assert_type(client.export("2026-01-15", to="x.csv"), Path)


async def asynchronous(client: AsyncClient) -> None:
    assert_type(await client.dates(), list[date])
    query = client.events("2026-01-15")
    assert_type(query, AsyncEventQuery[Event])
    async for event in query:
        assert_type(event, Event)
    async for mine in client.events("2026-01-15", model=Mine):
        assert_type(mine, Mine)
    async for page in query.pages():
        assert_type(page, Page)
    assert_type(await query.write("x.csv"), int)
    assert_type(await client.summary("2026-01-15"), Summary)
    job = await client.start_export("2026-01-15")
    assert_type(job, AsyncExportJob)
    assert_type(await job.download("x.csv"), Path)
    assert_type(await client.export("2026-01-15", to="x.csv"), Path)


def refused(client: Client, later: AsyncClient) -> None:
    """Words that a type checker refuses: mypy reports an `ignore` that is not needed."""
    Client("http://x.example", quota=QuotaPolicy(on_limit="never"))  # type: ignore[arg-type]
    AsyncClient("http://x.example", quota=QuotaPolicy(on_limit="never"))  # type: ignore[arg-type]
    Client.from_env(quota=QuotaPolicy(on_limit="never"))  # type: ignore[arg-type]
    client.with_options(on_limit="never")  # type: ignore[arg-type]
    client.events("2026-01-15", split="weekly")  # type: ignore[arg-type]
    later.events("2026-01-15", on_drift="hide")  # type: ignore[arg-type]
    client.summary("2026-01-15", group_by="hour")  # type: ignore[arg-type]
    client.events("2026-01-15").write("x", format="xml")  # type: ignore[arg-type]


@pytest.mark.parametrize("function", [ordinary, asynchronous, refused])
def test_the_package_tells_type_checkers_of_itself(function: Any) -> None:
    import adanalytics_client

    assert Path(adanalytics_client.__file__).with_name("py.typed").exists()
    assert get_type_hints(function)["client"] in {Client, AsyncClient}
