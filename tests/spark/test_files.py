"""Files of exports that the reference server does not make, from a service of the test's own."""

import gzip
import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.types import (
    DoubleType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)
from pytest_httpserver import HTTPServer
from tests.spark.in_process import FIRST, as_spark_passes, table_of

from adanalytics_client import AdAnalyticsError, DownloadError, ProtocolError
from adanalytics_client.spark import AdAnalyticsDataSource

HEADER = "event_id,event_date,event_hour,os,revenue,key_values\n"
ROWS = ('a,2026-01-15,3,ios,0.000000001,"{""k"":""v""}"\n', "b,2026-01-15,4,,-1.500000000,{}\n")
EVENT = (
    '{"event_id":"a","event_date":"2026-01-15","event_hour":3,"os":"ios","revenue":"0.000000001",'
    '"key_values":{"k":"v"}}'
)
# Nothing answers requests for another page.
PAGE = {"start_date": "2026-01-15", "end_date": "2026-01-15", "page": "1", "per_page": "10000"}

Read = Callable[..., pa.Table]


@pytest.fixture
def read(httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch) -> Read:
    """Reads the day of a service whose export is this file, and whose first page has one event."""

    def read_file(content: bytes, schema: StructType | None = None, event: str = EVENT) -> pa.Table:
        paths = "/api/partners/acme/ad-analytics"
        answers: dict[str, object] = {
            "dates": {"dates": [str(FIRST)]},
            "summary": {"summary": [{"date": str(FIRST), "impressions": 2}]},
            "bulk-export": {"status": "completed", "download_url": httpserver.url_for("/day")},
        }
        for name, answer in answers.items():
            httpserver.expect_request(f"{paths}/{name}").respond_with_json(answer)
        httpserver.expect_request("/day").respond_with_data(content, content_type="text/csv")
        page = f'{{"events":[{event}],"total":3,"has_more":true}}'
        answer = httpserver.expect_request(f"{paths}/events", query_string=PAGE)
        answer.respond_with_data(page, content_type="application/json")
        options = {"baseUrl": httpserver.url_for("/"), "partner": "acme", "start": FIRST}
        monkeypatch.setenv("ADANALYTICS_API_KEY", "a-key")
        source = AdAnalyticsDataSource(as_spark_passes(options))
        reader = source.reader(schema or source.schema())
        return table_of(reader, reader.partitions())

    return read_file


@pytest.mark.parametrize(
    "content",
    [
        "".join((HEADER, *ROWS)).encode(),
        gzip.compress("".join((HEADER, *ROWS)).encode()),
        b"".join(gzip.compress(line.encode()) for line in (HEADER, *ROWS)),
    ],
    ids=["plain", "gzip", "gzip of several members"],
)
def test_a_file_may_be_compressed_unasked(content: bytes, read: Read) -> None:
    table = read(content)
    assert table["event_id"].to_pylist() == ["a", "b"]
    assert [str(each) for each in table["revenue"].to_pylist()] == ["1E-9", "-1.500000000"]


@pytest.mark.parametrize(
    ("content", "kind", "words"),
    [
        ("eventId,eventDate\na,2026-01-15\n", ProtocolError, "none of the columns event_id"),
        ("event_id;os\na;ios\n", ProtocolError, "none of the columns event_id"),
        (ROWS[0] * 2, DownloadError, "its first line is not a header row"),
    ],
)
def test_a_file_without_a_known_column_is_refused(
    content: str, kind: type[AdAnalyticsError], words: str, read: Read
) -> None:
    with pytest.raises(kind, match=words):
        read(content.encode())


def schema_of(**columns: Any) -> StructType:
    return StructType([StructField(name, type_()) for name, type_ in columns.items()])


def test_load_learns_the_columns_that_arrive(read: Read) -> None:
    event = {"ymdh": "2026-01-15 03:00:00", "usable_requests": 7200, "code": "007", "note": None}
    odd = '"rev":0.0000944916,"ok":true,"geo":{"country":"de"},"seen":"2026-01-15T03:00:00Z"'
    cells = '2026-01-15 03:00:00,7200,007,,0.0000944916,true,"{""country"":""de""}"'
    table = read(
        f"{','.join(event)},rev,ok,geo,seen\n{cells},2026-01-15T03:00:00Z\n".encode(),
        event=f"{json.dumps(event)[:-1]},{odd}}}",
    )
    (row,) = table.to_pylist()
    assert row.pop("ymdh").isoformat() == "2026-01-15T03:00:00+00:00"
    numbers = {"usable_requests": 7200, "rev": Decimal("0.0000944916"), "ok": True}
    texts = {"code": "007", "note": None, "geo": '{"country":"de"}'}
    assert row == numbers | texts | {"seen": "2026-01-15T03:00:00Z"}
    assert [str(type_) for type_ in table.schema.types][:5] == [
        "timestamp[us, tz=UTC]",
        "int64",
        "string",
        "string",
        "decimal128(38, 10)",
    ]


