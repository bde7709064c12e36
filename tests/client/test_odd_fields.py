"""Fields that nobody documented: odd names, many, deep ones; every output keeps them all."""

import csv
import io
import json
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import openpyxl
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from tests.client.stand_in import Say, StandIn
from tests.client.variants import OpenVariant

from adanalytics_cli.core.invocation import Invocation
from adanalytics_cli.main import cli
from adanalytics_client import ConfigurationError, ServiceProfile

DAY = "2026-01-15"


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


def test_a_column_of_another_spelling_is_refused_and_named(
    stand_in: StandIn, open_variant: OpenVariant, tmp_path: Path
) -> None:
    stand_in.says(Say({"data": [{"eventTime": "x", "rev": "1", "new_one": 2}], "total": 1}))
    variant = open_variant(service=ServiceProfile(fields={"revenue": "rev"}))
    for column, name in (("event_time", "eventTime"), ("revenue", "rev"), ("newOne", "new_one")):
        for suffix in ("jsonl", "csv", "parquet"):
            query = variant.client.events(DAY, split="daily", check="none")
            words = rf"no event so far has '{column}'\. Did you mean '{name}'\?"
            with pytest.raises(ConfigurationError, match=words):
                variant.on(query, "write", tmp_path / f"x.{suffix}", columns=[column, "country"])
    assert not [*tmp_path.iterdir()]


def test_a_documented_column_is_taken_in_any_case_but_the_exact_name_first(
    stand_in: StandIn, open_variant: OpenVariant, tmp_path: Path
) -> None:
    variant = open_variant()
    for row, head in (
        ({"Country": "FR", "country": "DE", "OS": None}, "Country,OS"),
        ({"country": "DE", "os": "ios"}, "country,os"),
        ({"country": "DE"}, "country,os"),
    ):
        stand_in.says(Say({"data": [row], "total": 1}))
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


def test_amounts_keep_their_digits_in_a_nested_field(
    stand_in: StandIn, open_variant: OpenVariant
) -> None:
    body = b'{"data": [{"odd": {"a": [0.10, 1e400]}}], "total": 1}'
    stand_in.says(Say(body, headers={"content-type": "application/json"}))
    (event,) = open_variant().events(DAY, split="daily")
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
