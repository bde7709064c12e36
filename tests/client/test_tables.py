"""Arrow without a client: batches of events and tables of summaries, without a client."""

import json
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.client.raw_events import event_batch, jsonl_batch, raw_rows

from adanalytics_client import errors
from adanalytics_client._json.exact import parse
from adanalytics_client._outputs.arrow import batches as batches_module
from adanalytics_client._outputs.arrow.batches import ArrowRows
from adanalytics_client.tables import event_schema, summary_table

SIMPLE = {
    "event_id": "e-1",
    "event_time": "2026-01-15T00:00:00.213Z",
    "event_hour": 3,
    "revenue": "0.004500000",
    "is_filtered": False,
    "country": None,
    "key_values": {},
}
VALUES = [
    *("0", "2", "-1", "1e-1000", "1E+30", "0.30000000000000004", "9223372036854775807"),
    *("9223372036854775808", "1" * 38, "1" * 39, '"0"', '"NaN"', '"007"', '"1.50"', "1768435200"),
    *("1768435200000", "1768435200.25", '"1768435200"', '"2026-01-15"', '"2026-02-30"', "[]"),
    *('"2026-01-15 00:00:00"', '"2026-01-15T00:00:00.123456789Z"', '"null"', '"{}"', "2026011513"),
    *('"x"', "7", '"7"', "1.5", "0.25", "null", "true", '"2026-01-15T01:00:00+01:00"'),
    *('"1e-1000"', '"1E-9"', '"12345678901.5"', '".5"'),
    *('"\\ud83d\\ude00"', '{"a":"b"}', '{"a":null}', '{"a":1.50}', "{}"),
    '",\\"key_values\\":{"',
]
SOME = ["key_values", "revenue", "event_id", "os"]
NAMES = [*SIMPLE, "cost", "new", "event_date", "campaign_id"]
ODD = st.tuples(st.sampled_from(NAMES), st.sampled_from(VALUES))


@settings(max_examples=60, deadline=None)
@given(rows=st.lists(st.lists(ODD, max_size=2), min_size=1, max_size=4), behind=st.booleans())
def test_a_batch_read_from_text_is_the_one_made_of_values(
    rows: list[list[tuple[str, str]]], behind: bool
) -> None:
    """Names that come twice, other types, other orders: the same batch, or no batch."""
    simple = json.dumps(SIMPLE, separators=(",", ":"))[1:-1]
    texts = []
    for row in rows:
        odd = "".join(f',"{name}":{value}' for name, value in row)
        texts.append(f"{{{simple}{odd}}}" if behind else f'{{"os":"a"{odd},{simple}}}')
    events = raw_rows(map(str.encode, texts))
    for columns in (None, SOME):
        read = outcome(lambda: jsonl_batch(events.jsonl(), columns))  # noqa: B023  # called at once
        assert read == outcome(lambda: event_batch(events.rows(), columns))  # noqa: B023


# Commas and names inside of values, which a page is cut at.
INNER = [
    *('"a,b"', '",x"', '"x,"', '","', "[1,2]", '["a","cost"]', '{"a":1,"cost":5}', '"[{"', '"}"'),
    *('[{"a":"b","cost":"5"}]', '{"cost":"5"}', '"\\",\\"cost\\":5"', '"\u00e9"', '" x "', '""'),
    *("5.0", "-0", "-0.0", "1E2", "1e400", "1" * 19, "-9223372036854775808", "false", '"null}"'),
]


@settings(max_examples=120, deadline=None)
@given(
    names=st.lists(st.sampled_from([*NAMES, "a b"]), min_size=1, max_size=4),
    rows=st.lists(
        st.lists(st.sampled_from([*VALUES, *INNER]), min_size=4, max_size=4), min_size=1, max_size=5
    ),
    repeated=st.booleans(),
    comma=st.sampled_from([",", ", ", " ,"]),
    colon=st.sampled_from([":", ": "]),
    last=st.sampled_from(["", '"key_values":{}', '"key_values": {"a":"1","cost":"5"} ']),
)
def test_events_with_the_same_members_in_the_same_order(
    names: list[str], rows: list[list[str]], repeated: bool, comma: str, colon: str, last: str
) -> None:
    """They are cut at their commas, but none that has other commas, other values or other names."""
    texts = []
    for values in rows * 25 if repeated else rows:
        members = [f'"{name}"{colon}{value}' for name, value in zip(names, values, strict=False)]
        texts.append("{" + comma.join([*members, *([last] if last else [])]) + "}")
    events = raw_rows(map(str.encode, texts))
    for columns in (None, SOME, ["cost"]):
        read = outcome(lambda: jsonl_batch(events.jsonl(), columns))  # noqa: B023  # called at once
        assert read == outcome(lambda: event_batch(events.rows(), columns))  # noqa: B023


PAGES = st.lists(st.lists(st.lists(ODD, max_size=3), min_size=1, max_size=4), max_size=3)


