"""Excel workbooks: numbers are numbers, text is text, and nothing is half written."""

import csv
import io
import re
from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from tests.cli.run import run
from tests.server_answers import operations

from adanalytics_cli.console.table_view import Column, Total, count, percent
from adanalytics_cli.core.errors import CommandError
from adanalytics_cli.core.invocation import Invocation
from adanalytics_cli.output import event_output, workbook
from adanalytics_cli.output.formats import FORMATS, Output
from adanalytics_cli.output.row_output import Listing, write_rows
from adanalytics_client import Client, EventQuery, Summary
from adanalytics_server.local import LocalServer

pytestmark = pytest.mark.usefixtures("service")

# openpyxl gives days as times without a zone.
DAYS = [datetime.fromisoformat("2026-01-15"), datetime.fromisoformat("2026-01-16")]


def sheets(path: Path) -> dict[str, list[list[Any]]]:
    """Return the cells of each sheet of a workbook, and check what all sheets have."""
    book = openpyxl.load_workbook(path)
    assert {sheet.freeze_panes for sheet in book} == {"A2"}
    cells = [[list(row) for row in sheet] for sheet in book]
    # Formulas are in the last row of the first sheet only.
    formulas = {
        (at, number - len(sheet))
        for at, sheet in enumerate(cells)
        for number, row in enumerate(sheet)
        for cell in row
        if cell.data_type == "f"
    }
    assert formulas <= {(0, -1)}
    return {sheet.title: [[cell.value for cell in row] for row in sheet] for sheet in book}


def written(path: Path, *rows: Mapping[str, object], columns: list[Column] | None = None) -> Any:
    listing = Listing(rows, columns or [], facts={"currency": "USD"})
    write_rows(listing, Output(FORMATS["xlsx"], path), Invocation())
    return openpyxl.load_workbook(path)["rows"]


@pytest.mark.parametrize(
    ("value", "cell", "look"),
    [
        (7, 7, "0"),
        (123456789012345, 123456789012345, "0"),
        (1234567890123456, "1234567890123456", "General"),
        (Decimal("149.350000000"), 149.35, "#,##0.00#######"),
        (Decimal("0.000000001"), 0.000000001, "#,##0.00#######"),
        (Decimal("1234567.123456780"), 1234567.12345678, "#,##0.00#######"),
        (Decimal("1234567.123456789"), "1234567.123456789", "General"),
        (Decimal("-0.30000000000000004441"), "-0.30000000000000004441", "General"),
        (Decimal("1E+30"), 1e30, "#,##0.00#######"),
        (Decimal("NaN"), "NaN", "General"),
        (2.5, 2.5, "General"),
        (True, True, "General"),
        (None, None, "General"),
        (date(2026, 1, 15), DAYS[0], "yyyy-mm-dd"),
        (date(1, 1, 1), "0001-01-01", "General"),
        (
            datetime(2026, 1, 15, 13, 0, 0, 250_000, tzinfo=UTC),
            datetime.fromisoformat("2026-01-15T13:00:00.250"),
            "yyyy-mm-dd hh:mm:ss.000",
        ),
        ('=HYPERLINK("http://x.example")', '=HYPERLINK("http://x.example")', "General"),
        ("+1", "+1", "General"),
        ("0012", "0012", "General"),
        ("https://x.example", "https://x.example", "General"),
        ("a\x01\ud800\uffffb", "a_x0001_\\ud800_xFFFF_b", "General"),
        ({"b": "2", "a": "1"}, '{"a":"1","b":"2"}', "General"),
    ],
)
def test_cells(tmp_path: Path, value: object, cell: object, look: str) -> None:
    found = written(tmp_path / "x.xlsx", {"value": value, "other": 1})["A2"]
    assert (found.value, found.number_format, found.font.b) == (cell, look, False)
    assert found.data_type != "f"
    assert found.hyperlink is None


def test_columns_tell_the_number_format(tmp_path: Path) -> None:
    columns = [Column("ctr", percent, "CTR"), Column("impressions", count)]
    row = {"ctr": Decimal("0.012300"), "impressions": 12_345}
    sheet = written(tmp_path / "x.xlsx", row, columns=columns)
    assert [cell.number_format for cell in sheet[2]] == ["0.00####%", "#,##0"]
    assert [cell.value for cell in sheet[2]] == [0.0123, 12_345]
    assert [cell.font.b for cell in sheet[1]] == [True, True]


