"""What becomes of a row's fields, in every format, and files that are refused with the place."""

import csv
import gzip
import importlib.util
import pickle
import sys
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from adanalytics_server.api.summaries import read_dates
from adanalytics_server.clock import rfc3339
from adanalytics_server.loading.load import LoadReport, load_file
from adanalytics_server.loading.mapping import Mapping, MappingError
from adanalytics_server.loading.rows import LoadError
from adanalytics_server.loading.values import parse_timestamp
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


@pytest.mark.parametrize(
    ("columns", "constants", "where", "message"),
    [
        (["event_time"], [], [], "--map 'event_time' is not in the form NAME=VALUE"),
        ([], ["=1"], [], "--set '=1' is not in the form NAME=VALUE"),
        ([], [], ["click"], "--where 'click' is not in the form NAME=VALUE"),
        (["event_tme=t"], [], [], "--map: unknown field 'event_tme'; known fields: "),
        ([], ["price=1"], [], "key_values, campaign_name, demand_tag_name"),
        (["os=a", "os=b"], [], [], "--map: the field 'os' is already given"),
        (["os=a"], ["os=b"], [], "--set: the field 'os' is already given"),
        ([], ["os=a", "os=b"], [], "--set: the field 'os' is already given"),
        ([], ["revenue=1,5"], [], "--set revenue: '1,5' is not a decimal number"),
        ([], ["event_type=view"], [], "--set event_type: 'view' is not one of ad_request,"),
    ],
)
def test_an_option_that_cannot_be_meant(
    columns: list[str], constants: list[str], where: list[str], message: str
) -> None:
    with pytest.raises(MappingError) as caught:
        Mapping.parse(columns=columns, constants=constants, where=where)
    assert message in str(caught.value)


def test_values_and_columns_may_hold_equals_signs() -> None:
    mapping = Mapping.parse(
        columns=["os=a=b"], constants=['key_values={"x":"1=1"}', "country="], where=["c=d=e"]
    )
    assert mapping.columns == {"os": "a=b"}
    assert mapping.constants == {"key_values": {"x": "1=1"}, "country": None}
    assert mapping.where == (("c", "d=e"),)


@pytest.mark.parametrize(
    ("row", "taken"),
    [
        ({"click": "1", "site": "a"}, True),
        ({"click": 1, "site": "a"}, True),
        ({"click": "1", "site": "b"}, False),
        ({"click": "1.0", "site": "a"}, False),
        ({"click": True, "site": "a"}, False),
        ({"click": None, "site": "a"}, False),
        ({"click": "1"}, False),
    ],
)
def test_all_conditions_must_hold_on_the_raw_text(row: dict[str, object], taken: bool) -> None:
    assert Mapping.parse(where=["click=1", "site=a"]).takes(row) is taken


def test_an_empty_condition_takes_what_is_null_or_absent() -> None:
    mapping = Mapping.parse(where=["site="])
    assert [mapping.takes(row) for row in ({"site": ""}, {"site": None}, {}, {"site": "a"})] == [
        True,
        True,
        True,
        False,
    ]


def test_one_column_can_feed_two_fields_and_a_renamed_field_leaves_its_own_column() -> None:
    fields = Mapping.parse(columns=["creative_id=ad", "deal_id=ad"]).fields_by_column()
    assert [field for field, _ in fields["ad"]] == ["creative_id", "deal_id"]
    assert "deal_id" not in fields


