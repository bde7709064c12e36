"""What becomes of a row's fields, in every format."""

import gzip
from collections.abc import Callable
from uuid import NAMESPACE_URL, uuid5

import msgspec
import pytest

from adanalytics_server.loading.load import LoadReport
from adanalytics_server.storage.events import LogEvent, decode_event, encode_event
from adanalytics_server.storage.store import PartnerStore

Load = Callable[..., LoadReport]

Stored = Callable[[], list[LogEvent]]


def test_a_row_with_only_what_is_required_gets_every_other_field(
    load: Load, stored: Stored
) -> None:
    load(
        "day.csv", "event_time,event_type,supply_tag_id\n2019-11-24T00:03:13.442536Z,impression,7\n"
    )
    (event,) = stored()
    # The derivation is spelt out: another one would load old files a second time.
    body = encode_event(msgspec.structs.replace(event, event_id="", auction_id="")).decode()
    event_id = str(uuid5(uuid5(NAMESPACE_URL, "urn:adanalytics:event"), f"0\n{body}"))
    assert msgspec.structs.asdict(event) == {
        "event_id": event_id,
        "event_time": "2019-11-24T00:03:13.442Z",
        "event_date": "2019-11-24",
        "event_hour": 0,
        "received_at": "2019-11-24T00:03:13.442Z",
        "event_type": "impression",
        "auction_id": str(uuid5(uuid5(NAMESPACE_URL, "urn:adanalytics:auction"), event_id)),
        "partner_id": "acme",
        "supply_tag_id": 7,
        "demand_tag_id": None,
        "campaign_id": None,
        "creative_id": None,
        "deal_id": None,
        "media_type": "display",
        "device_type": "unknown",
        "country": None,
        "os": None,
        "currency": "USD",
        "revenue": "0.000000000",
        "cost": None,
        "payment_type": "none",
        "domain": None,
        "app_bundle": None,
        "error_code": None,
        "is_filtered": False,
        "key_values": {},
    }


FULL = {
    "event_id": "0190b2f4-7c1e-7a52-9b1f-2f1f6d7c8e90",
    "event_time": "2019-11-24T13:03:13.442Z",
    "event_date": "2019-11-24",
    "event_hour": 13,
    "received_at": "2019-11-24T15:00:00.000Z",
    "event_type": "error",
    "auction_id": "0190b2f4-7c1e-7a52-9b1f-2f1f6d7c8e91",
    "partner_id": "acme",
    "supply_tag_id": -(2**63),
    "demand_tag_id": 2**63 - 1,
    "campaign_id": 0,
    "creative_id": 'a "quoted", one',
    "deal_id": "Ünïcode ☃",
    "media_type": "video",
    "device_type": "set_top_box",
    "country": "DE",
    "os": "android",
    "currency": "USD",
    "revenue": "-0.000000001",
    "cost": "999999999.999999999",
    "payment_type": "cpcv",
    "domain": "news.example",
    "app_bundle": None,
    "error_code": 901,
    "is_filtered": True,
    "key_values": {"a": "1", "ä": "x,y"},
}


def as_csv(event: dict[str, object]) -> str:
    cells = {
        **event,
        "key_values": msgspec.json.encode(event["key_values"]).decode(),
        "is_filtered": "true",
    }
    quoted = ['""' if v is None else '"' + str(v).replace('"', '""') + '"' for v in cells.values()]
    return f"{','.join(cells)}\n{','.join(quoted)}\n"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("day.csv", as_csv(FULL)),
        ("day.CSV", "\ufeff" + as_csv(FULL).replace("\n", "\r\n") + "\r\n"),
        ("day.jsonl", "\n" + msgspec.json.encode(FULL).decode() + "\n\n"),
        ("day.ndjson", msgspec.json.encode(dict(reversed(FULL.items()))).decode()),
    ],
)
def test_a_whole_event_is_stored_as_it_was_given(
    load: Load, stored: Stored, name: str, text: str
) -> None:
    assert load(name, text).stored == 1
    (event,) = stored()
    assert msgspec.structs.asdict(event) == FULL


@pytest.mark.parametrize("name", ["day.csv.gz", "day.jsonl.gz"])
def test_gzip_may_have_several_members(load: Load, stored: Stored, name: str) -> None:
    text = as_csv(FULL) if "csv" in name else msgspec.json.encode(FULL).decode()
    middle = len(text) // 2
    members = [gzip.compress(part.encode()) for part in (text[:middle], text[middle:])]
    load(name, b"".join(members))
    (event,) = stored()
    assert msgspec.structs.asdict(event) == FULL


@pytest.mark.parametrize(
    ("number", "revenue"),
    [
        ("0.1", "0.100000000"),
        ("1e-9", "0.000000001"),
        ("-12", "-12.000000000"),
        ("123456789.123456789", "123456789.123456789"),
        ("999999999", "999999999.000000000"),
        ('"0.25"', "0.250000000"),
        ("null", "0.000000000"),
    ],
)
def test_json_numbers_keep_every_digit(
    load: Load, stored: Stored, number: str, revenue: str
) -> None:
    row = '{"event_time":"2019-11-24 01:00:00Z","event_type":"click","supply_tag_id":1,"revenue":'
    load("day.jsonl", f"{row}{number}}}")
    assert [event.revenue for event in stored()] == [revenue]


def test_the_report_counts_times_without_a_zone(load: Load, stored: Stored) -> None:
    text = (
        "event_time,received_at,event_type,supply_tag_id\n"
        "2019-11-24T01:00:00,2019-11-24T01:00:01,click,1\n"
        "2019-11-24T01:00:00Z,2019-11-24T01:00:01,click,1\n"
        "2019-11-24T01:00:00-00:30,,click,1\n"
    )
    assert load("a.csv", text).times_without_zone == 3
    assert [event.event_time for event in stored()] == [
        "2019-11-24T01:00:00.000Z",
        "2019-11-24T01:00:00.000Z",
        "2019-11-24T01:30:00.000Z",
    ]


def test_what_is_stored_is_canonical(load: Load, store: PartnerStore) -> None:
    load("a.jsonl", msgspec.json.encode(FULL).decode())
    with store.reading("2019-11") as connection:
        (body,) = connection.execute("SELECT texts FROM chunks").fetchone()
    assert encode_event(decode_event(body)) == body


def test_a_derived_id_leaves_a_key_value_of_its_name_alone(load: Load, stored: Stored) -> None:
    row = {key: value for key, value in FULL.items() if key != "event_id"}
    row["key_values"] = {"auction_id": "", "event_id": "", "partner_id": ""}
    load("day.jsonl", msgspec.json.encode(row).decode())
    (event,) = stored()
    assert (event.auction_id, event.key_values) == (FULL["auction_id"], row["key_values"])
