"""The files of exports: the exact bytes of CSV, the types and row groups of Parquet."""

import csv
import gzip
import io
import json
import random
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import msgspec
import pytest
from tests.server.records import make_record

from adanalytics_server.api import routes as api
from adanalytics_server.exports.files import PART_ROWS, write_export
from adanalytics_server.exports.parquet import write_parquet
from adanalytics_server.loading.load import load_file
from adanalytics_server.loading.mapping import Mapping
from adanalytics_server.seed.generate import Sample, generate
from adanalytics_server.storage.chunks import decode_rows, split_pieces
from adanalytics_server.storage.days import DayRange
from adanalytics_server.storage.events import (
    EVENT_FIELDS,
    EVENT_TYPES,
    LogEvent,
    Record,
    decode_event,
    encode_event,
)
from adanalytics_server.storage.ingest import ingest
from adanalytics_server.storage.pages import read_page
from adanalytics_server.storage.store import PartnerStore

API = "/api/partners/acme/ad-analytics"
RANGE = {"start_date": "2026-01-31", "end_date": "2026-02-01"}
AddRecords = Callable[[list[Record]], None]
START = 1_769_896_800_000

# Text that CSV or JSON has to quote, and text that looks like the border of a field.
TRAPS = (
    '"',
    ",",
    "a,b",
    "line\r\nline",
    "\r",
    "\n",
    "\\",
    '","cost":null',
    ',"payment_type":"',
    '},{"event_id":"',
    "null",
    "",
    " ",
    "é€😀\u2028",
    "\x00\x01",
)


def with_fields(record: Record, **fields: object) -> Record:
    """Give a record's event other values."""
    event = msgspec.structs.replace(decode_event(record.body), **fields)
    return record._replace(body=encode_event(event))


def export(http: httpx.Client, form: str) -> bytes:
    job = http.post(f"{API}/bulk-export", json={**RANGE, "format": form}).json()
    return httpx.get(job["download_url"]).content


def cell(value: Any) -> str:
    """The text of a JSON value in a CSV cell."""
    if isinstance(value, dict):
        return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def test_a_row_is_known_to_the_byte(http: httpx.Client, add_records: AddRecords) -> None:
    texts = {"creative_id": 'a "b", c', "deal_id": "two\r\nlines", "os": "ürx", "domain": ""}
    usual = make_record(START, 1, is_filtered=True)
    nasty = with_fields(
        make_record(START + 1, 2, cost=None), **texts, key_values={"z": 'q"', "a": "1,2"}
    )
    add_records([usual, nasty])
    header, rows = export(http, "csv").split(b"\r\n", 1)
    assert header == ",".join(EVENT_FIELDS).encode()
    times = "2026-01-31T22:00:00.00{0}Z,2026-01-31,22,2026-01-31T22:00:00.00{0}Z"
    identity = "00000000-0000-0000-0000-00000000000{}"
    first = (
        f"{identity.format(1)},{times.format(0)},impression,{identity.format(1)},acme,1,70,7,,,"
        "video,ctv,DE,,USD,0.002500000,0.001000000,cpm,,,,true,{}\r\n"
    )
    second = (
        f"{identity.format(2)},{times.format(1)},impression,{identity.format(2)},acme,1,70,7,"
        '"a ""b"", c","two\r\nlines",video,ctv,DE,ürx,USD,0.002500000,,cpm,,,,false,'
        '"{""a"":""1,2"",""z"":""q\\""""}"\r\n'
    )
    assert rows.decode() == first + second


