"""Files that are refused: one clear line with the place, and nothing loaded."""

import csv
import gzip
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest

from adanalytics_server.api.summaries import read_dates
from adanalytics_server.loading.load import LoadReport, load_file
from adanalytics_server.loading.mapping import Mapping
from adanalytics_server.loading.rows import LoadError
from adanalytics_server.storage.store import PartnerStore

Load = Callable[..., LoadReport]

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