def test_a_text_stays_as_it_is_in_a_file_of_numbers(read: Read) -> None:
    table = read(b"id,code\n1,1.50\n2,2.5\n3,7\n", event='{"id":1,"code":"a"}')
    assert table["code"].to_pylist() == ["1.50", "2.5", "7"]


def test_a_time_that_spark_cannot_hold_is_text(read: Read) -> None:
    time = "2026-01-15T03:00:00.123456789Z"
    event = f'{{"id":1,"event_time":"{time}"}}'
    table = read(f"id,event_time\n1,{time}\n".encode(), event=event)
    assert table["event_time"].to_pylist() == [time]


def test_a_column_that_load_did_not_learn_is_never_left_out(read: Read) -> None:
    with pytest.raises(ProtocolError, match="has values of b, c, which") as caught:
        read(b"a,b,empty,c\n1,2,,3\n", event='{"a":1}')
    assert "Pass a schema with all the columns" in str(caught.value)


def test_a_column_without_a_value_needs_no_place(read: Read) -> None:
    assert read(b"a,empty\n1,\n", event='{"a":1}').to_pylist() == [{"a": 1}]


def test_a_schema_leaves_columns_out(read: Read) -> None:
    assert read(b"a,b\n1,2\n", schema_of(a=LongType)).to_pylist() == [{"a": 1}]


@pytest.mark.parametrize(
    ("first", "cell", "value"),
    [
        ("1.5", "2", Decimal(2)),
        ("9223372036854775808", "1", Decimal(1)),
        ('"1.5"', "x", None),
        ("1", "1.5", None),
        ("1", "0x10", None),
        ("1", "9223372036854775808", None),
        ("1.5", "0.12345678901", None),
        ("true", "2", None),
    ],
)
def test_a_value_of_another_type_is_exact_or_an_error(
    first: str, cell: str, value: Any, read: Read
) -> None:
    # An amount may be text.
    name = "revenue" if '"' in first else "n"
    content, event = f"id,{name}\n1,{cell}\n".encode(), f'{{"id":1,"{name}":{first}}}'
    if value is None:
        with pytest.raises(ProtocolError, match=f"{name} is .* cannot hold its values exactly"):
            read(content, event=event)
    else:
        assert read(content, event=event)[name].to_pylist() == [value]


def test_a_schema_names_the_types_of_columns_that_nobody_documented(
    read: Read, httpserver: HTTPServer
) -> None:
    content = b"start,usable_requests,note,share\n1768446000,7200,a,0.5\n"
    schema = schema_of(
        start=TimestampType, usable_requests=IntegerType, note=StringType, share=DoubleType
    )
    (row,) = read(content, schema).to_pylist()
    assert row.pop("start").isoformat() == "2026-01-15T03:00:00+00:00"
    assert row == {"usable_requests": 7200, "note": "a", "share": 0.5}
    assert not [each for each, _ in httpserver.log if each.path.endswith("/events")]
    for name, type_ in {"note": LongType, "start": StructType, "share": TimestampType}.items():
        with pytest.raises(ProtocolError, match=f"{name} is .* in the file of events, and"):
            read(content, schema_of(**{name: type_}))


def test_a_file_that_is_not_there_yet_is_awaited(read: Read, httpserver: HTTPServer) -> None:
    """Its status was polled, so that address has answered; the file's has not."""
    answer = {"status": "processing", "status_url": httpserver.url_for("/status")}
    done = {"status": "completed", "download_url": httpserver.url_for("/day")}
    order = "/api/partners/acme/ad-analytics/bulk-export"
    httpserver.expect_oneshot_request(order).respond_with_json(answer)
    httpserver.expect_request("/status").respond_with_json(done)
    httpserver.expect_oneshot_request("/day").respond_with_data("not found", status=404)
    assert read("".join((HEADER, *ROWS)).encode())["event_id"].to_pylist() == ["a", "b"]
