"""`dates` and `summary` in every form, with exact changes and several partners."""

import csv
import gzip
import io
import json
import re
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import openpyxl
import pytest
from click.testing import CliRunner, Result
from pyarrow import parquet
from pytest_httpserver import HTTPServer
from tests.cli.run import run
from tests.server_answers import operations
from werkzeug import Request, Response

from adanalytics_cli.console.table_view import Column, render_markdown
from adanalytics_cli.console.terminal import NOWHERE
from adanalytics_cli.core.invocation import Invocation
from adanalytics_cli.main import cli
from adanalytics_cli.output.comparison import Pair
from adanalytics_cli.output.summary_output import (
    Answer,
    View,
    fill_gaps,
    labelled,
    table_note,
    table_rows,
)
from adanalytics_client import AdAnalyticsError, Client, Summary, SummaryRow
from adanalytics_client._json.fields import GROUPS
from adanalytics_server.local import LocalServer, Sample

pytestmark = pytest.mark.usefixtures("service")

BOTH_DAYS = ["2026-01-15", "2026-01-16"]


def test_dates_in_a_pipe_are_csv_with_plain_line_ends() -> None:
    result = run("dates")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout_bytes == b"date\n2026-01-15\n2026-01-16\n"


@pytest.mark.parametrize(
    ("words", "days"),
    [
        (["2026-01-16"], BOTH_DAYS[1:]),
        (["2026-01"], BOTH_DAYS),
        (["-5d", "-4d"], BOTH_DAYS),
        (["-4d", "today"], BOTH_DAYS[1:]),
        (["yesterday"], []),
        (["2025"], []),
        (["this-month"], BOTH_DAYS),
    ],
)
def test_dates_of_a_period(words: list[str], days: list[str]) -> None:
    result = run("dates", *words, "-f", "jsonl")
    assert [json.loads(line)["date"] for line in result.stdout.splitlines()] == days


def test_dates_as_a_table_and_as_json() -> None:
    assert json.loads(run("dates", "-f", "json").stdout) == [{"date": day} for day in BOTH_DAYS]
    heading, line, *days, note = run("dates", "-f", "table").stdout.splitlines()
    assert (heading.strip(), {*line}) == ("date", {"─"})
    assert [day.strip() for day in days] == BOTH_DAYS
    assert note == "Last day with data: 2026-01-16, 4 days ago."


@pytest.mark.parametrize(
    ("hour", "said", "requests"),
    [
        ("2026-01-17 00:20", "Last hour with data: 2026-01-16 23:00 UTC, 1 h ago.", 1),
        ("2026-01-16 23:59", "Last hour with data: 23:00 UTC, this hour.", 1),
        ("2026-01-18 00:00", "Last day with data: 2026-01-16, 2 days ago.", 0),
    ],
)
def test_how_fresh_the_data_are(service: LocalServer, hour: str, said: str, requests: int) -> None:
    now = datetime.fromisoformat(hour).replace(tzinfo=UTC)
    invocation = Invocation(clock=lambda: now)
    service.journal.clear()
    shown = CliRunner().invoke(cli, ["dates", "-f", "table"], obj=invocation)
    assert shown.stdout.splitlines()[-1] == said
    asked = operations(service)
    assert asked == ["dates", *["events"] * requests]


def test_the_hours_of_the_service(service: LocalServer) -> None:
    service.journal.clear()
    (row,) = json.loads(run("dates", "2026-01-15", "--hours", "-f", "json").stdout)
    assert (row["date"], row["hours"], row["missing"]) == ("2026-01-15", 24, "")
    with Client(service.url, api_key=service.api_key, partner=service.partner) as client:
        assert row["events"] == len(list(client.events("2026-01-15")))
    assert operations(service)[:25] == ["events"] * 25
    service.journal.clear()
    # Without a day, of the last one with data; hours to come are neither asked for nor missing.
    now = datetime(2026, 1, 16, 9, 10, tzinfo=UTC)
    shown = CliRunner().invoke(cli, ["dates", "--hours"], obj=Invocation(clock=lambda: now))
    assert shown.stdout.splitlines()[1].startswith("2026-01-16,10,")
    assert len([*service.journal.entries()]) == 11
    chart = run("dates", "2026-01-16", "2026-01-17", "--hours", "--chart").stdout
    assert "Missing:\n  2026-01-17 no events\n" in chart


@pytest.mark.parametrize(
    ("held", "said", "requests"),
    [
        ({14, 13}, "Last hour with data: 13:00 UTC, 1 h ago.", 2),
        ({10}, "Last hour with data: 10:00 UTC, 4 h ago.", 5),
        (set(), "Last day with data: 2026-01-16, today.", 15),
        (None, "Last day with data: 2026-01-16, today.", 1),
    ],
)
def test_hours_without_data(
    monkeypatch: pytest.MonkeyPatch, held: set[int] | None, said: str, requests: int
) -> None:
    asked = []

    def events(_client: Client, _day: date, *, hour: int, **_others: Any) -> Any:
        asked.append(hour)
        if held is None:
            raise AdAnalyticsError("The quota is used up.", remedy="Wait.")
        pages = [SimpleNamespace(rows=[{}], total=None)] if hour in held - {14} else []
        return SimpleNamespace(pages=lambda: iter(pages))

    monkeypatch.setattr(Client, "events", events)
    now = datetime(2026, 1, 16, 14, 20, tzinfo=UTC)
    shown = CliRunner().invoke(cli, ["dates", "-f", "table"], obj=Invocation(clock=lambda: now))
    assert shown.stdout.splitlines()[-1] == said
    assert len(asked) == requests


