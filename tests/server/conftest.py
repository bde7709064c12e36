"""What the server's tests share: events made by hand, a store, and a running server."""

import logging
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import httpx
import pytest

from adanalytics_server.clock import Clock, rfc3339
from adanalytics_server.local import LocalServer
from adanalytics_server.storage.events import LogEvent, Record, encode_event, record_of
from adanalytics_server.storage.ingest import ingest
from adanalytics_server.storage.money import text_from_nanos
from adanalytics_server.storage.store import PartnerStore

API = "/api/partners/acme/ad-analytics"
RecordMaker = Callable[..., Record]


@pytest.fixture(scope="session", autouse=True)
def shown_log() -> None:
    """Let a server in this process log as one of its own does."""
    logging.getLogger("adanalytics_server").setLevel(logging.DEBUG)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[PartnerStore]:
    opened = PartnerStore(tmp_path / "1")
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def make_record() -> RecordMaker:
    """Make a record from its time (ms since 1970) and number; both also name its event id."""

    def make(
        time: int,
        number: int = 0,
        *,
        event_type: str = "impression",
        campaign_id: int | None = 7,
        demand_tag_id: int | None = 70,
        revenue: int = 2_500_000,
        cost: int | None = 1_000_000,
        is_filtered: bool = False,
    ) -> Record:
        event_id = UUID(int=number)
        instant = rfc3339(time)
        event = LogEvent(
            event_id=str(event_id),
            event_time=instant,
            event_date=instant[:10],
            event_hour=int(instant[11:13]),
            received_at=instant,
            event_type=event_type,
            auction_id=str(event_id),
            partner_id="acme",
            supply_tag_id=1,
            demand_tag_id=demand_tag_id,
            campaign_id=campaign_id,
            creative_id=None,
            deal_id=None,
            media_type="video",
            device_type="ctv",
            country="DE",
            os=None,
            currency="USD",
            revenue=text_from_nanos(revenue),
            cost=None if cost is None else text_from_nanos(cost),
            payment_type="cpm",
            domain=None,
            app_bundle=None,
            error_code=None,
            is_filtered=is_filtered,
            key_values={},
        )
        return record_of(event, encode_event(event), time=time)

    return make


START = datetime(2026, 2, 1, tzinfo=UTC)


@pytest.fixture(scope="module")
def shared_clock() -> Clock:
    clock = Clock()
    clock.freeze(START)
    return clock


@pytest.fixture
def clock(shared_clock: Clock) -> Clock:
    """A clock that stands still at 2026-02-01T00:00:00Z until a test moves it."""
    shared_clock.freeze(START)
    return shared_clock


@pytest.fixture(scope="module")
def shared_server(shared_clock: Clock) -> Iterator[LocalServer]:
    with LocalServer(clock=shared_clock) as running:
        yield running


@pytest.fixture
def server(shared_server: LocalServer, clock: Clock) -> LocalServer:
    """An empty server with its clock in the test's hands; a test that breaks its files starts one.

    It is reset between the tests of a file, which is quicker than a start.
    """
    shared_server.reset()
    return shared_server


@pytest.fixture
def http(server: LocalServer) -> Iterator[httpx.Client]:
    """A bare client that sends the server's key."""
    headers = {"Authorization": f"Bearer {server.api_key}"}
    with httpx.Client(base_url=server.url, headers=headers) as client:
        yield client


@pytest.fixture
def add_records(server: LocalServer) -> Iterator[Callable[[list[Record]], None]]:
    """Put records into the running server's folder, as a second process would."""
    opened = PartnerStore(server.settings.data / "partners" / "1")

    def add(records: list[Record]) -> None:
        ingest(opened, records)

    yield add
    opened.close()
