"""Exports as different services send them: each is right to the last byte, or a typed error.

A service here answers an order and the count of its days, and sends one file. None of the files
that are wrong may appear under its name, whatever is wrong with it.
"""

import gzip
import io
import json
import zipfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.client.bench import Bench
from tests.client.stand_in import Asked, Say
from tests.client.variants import Variant

from adanalytics_client import errors
from adanalytics_client._base.formats import EXPORT_FORMATS

DAY = "2026-01-15"
ROWS = [
    {
        "event_id": f"id-{number}",
        "event_date": DAY,
        "revenue": f"0.{number:09}",
        "domain": 'a "quoted",\nname' if number % 7 == 3 else "a.example",
        "is_filtered": "false",
    }
    for number in range(1370)
]
NAMES = [*ROWS[0]]


def cell(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if {*text} & {*',"\n'} else text


def table(rows: list[dict[str, str]] = ROWS, separator: str = ",", end: str = "\r\n") -> bytes:
    lines = [NAMES, *(list(map(cell, row.values())) for row in rows)]
    return "".join(separator.join(line) + end for line in lines).encode()


def lines(rows: list[dict[str, str]] = ROWS) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def columns(rows: list[dict[str, str]] = ROWS) -> bytes:
    file = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), file, row_group_size=500)
    return file.getvalue()