def test_what_no_cell_holds_leaves_the_earlier_file(tmp_path: Path) -> None:
    target = tmp_path / "x.xlsx"
    target.write_bytes(b"before")
    with pytest.raises(CommandError, match="32,768 characters"):
        written(target, {"revenue": 1}, {"revenue": "x" * 32_768})
    assert [each.name for each in tmp_path.iterdir()] == ["x.xlsx"]
    assert target.read_bytes() == b"before"


def test_numbers_of_many_digits_are_text_and_that_is_said(tmp_path: Path) -> None:
    target = tmp_path / "x.xlsx"
    sql = "SELECT 1234567890.1234567 AS a, sum(9999999999999999) AS b, 1.5 AS c FROM events"
    assert run("sync", "2026-01-15", "--to", str(tmp_path / "events")).exit_code == 0
    result = run("query", sql, "--in", str(tmp_path / "events"), "-o", str(target))
    what = "numbers of more than 15 digits, in a, b"
    assert f"Text, because a sheet would round them: {what}." in result.stderr
    found = sheets(target)
    assert found["query"][1] == ["1234567890.1234567", str(9999999999999999 * 2_000), 1.5]
    assert ["text", what] in found["about"]


def test_a_column_with_numbers_as_text_has_no_total(tmp_path: Path) -> None:
    path = tmp_path / "x.xlsx"
    totals = {"n": Total(), "long": Total(), "share": Total("n", "long")}
    rows: list[dict[str, object]] = [
        {"day": "a", "n": 1, "long": Decimal("0.1234567890123456789"), "share": Decimal("0.5")},
        {"day": "b", "n": 2, "long": Decimal(1), "share": Decimal("0.5")},
    ]
    write_rows(Listing(rows, totals=totals), Output(FORMATS["xlsx"], path), Invocation())
    *_, last = openpyxl.load_workbook(path)["rows"]
    assert [cell.value for cell in last] == ["total", "=SUBTOTAL(109,B2:B3)", None, None]


def test_a_total_of_a_rate_of_nothing_is_empty(tmp_path: Path) -> None:
    path = tmp_path / "x.xlsx"
    totals = {"n": Total(), "all": Total(), "share": Total("n", "all")}
    rows = [{"day": "a", "n": 0, "all": 0}]
    columns = [Column(name) for name in ("day", *totals)]
    listing = Listing(rows, columns, totals=totals, names=("day", *totals))
    write_rows(listing, Output(FORMATS["xlsx"], path), Invocation())
    *_, last = openpyxl.load_workbook(path, data_only=True)["rows"]
    assert [cell.value or "" for cell in last] == ["total", "", "", ""]


def test_more_rows_than_a_sheet_takes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workbook, "SHEET_ROWS", 3)
    written(tmp_path / "x.xlsx", {"a": 1}, {"a": 2}, {"a": 3})
    with pytest.raises(CommandError, match="more than 3 rows"):
        written(tmp_path / "y.xlsx", *[{"a": 1}] * 4)
    assert [each.name for each in tmp_path.iterdir()] == ["x.xlsx"]


def test_a_summary_as_a_workbook(service: LocalServer, tmp_path: Path) -> None:
    target = tmp_path / "january.xlsx"
    assert run("summary", "2026-01-15", "2026-01-16", "-g", "day", "-o", str(target)).exit_code == 0
    with Client(service.url, api_key=service.api_key, partner=service.partner) as client:
        expected = client.summary("2026-01-15", "2026-01-16", group_by="day").rows
    found = sheets(target)
    heading, *rows, total = found["summary"]
    assert [row[0] for row in rows] == DAYS
    letters = {name: openpyxl.utils.get_column_letter(heading.index(name) + 1) for name in heading}
    assert [total[heading.index(name)] for name in ("date", "revenue", "ctr", "currency")] == [
        "total",
        f"=SUBTOTAL(109,{letters['revenue']}2:{letters['revenue']}3)",
        f'=IF({letters["impressions"]}4=0,"",{letters["clicks"]}4*1/{letters["impressions"]}4)',
        None,
    ]
    # The values of the formulas are there, too, for readers that do not calculate.
    values = openpyxl.load_workbook(target, data_only=True)["summary"]
    shown = [cell.value for cell in values[4]]
    with Client(service.url, api_key=service.api_key, partner=service.partner) as client:
        totals = client.summary("2026-01-15", "2026-01-16").rows[0]
    for name in ("impressions", "revenue", "ctr", "ecpm"):
        assert shown[heading.index(name)] == pytest.approx(float(totals[name]), abs=5e-7)
    assert values.auto_filter.ref == f"A1:{letters[heading[-1]]}3"
    for name in ("revenue", "impressions", "ctr"):
        cells = [row[heading.index(name)] for row in rows]
        assert [Decimal(repr(each)) for each in cells] == [row[name] for row in expected]
    assert ["currency", "USD"] in found["about"]
    assert ["made", datetime.fromisoformat("2026-01-20T12:00")] in found["about"]


