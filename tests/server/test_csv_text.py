"""CSV by cutting stored texts is, byte for byte, CSV by decoding them and the csv module."""

import csv
import io
import random
from collections.abc import Callable
from uuid import UUID

import msgspec
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from adanalytics_server.clock import rfc3339
from adanalytics_server.exports import csv_text
from adanalytics_server.exports.csv_text import CSV_HEADER, CsvText, plain_row
from adanalytics_server.storage.events import (
    DEVICE_TYPES,
    EVENT_FIELDS,
    EVENT_TYPES,
    MEDIA_TYPES,
    PAYMENT_TYPES,
    LogEvent,
    Record,
    decode_event,
    encode_event,
)
from adanalytics_server.storage.money import text_from_nanos

MakeRecord = Callable[..., Record]

# What could be taken for the border of a field, or has to be quoted in JSON or in CSV.
TRAPS = (
    ",null",
    '"',
    ',"revenue":"',
    ',"payment_type":"',
    '","cost":null',
    "\\",
    "\\u0022",
    "a,b",
    "line\r\nline",
    "null",
    "true",
    "}",
    " ",
    "",
    "é€😀\u2028",
    "\x01",
)
texts = st.one_of(
    st.sampled_from(TRAPS),
    st.text(max_size=8),
    st.builds("".join, st.lists(st.sampled_from(TRAPS), max_size=4)),
)
integers = st.integers(-(2**63), 2**63 - 1)
uuids = st.uuids().map(str)
money = st.one_of(
    st.integers(0, 10**10 - 1), st.integers(-(10**18), 10**18), st.integers(10**19, 10**22)
).map(text_from_nanos)
# Years 1000 to 9999: others are not stored.
instants = st.integers(-30_610_224_000_000, 253_402_300_799_999).map(rfc3339)


@st.composite
def events(draw: st.DrawFn) -> LogEvent:
    instant = draw(instants)
    return LogEvent(
        event_id=draw(uuids),
        event_time=instant,
        event_date=instant[:10],
        event_hour=draw(st.integers(0, 23)),
        received_at=draw(instants),
        event_type=draw(st.sampled_from(EVENT_TYPES)),
        auction_id=draw(uuids),
        partner_id=draw(texts),
        supply_tag_id=draw(integers),
        demand_tag_id=draw(st.none() | integers),
        campaign_id=draw(st.none() | integers),
        creative_id=draw(st.none() | texts),
        deal_id=draw(st.none() | texts),
        media_type=draw(st.sampled_from(MEDIA_TYPES)),
        device_type=draw(st.sampled_from(DEVICE_TYPES)),
        country=draw(st.none() | st.just("DE")),
        os=draw(st.none() | texts),
        currency="USD",
        revenue=draw(money),
        cost=draw(st.none() | money),
        payment_type=draw(st.sampled_from(PAYMENT_TYPES)),
        domain=draw(st.none() | texts),
        app_bundle=draw(st.none() | texts),
        error_code=draw(st.none() | st.integers(100, 901)),
        is_filtered=draw(st.booleans()),
        key_values=draw(st.dictionaries(texts, texts, max_size=3)),
    )


def cells_of(text: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text.decode(), newline="")))


@given(st.lists(events(), max_size=6))
def test_cutting_is_the_same_as_decoding(found: list[LogEvent]) -> None:
    bodies = [encode_event(event) for event in found]
    text = CsvText()
    expected = b"".join(plain_row(body) + b"\r\n" for body in bodies)
    assert text.rows(bodies) == expected
    # The second time everything is looked up.
    assert text.rows(bodies) == expected


@given(events())
def test_every_cell_comes_back_from_the_csv_module(event: LogEvent) -> None:
    (cells,) = cells_of(CsvText().rows([encode_event(event)]))
    row = dict(zip(EVENT_FIELDS, cells, strict=True))
    assert row["event_id"] == event.event_id
    assert row["creative_id"] == (event.creative_id or "")
    assert row["domain"] == (event.domain or "")
    assert row["cost"] == (event.cost or "")
    assert row["is_filtered"] == str(event.is_filtered).lower()


@pytest.mark.parametrize("name", EVENT_TYPES)
@pytest.mark.parametrize("hour", [9, 10])
def test_usual_events_are_cut_and_not_decoded(
    name: str, hour: int, make_record: MakeRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = make_record(hour * 3_600_000, 1, event_type=name, cost=None)
    expected = plain_row(record.body) + b"\r\n"
    monkeypatch.delattr(csv_text, "plain_row")
    assert CsvText().rows([record.body]) == expected


def test_an_event_of_another_form_is_decoded(make_record: MakeRecord) -> None:
    body = make_record(0, 1).body.replace(str(UUID(int=1)).encode(), b"short")
    assert CsvText().rows([body]) == plain_row(body) + b"\r\n"
    renamed = make_record(0, 1).body.replace(b'"impression"', b'"something"')
    assert CsvText().rows([renamed]) == plain_row(renamed) + b"\r\n"


@example(",null", 11)
@given(texts, st.integers(0, 40))
def test_an_auction_id_of_another_length_is_decoded(
    make_record: MakeRecord, text: str, length: int
) -> None:
    # One of the right length is a UUID: a load takes nothing else. With 16 characters the cut is
    # at the end of the next field, and what follows looks like a row's middle.
    assume(len(msgspec.json.encode("a" * length + text)) != 36 + 2)
    event = decode_event(make_record(0, 1).body)
    body = encode_event(msgspec.structs.replace(event, auction_id="a" * length + text))
    assert CsvText().rows([body]) == plain_row(body) + b"\r\n"


def test_pieces_that_are_forgotten_are_written_again(
    make_record: MakeRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv_text, "MOST_PIECES", 3)
    draw = random.Random(4)
    bodies = [make_record(0, n, campaign_id=draw.randrange(9)).body for n in range(200)]
    assert CsvText().rows(bodies) == b"".join(plain_row(body) + b"\r\n" for body in bodies)


def test_the_header_names_all_fields() -> None:
    assert cells_of(CSV_HEADER) == [list(EVENT_FIELDS)]
