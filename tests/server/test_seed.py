"""Generated events: the same everywhere, exactly as many as asked for, and like real ones."""

import hashlib
from calendar import monthrange
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

from adanalytics_server.api.summaries import read_dates, read_summary
from adanalytics_server.loading.load import Progress
from adanalytics_server.loading.values import parse_timestamp
from adanalytics_server.seed.generate import GenerateError, Sample, events_by_hour, generate
from adanalytics_server.storage.chunks import split_pieces
from adanalytics_server.storage.days import DayRange
from adanalytics_server.storage.dimensions import Grouping
from adanalytics_server.storage.events import (
    DEVICE_TYPES,
    EVENT_TYPES,
    MEDIA_TYPES,
    PAYMENT_TYPES,
    LogEvent,
    decode_event,
    encode_event,
)
from adanalytics_server.storage.ingest import Ingested
from adanalytics_server.storage.pages import read_page
from adanalytics_server.storage.store import PartnerStore

START = date(2026, 1, 31)
PER_DAY = 6_000


def fill(store: PartnerStore, start: date = START, days: int = 1, **other: int) -> Ingested:
    sample = Sample(start=start, days=days, **{"events_per_day": 500, "seed": 7, **other})
    return generate(store, sample, partner_id='ac"mé', currency="EUR")


def bodies(store: PartnerStore, month: str) -> list[bytes]:
    year, number = map(int, month.split("-"))
    days = DayRange(date(year, number, 1), date(year, number, monthrange(year, number)[1]))
    return split_pieces(read_page(store, days, page=1, per_page=1_000_000).pieces)


def delay(event: LogEvent) -> int:
    received = parse_timestamp(event.received_at).milliseconds
    return received - parse_timestamp(event.event_time).milliseconds


@pytest.fixture(scope="module")
def two_days(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PartnerStore]:
    store = PartnerStore(tmp_path_factory.mktemp("seed") / "1")
    fill(store, days=2, events_per_day=PER_DAY)
    yield store
    store.close()


@pytest.fixture(scope="module")
def events(two_days: PartnerStore) -> list[LogEvent]:
    return [decode_event(body) for body in bodies(two_days, "2026-01")]


def test_the_bytes_are_the_same_on_every_machine(store: PartnerStore) -> None:
    fill(store, events_per_day=5_000)
    digest = hashlib.sha256(b"\n".join(bodies(store, "2026-01"))).hexdigest()
    assert digest == "b11e4ccf33f828a40daf71a484a65784ed7a0807ce9a1d18603f5b7a885a5b63"


def test_every_body_is_canonical(two_days: PartnerStore) -> None:
    for month in ("2026-01", "2026-02"):
        for body in bodies(two_days, month):
            assert encode_event(decode_event(body)) == body


def test_each_day_has_exactly_the_events_asked_for_and_all_its_hours(
    two_days: PartnerStore,
) -> None:
    assert read_dates(two_days) == ["2026-01-31", "2026-02-01"]
    with two_days.reading("ledger") as ledger:
        counts = [n for (n,) in ledger.execute("SELECT n FROM hours ORDER BY hour")]
    assert (len(counts), sum(counts[:24]), sum(counts[24:])) == (48, PER_DAY, PER_DAY)
    assert max(counts[:24]) > 4 * min(counts[:24])


@pytest.mark.parametrize("count", [1, 2, 23, 2_000, 10_001])
def test_any_number_of_events_a_day(store: PartnerStore, count: int) -> None:
    report = fill(store, events_per_day=count)
    assert (report.stored, report.duplicates) == (count, 0)
    assert len(bodies(store, "2026-01")) == count
    assert sum(events_by_hour(count)) == count
    assert (min(events_by_hour(count)) > 0) is (count >= 2_000)


def test_generating_again_adds_nothing(store: PartnerStore) -> None:
    fill(store, days=2)
    before = bodies(store, "2026-01")
    report = fill(store, days=2)
    assert (report.stored, report.duplicates) == (0, 1_000)
    assert bodies(store, "2026-01") == before


def test_a_day_does_not_depend_on_its_neighbours_but_on_the_seed(tmp_path: Path) -> None:
    found = []
    for number, (start, days, seed) in enumerate(
        [(date(2026, 1, 29), 3, 7), (START, 2, 7), (START, 1, 8)]
    ):
        store = PartnerStore(tmp_path / str(number))
        fill(store, start=start, days=days, seed=seed)
        found.append({body for body in bodies(store, "2026-01") if b'"2026-01-31"' in body})
        store.close()
    assert len(found[0]) == 500
    assert found[0] == found[1]
    assert not found[0] & found[2]


