"""Fields with odd names: which is an id or a time; every output has all, and the exact sums."""

import copy
import csv
import io
import json
import pickle
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import openpyxl
import polars as pl
import pyarrow as pa
import pyarrow.ipc as ipc
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from tests.client.bench import Bench
from tests.client.stand_in import Say, StandIn
from tests.client.variants import OpenVariant, Variant
from tests.vocabularies import COUNTERS, VOCABULARIES, Vocabulary

from adanalytics_cli.core.invocation import Invocation
from adanalytics_cli.main import cli
from adanalytics_client import ConfigurationError, Event, ProtocolError, SeenEvents, ServiceProfile
from adanalytics_client._json.fields import EVENT_KINDS
from adanalytics_client._outputs.arrow.batches import ArrowRows

DAY = "2026-01-15"
MAPPED = ServiceProfile(fields={"event_id": "request"}, time_field="when")
# 13:20 of that day.
SECONDS = 1_768_483_200


@pytest.mark.parametrize(
    ("name", "service", "left"),
    [
        ("event_id", None, 1),
        ("eventId", None, 1),
        ("request", MAPPED, 1),
        # Neither another name nor that of an id elsewhere.
        ("id", None, 3),
        ("request", None, 3),
        ("event_id", MAPPED, 3),
    ],
)
def test_seen_events_have_the_mapped_or_spelt_id(
    name: str, service: ServiceProfile | None, left: int, bench: Bench
) -> None:
    rows = [{name: "a"}, {name: 5}, {name: "b"}]
    bench.says(Say({"data": rows, "total": 3}))
    seen = SeenEvents(["a", 5])
    found = bench.open(service=service).rows(DAY, hour=3, seen=seen)
    assert found == rows[-left:]
    assert ("b" in seen) == (left == 1)


def test_a_repeat_on_a_later_page_has_the_mapped_id(bench: Bench) -> None:
    pages = [["a", "b"], ["b", "c"], []]
    answers = [
        Say({"data": [{"request": name} for name in page], "has_more": bool(page)})
        for page in pages
    ]
    bench.says(*answers)
    rows = bench.open(service=MAPPED).rows(DAY, split="none", per_page=2, on_drift="warn")
    assert [row["request"] for row in rows] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("fields", "service"),
    [
        ({"eventTime": "2026-01-15T13:20:00Z"}, None),
        ({"ymdh": "2026-01-15 13:00:00"}, None),
        ({"Timestamp": SECONDS}, None),
        ({"eventDate": DAY, "eventHour": 13}, None),
        ({"when": "2026-01-15 13:20:00.123456789"}, MAPPED),
        ({"when": SECONDS}, MAPPED),
        ({"when": SECONDS * 1000 + 250}, MAPPED),
        ({"when": SECONDS * 10**9}, MAPPED),
        ({"event_time": f"{SECONDS}.250"}, None),
        ({"Day": DAY, "h": "13"}, ServiceProfile(fields={"event_date": "Day", "event_hour": "h"})),
    ],
)
def test_a_time_under_its_name_must_be_of_the_hour(
    fields: dict[str, Any], service: ServiceProfile | None, bench: Bench
) -> None:
    if isinstance(fields.get("event_time"), str):
        fields = {"event_time": float(fields["event_time"])}
    bench.says(Say({"data": [fields], "total": 1}))
    variant = bench.open(service=service)
    assert len(variant.rows(DAY, hour=13)) == 1
    with pytest.raises(ProtocolError, match="hold events of hour 13: they belong to another"):
        variant.rows(DAY, hour=12)
    with pytest.raises(ProtocolError, match=f"hold events of {DAY}"):
        variant.rows("2026-01-16", hour=13)


@pytest.mark.parametrize(
    ("fields", "service"),
    [
        ({"when": "2026-01-15T13:20:00Z"}, None),
        ({"event_time": "2026-01-15T13:20:00Z"}, MAPPED),
        # Digits that are no date: 1712-01-15, 23:45 in another reading.
        ({"event_time": 17_120_115_123_456}, None),
        ({"event_time": 13}, None),
        # A day and its hour.
        ({"ymdh": 2_026_011_513}, None),
        ({"event_time": "13:20"}, None),
    ],
)
def test_a_time_that_is_not_known_is_not_checked(
    fields: dict[str, Any], service: ServiceProfile | None, bench: Bench
) -> None:
    bench.says(Say({"data": [fields], "total": 1}))
    assert bench.open(service=service).rows(DAY, hour=12) == [fields]


def test_epoch_times_are_checked_in_the_zone_of_the_service(bench: Bench) -> None:
    bench.says(Say({"data": [{"ts": SECONDS}], "total": 1}))
    variant = bench.open(service=ServiceProfile(zone="+05:30", time_field="ts"))
    assert len(variant.rows(DAY, hour=18)) == 1
    with pytest.raises(ProtocolError, match="events of hour 18"):
        variant.rows(DAY, hour=13)


