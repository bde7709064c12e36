"""Files of exports that the reference server does not make, from a service of the test's own."""

import gzip
from collections.abc import Callable

import pyarrow as pa
import pytest
from pyspark.sql.types import LongType, StringType, StructField, StructType
from pytest_httpserver import HTTPServer
from tests.spark.in_process import FIRST, as_spark_passes, table_of

from adanalytics_client import AdAnalyticsError, DownloadError, ProtocolError
from adanalytics_client.spark import AdAnalyticsDataSource

HEADER = "event_id,event_date,event_hour,os,revenue,key_values\n"
ROWS = ('a,2026-01-15,3,ios,0.000000001,"{""k"":""v""}"\n', "b,2026-01-15,4,,-1.500000000,{}\n")

Read = Callable[..., pa.Table]


@pytest.fixture
def read(httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch) -> Read:
    """Reads the day of a service whose export is this file."""

    def read_file(content: bytes, schema: StructType | None = None) -> pa.Table:
        paths = "/api/partners/acme/ad-analytics"
        answers: dict[str, object] = {
            "dates": {"dates": [str(FIRST)]},
            "summary": {"summary": [{"date": str(FIRST), "impressions": 2}]},
            "bulk-export": {"status": "completed", "download_url": httpserver.url_for("/day")},
        }
        for name, answer in answers.items():
            httpserver.expect_request(f"{paths}/{name}").respond_with_json(answer)
        httpserver.expect_request("/day").respond_with_data(content, content_type="text/csv")
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


def test_a_schema_names_columns_that_nobody_documented(read: Read) -> None:
    content = b"ymdh,usable_requests,note\n2026-01-15 03:00:00,7200,a\n"
    columns = [("usable_requests", LongType()), ("note", StringType())]
    table = read(content, StructType([StructField(*column) for column in columns]))
    assert table.to_pylist() == [{"usable_requests": 7200, "note": "a"}]
    with pytest.raises(ProtocolError, match="note is string in the file of events, not int64"):
        read(content, StructType([StructField("note", LongType())]))


def test_a_file_that_is_not_there_yet_is_awaited(read: Read, httpserver: HTTPServer) -> None:
    """Its status was polled, so that address has answered; the file's has not."""
    answer = {"status": "processing", "status_url": httpserver.url_for("/status")}
    done = {"status": "completed", "download_url": httpserver.url_for("/day")}
    order = "/api/partners/acme/ad-analytics/bulk-export"
    httpserver.expect_oneshot_request(order).respond_with_json(answer)
    httpserver.expect_request("/status").respond_with_json(done)
    httpserver.expect_oneshot_request("/day").respond_with_data("not found", status=404)
    assert read("".join((HEADER, *ROWS)).encode())["event_id"].to_pylist() == ["a", "b"]