def archive(name: str, content: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as packed:
        packed.writestr(name, content)
    return file.getvalue()


CSV, JSONL, PARQUET = table(), lines(), columns()
# From one id into another one, so that the record around it has as many fields as the header.
HOLE, HOLE_END = CSV.index(b"id-9") + 2, CSV.index(b"id-99") + 2
OTHER_DAY = [{**row, "event_date": "2026-01-16"} for row in ROWS]
ERROR = b'{"error": "export failed"}'


@dataclass(frozen=True)
class Service:
    """A service: its file, the headers and the status of that, its order, and its count.

    `content` is the right content of the target, None if the download must fail. A count of None is
    a service that does not count. `cut` ends the connection after so many bytes.
    """

    name: str
    body: bytes
    content: bytes | None = None
    form: str = "csv"
    suffix: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    order: dict[str, Any] = field(default_factory=dict)
    count: int | None = 1370
    status: int = 200
    chunked: bool = False
    until_closed: bool = False
    cut: int | None = None

    def __str__(self) -> str:
        return self.name.replace(" ", "-")


def right(name: str, body: bytes, **facts: Any) -> Service:
    return Service(name, body, **{"content": body, **facts})


def closing(name: str, body: bytes, **facts: Any) -> Service:
    """A body whose end is the end of the connection."""
    return Service(name, body, until_closed=True, **facts)


RIGHT = [
    right("csv", CSV),
    right("csv with an announced number", CSV, order={"row_count": 1370}),
    right("csv with a number as text", CSV, order={"row_count": "1370"}),
    right("csv of a service that does not count", CSV, count=None),
    right("csv in chunks", CSV, chunked=True, count=None),
    right("csv with line feeds", table(end="\n")),
    right("csv with semicolons", table(separator=";")),
    right("csv with tabs", table(separator="\t")),
    right("csv with a byte order mark", b"\xef\xbb\xbf" + CSV),
    right("csv without a last line end", CSV[:-2]),
    right("csv with empty lines at its end", CSV + b"\r\n\r\n"),
    right("csv as an octet stream", CSV, headers={"Content-Type": "application/octet-stream"}),
    right("csv of no events", table([]), count=0),
    right("csv until the connection ends", CSV, until_closed=True),
    right("csv with a zero byte in a text", CSV.replace(b"id-9", b"id\0-9")),
    right("nothing at all of no events", b"", count=0),
    right("nothing of an announced 0", b"", count=0, order={"row_count": 0}),
    right("gzip as it was ordered", gzip.compress(CSV), suffix=".gz"),
    right("gzip unasked", gzip.compress(CSV), content=CSV),
    right(
        "gzip unasked in members", gzip.compress(CSV[:99]) + gzip.compress(CSV[99:]), content=CSV
    ),
    right("encoded", gzip.compress(CSV), content=CSV, headers={"Content-Encoding": "gzip"}),
    right(
        "encoded without rows, as it was ordered",
        gzip.compress(b""),
        form="jsonl",
        suffix=".gz",
        headers={"Content-Encoding": "gzip"},
        count=0,
    ),
    right("jsonl", JSONL, form="jsonl"),
    right("jsonl without a last line end", JSONL[:-1], form="jsonl"),
    right("jsonl until the connection ends", JSONL, form="jsonl", until_closed=True),
    right("jsonl gzip unasked", gzip.compress(JSONL), content=JSONL, form="jsonl"),
    right("no lines of no events", b"", form="jsonl", count=0),
    right("parquet", PARQUET, form="parquet"),
    right("parquet of a service that does not count", PARQUET, form="parquet", count=None),
    right(
        "parquet until the connection ends", PARQUET, form="parquet", until_closed=True, count=None
    ),
]
CUT_RECORD, CUT_LINE = len(CSV) // 2 + 7, CSV.index(b"\r\n", len(CSV) // 2) + 2
CUT_JSON = JSONL.index(b"\n", len(JSONL) // 2) + 1
WRONG = [
    Service("csv cut in a record", CSV[:CUT_RECORD]),
    Service("csv cut in a record without a count", CSV[:CUT_RECORD], count=None),
    Service("csv cut at a line end without a count", CSV[:CUT_LINE], count=None),
    Service("a header row without a count", table([]), count=None),
    Service("an error that looks like csv", b"error,message\n500,database timeout\n", count=None),
    Service("csv that is announced as partial", CSV, order={"partial": True}),
    Service("csv that is announced as truncated", CSV, order={"data": {"truncated": True}}),
    Service("csv of a request without success", CSV, order={"success": False}),
    Service("another number as total_rows", CSV, count=None, order={"total_rows": 999_999}),
    Service("csv cut inside quotes", CSV[: CSV.index(b'""quoted') + 4], count=None),
    Service("csv cut at a line end", CSV[:CUT_LINE]),
    Service(
        "csv cut at a line end, announced", CSV[:CUT_LINE], count=None, order={"row_count": 1370}
    ),
    Service(
        "csv cut at a line end, as text", CSV[:CUT_LINE], count=None, order={"row_count": "1370"}
    ),
    closing("closed in a record", CSV[:CUT_RECORD], count=None),
    closing("closed in the last cell", CSV[:-4], count=None),
    closing("closed in the last cell, counted", CSV[:-4]),
    closing("closed at a line end", CSV[:CUT_LINE]),
    closing("closed at a line end without a count", CSV[:CUT_LINE], count=None),
    closing("closed before a byte", b"", count=None),
    Service("length announced, then broken off", CSV, cut=CUT_LINE),
    Service("chunks broken off", CSV, cut=CUT_LINE, chunked=True),
    Service("size announced beside the file", CSV[:CUT_LINE], order={"size_bytes": len(CSV)}),
    Service("checksum of another file", CSV, order={"sha256": "0" * 64}),
    Service("announced 999,999", CSV, order={"row_count": 999_999}),
    Service("announced none", CSV, order={"row_count": 0}),
    Service("announced and counted alike, but fewer", CSV[:CUT_LINE], order={"row_count": 1370}),
    Service("rows twice", table(ROWS + ROWS)),
    Service("rows of another day", table(OTHER_DAY)),
    Service("rows of another day in between", table(ROWS[:9] + OTHER_DAY[9:])),
    Service("other days stated", CSV, order={"start_date": "2026-01-14", "end_date": DAY}),
    Service("header twice", CSV + CSV, count=None),
    Service("header in the middle", table(ROWS[:700]) + table(ROWS[700:]), count=None),
    Service("header with a mark in the middle", CSV + b"\xef\xbb\xbf" + CSV, count=None),
    Service("a mark in the middle", CSV[:CUT_LINE] + b"\xef\xbb\xbf" + CSV[CUT_LINE:]),
    Service("no header", CSV.partition(b"\r\n")[2], count=None),
    Service("header only", table([])),
    Service("a title before the header", b"Report\r\n\r\n" + CSV, count=None),
    Service("an error behind the rows", CSV + b"ERROR: connection reset\r\n", count=None),
    Service("a total behind the rows", CSV + b"total,1370,,,\r\n"),
    Service("utf-16", CSV.decode().encode("utf-16"), count=None),
    Service("utf-16 without a mark", CSV.decode().encode("utf-16-le"), count=None),
    Service(
        "a hole of zero bytes", CSV[:HOLE] + bytes(HOLE_END - HOLE) + CSV[HOLE_END:], count=None
    ),
    Service("zip", archive("events.csv", CSV), count=None),
    Service("zip as it was ordered", archive("events.csv", CSV), suffix=".gz", count=None),
    Service("plain in place of gzip", CSV, suffix=".gz", count=None),
    Service("gzip without its end", gzip.compress(CSV)[:-9], count=None),
    Service("gzip unasked of json", gzip.compress(ERROR), count=None),
    Service("gzip in gzip", gzip.compress(gzip.compress(CSV)), count=None),
    Service("ordered gzip without its end", gzip.compress(CSV)[:-9], suffix=".gz", count=None),
    Service("ordered gzip of nothing", gzip.compress(b""), suffix=".gz", count=None),
    Service("parquet in place of csv", PARQUET, count=None),
    Service("json lines in place of csv", JSONL, count=None),
    Service("nothing at all", b""),
    Service("nothing at all without a count", b"", count=None),
    Service("nothing with an announced number", b"", order={"row_count": 1370}),
    Service("a json error", ERROR, headers={"Content-Type": "application/json"}),
    Service("a json error as csv", ERROR, headers={"Content-Type": "text/csv"}, count=None),
    Service("a json error without a type", ERROR, count=None),
    Service("an html page", b"<!doctype html><p>Sign in", headers={"Content-Type": "text/html"}),
    Service("an html page as csv", b"<!doctype html><p>Sign in, please", count=None),
    Service("an xml error", b"<Error><Code>NoSuchKey</Code></Error>", count=None),
    Service("a text", b"Export failed", count=None),
    Service("a text with a comma", b"Sorry, the export failed", count=None),
    Service("a text with a comma, counted", b"Sorry,the export failed\n"),
    Service("a sentence", b"Sorry, the export failed. Try again, later.\n", count=None),
    Service("a 204", b"", status=204, count=None),
    Service("a 202 for ever", b"", status=202, count=None),
    Service("jsonl cut in a line", JSONL[: CUT_JSON + 9], form="jsonl", count=None),
    Service("jsonl cut at a line end", JSONL[:CUT_JSON], form="jsonl"),
    closing("jsonl closed at a line end", JSONL[:CUT_JSON], form="jsonl", count=None),
    Service("a json list", b"[" + JSONL.replace(b"\n", b",")[:-1] + b"]", form="jsonl", count=None),
    Service("a json list in lines", b"[\n" + JSONL + b"]", form="jsonl", count=None),
    Service("json over several lines", JSONL.replace(b", ", b",\n"), form="jsonl", count=None),
    Service("an envelope", b'{"data": [' + JSONL.splitlines()[0] + b"]}", form="jsonl"),
    Service("an error as a line", ERROR + b"\n", form="jsonl"),
    Service("an error as a line, not counted", ERROR, form="jsonl", count=None),
    Service("an error as the last line", JSONL + ERROR, form="jsonl", count=None),
    Service("lines that are not UTF-8", JSONL.replace(b"id-9", b"\xff"), form="jsonl", count=None),
    Service("lines of another day", lines(OTHER_DAY), form="jsonl"),
    Service("csv in place of jsonl", CSV, form="jsonl", count=None),
    Service("a text in place of jsonl", b"Export failed", form="jsonl", count=None),
    Service("no lines", b"", form="jsonl"),
    Service("no lines without a count", b"", form="jsonl", count=None),
    Service("parquet cut in its footer", PARQUET[:-9], form="parquet", count=None),
    Service("parquet cut in the middle", PARQUET[: len(PARQUET) // 2], form="parquet", count=None),
    Service(
        "parquet without its middle", PARQUET[:99] + PARQUET[2099:], form="parquet", count=None
    ),
    closing("parquet closed", PARQUET[:4000], form="parquet", count=None),
    Service("parquet of fewer rows", columns(ROWS[:999]), form="parquet"),
    Service("parquet of another day", columns(OTHER_DAY), form="parquet"),
    Service("parquet with another number", PARQUET, form="parquet", order={"row_count": 1371}),
    Service("csv in place of parquet", CSV, form="parquet", count=None),
    Service("only the magic of parquet", b"PAR1PAR1", form="parquet", count=None),
    Service("an error in place of parquet", ERROR, form="parquet", count=None),
    Service("nothing in place of parquet", b"", form="parquet", count=None),
]


def serve(bench: Bench, service: Service) -> None:
    def script(asked: Asked) -> Say:
        if asked.method == "POST":
            return Say({"status": "done", "download_url": "/f", **service.order})
        if asked.path == "/f":
            return Say(
                service.body,
                service.status,
                service.headers,
                service.cut,
                chunked=service.chunked,
                until_closed=service.until_closed,
            )
        if service.count is not None:
            return Say({"data": ROWS[: min(service.count, 1)], "meta": {"total": service.count}})
        place = int(asked.query["page"]) - 1
        return Say({"data": ROWS[place : place + 1]})

    bench.script = script


def fetch(variant: Variant, service: Service, folder: Path) -> Path:
    target = folder / f"day.{service.form}{service.suffix}"
    result: Path = variant.call("export", DAY, to=target, timeout=60)
    return result


@pytest.mark.parametrize("service", RIGHT, ids=str)
def test_a_whole_export_arrives_as_it_is(bench: Bench, tmp_path: Path, service: Service) -> None:
    serve(bench, service)
    assert fetch(bench.variant, service, tmp_path).read_bytes() == service.content
    assert len([*tmp_path.iterdir()]) == 1


@pytest.mark.parametrize("service", WRONG, ids=str)
def test_anything_else_is_a_typed_error_and_no_file(
    bench: Bench, tmp_path: Path, service: Service
) -> None:
    serve(bench, service)
    with pytest.raises((errors.DownloadError, errors.ProtocolError)):
        fetch(bench.variant, service, tmp_path)
    assert [path for path in tmp_path.iterdir() if ".part" not in path.suffixes] == []


@pytest.mark.parametrize(
    ("body", "headers", "remedy"),
    [
        (CSV, {}, "does not end in .gz"),
        (lines(ROWS).replace(b"\n", b","), {"Content-Type": "application/json"}, "in a browser"),
    ],
)
def test_a_file_in_another_form_says_what_helps(
    bench: Bench, tmp_path: Path, body: bytes, headers: Any, remedy: str
) -> None:
    serve(bench, Service("another form", body, headers=headers, suffix=".gz"))
    with pytest.raises(errors.DownloadError) as wrong:
        bench.call("export", DAY, to=tmp_path / "day.csv.gz", timeout=60)
    assert remedy in wrong.value.remedy


@pytest.mark.parametrize("body", [CSV[:-2], CSV[:-4]])
@pytest.mark.parametrize("check", ["auto", "none"])
@pytest.mark.parametrize("count", [1370, None])
def test_a_last_record_without_a_line_end_may_be_cut(
    bench: Bench,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    body: bytes,
    check: str,
    count: int | None,
) -> None:
    """Both are valid CSV of 1,370 records, so what is not known is said."""
    target = tmp_path / "day.csv"
    size = {"size_bytes": len(body)}
    framed = Service("framed", body, count=count)
    announced = Service("announced", body, count=count, order=size)
    ended = Service("ended", body, count=count, until_closed=True)
    for service in (framed, announced, ended):
        serve(bench, service)
        caplog.clear()
        if check == "auto" and service is ended:
            with pytest.raises(errors.DownloadError, match=r'no line end.*check="none"'):
                bench.call("export", DAY, to=target, check=check)
            continue
        bench.call("export", DAY, to=target, check=check)
        assert target.read_bytes() == body
        target.unlink()
        said = [text for text in caplog.messages if "has no line end" in text]
        assert len(said) == (check == "auto" and service is framed)


@pytest.mark.parametrize("form", EXPORT_FORMATS)
def test_a_zip_archive_is_named(bench: Bench, tmp_path: Path, form: str) -> None:
    service = Service("zip", archive("events.csv", CSV), form=form)
    serve(bench, service)
    with pytest.raises(errors.DownloadError, match="is a zip archive"):
        fetch(bench.variant, service, tmp_path)
    assert [asked.path for asked in bench.asked].count("/f") == 1