def test_prices_keep_their_digits(tmp_path: Path) -> None:
    target = tmp_path / "x.xlsx"
    assert run("summary", "2026-01-15", "-g", "campaign", "-o", str(target)).exit_code == 0
    looks = {
        cells[0].value: {cell.number_format for cell in cells[1:] if cell.value is not None}
        for cells in openpyxl.load_workbook(target)["summary"].columns
    }
    for name in ("revenue", "cost", "profit", "ecpm", "rpm", "cpm_cost"):
        assert looks[name] == {"#,##0.00"}
    for name in ("ctr", "fill_rate", "vcr", "completion_rate_started", "error_rate", "margin"):
        assert looks[name] == {"0.00####%"}
    assert looks["impressions"] == looks["midpoints"] == {"#,##0"}
    assert looks["campaign_id"] == {"0", "General"}


def test_each_row_of_a_comparison_has_its_number_format(tmp_path: Path) -> None:
    target = tmp_path / "x.xlsx"
    words = ["summary", "2026-01-16", "--compare", "previous", "-o", str(target)]
    assert run(*words).exit_code == 0
    heading, *rows = openpyxl.load_workbook(target)["summary"]
    names = [cell.value for cell in heading]
    cells = {row[names.index("metric")].value: row[names.index("before") :][:3] for row in rows}
    looks = {metric: {cell.number_format for cell in of} for metric, of in cells.items()}
    assert [looks[each] for each in ("ctr", "fill_rate", "margin")] == [{"0.00####%"}] * 3
    assert [looks[each] for each in ("impressions", "errors")] == [{"#,##0"}] * 2
    assert [looks[each] for each in ("revenue", "rpm")] == [{"#,##0.00"}] * 2
    assert {row[names.index("percent")].number_format for row in rows} <= {"0.00####%", "General"}
    assert [type(cell.value) for cell in cells["ctr"]] == [float] * 3


def test_a_rate_of_no_events_is_an_empty_cell(tmp_path: Path) -> None:
    target = tmp_path / "x.xlsx"
    words = ["summary", "2026-01-15", "--compare", "previous", "--columns", "ctr"]
    assert run(*words, "-o", str(target)).exit_code == 0
    heading, row = sheets(target)["summary"]
    found = dict(zip(heading, row, strict=True))
    assert (found["before"], found["change"], type(found["after"])) == (None, None, float)


@pytest.mark.parametrize("words", [[], ["--compare", "previous"]])
@pytest.mark.parametrize(
    ("currency", "look"), [("USD", "#,##0.00"), ("JPY", "#,##0"), ("KWD", "#,##0.000")]
)
def test_exact_money_is_shown_with_the_digits_of_its_currency(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], currency: str, look: str
) -> None:
    rows = [{"impressions": 1, "revenue": Decimal("1234.56500"), "ctr": Decimal("0.5")}]
    answer = Summary.model_validate({"rows": rows, "currency": currency})
    monkeypatch.setattr(Client, "summary", lambda *_, **__: answer)
    target = tmp_path / "x.xlsx"
    words = ["summary", "2026-01-15", *words, "-o", str(target)]
    for digits, expected in (([], look), (["--round", "4"], "#,##0.0000")):
        assert run(*words, *digits).exit_code == 0
        cells = [cell for row in openpyxl.load_workbook(target)["summary"] for cell in row]
        found = [cell for cell in cells if isinstance(cell.value, int | float) and cell.value > 1]
        assert {cell.number_format for cell in found} == {expected}
        assert {cell.value for cell in found} == {1234.565}


def test_dates_as_a_workbook_on_stdout() -> None:
    found = openpyxl.load_workbook(io.BytesIO(run("dates", "-f", "xlsx").stdout_bytes))
    assert [cell.value for cell in found["dates"]["A"]][1:] == DAYS