CAMEL = {
    "eventId": "a",
    "eventTime": "2026-01-15T13:20:00Z",
    "eventDate": DAY,
    "revenue": "0.10",
    "isFiltered": False,
    "extra": "one of the service's own",
}


def test_attributes_are_found_by_spelling_and_nothing_is_renamed(bench: Bench) -> None:
    bench.says(Say({"data": [CAMEL], "total": 1}))
    (event,) = bench.open().events(DAY, hour=13)
    assert (event.event_id, event.event_date, event.is_filtered) == ("a", date(2026, 1, 15), False)
    assert event.time == datetime(2026, 1, 15, 13, 20, tzinfo=UTC)
    assert (event.revenue, event.country) == (Decimal("0.10"), None)
    assert event.extra == {name: CAMEL[name] for name in CAMEL if name != "revenue"}
    assert (event["eventId"], event["event_id"], event["extra"]) == ("a", "a", CAMEL["extra"])
    for way in (event, pickle.loads(pickle.dumps(event)), event.model_copy(), copy.deepcopy(event)):
        assert way == event
        assert way.event_id == "a"
        assert way.model_dump(mode="json", exclude_unset=True) == CAMEL
        assert json.loads(way.model_dump_json(exclude_unset=True)) == CAMEL
        assert {"eventId", "revenue"} <= dict(way).keys()
        assert "event_id" not in way.model_dump()
    assert str(event).startswith(
        "Event(eventId='a', eventTime='2026-01-15T13:20:00Z', revenue=0.10"
    )
    with pytest.raises(AttributeError, match="evnt_id"):
        _ = event.evnt_id
    again = Event.model_validate(event.model_dump())
    assert (again.event_id, again) == ("a", event)
    assert Event.model_validate_json(json.dumps(CAMEL)).event_id == "a"


def test_a_mapped_name_beats_the_exact_one_and_that_one_another_spelling(bench: Bench) -> None:
    service = ServiceProfile(
        fields={"revenue": "rev", "event_id": "auction_id", "cost": "price"}, time_field="ts"
    )
    first = {"rev": 0.30000000000000004, "revenue": "7", "auction_id": "u", "ts": SECONDS}
    first |= {"Country": "FR", "country": "DE", "price": 5, "event_time": "soon", "os": None}
    rows = [first, {"auction_id": "v", "deep": {"a": [1, {"b": 0.1}]}}, {"revenue": "1"}]
    bench.says(Say({"data": rows, "total": 3}))
    variant = bench.open(service=service)
    event, other, bare = variant.events(DAY, split="daily")
    assert event.revenue == Decimal("0.30000000000000004")
    assert (event.event_id, event.auction_id, event.cost) == ("u", "u", Decimal(5))
    assert (event.country, event["Country"], event["revenue"]) == ("DE", "FR", Decimal(7))
    assert (event.event_time, event["ts"], event["event_time"]) == (SECONDS, SECONDS, "soon")
    dumped = event.model_dump(exclude_unset=True)
    assert dumped == first | {"rev": Decimal("0.30000000000000004"), "revenue": Decimal(7)}
    assert (other.event_id, other.cost, other.extra["deep"]) == (
        "v",
        None,
        {"a": [1, {"b": Decimal("0.1")}]},
    )
    assert (bare.event_id, bare.event_time, bare.extra) == (None, None, {})
    price = [row.get("price") for row in variant.rows(DAY, split="daily")]
    assert (price, type(price[0])) == ([5, None, None], Decimal)


def test_a_field_behind_a_mapped_one_is_kept(bench: Bench) -> None:
    row = {"event_id": "a", "auction_id": "b"}
    bench.says(Say({"data": [row], "total": 1}))
    variant = bench.open(service=ServiceProfile(fields={"event_id": "auction_id"}))
    (event,) = variant.events(DAY, split="daily")
    assert (event.event_id, event["event_id"], event.auction_id) == ("b", "a", "b")
    assert event.model_dump(exclude_unset=True) == row