@pytest.mark.parametrize(
    ("text", "canonical", "zoned"),
    [
        ("2026-01-15T00:00:00Z", "2026-01-15T00:00:00.000Z", True),
        ("2026-01-15t00:00:00z", "2026-01-15T00:00:00.000Z", True),
        ("2026-01-15 13:05", "2026-01-15T13:05:00.000Z", False),
        ("2026-01-15 13:05:09.9", "2026-01-15T13:05:09.900Z", False),
        ("2026-01-15 13:05:09,1239999999+00:00", "2026-01-15T13:05:09.123Z", True),
        ("2026-01-15T23:59:59.9999999Z", "2026-01-15T23:59:59.999Z", True),
        ("2026-01-15T00:30:00+01", "2026-01-14T23:30:00.000Z", True),
        ("2026-01-15T00:30:00+0545", "2026-01-14T18:45:00.000Z", True),
        ("2026-12-31T23:30:00-12:00", "2027-01-01T11:30:00.000Z", True),
        ("1969-12-31T23:59:59.9999Z", "1969-12-31T23:59:59.999Z", True),
        ("2024-02-29T00:00:00Z", "2024-02-29T00:00:00.000Z", True),
    ],
)
def test_known_forms(text: str, canonical: str, zoned: bool) -> None:
    instant = parse_timestamp(text)
    assert (rfc3339(instant.milliseconds), instant.zoned) == (canonical, zoned)


