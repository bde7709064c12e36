"""Services with fields of their own: every output has all fields, and the exact sum."""

import csv
import io
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq
import pytest
from tests.client.stand_in import Say, StandIn
from tests.client.variants import OpenVariant, Variant
from tests.vocabularies import COUNTERS, VOCABULARIES, Vocabulary

from adanalytics_client import ServiceProfile
from adanalytics_client._json.fields import EVENT_KINDS
from adanalytics_client._outputs.arrow.batches import ArrowRows

FIRST, LAST = "2026-01-15", "2026-01-16"
PAGE = 40


def page_of(texts: list[str], total: int, *, more: bool = False) -> Say:
    more_or_not = json.dumps({"total": total, "has_more": more})[1:]
    return Say(f'{{"events":[{",".join(texts)}],{more_or_not}'.encode())


@pytest.fixture(params=VOCABULARIES)
def vocabulary(request: pytest.FixtureRequest, stand_in: StandIn) -> Vocabulary:
    vocabulary = VOCABULARIES[request.param]
    texts = vocabulary.texts
    pages = [texts[at : at + PAGE] for at in range(0, len(texts), PAGE)]
    says = [page_of(page, len(texts), more=page is not pages[-1]) for page in pages]
    # For each of the pulls of a test.
    stand_in.says(*says * 8)
    return vocabulary


@pytest.fixture
def variant(vocabulary: Vocabulary, open_variant: OpenVariant) -> Variant:
    return open_variant(service=ServiceProfile(**vocabulary.profile))


def query(variant: Variant) -> Any:
    options = {"split": "none", "per_page": PAGE, "check": "none"}
    return variant.client.events(FIRST, LAST, **options)


def narrow(types: Any) -> dict[str, str]:
    """The types of a table in memory: decimals of 18 digits, where those are enough."""
    return {name: type_.replace("(38, 9)", "(18, 9)") for name, type_ in types.items()}


def check(table: Any, vocabulary: Vocabulary) -> None:
    types = {field.name: str(field.type).replace(" ('keyValues')", "") for field in table.schema}
    assert types == narrow(vocabulary.types)
    assert list(types) == list(vocabulary.types)
    assert table.num_rows == len(vocabulary.texts)
    assert sum(table[vocabulary.amount].to_pylist(), Decimal(0)) == vocabulary.sum


def test_every_output_has_every_field_and_the_exact_sum(
    variant: Variant, vocabulary: Vocabulary, tmp_path: Path
) -> None:
    names, amount = [*vocabulary.types], vocabulary.amount
    table = variant.on(query(variant), "to_arrow")
    check(table, vocabulary)
    for form in ("parquet", "arrow", "jsonl", "csv"):
        assert variant.on(query(variant), "write", tmp_path / f"x.{form}") == len(vocabulary.texts)
    assert pq.read_table(tmp_path / "x.parquet").equals(table)
    assert ipc.open_file(tmp_path / "x.arrow").read_all().equals(table)
    lines = (tmp_path / "x.jsonl").read_text().splitlines()
    assert lines == vocabulary.texts
    with (tmp_path / "x.csv").open(newline="") as file:
        rows = [*csv.DictReader(file)]
    assert [*rows[0]] == names
    assert sum(Decimal(row[amount]) for row in rows) == vocabulary.sum
    frame = variant.on(query(variant), "to_pandas")
    assert [*frame.columns] == names
    assert sum(frame[amount]) == vocabulary.sum
    polars = variant.on(query(variant), "to_polars")
    assert polars.columns == names
    assert sum(polars[amount]) == vocabulary.sum
    assert isinstance(polars, pl.DataFrame)


def test_chosen_columns_are_those_of_the_service(
    variant: Variant, vocabulary: Vocabulary, tmp_path: Path
) -> None:
    chosen = [*vocabulary.types][:-4:-1]
    table = variant.on(query(variant), "to_arrow", columns=chosen)
    assert table.column_names == chosen
    types = narrow(vocabulary.types)
    for field in table.schema:
        assert str(field.type).replace(" ('keyValues')", "") == types[field.name]
    variant.on(query(variant), "write", tmp_path / "x.csv", columns=chosen)
    head = next(csv.reader(io.StringIO((tmp_path / "x.csv").read_text())))
    assert head == chosen


def test_an_empty_pull_has_the_documented_columns(
    open_variant: OpenVariant, stand_in: StandIn
) -> None:
    stand_in.says(page_of([], 0))
    variant = open_variant()
    table = variant.on(query(variant), "to_arrow")
    assert (table.num_rows, table.column_names) == (0, [*EVENT_KINDS])