def test_events_without_a_documented_field_are_said_once(
    bench: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    rows = [{"a": 1, "rev": "0.5"}, {"b": 2}]
    bench.says(Say({"data": rows, "total": 2}), Say({"data": rows, "total": 2}))
    bench.open().events(DAY, split="daily")
    (record,) = [each for each in caplog.records if "documented" in each.message]
    assert record.levelname == "WARNING"
    assert "has no documented field, so every attribute of these events is None" in record.message
    assert "The first event has: a, rev." in record.message
    assert 'ServiceProfile(fields={"event_time": "..."})' in record.message
    caplog.clear()
    bench.says(Say({"data": rows, "total": 2}))
    bench.open(service=ServiceProfile(fields={"revenue": "rev"})).events(DAY, split="daily")
    bench.says(Say({"data": [CAMEL], "total": 1}))
    bench.open().events(DAY, hour=13)
    assert not [each for each in caplog.records if "documented" in each.message]


def test_the_models_of_callers_that_extend_events_find_their_fields(bench: Bench) -> None:
    class Own(Event):
        score: int = 0

    bench.says(Say({"data": [CAMEL | {"score": "7"}], "total": 1}))
    (event,) = bench.open().events(DAY, hour=13, model=Own)
    assert (type(event), event.score, event.event_id) == (Own, 7, "a")


@pytest.mark.parametrize(
    ("sent", "microseconds"),
    [("", 0), ("250", 250_000), (".250001", 250_001), ("250001.5", 250_001)],
)
def test_the_time_of_an_event_may_be_an_epoch(sent: str, microseconds: int) -> None:
    event = Event.model_validate_json(f'{{"event_time": {SECONDS}{sent}, "received_at": true}}')
    assert event.time == datetime(2026, 1, 15, 13, 20, 0, microseconds, tzinfo=UTC)
    assert event.received is None


def nested(levels: int) -> Any:
    value: Any = "end"
    for level in range(levels):
        value = {"in": value} if level % 2 else [value]
    return value


ODD: dict[str, dict[str, Any]] = {
    "our own columns": {"date": "soon", "hour": 99, "_text": "t", "_date": None, "partner": [1]},
    "names that differ by case": {"Revenue": "1", "revenue": "2", "REVENUE": "3", "Date": "x"},
    "names that differ by spelling": {"eventId": "a", "event-id": "b", "EventID": "c"},
    "many": {f"field_{number}": number for number in range(3000)},
    "deep": {"a": nested(60), "list": [1, "x", None, {"y": True}], "empty": {}},
    "not numbers": {"rate": "NaN", "most": "Infinity", "least": "-inf", "none": "null"},
    "names that need quotes": {"a,b": 1, 'c"d': "e\nf", "": "nameless", " x ": "é", "1": 1},
    "names of methods": {"copy": 1, "json": 2, "extra": 3, "model_fields": 4, "_sent": 5},
}


@pytest.fixture(params=ODD)
def odd(request: pytest.FixtureRequest, stand_in: StandIn) -> dict[str, Any]:
    stand_in.says(Say({"data": [ODD[request.param]], "total": 1}))
    return ODD[request.param]


def test_every_output_keeps_all_fields(
    odd: dict[str, Any], open_variant: OpenVariant, tmp_path: Path
) -> None:
    variant = open_variant()

    def query() -> Any:
        return variant.client.events(DAY, split="daily", check="none")

    for suffix in ("jsonl", "csv", "parquet"):
        assert variant.on(query(), "write", tmp_path / f"rows.{suffix}") == 1
    assert json.loads((tmp_path / "rows.jsonl").read_text()) == odd
    (cells,) = csv.DictReader(io.StringIO((tmp_path / "rows.csv").read_text(), newline=""))
    assert cells == {name: _cell(value) for name, value in odd.items()}
    assert pq.read_schema(tmp_path / "rows.parquet").names == list(odd)
    (row,) = variant.all_of(query().rows())
    assert row == odd
    (event,) = variant.all_of(query())
    assert json.loads(event.model_dump_json(exclude_unset=True)) == odd
    assert {name: event[name] for name in odd if name != "revenue"} == {
        name: value for name, value in odd.items() if name != "revenue"
    }
    chosen = [*reversed(odd)][:5]
    variant.on(query(), "write", tmp_path / "some.csv", columns=chosen)
    head = next(csv.reader(io.StringIO((tmp_path / "some.csv").read_text(), newline="")))
    assert head == chosen


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


def test_a_column_of_another_spelling_is_refused_and_named(bench: Bench, tmp_path: Path) -> None:
    bench.says(Say({"data": [{"eventTime": "x", "rev": "1", "new_one": 2}], "total": 1}))
    variant = bench.open(service=ServiceProfile(fields={"revenue": "rev"}))
    for column, name in (("event_time", "eventTime"), ("revenue", "rev"), ("newOne", "new_one")):
        for suffix in ("jsonl", "csv", "parquet"):
            query = variant.client.events(DAY, split="daily", check="none")
            words = rf"no event so far has '{column}'\. Did you mean '{name}'\?"
            with pytest.raises(ConfigurationError, match=words):
                variant.on(query, "write", tmp_path / f"x.{suffix}", columns=[column, "country"])
    assert not [*tmp_path.iterdir()]


def test_a_documented_column_is_taken_in_any_case_but_the_exact_name_first(
    bench: Bench, tmp_path: Path
) -> None:
    variant = bench.open()
    for row, head in (
        ({"Country": "FR", "country": "DE", "OS": None}, "Country,OS"),
        ({"country": "DE", "os": "ios"}, "country,os"),
        ({"country": "DE"}, "country,os"),
    ):
        bench.says(Say({"data": [row], "total": 1}))
        for suffix in ("csv", "parquet", "jsonl"):
            query = variant.client.events(DAY, split="daily", check="none")
            target = tmp_path / f"x.{suffix}"
            variant.on(query, "write", target, columns=["Country", "OS"])
            if suffix == "parquet":
                names = pq.read_schema(target).names
            else:
                line = target.read_text().splitlines()[0]
                names = list(json.loads(line)) if suffix == "jsonl" else line.split(",")
            assert ",".join(names) == head


def test_amounts_keep_their_digits_in_a_nested_field(bench: Bench) -> None:
    body = b'{"data": [{"odd": {"a": [0.10, 1e400]}}], "total": 1}'
    bench.says(Say(body, headers={"content-type": "application/json"}))
    (event,) = bench.open().events(DAY, split="daily")
    assert event.extra == {"odd": {"a": [Decimal("0.10"), Decimal("1E+400")]}}


@pytest.fixture
def run(stand_in: StandIn, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Run `adanalytics events` on the stand-in."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("ADANALYTICS_API_KEY", "secret-key")
    words = ("events", DAY, "--split", "none", "--check", "none", "--base-url", stand_in.url)

    def run(*others: str) -> Any:
        noon = datetime(2026, 1, 20, 12, tzinfo=UTC)
        invocation = Invocation(clock=lambda: noon)
        return CliRunner().invoke(cli, [*words, "--partner", "acme", *others], obj=invocation)

    return run


@pytest.mark.usefixtures("odd")
def test_a_sheet_and_a_table_have_all_fields(odd: dict[str, Any], run: Any, tmp_path: Path) -> None:
    target = tmp_path / "rows.xlsx"
    found = run("-o", str(target))
    assert found.exit_code == 0, found.stderr
    head, cells = openpyxl.load_workbook(target).worksheets[0].iter_rows(values_only=True)
    assert [name or "" for name in head] == list(odd)
    for name, cell in zip(odd, cells, strict=True):
        value = odd[name]
        value = _cell(value) if isinstance(value, dict | list) else value
        value = float(value) if name.lower() == "revenue" else value
        assert cell == value
    table = run("-f", "table")
    assert table.exit_code == 0, table.stderr
    assert len(table.stdout) < 2000
    # Others are named in a note.
    shown = table.stdout
    assert all(name.split("\n")[0] in shown for name in list(odd)[:3])


def test_a_sheet_with_too_many_columns_is_refused(
    stand_in: StandIn, run: Any, tmp_path: Path
) -> None:
    stand_in.says(Say({"data": [{f"f{number}": 1 for number in range(16_385)}], "total": 1}))
    found = run("-o", str(tmp_path / "rows.xlsx"))
    assert found.exit_code == 1
    assert "There are 16,385 columns, and a sheet takes 16,384." in found.stderr
    assert not (tmp_path / "rows.xlsx").exists()


def test_the_command_takes_columns_by_the_service_s_names(
    stand_in: StandIn, run: Any, tmp_path: Path
) -> None:
    row = {"eventTime": "2026-01-15T13:05:09.250Z", "rev": "1.5", "Country": "FR", "country": "DE"}
    stand_in.says(Say({"data": [row], "total": 1}))
    for form in ("jsonl", "json", "csv", "table"):
        wrong = run("--columns", "event_time", "-f", form)
        assert wrong.exit_code == 2
        assert "no event so far has 'event_time'." in wrong.stderr
        assert "Did you mean 'eventTime'?" in wrong.stderr
    mapped = ("--map", "revenue=rev")
    assert "Did you mean 'rev'?" in run("--columns", "revenue", *mapped).stderr
    assert json.loads(run("--columns", "Country,OS,rev").stdout) == {
        "Country": "FR",
        "os": None,
        "rev": "1.5",
    }
    table = run("-f", "table", *mapped).stdout.splitlines()
    assert table[0].split() == ["eventTime", "rev", "country"]
    target = tmp_path / "rows.xlsx"
    assert run("-o", str(target), *mapped).exit_code == 0
    head, cells = openpyxl.load_workbook(target).worksheets[0].iter_rows(values_only=True)
    assert dict(zip(head, cells, strict=True)) == row | {
        "eventTime": datetime(2026, 1, 15, 13, 5, 9, 250_000),  # noqa: DTZ001  # a sheet has no zones
        "rev": 1.5,
    }


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


def test_an_empty_pull_has_the_documented_columns(bench: Bench) -> None:
    bench.says(page_of([], 0))
    variant = bench.open()
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