@pytest.mark.parametrize(
    "text",
    [
        "2026-01-15",
        "2026-1-15T00:00:00Z",
        "20260115T000000Z",
        "2026-W03-4T00:00:00",
        "2026-01-15T24:00:00Z",
        "2026-01-15T12:60:00Z",
        "2026-01-15T12:00:60Z",
        "2026-01-15T12:00:00+24:00",
        "2026-01-15T12:00:00+01:60",
        "2026-01-15T12:00:00 UTC",
        "2026-02-30T12:00:00Z",
        "2026-01-15T12:00:00Z\n",
        "٢٠٢٦-01-15T12:00:00Z",
        "0999-12-31T23:00:00Z",
        "1000-01-01T00:00:00+01:00",
        "9999-12-31T23:30:00-01:00",
        "1736942400",
    ],
)
def test_other_forms_and_times_that_do_not_exist(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not |does not exist|is outside"):
        parse_timestamp(text)


@given(
    st.datetimes(min_value=datetime(1000, 1, 2), max_value=datetime(9999, 12, 30)),  # noqa: DTZ001  # the zone comes next
    st.integers(-23 * 60 - 59, 23 * 60 + 59),
    st.sampled_from("T "),
)
def test_every_time_in_every_zone_is_cut_to_the_millisecond(
    moment: datetime, minutes: int, separator: str
) -> None:
    local = moment.replace(tzinfo=timezone(timedelta(minutes=minutes)))
    instant = parse_timestamp(local.isoformat(separator))
    since = local - datetime(1970, 1, 1, tzinfo=UTC)
    assert instant == (since // timedelta(milliseconds=1), True)
    assert parse_timestamp(rfc3339(instant.milliseconds)) == instant


needs_arrow = pytest.mark.skipif(
    importlib.util.find_spec("pyarrow") is None, reason="pyarrow, of the extra arrow, is missing"
)


def write(path: Path, columns: dict[str, object]) -> None:
    table = import_module("pyarrow").table(columns)
    import_module("pyarrow.parquet").write_table(table, path)


def load_columns(store: PartnerStore, path: Path, columns: dict[str, Any]) -> LoadReport:
    write(path, columns)
    return load_file(store, path, partner_id="acme", currency="USD", mapping=Mapping.parse())


@needs_arrow
def test_arrow_types_become_the_same_events_as_text(
    store: PartnerStore, tmp_path: Path, load: Load, stored: Stored
) -> None:
    arrow = import_module("pyarrow")
    # 13:03:13.442999999 of one zone, cut; and a time before it without an offset of its own.
    nanoseconds = int(datetime(2019, 11, 24, 13, 3, 13, tzinfo=UTC).timestamp()) * 10**9
    report = load_columns(
        store,
        tmp_path / "day.parquet",
        {
            "event_time": arrow.array(
                [nanoseconds + 442_999_999, nanoseconds + 10**9],
                arrow.timestamp("ns", tz="Europe/Berlin"),
            ),
            "received_at": arrow.array([None, 1_574_607_600_000_000], arrow.timestamp("us")),
            "event_type": arrow.array(["impression", "error"]).dictionary_encode(),
            "supply_tag_id": arrow.array([1, 2**63 - 1], arrow.int64()),
            "campaign_id": arrow.array([None, 7], arrow.int32()),
            "revenue": arrow.array([Decimal("0.002500001"), None], arrow.decimal128(38, 9)),
            "is_filtered": [None, True],
            "key_values": arrow.array(
                [[("b", "1"), ("a", "2")], None], arrow.map_(arrow.string(), arrow.string())
            ),
            "note": ["ignored", None],
        },
    )
    assert (report.rows, report.stored, report.times_without_zone) == (2, 2, 1)
    assert report.ignored_columns == ("note",)
    first, second = stored()
    assert first.event_time == "2019-11-24T13:03:13.442Z"
    assert (first.revenue, first.key_values) == ("0.002500001", {"a": "2", "b": "1"})
    assert (second.event_time, second.received_at) == (
        "2019-11-24T13:03:14.000Z",
        "2019-11-24T15:00:00.000Z",
    )
    assert (second.supply_tag_id, second.campaign_id, second.is_filtered) == (2**63 - 1, 7, True)
    same = (
        "event_time,received_at,event_type,supply_tag_id,campaign_id,revenue,is_filtered,key_values\n"
        '2019-11-24T13:03:13.442Z,,impression,1,,0.002500001,,"{""a"":""2"",""b"":""1""}"\n'
        "2019-11-24T13:03:14Z,2019-11-24T15:00:00Z,error,9223372036854775807,7,,true,\n"
    )
    assert load("day.csv", same).duplicates == 2


@needs_arrow
@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        (
            "revenue",
            [0.1, None],
            ":1: revenue: expected a decimal number, not a floating-point number",
        ),
        ("campaign_id", [1, None], ""),
        (
            "campaign_id",
            [None, 1.5],
            ":2: campaign_id: expected an integer, not a floating-point number",
        ),
        ("os", ["ios", "iOS"], ":2: os: 'iOS' is not lower case"),
        ("cost", [None, Decimal("1E-10")], ":2: cost: '0.0000000001' has more than 9 digits"),
        ("domain", [None, ["a"]], ":2: domain: expected a string, not an array"),
        ("event_date", [None, date(2019, 11, 25)], ":2: event_date: '2019-11-25' contradicts"),
        ("event_time", [datetime(2019, 11, 24, tzinfo=UTC), None], ":2: event_time: the row has"),
        ("event_type", ["click", None], ":2: event_type: the row has no value"),
    ],
)
def test_a_bad_value_names_its_row(
    store: PartnerStore, tmp_path: Path, column: str, values: list[object], message: str
) -> None:
    columns: dict[str, object] = {
        "event_time": ["2019-11-24T13:00:00Z"] * 2,
        "event_type": ["impression"] * 2,
        "supply_tag_id": [1, 1],
        column: values,
    }
    if not message:
        assert load_columns(store, tmp_path / "day.parquet", columns).stored == 2
        return
    with pytest.raises(LoadError) as caught:
        load_columns(store, tmp_path / "day.parquet", columns)
    assert message in str(caught.value)


@needs_arrow
def test_a_key_of_a_map_that_is_there_twice_names_its_row(
    store: PartnerStore, tmp_path: Path
) -> None:
    arrow = import_module("pyarrow")
    pairs = [[("a", "1")], [("a", "1"), ("b", "1"), ("a", "2")]]
    columns = {
        "event_time": ["2019-11-24T13:00:00Z"] * 2,
        "event_type": ["impression"] * 2,
        "supply_tag_id": [1, 1],
        "key_values": arrow.array(pairs, arrow.map_(arrow.string(), arrow.string())),
    }
    with pytest.raises(LoadError, match=r":2: key_values: more than one value for 'a'"):
        load_columns(store, tmp_path / "day.parquet", columns)


