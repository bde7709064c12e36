"""CSV exports: the exact bytes of a row, and every cell as the JSON lines have it."""

import csv
import io
import json
import random
from collections.abc import Callable
from typing import Any

import httpx
import msgspec

from adanalytics_server.storage.events import (
    EVENT_FIELDS,
    EVENT_TYPES,
    Record,
    decode_event,
    encode_event,
)

API = "/api/partners/acme/ad-analytics"
ORDER = {"start_date": "2026-01-31", "end_date": "2026-02-01"}
MakeRecord = Callable[..., Record]
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
    job = http.post(f"{API}/bulk-export", json={**ORDER, "format": form}).json()
    return httpx.get(job["download_url"]).content


def cell(value: Any) -> str:
    """The text of a JSON value in a CSV cell."""
    if isinstance(value, dict):
        return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def test_a_row_is_known_to_the_byte(
    http: httpx.Client, make_record: MakeRecord, add_records: AddRecords
) -> None:
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
    http: httpx.Client, make_record: MakeRecord, add_records: AddRecords
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