@pytest.mark.parametrize("group_by", [None, *GROUPS])
def test_summary_is_what_the_service_says(service: LocalServer, group_by: Any) -> None:
    with Client(service.url, api_key=service.api_key, partner=service.partner) as client:
        expected = client.summary("2026-01-15", "2026-01-16", group_by=group_by)
    words = ["summary", *BOTH_DAYS, *(["-g", group_by] if group_by else [])]
    csv_rows = list(csv.DictReader(io.StringIO(run(*words).stdout)))
    json_rows = json.loads(run(*words, "-f", "json").stdout, parse_float=Decimal)
    assert len(csv_rows) == len(json_rows) == len(expected.rows) > 0
    for in_csv, in_json, row in zip(csv_rows, json_rows, expected.rows, strict=True):
        sent = row.model_dump(exclude_unset=True)
        assert list(in_csv) == list(in_json) == [*sent, "currency", "start_date", "end_date"]
        assert [*in_csv.values()][-3:] == [*in_json.values()][-3:] == ["USD", *BOTH_DAYS]
        assert in_json["revenue"] == in_csv["revenue"] == format(sent["revenue"], "f")
        assert in_json["ctr"] == sent["ctr"]
        assert in_csv["impressions"] == str(sent["impressions"])


@pytest.mark.parametrize("group_by", GROUPS)
def test_a_summary_without_rows_has_the_header_of_one_with_rows(group_by: str) -> None:
    header = run("summary", "2026-01", "-g", group_by).stdout.splitlines()[0]
    assert run("summary", "2025-01", "-g", group_by).stdout.splitlines() == [header]
    assert run("summary", "2025-01", "-g", group_by, "-f", "json").stdout == "[]\n"


def test_summary_table_ends_in_the_totals() -> None:
    total = json.loads(run("summary", "2026-01", "-f", "jsonl").stdout)
    lines = run("summary", "2026-01", "-g", "campaign", "-f", "table").stdout.splitlines()
    last = next(line for line in lines if line.startswith("total"))
    assert last.split()[2] == f"{total['impressions']:,}"
    assert total["revenue"] in last
    assert any(line.startswith("(none)") for line in lines)
    assert lines[-1] == "2026-01-01 to 2026-01-20 in UTC, money in USD."


@pytest.mark.parametrize(
    ("row", "label"),
    [
        ({"campaign_id": 7}, "7"),
        ({"campaign_id": 7, "campaign_name": None}, "7"),
        ({"campaign_id": None}, "(none)"),
        ({"placement": "x"}, "-"),
    ],
)
def test_a_group_without_a_name_has_its_id(row: dict[str, object], label: str) -> None:
    assert labelled(row, "campaign").get("campaign_name", "-") == label


def test_the_suffix_gives_the_format(tmp_path: Path) -> None:
    target = tmp_path / "days.csv.gz"
    assert run("summary", "2026-01", "-g", "day", "-o", str(target)).stdout == ""
    rows = list(csv.DictReader(io.StringIO(gzip.decompress(target.read_bytes()).decode())))
    assert [row["date"] for row in rows if row["impressions"]] == BOTH_DAYS


def test_an_output_of_dash_is_stdout() -> None:
    assert run("dates", "-o", "-").stdout == run("dates").stdout