@needs_arrow
@pytest.mark.parametrize("content", [b"", b"PAR1 but no more", b"event_time\n"])
def test_a_file_that_is_no_parquet(load: Load, content: bytes) -> None:
    with pytest.raises(LoadError, match=r"cannot be read as parquet \(.+\); nothing was"):
        load("day.parquet", content)


@needs_arrow
@pytest.mark.parametrize("unit", ["s", "ms"])
def test_a_time_that_python_cannot_hold(store: PartnerStore, tmp_path: Path, unit: str) -> None:
    arrow = import_module("pyarrow")
    columns = {
        "event_time": arrow.array([10**15], arrow.timestamp(unit, tz="UTC")),
        "event_type": ["click"],
        "supply_tag_id": [1],
    }
    with pytest.raises(LoadError, match=r"day.parquet:1: event_time: '.+' is not an ISO 8601"):
        load_columns(store, tmp_path / "day.parquet", columns)


@needs_arrow
def test_a_column_that_is_missing(store: PartnerStore, tmp_path: Path) -> None:
    with pytest.raises(LoadError, match="supply_tag_id: the file has no such column"):
        load_columns(store, tmp_path / "day.parquet", {"event_time": ["a"], "event_type": ["b"]})


def test_without_pyarrow_the_extra_is_named(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(LoadError, match=r'pip install "adanalytics\[arrow\]"'):
        load("day.parquet", b"PAR1")


def _odd(arrow: Any) -> dict[str, Any]:
    """Columns with values that Python does not have, or that JSON has not."""
    offsets = arrow.py_buffer(bytes([0, 0, 0, 0, 1, 0, 0, 0]))
    return {
        "no day": arrow.array([2**31 - 1], arrow.int32()).cast(arrow.date32()),
        "no moments": arrow.array([[2**63 - 1]], arrow.list_(arrow.timestamp("us"))),
        "no text": arrow.Array.from_buffers(
            arrow.string(), 1, [None, offsets, arrow.py_buffer(b"\xff")]
        ),
        "lists as keys": arrow.array(
            [[([1], "a")]], arrow.map_(arrow.list_(arrow.int64()), arrow.string())
        ),
        "bytes": arrow.array([b"\xff"], arrow.binary()),
        "nested": arrow.array([[{"a": [1]}]]),
        "duration": arrow.array([2**62], arrow.int64()).cast(arrow.duration("us")),
    }


@needs_arrow
def test_columns_that_are_ignored_may_hold_anything(store: PartnerStore, tmp_path: Path) -> None:
    odd = _odd(import_module("pyarrow"))
    event = {"event_time": ["2026-01-15T00:00:00Z"], "event_type": ["click"], "supply_tag_id": [1]}
    report = load_columns(store, tmp_path / "x.parquet", {**event, **odd})
    assert {*report.ignored_columns} == {*odd}
    for name in ("no day", "no moments", "no text"):
        mapping = Mapping.parse(columns=[f"domain={name}"])
        with pytest.raises(LoadError, match=r"x.parquet:1: domain: .* that cannot be read"):
            load_file(
                store, tmp_path / "x.parquet", partner_id="acme", currency="USD", mapping=mapping
            )


HEADER = "event_time,event_type,supply_tag_id"
GOOD = "2019-11-24T01:00:00Z,impression,1"
GOOD_JSON = '{"event_time":"2019-11-24T01:00:00Z","event_type":"error","supply_tag_id":1'


def refused(load: Load, name: str, content: str | bytes, mapping: Mapping | None = None) -> str:
    with pytest.raises(LoadError) as caught:
        load(name, content, mapping)
    message = str(caught.value)
    assert "\n" not in message
    assert message.endswith("; nothing was loaded")
    assert str(pickle.loads(pickle.dumps(caught.value))) == message
    return message.removesuffix("; nothing was loaded").partition(name)[2]


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("event_id", "123", "'123' is not a UUID of 32 hexadecimal digits and 4 hyphens"),
        ("event_time", "yesterday", "'yesterday' is not an ISO 8601 timestamp such as"),
        ("event_time", "1574557200", "'1574557200' is not an ISO 8601 timestamp such as"),
        ("event_time", "2019-02-29T00:00:00Z", "the day '2019-02-29' does not exist"),
        (
            "event_time",
            "2019-02-28T24:00:00Z",
            "the time of day in '2019-02-28T24:00:00Z' does not exist",
        ),
        ("event_time", "", "the row has no value; use --map event_time=COLUMN or --set"),
        ("event_date", "2019-11-25", "'2019-11-25' contradicts event_time: expected '2019-11-24'"),
        ("event_date", "24.11.2019", "must be a date in the form YYYY-MM-DD"),
        ("event_hour", "2", "2 contradicts event_time: expected 1"),
        ("event_hour", "24", "24 is not between 0 and 23"),
        ("received_at", "2019-11-24", "'2019-11-24' is not an ISO 8601 timestamp"),
        ("event_type", "view", "'view' is not one of ad_request, impression, start"),
        ("event_type", "", "the row has no value"),
        ("auction_id", "{}", "'{}' is not a UUID"),
        ("partner_id", "other", "'other' contradicts this partner: expected 'acme'"),
        ("supply_tag_id", "1.0", "'1.0' is not an integer"),
        ("supply_tag_id", "1_000", "'1_000' is not an integer"),
        ("demand_tag_id", "9223372036854775808", "9223372036854775808 does not fit in 64 bits"),
        ("campaign_id", "x" * 200, f"'{'x' * 77}...' is not an integer"),
        ("media_type", "Video", "'Video' is not one of video, display, audio, native"),
        ("device_type", "phone", "'phone' is not one of desktop, mobile"),
        ("country", "de", "'de' is not two upper-case letters"),
        ("os", "iOS", "'iOS' is not lower case"),
        ("currency", "EUR", "'EUR' contradicts this partner: expected 'USD'"),
        ("currency", "usd", "'usd' is not three upper-case letters"),
        ("revenue", "0.0000000001", "'0.0000000001' has more than 9 digits after the point"),
        ("revenue", "NaN", "'NaN' is not a decimal number"),
        ("cost", "1000000000", "'1000000000' is not below 1000000000 units"),
        ("payment_type", "free", "'free' is not one of cpm, cpc"),
        ("error_code", "99", "99 is not between 100 and 901"),
        ("error_code", "300", "only error events have one, not impression"),
        ("is_filtered", "no", "'no' is not true or false"),
        ("key_values", "a=1", "invalid JSON (Expecting value at character 1)"),
        ("key_values", "[]", "'[]' is not a JSON object"),
        ("key_values", '"{""a"":1}"', "the value of 'a' is not a string"),
        ("key_values", '"{""a"":""1"",""a"":""2""}"', "invalid JSON (the key 'a' occurs twice)"),
        ("campaign_name", "Spring", "the row has the name 'Spring' but no campaign_id"),
    ],
)
def test_a_bad_cell_names_its_line_and_field(
    load: Load, store: PartnerStore, field: str, value: str, message: str
) -> None:
    columns = {**dict(zip(HEADER.split(","), GOOD.split(","), strict=True)), field: value}
    good = {
        **dict.fromkeys(columns, ""),
        **dict(zip(HEADER.split(","), GOOD.split(","), strict=True)),
    }
    text = "\n".join(",".join(row) for row in (columns, good.values(), columns.values()))
    assert refused(load, "day.csv", text).startswith(f":3: {field}: {message}")
    assert read_dates(store) == []


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("day.csv", f"{HEADER}\n{GOOD}\n{GOOD},4\n", ":3: 4 cells, but the header has 3"),
        ("day.csv", f"{HEADER}\n\n{GOOD}\na,b\n", ":4: 2 cells, but the header has 3"),
        ("day.csv", f'{HEADER}\n"2019\n-11",impression\n', ":2: 2 cells, but the header has 3"),
        ("day.csv", f'{HEADER},os\n{GOOD},"a\n\n"\n{GOOD},"b', ":5: a quoted cell is never closed"),
        ("day.csv", f'{HEADER}\n"a"b,c,d\n', ":2: invalid CSV (',' expected after '\"'"),
        ("day.csv", f"{HEADER},os,os\n", ":1: the header names 'os' more than once"),
        ("day.csv", "event_time,a\n", ": event_type: the file has no such column among 'event_t"),
        ("day.csv", "event_time;a\n", ": event_time: the file has no such column among 'event_t"),
        ("day.csv", "", ": the file is empty"),
        ("day.csv", "\n\n", ": the file is empty"),
        ("day.csv", HEADER.encode() + b"\n\xff\xfe", ":2: the line is not UTF-8 text (invalid"),
        ("day.csv", HEADER.encode("utf-16"), ":1: the line contains a NUL byte; the file must be"),
        ("day.csv", f"{HEADER}\n{GOOD}\n\0", ":3: the line contains a NUL byte"),
        ("day.csv", f"{HEADER}\n{'x' * (1 << 20)}\n", ":2: the line is longer than 1048576 bytes"),
        (
            "day.csv",
            f'{HEADER},os\n{GOOD},"' + f"{'x' * 1000}\n" * 1100 + '"\n',
            "a cell has more than 1,048,576 characters",
        ),
        (
            "day.csv.gz",
            gzip.compress(HEADER.encode(), mtime=0)[:-9],
            ": the gzip data is damaged after",
        ),
        ("day.csv.gz", f"{HEADER}\n{GOOD}\n", ": the gzip data is damaged after line 0"),
        ("day.jsonl", f"{GOOD_JSON}}}\n{GOOD_JSON}\n", ":2: invalid JSON (Expecting ',' delimiter"),
        ("day.jsonl", f"{GOOD_JSON}}}\n[1]\n", ":2: expected a JSON object, not an array"),
        ("day.jsonl", "null\n", ":1: expected a JSON object, not null"),
        ("day.jsonl", '{"a":1,"a":2}', ":1: invalid JSON (the key 'a' occurs twice)"),
        ("day.jsonl", '{"revenue":NaN}', ":1: invalid JSON (NaN is not allowed)"),
        ("day.jsonl", '{"a":' * 100_000, ":1: invalid JSON (nested too deeply)"),
        ("day.jsonl", r'{"\ud800":1}', r":1: '\ud800' is an unpaired surrogate"),
        ("day.jsonl", " \n", ": the file is empty"),
        ("day.jsonl", "{}", ":1: event_time: the row has no value"),
        ("day.txt", HEADER, ": the name must end in .csv, .jsonl, .ndjson (each also with .gz)"),
        ("day.gz", HEADER, ": the name must end in"),
        ("csv", HEADER, ": the name must end in"),
    ],
)
def test_a_bad_file_names_its_line(
    load: Load, store: PartnerStore, name: str, content: str | bytes, message: str
) -> None:
    assert message in refused(load, name, content)
    assert read_dates(store) == []