def test_every_cell_is_the_value_of_the_json_lines(
    http: httpx.Client, add_records: AddRecords
) -> None:
    draw = random.Random(7)

    def text() -> str:
        return "".join(draw.choices(TRAPS, k=draw.randrange(4)))

    def number() -> int | None:
        return draw.choice([None, 0, -(2**63), 2**63 - 1])

    records = [
        with_fields(
            make_record(
                START + n,
                n,
                event_type=EVENT_TYPES[n % len(EVENT_TYPES)],
                revenue=draw.randrange(-(10**20), 10**20),
                is_filtered=n % 3 == 0,
            ),
            campaign_id=number(),
            error_code=draw.choice([None, 303]),
            **{name: draw.choice([None, text()]) for name in ("creative_id", "os", "domain")},
            key_values={text(): text() for _ in range(draw.randrange(4))},
        )
        for n in range(300)
    ]
    add_records(records)
    events = [json.loads(line) for line in export(http, "jsonl").split(b"\n")[:-1]]
    header, *rows = csv.reader(io.StringIO(export(http, "csv").decode(), newline=""))
    assert len(rows) == len(events) == len(records)
    assert [dict(zip(header, row, strict=True)) for row in rows] == [
        {name: cell(event[name]) for name in EVENT_FIELDS} for event in events
    ]


arrow: Any = pytest.importorskip("pyarrow")
parquet: Any = pytest.importorskip("pyarrow.parquet")

DAYS = DayRange(date(2026, 1, 31), date(2026, 2, 1))
ORDER = {"start_date": "2026-01-31", "end_date": "2026-02-01", "format": "parquet"}


def test_the_schema_does_not_depend_on_the_rows(store: PartnerStore, tmp_path: Path) -> None:
    target = tmp_path / "empty.parquet"
    written = write_export(store, DAYS, target, form="parquet", compression="none")
    assert written.row_count == 0
    schema = parquet.read_schema(target)
    kinds = {field.name: (str(field.type), field.nullable) for field in schema}
    assert tuple(kinds) == EVENT_FIELDS
    assert kinds["revenue"] == ("decimal128(38, 9)", False)
    assert kinds["cost"] == ("decimal128(38, 9)", True)
    assert kinds["event_time"] == kinds["received_at"] == ("timestamp[ms, tz=UTC]", False)
    assert kinds["event_date"] == ("date32[day]", False)
    assert kinds["campaign_id"] == ("int64", True)
    assert kinds["is_filtered"] == ("bool", False)
    assert kinds["key_values"][0].startswith("map<string, string")
    assert kinds["creative_id"] == ("string", True)


def test_every_value_is_there_with_its_type(store: PartnerStore, tmp_path: Path) -> None:
    ingest(store, [make_record(START + 7, 1, revenue=-1, cost=None, campaign_id=None)])
    target = tmp_path / "one.parquet"
    write_export(store, DAYS, target, form="parquet", compression="none")
    (row,) = parquet.read_table(target).to_pylist()
    assert row["revenue"] == Decimal("-0.000000001")
    assert (row["cost"], row["campaign_id"], row["demand_tag_id"]) == (None, None, 70)
    assert row["event_time"] == datetime(2026, 1, 31, 22, 0, 0, 7_000, tzinfo=UTC)
    assert (row["event_date"], row["event_hour"]) == (date(2026, 1, 31), 22)
    assert (row["is_filtered"], row["key_values"]) == (False, [])


def test_a_parquet_export_loads_into_the_same_events(tmp_path: Path) -> None:
    first, second = PartnerStore(tmp_path / "1"), PartnerStore(tmp_path / "2")
    day = date(2026, 1, 31)
    sample = Sample(start=day, events_per_day=900, seed=3)
    generate(first, sample, partner_id="acme", currency="USD")
    target = tmp_path / "day.parquet"
    days = DayRange(day, day)
    write_export(first, days, target, form="parquet", compression="gzip")
    load_file(second, target, partner_id="acme", currency="USD", mapping=Mapping({}, {}, ()))
    pages = [
        split_pieces(read_page(store, days, page=1, per_page=10_000).pieces)
        for store in (first, second)
    ]
    assert sorted(pages[0]) == sorted(pages[1])
    assert len(pages[0]) == 900
    assert any(decode_event(body).key_values for body in pages[0])
    first.close()
    second.close()