def rows_of(*pages: str, wide: bool = True) -> pa.Table:
    rows = ArrowRows(wide=wide)
    return rows.whole([rows.jsonl(f"{page}\n".encode()) for page in pages])


@pytest.mark.parametrize(
    ("name", "values", "type_", "expected"),
    [
        ("n", ("1", "2.5", "3"), "decimal128(38, 9)", [1, Decimal("2.5"), 3]),
        ("n", ("1", "9223372036854775808"), "decimal128(38, 0)", [1, 2**63]),
        ("n", ("1", "9" * 39), "string", ["1", "9" * 39]),
        ("n", ("0.5", "1" * 38), "string", ["0.5", "1" * 38]),
        ("n", ("0." + "1" * 37, "12"), "string", ["0." + "1" * 37, "12"]),
        ("n", ("null", "null"), "string", [None, None]),
        ("n", ("null", "true"), "bool", [None, True]),
        ("n", ("true", "1"), "string", ["true", "1"]),
        ("n", ("[1]", "2"), "string", ["[1]", "2"]),
        ("is_filtered", ("1", "true", "0"), "bool", [True, True, False]),
        ("is_filtered", ("1", "3"), "int64", [1, 3]),
        ("is_filtered", ("true", "3"), "string", ["true", "3"]),
        ("event_time", ("1768435200", "5"), "int64", [1768435200, 5]),
        ("event_time", ("-176848230",), "int64", [-176848230]),
        ("event_time", ("1768435200", "1768435200.5", "5"), "decimal128(38, 9)", None),
        ("event_time", ("1768435200", "1768435200000", "5"), "string", None),
        ("event_time", ("2026011513", "2026011514"), "int64", [2026011513, 2026011514]),
        ("revenue", ('"1.5"', "2.5"), "decimal128(38, 9)", [Decimal("1.5"), Decimal("2.5")]),
        ("revenue", ('"1.5"', '"NaN"'), "string", ["1.5", "NaN"]),
        ("key_values", ('{"a":"1"}', "null", '"{}"'), "map", [[("a", "1")], None, []]),
        ("key_values", ('{"a":"1"}', "[2]"), "string", ['{"a":"1"}', "[2]"]),
        # As text, both would be the same.
        ("key_values", ('{"a":"1.0"}', '{"a":1.0}'), "string", ['{"a":"1.0"}', '{"a":1.0}']),
        ("key_values", ('{"a":{}}', '{"a":true}'), "string", ['{"a":{}}', '{"a":true}']),
    ],
)
def test_a_column_widens_from_page_to_page(
    name: str, values: tuple[str, ...], type_: str, expected: list[Any] | None
) -> None:
    table = rows_of(*(f'{{"{name}":{value}}}' for value in values))
    assert str(table[name].type).partition("<")[0] == type_
    if expected is None and type_ == "string":
        # A time that two units tell has no number in common with a number.
        assert table[name].to_pylist()[-1] == values[-1]
    else:
        assert table[name].to_pylist() == (expected or [*map(Decimal, values)])


FLAT = [
    COUNTERS.texts,
    [f'{{"timestamp":{1_768_435_200 + n},"is_filtered":{n % 2},"sum":{n}.5}}' for n in range(30)],
    [
        f'{{"user":{2**64 - 1 - n},"eventTime":{1_768_435_200_123 + n},"zip":"0{n}"}}'
        for n in range(30)
    ],
]


@pytest.mark.parametrize("texts", FLAT, ids=["counters", "epochs", "large numbers"])
def test_flat_events_are_read_by_arrow_itself(
    texts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading them value by value takes ten times as long."""
    expected = ArrowRows().batch([*map(json.loads, texts)])
    monkeypatch.setattr(ArrowRows, "batch", lambda *_: pytest.fail("It was read value by value."))
    lines = "".join(f"{text}\n" for text in texts)
    assert ArrowRows().jsonl(lines.encode()).equals(expected)


def test_arrow_does_not_let_a_number_overflow() -> None:
    """Its reader of JSON wraps a whole number that the scale of a decimal has no room for."""
    table = rows_of('{"n":0.30000000000000004}\n{"n":11111111111111111111111111111}')
    assert table["n"].to_pylist() == ["0.30000000000000004", "1" * 29]


@pytest.mark.parametrize("name", ["n", "größe", "a/b", 'a"b', "a\\b"])
def test_a_name_in_escapes_is_that_name(name: str) -> None:
    line = json.dumps({name: 0.5}) + "\n" + json.dumps({name: "7"}).replace("/", "\\/")
    assert rows_of(line).to_pydict() == {name: ["0.5", "7"]}
