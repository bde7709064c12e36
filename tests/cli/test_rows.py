"""Rows as JSON, CSV and tables, with every digit and every character kept."""

import csv
import io
import json
import re
from collections.abc import Iterator, Sequence
from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adanalytics_cli.console.table_view import Column, count, percent, plain, render_table
from adanalytics_cli.console.terminal import Terminal
from adanalytics_cli.core.invocation import Invocation
from adanalytics_cli.output.formats import FORMATS, Output
from adanalytics_cli.output.row_output import Listing, Row, TextRows, csv_line

SCREEN = Terminal(interactive=True, color=False, width=40)
PIPE = Terminal(interactive=False, color=False, width=80)

numbers = st.decimals(allow_nan=False, allow_infinity=False)
scalars = st.none() | st.booleans() | st.integers() | st.text() | numbers
values = scalars | st.lists(scalars) | st.dictionaries(st.text(), st.lists(scalars))


def encode(rows: Sequence[Row], form: str, names: Sequence[str] = ()) -> Iterator[bytes]:
    output = Output(FORMATS[form])
    writer = output.form.row_writer()(Listing(rows), names, output, Invocation(), None)
    assert isinstance(writer, TextRows)
    return writer.encode(rows)


@given(st.dictionaries(st.text(), values))
def test_json_keeps_everything(row: dict[str, object]) -> None:
    (text,) = encode([row], "jsonl")
    text = text.removesuffix(b"\n")
    assert b"\n" not in text
    assert json.loads(text, parse_float=Decimal, parse_int=_number) == _as_numbers(row)


def _number(text: str) -> Decimal:
    return Decimal(text)


def _as_numbers(value: object) -> object:
    if isinstance(value, dict):
        return {key: _as_numbers(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_as_numbers(each) for each in value]
    return Decimal(value) if isinstance(value, int) and not isinstance(value, bool) else value


@pytest.mark.parametrize("form", ["json", "jsonl"])
def test_json_keeps_digits_and_half_a_surrogate_pair(form: str) -> None:
    row = {"z": Decimal("1.50"), "a": [Decimal("0E-9")], "text": "\ud800"}
    text = b"".join(encode([row], form))
    assert rb'{"z":1.50,"a":[0.000000000],"text":"\ud800"}' in text


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=2))
def test_csv_is_read_back_as_it_was(cells: list[str]) -> None:
    text = csv_line(cells).decode()
    assert next(csv.reader(io.StringIO(text, newline=""))) == cells


def test_csv_values() -> None:
    line = csv_line([None, True, False, 7, Decimal("0E-9"), {"b": "2", "a": Decimal("1.0")}])
    assert line == b',true,false,7,0.000000000,"{""a"":1.0,""b"":""2""}"\n'


def test_csv_is_utf_8_even_with_half_a_surrogate_pair() -> None:
    assert csv_line(["\ud800é"]).decode() == "\\ud800é\n"


@pytest.mark.parametrize(
    ("count_of_rows", "text"),
    [(0, b"[]\n"), (1, b'[\n{"a":0}\n]\n'), (2, b'[\n{"a":0},\n{"a":1}\n]\n')],
)
def test_a_json_array_row_by_row(count_of_rows: int, text: bytes) -> None:
    rows = [{"a": number} for number in range(count_of_rows)]
    assert b"".join(encode(rows, "json")) == text


def test_a_csv_row_may_lack_a_column() -> None:
    rows: list[dict[str, object]] = [{"a": 1}, {"b": 2}]
    assert b"".join(encode(rows, "csv", ["a", "b"])) == b"a,b\n1,\n,2\n"


COLUMNS = [
    Column("name"),
    Column("n", count, to_the_right=True),
    Column("revenue", to_the_right=True),
    Column("rate", percent, to_the_right=True),
]
ROW = {
    "name": "A campaign with a very long name",
    "n": 1234567,
    "revenue": Decimal("0.000000001"),
    "rate": Decimal("0.012345"),
}


def test_numbers_are_never_cut_and_what_has_no_room_is_named() -> None:
    lines = render_table(COLUMNS, [ROW, ROW], SCREEN).splitlines()
    assert all(len(line) <= 40 for line in lines)
    assert "1,234,567  0.000000001" in lines[2]
    assert "…" in lines[2]
    assert lines[-1] == "No room for: rate."


@pytest.mark.parametrize(
    ("width", "left_out"),
    [(119, ""), (118, "id"), (60, "id"), (50, "id, rate"), (40, "id, n, rate")],
)
def test_money_stays_ids_go_and_a_table_fills_its_terminal(width: int, left_out: str) -> None:
    columns = [
        Column("name"),
        Column("id", to_the_right=True, rank=2),
        Column("n", count, to_the_right=True),
        Column("revenue", to_the_right=True, rank=0),
        Column("rate", percent, to_the_right=True),
        Column("cost", to_the_right=True, rank=0),
    ]
    row = {**ROW, "name": "n" * 39, "id": "i" * 38, "cost": Decimal("0.10")}
    *lines, note = render_table(columns, [row, row], Terminal(True, False, width)).splitlines()
    assert max(len(line) for line in [*lines, note]) <= width
    assert note == f"No room for: {left_out}." if left_out else "iiii" in note
    assert left_out or len(note) == width


def test_a_table_in_a_pipe_is_whole() -> None:
    (row,) = render_table(COLUMNS, [ROW], PIPE).splitlines()[2:]
    # rich before 14.3 makes the last column one wider.
    assert re.split(" {2,}", row) == [ROW["name"], "1,234,567", "0.000000001", "1.2345 %"]


def test_markup_in_data_is_data() -> None:
    text = render_table(COLUMNS[:1], [{"name": "[bold]x[/bold] :smile:"}], PIPE)
    assert "[bold]x[/bold] :smile:" in text


def test_shown_values() -> None:
    assert [plain(None), count(None), percent(None)] == ["-", "-", "-"]
    assert plain(Decimal("0E-9")) == "0.000000000"
    assert (
        plain({"section": "sports", "price": Decimal("1.0")}) == '{"price":1.0,"section":"sports"}'
    )
    assert [plain(False), plain(["a"]), plain(date(2026, 1, 15))] == [
        "false",
        '["a"]',
        "2026-01-15",
    ]
    assert percent(Decimal(1)) == "100 %"