@pytest.mark.parametrize(
    ("words", "facts"),
    [
        (["summary", "2026-01"], {"last day": "2026-01-20", "currency": "USD"}),
        (["dates"], {"last day": "2026-01-16"}),
        (["dates", "2026-01-15"], {"last day": "2026-01-15"}),
        (["events", "2026-01-15"], {"last day": "2026-01-15", "currency": "USD"}),
        (
            ["events", "2026-01-15", "--hour", "3", "--columns", "event_id"],
            {"last day": "2026-01-15", "hour": 3},
        ),
    ],
)
def test_the_second_sheet_tells_where_the_rows_come_from(
    tmp_path: Path, words: list[str], facts: dict[str, object]
) -> None:
    target = tmp_path / "x.xlsx"
    assert run(*words, "-o", str(target)).exit_code == 0
    heading, *found = sheets(target)["about"]
    assert heading == ["about", "value"]
    told = {
        name: str(value.date()) if isinstance(value, datetime) else value for name, value in found
    }
    first = "2026-01-01" if words == ["summary", "2026-01"] else "2026-01-15"
    always = {"partner": "acme", "first day": first, "time zone": "UTC", "made": "2026-01-20"}
    assert told == always | facts


def test_no_days_have_no_period(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Client, "dates", lambda _self: [])
    assert run("dates", "-o", str(tmp_path / "x.xlsx")).exit_code == 0
    told = [name for name, _ in sheets(tmp_path / "x.xlsx")["about"][1:]]
    assert told == ["partner", "time zone", "made"]


def test_a_column_of_later_events_is_not_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_output, "_FIRST_ROWS", 1)
    monkeypatch.setattr(EventQuery, "rows", lambda _self: iter([{"a": 1}, {"a": 1, "b": 2}]))
    result = run("events", "2026-01-15", "-o", str(tmp_path / "x.xlsx"))
    assert "Column b first appears after the heading was written." in result.stderr
    assert (result.exit_code, [*tmp_path.glob("*.xlsx*")]) == (1, [])


def test_events_as_a_workbook(service: LocalServer, tmp_path: Path) -> None:
    target = tmp_path / "events.xlsx"
    result = run("events", "2026-01-15", "--hour", "13", "-o", str(target))
    assert (result.exit_code, result.stdout) == (0, "")
    with Client(service.url, api_key=service.api_key, partner=service.partner) as client:
        events = list(client.events("2026-01-15", hour=13))
    heading, *rows = sheets(target)["events"]
    assert len(rows) == len(events) > 0
    for row, event in zip(rows, events, strict=True):
        cells = dict(zip(heading, row, strict=True))
        assert f"{cells['event_time'].isoformat(timespec='milliseconds')}Z" == event.event_time
        assert Decimal(repr(cells["revenue"])) == event.revenue
        assert cells["event_id"] == str(event.event_id)
        assert cells["campaign_id"] == event.campaign_id


def test_more_events_than_a_sheet_takes_are_not_pulled(
    service: LocalServer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_output, "SHEET_ROWS", 500)
    service.journal.clear()
    words = ["events", "2026-01", "-o", str(folder / "x.xlsx"), "--per-page", "100"]
    done = run(*words)
    assert (done.exit_code, [*folder.iterdir()]) == (1, [])
    assert "events, and a sheet takes 500." in done.stderr
    asked = operations(service)
    assert asked.count("events") == 1
    assert run(*words, "--limit", "600").exit_code == 0


@pytest.mark.parametrize(
    "words",
    [
        ["dates"],
        ["summary", "2026-01"],
        ["summary", "2026-01-15", "--compare", "2026-01-16"],
        ["events", "2026-01-15", "--hour", "13", "-f", "csv"],
        ["events", "2026-01-15", "--hour", "13", "-f", "csv", "--columns", "revenue,event_time"],
    ],
)
@pytest.mark.parametrize("to_file", [True, False])
@pytest.mark.parametrize(("region", "separator", "mark"), [("de", ";", ","), ("us", ",", ".")])
def test_csv_for_a_region(
    tmp_path: Path, words: list[str], to_file: bool, region: str, separator: str, mark: str
) -> None:
    """Amounts and rates have the region's decimal mark; ids, texts and times are as ever."""
    target = tmp_path / "x.csv"
    result = run(*words, "--csv-for", region, *(["-o", str(target)] if to_file else []))
    assert result.exit_code == 0, result.stderr
    text = target.read_bytes() if to_file else result.stdout_bytes
    assert text.startswith(b"\xef\xbb\xbf")
    cells = list(csv.reader(io.StringIO(text.decode("utf-8-sig")), delimiter=separator))
    usual = list(csv.reader(io.StringIO(run(*words).stdout)))
    amount = re.compile(r"-?\d+\.\d+")
    assert cells == [
        [cell.replace(".", mark) if amount.fullmatch(cell) else cell for cell in row]
        for row in usual
    ]
