"""Tables straight from JSON text: the same as from values, or left to these."""

from __future__ import annotations

import json
import subprocess
import sys
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adanalytics_client import errors
from adanalytics_client._arrow_rows import ArrowRows
from adanalytics_client._arrow_schema import EVENT_KINDS
from adanalytics_client._arrow_text import batch_of_jsonl
from adanalytics_client._lines import Lines
from adanalytics_client.tables import event_batch, event_schema, jsonl_batch

if TYPE_CHECKING:
    from tests.client.conftest import World

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
    *('"x"', "7", '"7"', "1.5", "0.25", "null", "true", '"2026-01-15T01:00:00+01:00"'),
    *('"\\ud83d\\ude00"', '{"a":"b"}', '{"a":null}', '{"a":1.50}', "{}"),
    '",\\"key_values\\":{"',
]
SOME = ["key_values", "revenue", "event_id", "os"]
ODD = st.tuples(st.sampled_from([*SIMPLE, "cost", "new"]), st.sampled_from(VALUES))


@settings(max_examples=200, deadline=None)
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
    lines = Lines.of([each.encode() for each in texts])
    for most in (None, 1):
        quick = batch_of_jsonl(lines.upto(most).jsonl(), EVENT_KINDS)
        if quick is not None:
            careful = ArrowRows().batch(lines.upto(most).rows())
            assert quick.schema == careful.schema
            assert quick.to_pylist() == careful.to_pylist()
        some = batch_of_jsonl(lines.upto(most).jsonl(), SOME, others=True)
        if some is not None:
            careful = ArrowRows(SOME).batch(lines.upto(most).rows())
            assert some.schema == careful.schema
            assert some.to_pylist() == careful.to_pylist()


def test_pages_of_the_reference_are_read_from_their_text(
    reference_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ArrowRows, "batch", None)
    query = reference_world.client.events("2026-01-15", split="daily", per_page=700)
    assert reference_world.on(query, "to_arrow").num_rows == 1_500
    some = reference_world.on(query, "to_arrow", columns=["cost", "event_id"])
    assert some.column_names == ["cost", "event_id"]


def test_lines_of_chosen_columns_are_read_from_their_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ArrowRows, "batch", None)
    events = [{**SIMPLE, "key_values": {"a": str(each)}} for each in range(3)]
    lines = "".join(json.dumps({"new": 1, **each}, separators=(",", ":")) + "\n" for each in events)
    found = jsonl_batch(lines.encode(), ["key_values", "revenue"])
    assert found.schema.names == ["key_values", "revenue"]
    assert found["key_values"].to_pylist() == [[("a", str(each))] for each in range(3)]
    assert set(found["revenue"].to_pylist()) == {Decimal("0.0045")}


def test_lines_larger_than_what_is_cut_at_a_time() -> None:
    events = [{"event_id": "x" * 400_000, "key_values": {"n": str(each)}} for each in range(3)]
    events.append({"event_id": "y" * 1_200_000, "key_values": {}})
    lines = "".join(json.dumps(each, separators=(",", ":")) + "\n" for each in events)
    assert jsonl_batch(lines.encode()).to_pylist() == event_batch(events).to_pylist()


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (b'{"event_id":', "^An event is not JSON: "),
        (b"[1]", r"^An event is \[1\], which is no JSON object"),
        (b'{"event_id":"a","key_values":[]}', r"^key_values of event a is \[\], which a column of"),
    ],
)
def test_a_line_that_is_no_event_is_told(line: bytes, told: str) -> None:
    with pytest.raises(errors.ProtocolError, match=told):
        jsonl_batch(b'{"event_id":"b","key_values":{}}\n' + line + b"\n")


def test_no_lines_are_a_batch_of_the_schema() -> None:
    assert jsonl_batch(b"").schema == event_schema()
    assert jsonl_batch(b"", ["cost"]).schema.names == ["cost"]


def test_text_is_read_without_pandas() -> None:
    line = json.dumps(SIMPLE | {"key_values": {"a": "b"}}, separators=(",", ":"))
    code = (
        "import sys; from adanalytics_client.tables import jsonl_batch;"
        "jsonl_batch(sys.argv[1].encode() + bytes([10])); jsonl_batch(b'');"
        "sys.exit('pandas' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code, line], check=True)