@pytest.mark.parametrize(
    ("member", "message"),
    [
        (
            '"campaign_id":1.0',
            "campaign_id: expected an integer, not a number that is not a 64-bit integer",
        ),
        (
            f'"campaign_id":{"9" * 5000}',
            "campaign_id: expected an integer, not a number that is not a 64-bit",
        ),
        ('"campaign_id":9223372036854775808', "campaign_id: 9223372036854775808 does not fit"),
        ('"campaign_id":true', "campaign_id: expected an integer, not a boolean"),
        ('"is_filtered":1', "is_filtered: expected true or false, not an integer"),
        ('"country":{}', "country: expected a string, not an object"),
        ('"os":[]', "os: expected a string, not an array"),
        ('"revenue":1e-10', "revenue: '1e-10' has more than 9 digits after the point"),
        ('"revenue":1e99999999', "revenue: '1e99999999' is not a decimal number"),
        ('"domain":"a","app_bundle":"b"', "app_bundle: an event has a domain or an app_bundle"),
        (r'"domain":"\ud800"', r"'\ud800' is an unpaired surrogate, not a character"),
        (r'"key_values":{"\udc00":""}', r"'\udc00' is an unpaired surrogate"),
        (r'"domain":"a\u0000"', "domain: text must not contain a NUL character"),
        ('"key_values":{"a":1.5}', "key_values: the value of 'a' is not a string"),
        (f'"key_values":{{"a":{10**30}}}', "key_values: the value of 'a' is not a string"),
        (r'"campaign_id":1,"campaign_name":"\ud800"', r"'\ud800' is an unpaired surrogate"),
        (f'"campaign_id":{10**19}', "campaign_id: 10000000000000000000 does not fit in 64 bits"),
        ('"demand_tag_name":"x"', "demand_tag_name: the row has the name 'x' but no"),
    ],
)
def test_a_bad_json_value_names_its_line_and_field(
    load: Load, store: PartnerStore, member: str, message: str
) -> None:
    content = f"{GOOD_JSON}}}\n\n{GOOD_JSON},{member}}}\n"
    assert refused(load, "day.jsonl", content).startswith(f":3: {message}")
    assert read_dates(store) == []


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        (Mapping.parse(columns=["country=land"]), "country: the file has no column 'land'"),
        (Mapping.parse(where=["land="]), "--where: the file has no column 'land'"),
        (Mapping.parse(constants=["event_type="]), "event_type: the row has no value"),
        (Mapping.parse(constants=["currency=EUR"]), "currency: 'EUR' contradicts this partner"),
    ],
)
@pytest.mark.parametrize(
    ("name", "content"), [("a.csv", f"{HEADER}\n{GOOD}"), ("a.jsonl", f"{GOOD_JSON}}}")]
)
def test_a_mapping_that_does_not_fit_the_file(
    load: Load, name: str, content: str, mapping: Mapping, message: str
) -> None:
    assert message in refused(load, name, content, mapping)