def test_an_hour_is_in_order(events: list[LogEvent]) -> None:
    order = [(event.event_time, event.event_id) for event in events]
    assert order == sorted(order)
    assert len({event.event_id for event in events}) == len(events)
    for event in events:
        assert event.event_date == event.event_time[:10]
        assert event.event_hour == int(event.event_time[11:13])


def test_an_auction_is_a_funnel(events: list[LogEvent]) -> None:
    auctions: defaultdict[str, list[LogEvent]] = defaultdict(list)
    for event in events:
        auctions[event.auction_id].append(event)
    funnel = ("ad_request", "impression", "start", *EVENT_TYPES[3:7])
    for steps in auctions.values():
        kinds = [step.event_type for step in steps]
        assert kinds[0] == "ad_request"
        inside = [kind for kind in kinds if kind in funnel]
        assert tuple(inside) == funnel[: len(inside)]
        assert len({(step.campaign_id, step.is_filtered, step.domain) for step in steps}) == 1


def test_everything_that_can_occur_does(events: list[LogEvent]) -> None:
    assert {event.event_type for event in events} == set(EVENT_TYPES)
    assert {event.media_type for event in events} == set(MEDIA_TYPES)
    assert {event.device_type for event in events} == set(DEVICE_TYPES)
    assert {event.payment_type for event in events} == set(PAYMENT_TYPES) - {"cpa", "flat"}
    assert {event.partner_id for event in events} == {'ac"mé'}
    assert {event.currency for event in events} == {"EUR"}
    count = Counter(
        name
        for event in events
        for name, holds in {
            "late": delay(event) >= 60_000,
            "filtered": event.is_filtered,
            "no campaign": event.campaign_id is None,
            "no demand tag": event.demand_tag_id is None,
            "no cost": event.cost is None,
            "negative": event.revenue.startswith("-"),
            "nanos": not event.revenue.endswith("000"),
            "key values": bool(event.key_values),
            "app": event.app_bundle is not None,
            "site": event.domain is not None,
            "deal": event.deal_id is not None,
        }.items()
        if holds
    )
    assert len(count) == 11
    assert 0.003 < count["filtered"] / len(events) < 0.02
    assert 0.005 < count["late"] / len(events) < 0.02
    assert count["negative"] < count["no cost"] < count["filtered"]
    for event in events:
        assert delay(event) > 0
        assert (event.error_code is None) is (event.event_type != "error")
        assert (event.domain is None) is (event.app_bundle is not None)


def test_money_is_on_the_event_that_the_payment_type_names(events: list[LogEvent]) -> None:
    paid = {(e.payment_type, e.event_type) for e in events if e.revenue != "0.000000000"}
    assert paid == {("cpm", "impression"), ("cpc", "click"), ("cpcv", "complete")}


def test_campaigns_and_demand_tags_have_names(two_days: PartnerStore) -> None:
    days = DayRange(START, date(2026, 2, 1))
    groups: tuple[Grouping, ...] = ("campaign", "demand_tag")
    for group_by in groups:
        rows = read_summary(two_days, days, group_by=group_by, currency="EUR")["summary"]
        assert all(row[f"{group_by}_name"] for row in rows[:-1])
        assert rows[-1][f"{group_by}_id"] is None


def test_progress_comes_to_its_end(store: PartnerStore) -> None:
    seen: list[Progress] = []
    sample = Sample(start=START, days=2, events_per_day=2_600, seed=1)
    generate(store, sample, partner_id="acme", currency="USD", progress=seen.append)
    assert seen == [
        Progress("generating", 5_000, 5_000 / 5_200),
        Progress("generating", 5_200, 1.0),
    ]


@pytest.mark.parametrize(
    ("start", "days", "count", "message"),
    [
        (START, 0, 1, "the number of days must be at least 1"),
        (START, 1, 0, "events per day must be at least 1"),
        (date(9999, 12, 31), 2, 1, "2 days from 9999-12-31 end after 9999-12-31"),
        (date(999, 12, 31), 2, 1, "0999-12-31 is before 1000-01-01"),
    ],
)
def test_impossible_wishes(
    store: PartnerStore, start: date, days: int, count: int, message: str
) -> None:
    with pytest.raises(GenerateError, match=message):
        fill(store, start=start, days=days, events_per_day=count)


def test_slots_shorter_than_an_auction_keep_the_order(
    store: PartnerStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As with twenty million events a day: a slot of the last hour has seconds only.
    monkeypatch.setattr("adanalytics_server.seed.generate.SLOT_EVENTS", 1)
    fill(store, events_per_day=8_000, seed=0)
    times = [decode_event(body).event_time for body in bodies(store, "2026-01")]
    assert times == sorted(times)