def test_texts_and_numbers_at_their_limits_are_kept() -> None:
    text = 'a\0b"\\\n\u2028\u00fc\U0001f600},{"event_id":"'
    event = LogEvent(
        event_id=str(UUID(int=1)),
        event_time="0001-01-01T00:00:00.000Z",
        event_date="0001-01-01",
        event_hour=0,
        received_at="9999-12-31T23:59:59.999Z",
        event_type="click",
        auction_id=str(UUID(int=2)),
        partner_id="acme",
        supply_tag_id=2**63 - 1,
        demand_tag_id=-(2**63),
        campaign_id=None,
        creative_id=text,
        deal_id="",
        media_type="video",
        device_type="ctv",
        country=None,
        os=None,
        currency="USD",
        revenue="-99999999999.999999999",
        cost=None,
        payment_type="cpm",
        domain=None,
        app_bundle=None,
        error_code=None,
        is_filtered=True,
        key_values={text: text, "": ""},
    )
    out = io.BytesIO()
    write_parquet(iter(decode_rows([encode_event(event)])), out, "none")
    (row,) = parquet.read_table(out).to_pylist()
    assert row["event_time"] == datetime(1, 1, 1, tzinfo=UTC)
    assert row["received_at"] == datetime(9999, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC)
    assert (row["supply_tag_id"], row["demand_tag_id"]) == (2**63 - 1, -(2**63))
    assert (row["creative_id"], row["deal_id"], row["country"]) == (text, "", None)
    assert row["revenue"] == Decimal("-99999999999.999999999")
    assert row["key_values"] == [(text, text), ("", "")]


def test_pandas_is_not_imported_for_a_parquet_file() -> None:
    program = (
        "import io, json, sys\n"
        "from adanalytics_server.exports.parquet import write_parquet\n"
        "write_parquet(iter([json.load(sys.stdin)]), io.BytesIO(), 'none')\n"
        "sys.exit('pandas' in sys.modules)\n"
    )
    body = make_record(START, 1).body
    done = subprocess.run([sys.executable, "-c", program], input=body, check=False)
    assert done.returncode == 0


def test_rows_are_held_up_to_a_row_group(
    store: PartnerStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adanalytics_server.exports.parquet.ROWS_PER_GROUP", PART_ROWS)
    ingest(store, [make_record(START + n, n) for n in range(2 * PART_ROWS + 1)])
    target = tmp_path / "groups.parquet"
    write_export(store, DAYS, target, form="parquet", compression="none")
    meta = parquet.read_metadata(target)
    groups = [meta.row_group(number).num_rows for number in range(meta.num_row_groups)]
    assert groups == [PART_ROWS, PART_ROWS, 1]
    ids = parquet.read_table(target, columns=["event_id"])["event_id"].to_pylist()
    assert ids == [f"00000000-0000-0000-0000-{n:012x}" for n in range(2 * PART_ROWS + 1)]


@pytest.mark.parametrize(("compression", "codec"), [("none", "UNCOMPRESSED"), ("gzip", "GZIP")])
def test_compression_is_the_one_of_the_pages(
    http: httpx.Client, add_records: Callable[[list[Record]], None], compression: str, codec: str
) -> None:
    add_records([make_record(START, 1)])
    job = http.post(f"{API}/bulk-export", json={**ORDER, "compression": compression}).json()
    file = httpx.get(job["download_url"])
    assert file.headers["content-type"] == "application/vnd.apache.parquet"
    assert file.headers["content-disposition"].endswith('_2026-02-01.parquet"')
    meta = parquet.read_metadata(io.BytesIO(file.content))
    assert (meta.num_rows, meta.row_group(0).column(0).compression) == (1, codec)
    with pytest.raises(gzip.BadGzipFile):
        gzip.decompress(file.content)


def test_without_pyarrow_the_answer_names_the_extra(
    http: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "parquet_is_available", lambda: False)
    answer = http.post(f"{API}/bulk-export", json=ORDER)
    assert answer.status_code == 400
    assert answer.json()["error"].startswith("format needs pyarrow")
    assert 'pip install "adanalytics[arrow]"' in answer.json()["error"]