def test_an_error_names_the_column_that_a_field_was_read_from(load: Load) -> None:
    mapping = Mapping.parse(columns=["country=event_type"])
    message = refused(load, "a.csv", f"{HEADER}\n{GOOD}", mapping)
    assert (
        message == ":2: country: 'impression' is not two upper-case letters (column 'event_type')"
    )


@pytest.mark.parametrize("name", ["missing.csv", "folder.jsonl"])
def test_an_unreadable_file_says_why(store: PartnerStore, tmp_path: Path, name: str) -> None:
    (tmp_path / "folder.jsonl").mkdir()
    with pytest.raises(LoadError, match=r"cannot be read \(No such file|is a directory"):
        load_file(
            store, tmp_path / name, partner_id="acme", currency="USD", mapping=Mapping.parse()
        )


def test_a_bad_row_leaves_what_was_loaded_before(load: Load, store: PartnerStore) -> None:
    load("a.csv", f"{HEADER}\n{GOOD}\n")
    refused(load, "b.csv", f"{HEADER}\n2020-01-01T00:00:00Z,click,1\nbad,click,1\n")
    assert read_dates(store) == ["2019-11-24"]


def test_a_cell_may_be_longer_than_the_csv_module_has_it(load: Load) -> None:
    limit = csv.field_size_limit()
    assert load("day.csv", f"{HEADER},note\n{GOOD},{'x' * 200_000}\n").stored == 1
    refused(load, "day.csv", "")
    assert csv.field_size_limit() == limit == 131_072