def test_login_with_a_password(service: LocalServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ADANALYTICS_API_KEY")
    result = run(
        "dates", env={"ADANALYTICS_EMAIL": service.email, "ADANALYTICS_PASSWORD": service.password}
    )
    assert result.exit_code == 0


def test_options_of_the_run_on_either_side(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADANALYTICS_PARTNER", "nobody")
    before = run("--partner", "acme", "-v", "dates")
    after = run("dates", "--partner", "acme", "-v")
    assert before.stdout == after.stdout != ""
    assert "/api/partners/acme/ad-analytics/dates: 200" in before.stderr
    assert "/api/partners/acme/ad-analytics/dates: 200" in after.stderr
    assert run("-v", "dates", "--partner", "acme", "-q").stderr == ""


@pytest.mark.parametrize("group_by", [None, "campaign"])
def test_a_summary_as_parquet_is_exact(service: LocalServer, tmp_path: Path, group_by: Any) -> None:
    words = ["summary", *BOTH_DAYS, *(["-g", group_by] if group_by else [])]
    target = tmp_path / "summary.parquet"
    assert run(*words, "-o", str(target)).exit_code == 0
    table = parquet.read_table(target)
    written = table.drop_columns(table.column_names[:-3]).to_pylist()[0]
    assert [str(value) for value in written.values()] == ["USD", *BOTH_DAYS]
    with Client(service.url, api_key=service.api_key, partner=service.partner) as client:
        expected = client.summary(*BOTH_DAYS, group_by=group_by).rows
    assert {*table.column_names[:-3]} == expected[0].model_fields_set
    metrics = table.drop_columns(table.column_names[-3:]).to_pylist()
    assert [SummaryRow.model_validate(row) for row in metrics] == expected
    empty = run("summary", "yesterday", "-f", "parquet").stdout_bytes
    documented = parquet.read_table(io.BytesIO(empty)).schema
    shared = [field for field in table.schema if field.name in documented.names]
    assert len(shared) > 10
    assert all(documented.field(field.name) == field for field in shared)


def test_rows_are_sorted_by_numbers_in_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drivers of databases write a decimal as text; the names of groups are names."""
    rows = [
        {"campaign_name": name, "win_rate": rate}
        for name, rate in {"10": "9.5", "9": "10.25", "-1": "80%", "x": None}.items()
    ]
    answer = Summary.model_validate({"rows": rows})
    monkeypatch.setattr(Client, "summary", lambda *_words, **_names: answer)
    words = ["summary", "2026-01", "-g", "campaign", "--columns", "campaign_name", "--sort"]
    assert run(*words, "win_rate").stdout.split()[1:] == ["-1", "9", "10", "x"]
    assert run(*words, "campaign_name").stdout.split()[1:] == ["-1", "10", "9", "x"]


@pytest.mark.parametrize("words", [["--top", "1"], ["--sort", "vcr"]])
def test_rows_are_not_sorted_by_a_column_that_they_lack(
    monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    answer = Summary.model_validate({"rows": [{"campaign_name": "a", "ctr": None}]})
    monkeypatch.setattr(Client, "summary", lambda *_words, **_names: answer)
    done = run("summary", "2026-01", "-g", "campaign", *words)
    assert (done.exit_code, "No row has the column" in done.stderr) == (1, True)
    for name in ("ctr", "currency", "campaign_id"):
        assert run("summary", "2026-01", "-g", "campaign", "--sort", name).exit_code == 0


@pytest.mark.parametrize(
    ("words", "order"),
    [
        (["--sort", "revenue"], [2, 1, 0, 3]),
        (["--sort", "campaign_name"], [0, 2, 1, 3]),
        (["--sort", "score"], [2, 0, 1, 3]),
        (["--sort", "-REVENUE"], [0, 1, 2, 3]),
        (["--sort", "-Campaign"], [1, 2, 0, 3]),
        (["--sort=-clicks", "--top", "2"], [0, 1]),
        (["--top", "2"], [2, 1]),
        (["--top", "1", "--sort", "clicks"], [2]),
        (["--top", "9", "--sort", "clicks"], [2, 0, 1, 3]),
    ],
)
@pytest.mark.parametrize("form", ["json", "table"])
def test_order_of_the_rows(
    monkeypatch: pytest.MonkeyPatch, words: list[str], order: list[int], form: str
) -> None:
    """Numbers fall by their last digit, text rises, ties keep their order, no value comes last."""
    large = "1000000000000000000000000"
    rows: list[dict[str, object]] = [
        {"campaign_id": 0, "campaign_name": "a", "revenue": f"-{large}", "clicks": 5},
        {"campaign_id": 1, "campaign_name": "c", "revenue": f"{large}.000000001", "clicks": 5},
        {"campaign_id": 2, "campaign_name": "b", "revenue": f"{large}.000000002", "clicks": 9},
        {"campaign_id": 3},
    ]
    rows[2]["score"] = "of a service"
    answer = Summary.model_validate({"rows": rows, "totals": {"clicks": 19}})
    monkeypatch.setattr(Client, "summary", lambda *_words, **_names: answer)
    words = ["-g", "campaign", "--columns", "campaign_name,campaign_id", *words]
    shown = run("summary", "2026-01", "-f", form, *words).stdout
    if form == "json":
        assert [row["campaign_id"] for row in json.loads(shown)] == order
        return
    *lines, total, note = shown.splitlines()[2:]
    assert [int(line.split()[-1]) for line in lines] == order
    assert total.split() == ["total", "-"]
    shown = f" {len(order)} of 4 rows." if len(order) < 4 else ""
    assert note == f"2026-01-01 to 2026-01-20 in UTC.{shown}"


@pytest.mark.parametrize("form", ["csv", "json", "parquet", "table"])
def test_chosen_columns(tmp_path: Path, form: str) -> None:
    words = ["summary", "2026-01", "-g", "campaign", "--columns", "Clicks, margin", "--top", "1"]
    target = tmp_path / "rows"
    assert run(*words, "-f", form, "-o", str(target)).exit_code == 0
    (row,) = json.loads(run(*words[:4], "--top", "1", "-f", "json").stdout, parse_float=Decimal)
    if form == "csv":
        assert target.read_text() == f"clicks,margin\n{row['clicks']},{row['margin']}\n"
    elif form == "json":
        (written,) = json.loads(target.read_bytes(), parse_float=Decimal)
        assert written == {"clicks": row["clicks"], "margin": row["margin"]}
    elif form == "parquet":
        assert parquet.read_table(target).to_pylist() == [
            {"clicks": row["clicks"], "margin": row["margin"]}
        ]
    else:
        heading, _, line, _ = target.read_text().splitlines()
        assert heading.split() == ["clicks", "margin"]
        assert line.split() == [str(row["clicks"]), f"{row['margin'] * 100:f}"[:7], "%"]


@pytest.mark.parametrize("option", ["--sort", "--columns"])
def test_without_a_row_every_column_may_be_named(option: str) -> None:
    empty = run("summary", "2025-01", "-g", "day", option, "clicks")
    said = "The service's summary of acme has no row of 2025-01-01 to 2025-01-31.\n"
    assert (empty.exit_code, empty.stderr) == (0, said)


@pytest.mark.parametrize(
    ("digits", "amount"), [("2", "1,234.56"), ("0", "1,235"), ("3", "1,234.565")]
)
def test_round_gives_a_pipe_and_a_file_so_many_digits(
    monkeypatch: pytest.MonkeyPatch, digits: str, amount: str
) -> None:
    rows = [{"campaign_name": "a", "revenue": "1234.565000000", "ecpm": "1234.565"}]
    answer = Summary.model_validate({"rows": rows, "currency": "USD"})
    monkeypatch.setattr(Client, "summary", lambda *_words, **_names: answer)
    words = ["summary", "2026-01", "-g", "campaign", "--round", digits, "--columns", "revenue,eCPM"]
    shown = run(*words, "-f", "table").stdout.splitlines()
    assert shown[2].split() == [amount, amount]
    assert shown[-1] == "2026-01-01 to 2026-01-20 in UTC, money in USD rounded (see --round)."
    plain = amount.replace(",", "")
    assert run(*words, "-f", "csv").stdout.split()[1] == f"{plain},{plain}"
    (row,) = json.loads(run(*words, "-f", "json").stdout)
    assert row["revenue"] == plain
    assert "Parquet keeps every digit" in run(*words, "-f", "parquet").stderr


@pytest.mark.parametrize("currency", [{"code": "USD"}, ["USD", "EUR"], 840])
def test_a_currency_of_another_shape_is_shown_as_json(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, currency: Any
) -> None:
    rows = [{"campaign_name": "a", "revenue": "1.500000000"}]
    answer = Summary.model_validate({"rows": rows, "currency": currency})
    monkeypatch.setattr(Client, "summary", lambda *_words, **_names: answer)
    words, text = ["summary", "2026-01", "-g", "campaign"], json.dumps(currency).replace(": ", ":")
    text = text.replace(", ", ",")
    table = run(*words, "-f", "table", "--round", "2", "--columns", "revenue").stdout
    assert table.splitlines()[-1].endswith(f"money in {text} rounded (see --round).")
    assert "| 1.50 |" in run(*words, "-f", "markdown", "--columns", "revenue").stdout
    assert json.loads(run(*words, "-f", "json").stdout)[0]["currency"] == currency
    (row,) = csv.DictReader(io.StringIO(run(*words, "-f", "csv").stdout))
    assert row["currency"] == text
    for suffix in ("xlsx", "parquet"):
        assert run(*words, "-o", str(tmp_path / f"x.{suffix}")).exit_code == 0
    assert parquet.read_table(tmp_path / "x.parquet")["currency"].to_pylist() == [text]


def test_cents_are_for_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half to even, without -0.00; a file, a pipe and --round 9 keep every digit."""
    amounts = {"1": "1234.565000000", "2": "-0.000000001", "3": "0.005000001"}
    rows = [{"campaign_name": name, "revenue": amount} for name, amount in amounts.items()]
    answer = Summary.model_validate({"rows": rows})
    monkeypatch.setattr(Client, "summary", lambda *_words, **_names: answer)
    words = ["summary", "2026-01", "-g", "campaign", "--columns", "campaign_name,revenue"]
    assert run(*words, "-f", "table").stdout.split()[4:9:2] == [*amounts.values()]

    monkeypatch.setattr("click.testing._NamedTextIOWrapper.isatty", lambda _stream: True)
    monkeypatch.setenv("NO_COLOR", "1")
    shown = run(*words).stdout
    assert shown.split()[4:9:2] == ["1,234.56", "0.00", "0.01"]
    assert shown.splitlines()[-1] == "2026-01-01 to 2026-01-20 in UTC, money rounded (see --round)."
    chart = run(*words[:4], "--chart")
    assert [line.split()[-1] for line in chart.stdout.splitlines()[1:4]] == [
        "1,234.56",
        "0.00",
        "0.01",
    ]
    exact = run(*words, "--round", "9").stdout
    assert exact.replace(",", "").split()[4:9:2] == [*amounts.values()]
    assert "1,234.565000000" in run(*words[:4], "--chart", "--round", "9").stdout
    target = tmp_path / "rows.csv"
    run(*words, "-o", str(target))
    assert target.read_text().split()[1:] == [f"{name},{of}" for name, of in amounts.items()]


def test_days_without_data_are_gaps_for_people() -> None:
    """From the first day with data until today, which is 2026-01-20."""
    words = ["summary", "2020-01-01", "2026-01-31", "-g", "day"]
    days = [f"2026-01-{day}" for day in range(15, 21)]
    *lines, total, _ = run(*words, "-f", "table").stdout.splitlines()[2:]
    assert [line.split()[0] for line in lines] == days
    assert [line for line in lines if line.split()[1] != "-"] == lines[:2]
    assert total.startswith("total")
    chart = run(*words, "--chart").stdout.splitlines()
    assert [line.split()[0] for line in chart[1:7]] == days
    assert [line for line in chart[1:7] if line.split()[1] != "-"] == chart[1:3]
    # For people, a file has a row for each day, too; JSON has what the service sent.
    rows = list(csv.DictReader(io.StringIO(run(*words, "-f", "csv").stdout)))
    assert [row["date"] for row in rows] == days
    assert [row["impressions"] == "" for row in rows] == [False] * 2 + [True] * 4
    done = run(*words, "-f", "jsonl")
    assert done.stdout.count("\n") == 2
    gaps = "2020-01-01 to 2026-01-14, 2026-01-17 to 2026-01-20"
    assert f"The service's summary of acme has no row of {gaps}.\n" in done.stderr
    for other in (["-g", "campaign"], ["-g", "day", "-q"]):
        assert "no row of" not in run(*words[:3], *other).stderr


@pytest.mark.parametrize(
    ("words", "days", "note"),
    [
        (["--sort", "date"], ["2026-01-15", "2026-01-16", "total"], "in USD."),
        (["--sort", "date", "--top", "1"], ["2026-01-15", "total"], "in USD. 1 of 2 rows."),
    ],
)
def test_sorted_days_have_no_gaps(words: list[str], days: list[str], note: str) -> None:
    shown = run("summary", "2026-01", "-g", "day", "-f", "table", *words).stdout.splitlines()
    assert [line.split()[0] for line in shown[2:-1]] == days
    assert shown[-1].endswith(note)


def test_a_period_without_any_data_has_no_rows() -> None:
    words = ["summary", "2020-01-01", "2020-12-31", "-g", "day", "-f", "table"]
    assert run(*words).stdout.count("2020") == len(["first and", "last day"])


def test_rows_of_unknown_days_leave_no_gaps() -> None:
    summary = Summary.model_validate({"rows": [{"day": "2026-01-15", "clicks": 5}]})
    assert fill_gaps(summary, date(2026, 1, 16)) is summary


@pytest.mark.parametrize(("stated", "zone"), [(None, "+05:30"), ("Asia/Tokyo", "Asia/Tokyo")])
def test_the_days_are_those_of_the_zone_of_the_service(stated: str | None, zone: str) -> None:
    day, summary = date(2026, 1, 15), Summary(timezone=stated)
    assert table_note([Answer("acme", summary, day, day, "+05:30")], View(None)).endswith(
        f"in {zone}."
    )


def test_totals_of_another_shape_are_no_row() -> None:
    summary = Summary.model_validate({"rows": [{"date": "2026-01-15"}], "totals": [{"clicks": 5}]})
    answer = Answer("acme", summary, date(2026, 1, 15), date(2026, 1, 15), "UTC")
    (row,) = table_rows(answer, View("day"))
    assert row["date"] == date(2026, 1, 15)


def test_markdown_for_a_chat(tmp_path: Path) -> None:
    words = ["summary", "2026-01-15", "-g", "campaign", "--top", "2", "--columns"]
    words.append("campaign_name,campaign_id,revenue")
    shown = run(*words, "-f", "markdown").stdout
    head, rule, *lines, note = shown.splitlines()
    assert (head, rule) == ("| campaign | id | revenue |", "| --- | --: | --: |")
    assert (len(lines), lines[-1], note.endswith("(see --round). 2 of 11 rows.")) == (4, "", True)
    # Money has the digits of its currency.
    assert re.fullmatch(r"\| [^|]+ \| \d+ \| \d+\.\d\d \|", lines[0])
    assert run(*words, "-o", str(tmp_path / "x.md")).exit_code == 0
    assert (tmp_path / "x.md").read_text() == shown
    assert run("dates", "-f", "markdown").stdout.startswith("| date |\n| --- |\n| 2026-01-15 |\n")


def test_what_is_a_sign_in_markdown_is_text() -> None:
    rows = [{"name": "a|b*c_d<e>`f`[g]\n"}]
    shown = render_markdown([Column("name")], rows, NOWHERE)
    assert shown.splitlines()[2] == r"| a\|b\*c\_d\<e\>\`f\`\[g\]\\n |"


def test_one_row_that_is_too_wide_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal, with a line per column; nothing is left out."""
    monkeypatch.setattr("click.testing._NamedTextIOWrapper.isatty", lambda _stream: True)
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("NO_COLOR", "1")
    lines = run("summary", "2026-01-15").stdout.splitlines()
    assert [line.split("  ")[0].strip() for line in lines[:-1]] == [
        *("impressions", "clicks", "CTR", "revenue", "eCPM"),
        *("requests", "fill rate", "VCR", "cost", "profit"),
    ]
    assert "room for: campaign_id" in run("summary", "2026-01-15", "-g", "campaign").stdout


def test_a_table_names_the_columns_that_it_does_not_show(
    httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [{"campaign_id": 7, "clicks": 5, "starts": 1, "unique_users": 3, "imps": 9}]
    httpserver.expect_request(re.compile("/.*")).respond_with_json({"data": rows})
    monkeypatch.setenv("ADANALYTICS_API_KEY", "key")
    words = ["--base-url", httpserver.url_for("/"), "--partner", "acme", "-f", "table"]
    done = run("summary", "2026-01-15", "-g", "campaign", *words)
    assert "Not shown (see --columns): imps, unique_users.\n" in done.stdout
    done = run("summary", "2026-01-15", "-g", "campaign", *words, "--columns", "imps")
    assert "Not shown" not in done.stdout


def compared(done: Result) -> set[tuple[str, ...]]:
    """The days of a comparison, as a file names them."""
    names = ("start_date", "end_date", "before_start_date", "before_end_date")
    return {tuple(row[name] for name in names) for row in csv.DictReader(io.StringIO(done.stdout))}


@pytest.mark.parametrize(
    ("words", "after", "before"),
    [
        # The service has data of the 15th and 16th, and today is the 20th.
        ("2026-01-15..2026-01-20 --compare previous", "2026-01-15 16", "2026-01-13 14"),
        ("this-month --compare previous", "2026-01-01 16", "2025-12-01 16"),
        (
            "2026-01-15 2026-01-17 --compare 2026-01-01..2026-01-03",
            "2026-01-15 16",
            "2026-01-01 02",
        ),
        ("2026-01-15 2026-01-17 --compare 2026-01-10", "2026-01-15 16", "2026-01-10 10"),
        (
            "2026-01-10 2026-01-11 --compare 2026-01-16 --all-hours",
            "2026-01-10 11",
            "2026-01-16 16",
        ),
        ("-7d --compare previous --all-hours", "2026-01-14 20", "2026-01-07 13"),
    ],
)
def test_days_that_are_not_whole_are_left_out(words: str, after: str, before: str) -> None:
    done = run("summary", *words.split(), "-f", "csv")
    assert done.exit_code == 0, done.stderr
    expected = [side.split() for side in (after, before)]
    assert compared(done) == {
        tuple(day for first, last in expected for day in (first, f"{first[:8]}{last}"))
    }


def test_what_is_left_out_is_said() -> None:
    words = ["summary", "2026-01-15..2026-01-20", "--compare", "previous"]
    for form, stream in (("table", "stdout"), ("csv", "stderr")):
        text = getattr(run(*words, "-f", form), stream)
        assert "Left out, because not whole yet or without data: 2026-01-17 to 2026-01-20." in text
        assert "acme has data on 2 of 2 days, before on 0 of 2." in text
    shown = run(*words, "-f", "table", "--all-hours").stdout
    assert ("Left out" in shown, "2026-01-20 is not over." in shown) == (False, True)
    refused = run("summary", "today", "--compare", "yesterday")
    assert refused.exit_code == 1
    assert "--all-hours" in refused.stderr
    assert run("summary", "today", "--all-hours").exit_code == 2


def test_sums_of_unequal_lengths_are_also_per_day() -> None:
    words = ["summary", "2026-01-15..2026-01-16", "--compare", "2026-01-16"]
    rows = json.loads(run(*words, "--columns", "impressions,revenue,ctr", "-f", "json").stdout)
    impressions, impressions_per_day, _, revenue_per_day, _ = rows
    assert [row["metric"] for row in rows] == [
        *("impressions", "impressions_per_day", "revenue", "revenue_per_day", "ctr")
    ]
    before, after = (Decimal(impressions[name]) for name in ("before", "after"))
    assert impressions_per_day["before"] == before
    assert Decimal(str(impressions_per_day["after"])) == after / 2
    change = 100 * (after / 2 - before) / before
    assert Decimal(str(impressions_per_day["percent"])) == change.quantize(Decimal("0.01"))
    assert len(revenue_per_day["after"].partition(".")[2]) == 9
    shown = run(*words, "-f", "table").stdout
    assert "impressions per day" in shown
    assert "Before is 2026-01-16. It has 1 day, not 2: see the rows per day." in shown
    assert "per day" not in run(*words, "-g", "day", "-f", "table").stdout
    assert "per day" not in run(*words[:3], "2026-01-14..2026-01-15", "-f", "table").stdout


@pytest.fixture
def two_periods(monkeypatch: pytest.MonkeyPatch) -> None:
    """A campaign that grew, one that ended, one that began, and traffic without a campaign."""
    large = "1000000000000000000000000"
    before: list[dict[str, Any]] = [
        {"campaign_id": 1, "campaign_name": "Old name", "clicks": 8, "revenue": "-2.000000000"},
        {"campaign_id": 2, "campaign_name": "Ended", "clicks": 3, "revenue": f"{large}.000000001"},
        {"campaign_id": None, "campaign_name": None, "clicks": 0, "revenue": "0.000000000"},
    ]
    after: list[dict[str, Any]] = [
        {"campaign_id": 1, "campaign_name": "Grew", "clicks": 7, "revenue": "1.000000001"},
        {"campaign_id": 3, "campaign_name": "Began", "clicks": 5, "ctr": 0.5, "revenue": "3"},
        {"campaign_id": None, "campaign_name": None, "clicks": 2, "revenue": "0.000000000"},
    ]
    rows = {date(2025, 12, 1): before, date(2026, 1, 1): after}

    def answer(_client: Client, first: date, last: date, *, group_by: object) -> Summary:
        totals = {"clicks": sum(row["clicks"] for row in rows[first])}
        text = json.dumps({"rows": rows[first], "totals": totals, "currency": "USD"})
        return Summary.model_validate(json.loads(text, parse_float=Decimal))

    monkeypatch.setattr(Client, "summary", answer)


WORDS = ["summary", "2026-01-01", "--compare", "2025-12-01", "-g", "campaign"]


def test_changes_are_exact(two_periods: None) -> None:
    shown = run(*WORDS, "--columns", "revenue,clicks,ctr", "-f", "csv")
    assert shown.exit_code == 0, shown.stderr
    rows = list(csv.DictReader(io.StringIO(shown.stdout)))
    large = "1000000000000000000000000.000000001"
    found = [
        [row[name] for name in ("campaign_name", "metric", "before", "after", "change", "percent")]
        for row in rows
    ]
    assert found == [
        ["Grew", "revenue", "-2.000000000", "1.000000001", "3.000000001", "150.00"],
        ["Grew", "clicks", "8", "7", "-1", "-12.50"],
        ["Grew", "ctr", "", "", "", ""],
        ["Began", "revenue", "0", "3", "3", ""],
        ["Began", "clicks", "0", "5", "5", ""],
        ["Began", "ctr", "", "0.5", "", ""],
        ["", "revenue", "0.000000000", "0.000000000", "0.000000000", ""],
        ["", "clicks", "0", "2", "2", ""],
        ["", "ctr", "", "", "", ""],
        ["Ended", "revenue", large, "0.000000000", f"-{large}", "-100.00"],
        ["Ended", "clicks", "3", "0", "-3", "-100.00"],
        ["Ended", "ctr", "", "", "", ""],
    ]
    assert list(rows[0].items())[-5:] == [
        ("currency", "USD"),
        ("start_date", "2026-01-01"),
        ("end_date", "2026-01-01"),
        ("before_start_date", "2025-12-01"),
        ("before_end_date", "2025-12-01"),
    ]


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["--sort", "change"], ["Began", "(none)", "Grew", "Ended"]),
        (["--sort", "-change", "--top", "1"], ["Ended"]),
        (["--sort", "change", "--top", "4"], ["Began", "(none)", "Grew", "Ended"]),
        (["--sort", "campaign"], ["Began", "Ended", "Grew", "(none)"]),
        (["--sort", "CLICKS"], ["Grew", "Began", "(none)", "Ended"]),
    ],
)
def test_the_order_of_a_comparison(two_periods: None, words: list[str], names: list[str]) -> None:
    shown = run(*WORDS, "--columns", "clicks", "-f", "table", *words)
    *lines, total, note = shown.stdout.splitlines()[2:]
    assert [line.split()[0] for line in lines] == names
    assert lines[names.index("Ended")].split()[2:] == ["3", "0", "-3", "-100.00", "%"]
    assert total.split() == ["total", "clicks", "11", "14", "+3", "+27.27", "%"]
    left = " 1 of 4 groups." if len(names) == 1 else ""
    days = "acme has data on 0 of 1 day, before on 0 of 1."
    assert note == f"2026-01-01 in UTC, money in USD. Before is 2025-12-01. {days}{left}"


@pytest.mark.parametrize(
    ("group", "rows"),
    [
        ("campaign", [{"id": 1, "name": "a", "clicks": 5}, {"id": 2, "name": "b", "clicks": 7}]),
        ("day", [{"date": "2026-01-15", "hour": hour, "clicks": 5} for hour in ("am", "pm")]),
    ],
)
def test_rows_that_look_like_one_group_are_not_lost(
    httpserver: HTTPServer, group: str, rows: list[dict[str, Any]]
) -> None:
    def summary(request: Request) -> Response:
        days = {"date": request.args["start_date"]} if group == "day" else {}
        return Response(json.dumps({"data": [row | days for row in rows]}))

    httpserver.expect_request(re.compile("/.*/summary")).respond_with_handler(summary)
    place = ["--base-url", httpserver.url_for("/"), "--partner", "acme"]
    environment = {"ADANALYTICS_API_KEY": "key"}
    words = ["summary", "2026-01-15", "-g", group, "-f", "csv", *place]
    assert len(run(*words, env=environment).stdout.splitlines()) == 3
    done = run(*words, "--compare", "2026-01-14", "--all-hours", env=environment)
    assert (done.exit_code, done.stdout) == (7, "")
    assert "cannot be compared" in done.stderr


def test_days_are_paired_by_their_place() -> None:
    """Three days beside one without data: the second one has nothing beside it."""
    words = ["summary", "2026-01-15", "2026-01-17", "--compare", "2026-01-14", "-g", "day"]
    rows = json.loads(run(*words, "--columns", "clicks,ctr", "-f", "json").stdout)
    assert [(row["date"], row["before_date"]) for row in rows[::2]] == [
        ("2026-01-15", "2026-01-14"),
        ("2026-01-16", None),
    ]
    first, rate, second, _ = rows
    assert (first["before"], first["change"], first["percent"]) == (0, first["after"], None)
    assert (rate["before"], rate["change"]) == (None, None)
    assert (second["before"], second["after"] > 0, second["change"]) == (None, True, None)
    words = ["summary", "2026-01-17", "--compare", "previous", "-g", "day", "-f", "json"]
    words.append("--all-hours")
    (gone,) = json.loads(run(*words, "--columns", "clicks").stdout)
    assert (gone["after"], gone["percent"]) == (0, -100)


@pytest.mark.parametrize(
    ("before", "after", "percent"),
    [
        # The stated digits alone would give 66.67 and 100.00.
        ((30, 10_000_000, "0.000003"), (50, 10_000_000, "0.000005"), "66.67"),
        ((25, 10_000_000, "0.000002"), (35, 10_000_000, "0.000004"), "40.00"),
        # Another definition than the usual one, and a rate without its parts.
        ((25, 10_000_000, "0.5"), (35, 10_000_000, "0.75"), "50.00"),
        ((None, 10_000_000, "0.000002"), (35, 10_000_000, "0.000003"), "50.00"),
    ],
)
def test_the_change_of_a_rate_has_no_rounding(
    before: tuple[Any, ...], after: tuple[Any, ...], percent: str
) -> None:
    sides = [
        {"clicks": clicks, "impressions": impressions, "ctr": Decimal(rate)}
        for clicks, impressions, rate in (before, after)
    ]
    assert str(Pair({}, *sides).values("ctr")["percent"]) == percent


def test_a_comparison_of_totals(service: LocalServer, tmp_path: Path) -> None:
    words = ["summary", "2026-01-16", "--compare", "previous"]
    shown = run(*words, "-f", "table").stdout.splitlines()
    assert shown[0].split() == ["metric", "before", "after", "change", "percent"]
    assert shown[-1] == "2026-01-16 in UTC, money in USD. Before is 2026-01-15."
    rate = next(line for line in shown if line.startswith("CTR"))
    assert rate.split()[6] == "pp"
    same = run("summary", "2026-01-16", "--compare", "2026-01-16", "-f", "table").stdout
    (clicks,) = (line for line in same.splitlines() if line.startswith("clicks"))
    assert clicks.split()[3:] == ["0", "0.00", "%"]
    with Client(service.url, api_key=service.api_key, partner=service.partner) as client:
        days = [client.summary(day).rows[0] for day in ("2026-01-15", "2026-01-16")]
    target = tmp_path / "change.xlsx"
    assert run(*words, "-o", str(target)).exit_code == 0
    book = openpyxl.load_workbook(target)
    cells = {row[0]: row[1:4] for row in book["summary"].iter_rows(values_only=True)}
    for name in ("impressions", "revenue"):
        before, after = (day[name] for day in days)
        found = [Decimal(repr(cell)) for cell in cells[name]]
        assert found == [before, after, after - before]
    about = dict(book["about"].iter_rows(values_only=True))
    assert str(about["first day before"]) == "2026-01-15 00:00:00"


@pytest.fixture(scope="module")
def two_partners(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServer]:
    """One server with `tokyo`, paid in yen, and `acme`, paid in dollars."""
    data = tmp_path_factory.mktemp("two")
    sample = Sample(days=1, events_per_day=300, seed=7)
    with LocalServer(partner="tokyo", currency="JPY", sample=sample, data=data):
        pass
    with LocalServer(sample=sample, data=data, rate_limit=0) as server:
        yield server


@pytest.fixture
def both(two_partners: LocalServer, monkeypatch: pytest.MonkeyPatch) -> LocalServer:
    """The environment for the two, in the order of the names."""
    monkeypatch.setenv("ADANALYTICS_BASE_URL", two_partners.url)
    monkeypatch.setenv("ADANALYTICS_API_KEY", two_partners.api_key)
    monkeypatch.setenv("ADANALYTICS_PARTNER", "acme, tokyo,acme")
    return two_partners


def test_partners_come_one_after_the_other(both: LocalServer, tmp_path: Path) -> None:
    words = ["summary", "2026-01-15"]
    rows = json.loads(run(*words, "-f", "json").stdout)
    assert [(row["partner"], row["currency"]) for row in rows] == [
        ("acme", "USD"),
        ("tokyo", "JPY"),
    ]
    assert [next(iter(row)) for row in rows] == ["partner", "partner"]
    alone = json.loads(run(*words, "-f", "json", "--partner", "tokyo").stdout)
    assert [{"partner": "tokyo", **row} for row in alone] == rows[1:]
    table = run(
        *words, "-g", "campaign", "-f", "table", "--top", "1", "--round", "0"
    ).stdout.splitlines()
    assert [line.split()[:2] for line in table[2:-1]] == [["acme", "USD"]] * 2 + [
        ["tokyo", "JPY"]
    ] * 2
    assert "money in each partner's currency" in table[-1]
    # Each partner's money has the digits that are asked for.
    assert not any("." in line.split("%")[1].split()[0] for line in table[2:-1])
    chosen = run(*words, "--columns", "revenue", "-f", "csv").stdout.splitlines()
    assert chosen[0] == "partner,currency,revenue"
    target = tmp_path / "both.parquet"
    assert run(*words, "-o", str(target)).exit_code == 0
    changes = run(*words, "--compare", "previous", "--columns", "clicks", "-f", "csv").stdout
    assert [line.split(",")[0] for line in changes.splitlines()] == ["partner", "acme", "tokyo"]


def test_days_of_several_partners(both: LocalServer) -> None:
    assert run("dates").stdout.splitlines() == [
        "partner,date",
        "acme,2026-01-15",
        "tokyo,2026-01-15",
    ]


def test_a_profile_has_a_list_of_partners(
    both: LocalServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("ADANALYTICS_PARTNER")
    folder = tmp_path / "config/adanalytics"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text('[profile.default]\npartner = ["tokyo", "acme"]\n')
    shown = run("summary", "2026-01-15", "--columns", "currency").stdout.splitlines()
    assert shown == ["partner,currency", "tokyo,JPY", "acme,USD"]
    assert "tokyo,acme" in run("status").stdout
