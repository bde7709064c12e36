"""The second stage alone: queries become hours in files, or failures."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from adanalytics_client import AuthenticationError
from adanalytics_client._view import View
from adanalytics_client.dataset.planning import Query
from adanalytics_client.dataset.pull import fetch
from adanalytics_client.dataset.pull.fetch import Fetcher, Pulled, forecast
from adanalytics_client.dataset.records.layout import hours_of
from adanalytics_client.dataset.records.manifest import Identity
from adanalytics_client.dataset.report import FailedQuery
from adanalytics_client.dataset.service import fetch_service_days
from adanalytics_client.dataset.storage.local import open_store
from adanalytics_server.faults import Fault

if TYPE_CHECKING:
    from adanalytics_client import Client
    from adanalytics_server.local import LocalServer

DAY = date(2026, 1, 15)
WHOLE = Query("pages", DAY, DAY, None, tuple(hours_of(DAY)))
NOW = datetime(2026, 1, 20, 12, tzinfo=UTC)
IDENTITY = Identity("acme", "http://localhost", "jsonl")


class Bench:
    """A fetcher over the connection of a client, which stays open."""

    def __init__(self, client: Client, folder: Path) -> None:
        view = View(client)
        self.service = fetch_service_days(view, None, ())
        self.store = open_store(str(folder / "dataset"))
        (folder / "scratch").mkdir()
        self.fetcher = Fetcher(view, self.store, IDENTITY, {}, folder / "scratch", lambda: NOW)

    def pulled(self, *queries: Query) -> list[Pulled | FailedQuery]:
        with closing(self.fetcher.pulled(queries, self.service)) as results:
            return [*results]

    def still_to_come(self) -> tuple[int, int | None]:
        planned = forecast([WHOLE], self.service, self.store)
        return planned.requests, planned.events


@pytest.fixture
def bench(client: Client, tmp_path: Path) -> Bench:
    return Bench(client, tmp_path)


@pytest.mark.parametrize("way", ["pages", "export"])
def test_a_query_becomes_hours_in_files(bench: Bench, way: str) -> None:
    query = Query("export" if way == "export" else "pages", DAY, DAY, None, WHOLE.wanted)
    (pulled,) = bench.pulled(query)
    assert isinstance(pulled, Pulled)
    assert [each.hour for each in pulled.hours] == [*WHOLE.wanted]
    assert {each.record.asked_at for each in pulled.hours} == {NOW}
    assert sum(each.record.rows for each in pulled.hours) == 300
    assert all(each.file is not None and Path(each.file).is_file() for each in pulled.hours)


def test_kept_pages_cost_nothing_again(
    server: LocalServer, bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch, "EVENTS_PER_PAGE", 100)
    assert bench.still_to_come() == (3, 290)
    server.faults.add("401 always on events after 2")
    with pytest.raises(Exception, match="401"):
        bench.pulled(WHOLE)
    server.faults.clear()
    assert bench.still_to_come() == (1, 90)
    server.journal.clear()
    (pulled,) = bench.pulled(WHOLE)
    # The third page is full, so one more is requested.
    assert [dict(entry.query)["page"] for entry in server.journal.entries()] == ["3", "4"]
    assert bench.still_to_come() == (0, 0)
    assert isinstance(pulled, Pulled)
    pulled.spool.clear()
    assert bench.still_to_come() == (3, 290)


def test_a_query_that_fails_does_not_affect_the_others(server: LocalServer, bench: Bench) -> None:
    odd = Fault(
        effect="status",
        operation="events",
        times=1,
        status=200,
        body='{"nothing": 1}',
        content_type="application/json",
    )
    server.faults.add(odd)
    results = bench.pulled(*(Query.of_hour(hour) for hour in WHOLE.wanted[:4]))
    failed = [each for each in results if isinstance(each, FailedQuery)]
    assert [each.kind for each in failed] == ["ProtocolError"]
    assert len(results) == 4


def test_a_refused_credential_ends_it(server: LocalServer, bench: Bench) -> None:
    server.faults.add("401 always on events")
    with pytest.raises(AuthenticationError):
        bench.pulled(*(Query.of_hour(hour) for hour in WHOLE.wanted))
    # Queries under way end; no other begins.
    assert len([e for e in server.journal.entries() if e.operation == "events"]) == fetch.AT_A_TIME