@settings(max_examples=80, deadline=None)
@given(pages=PAGES, wide=st.booleans(), same=st.none() | st.sampled_from(NAMES))
def test_pages_read_from_text_are_those_made_of_values(
    pages: list[list[list[tuple[str, str]]]], wide: bool, same: str | None
) -> None:
    """The types that one page tells are those that the next begins with, and none is too narrow."""
    read, made, whole = (ArrowRows(wide=wide) for _ in range(3))
    batches, others, every = [], [], []
    with pytest.MonkeyPatch.context() as patch:
        # Most of a page comes as a surprise.
        patch.setattr(batches_module, "_FIRST_EVENTS", 1)
        for page in pages:
            lines = [line_of({same or name: value for name, value in row}) for row in page]
            batches.append(read.jsonl(b"".join(lines)))
            rows = [*map(parse, lines)]
            others.append(made.batch(rows))
            every += rows
    table = read.table(batches)
    assert read.types == made.types
    assert (table.schema, texts_of(table)) == (made.schema, texts_of(made.table(others)))
    whole.batch(every)
    assert whole.types == read.types


def line_of(row: dict[str, str]) -> bytes:
    members = ",".join(f'"{name}":{value}' for name, value in row.items())
    return f"{{{members}}}\n".encode()


def texts_of(table: pa.Table) -> list[list[Any]]:
    """The values; Arrow has times that Python lacks."""
    return [
        (column.cast(pa.string()) if pa.types.is_temporal(column.type) else column).to_pylist()
        for column in table.columns
    ]


def outcome(make: Callable[[], pa.RecordBatch]) -> tuple[Any, ...]:
    try:
        batch = make()
    except errors.ProtocolError as error:
        return (error.message,)
    return batch.schema, batch.to_pylist()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"event_id":', "^An event is not JSON: "),
        (b"[1]", "^An event is not one JSON object"),
        (b'{"event_id":"a"},{"event_id":"b"}', "^An event is not JSON: "),
        (rb'{"event_id":"\ud800"}', "^An event is not JSON: it holds a lone surrogate escape"),
        (b'{"event_id":%b' % (b"[" * 100_000), "^An event is not JSON: "),
    ],
)
def test_a_line_that_is_no_event_is_told(line: bytes, message: str) -> None:
    with pytest.raises(errors.ProtocolError, match=message):
        jsonl_batch(b'{"event_id":"b","key_values":{}}\n' + line + b"\n")


def test_a_byte_order_mark_is_no_part_of_a_line() -> None:
    assert jsonl_batch(b'\xef\xbb\xbf{"event_id":"b"}\n')["event_id"].to_pylist() == ["b"]


def test_no_lines_are_a_batch_of_the_schema() -> None:
    assert jsonl_batch(b"").schema == event_schema()
    assert jsonl_batch(b"", ["cost"]).schema.names == ["cost"]


def test_text_is_read_without_pandas() -> None:
    line = json.dumps(SIMPLE | {"key_values": {"a": "b"}}, separators=(",", ":"))
    code = (
        "import sys; from adanalytics_client._outputs.arrow.batches import ArrowRows;"
        "ArrowRows(wide=True).jsonl(sys.argv[1].encode() + bytes([10]));"
        "ArrowRows(wide=True).jsonl(b'');"
        "sys.exit('pandas' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code, line], check=True)


def test_an_exponent_neither_ends_the_process_nor_becomes_zero() -> None:
    """Arrow's own cast of the first one is a segmentation fault."""
    code = """
import json, sys
from adanalytics_client._outputs.arrow.batches import ArrowRows
from adanalytics_client.tables import summary_table
for amount in sys.argv[1:]:
    row = {"event_id": "e-1", "revenue": amount, "key_values": {}}
    line = json.dumps(row, separators=(",", ":")).encode() + bytes([10])
    events = ArrowRows(wide=True)
    for batch in (events.jsonl(line), events.batch([row]), summary_table([row])):
        assert batch["revenue"].to_pylist() == [amount]
"""
    amounts = ["0.1e-99999999", "1e-999999999", "1e-1000", "1e999999999"]
    subprocess.run([sys.executable, "-c", code, *amounts], check=True)


@pytest.mark.parametrize(
    ("amount", "exact"),
    [
        ("0e-99999999", "0"),
        ("-0.000", "0"),
        ("1.50000000000000000", "1.5"),
        ("1E-9", "0.000000001"),
        ("+5", "5"),
        ("00012", "12"),
        ("999999999.999999999", "999999999.999999999"),
    ],
)
def test_amounts_of_any_spelling_are_exact(amount: str, exact: str) -> None:
    row = {"revenue": amount, "key_values": {}}
    line = json.dumps(row, separators=(",", ":")).encode() + b"\n"
    for batch in (event_batch([row]), jsonl_batch(line)):
        assert batch["revenue"].to_pylist() == [Decimal(exact)]
    assert str(summary_table([row]).schema.field("revenue").type) == "decimal128(18, 9)"


def test_stored_batches_have_one_type_for_usual_amounts() -> None:
    """So that files which are written on different days can be read as one."""
    assert event_schema().field("revenue").type == pa.decimal128(38, 9)
    for amount in ("1.5", "1000000000.5"):
        batch = event_batch([{"revenue": amount, "event_hour": 3}])
        assert batch.schema.equals(pa.schema(map(event_schema().field, ["revenue", "event_hour"])))


def test_a_summary_has_columns_of_its_own_fields() -> None:
    table = summary_table([{"date": "2026-01-15", "impressions": 3, "new": 1.5}, {"ecpm": "0.1"}])
    assert [(field.name, str(field.type)) for field in table.schema] == [
        ("date", "date32[day]"),
        ("impressions", "int64"),
        ("new", "decimal128(18, 9)"),
        ("ecpm", "decimal128(18, 9)"),
    ]
    assert "ecpm" in summary_table([]).schema.names
