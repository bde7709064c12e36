"""`dates` and `summary` against a real server, in every form."""

import csv
import gzip
import io
import json
import re
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner
from pyarrow import parquet
from pytest_httpserver import HTTPServer
from tests.cli.run import Run
from tests.server_answers import operations

from adanalytics_cli.console.table_view import Column, render_markdown
from adanalytics_cli.console.terminal import NOWHERE
from adanalytics_cli.core.invocation import Invocation
from adanalytics_cli.main import cli
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
from adanalytics_server.local import LocalServer

BOTH_DAYS = ["2026-01-15", "2026-01-16"]


def test_dates_in_a_pipe_are_csv_with_plain_line_ends(run: Run, service: LocalServer) -> None:
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
def test_dates_of_a_period(
    run: Run, service: LocalServer, words: list[str], days: list[str]
) -> None:
    result = run("dates", *words, "-f", "jsonl")
    assert [json.loads(line)["date"] for line in result.stdout.splitlines()] == days


def test_dates_as_a_table_and_as_json(run: Run, service: LocalServer) -> None:
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


def test_the_hours_of_the_service(run: Run, service: LocalServer) -> None:
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
    service: LocalServer,
    monkeypatch: pytest.MonkeyPatch,
    held: set[int] | None,
    said: str,
    requests: int,
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
def test_summary_is_what_the_service_says(run: Run, service: LocalServer, group_by: Any) -> None:
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
def test_a_summary_without_rows_has_the_header_of_one_with_rows(
    run: Run, service: LocalServer, group_by: str
) -> None:
    header = run("summary", "2026-01", "-g", group_by).stdout.splitlines()[0]
    assert run("summary", "2025-01", "-g", group_by).stdout.splitlines() == [header]
    assert run("summary", "2025-01", "-g", group_by, "-f", "json").stdout == "[]\n"


def test_summary_table_ends_in_the_totals(run: Run, service: LocalServer) -> None:
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


def test_the_suffix_gives_the_format(run: Run, service: LocalServer, tmp_path: Path) -> None:
    target = tmp_path / "days.csv.gz"
    assert run("summary", "2026-01", "-g", "day", "-o", str(target)).stdout == ""
    rows = list(csv.DictReader(io.StringIO(gzip.decompress(target.read_bytes()).decode())))
    assert [row["date"] for row in rows if row["impressions"]] == BOTH_DAYS


def test_an_output_of_dash_is_stdout(run: Run, service: LocalServer) -> None:
    assert run("dates", "-o", "-").stdout == run("dates").stdout


def test_login_with_a_password(
    run: Run, service: LocalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ADANALYTICS_API_KEY")
    result = run(
        "dates", env={"ADANALYTICS_EMAIL": service.email, "ADANALYTICS_PASSWORD": service.password}
    )
    assert result.exit_code == 0


def test_options_of_the_run_on_either_side(
    run: Run, service: LocalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ADANALYTICS_PARTNER", "nobody")
    before = run("--partner", "acme", "-v", "dates")
    after = run("dates", "--partner", "acme", "-v")
    assert before.stdout == after.stdout != ""
    assert "/api/partners/acme/ad-analytics/dates: 200" in before.stderr
    assert "/api/partners/acme/ad-analytics/dates: 200" in after.stderr
    assert run("-v", "dates", "--partner", "acme", "-q").stderr == ""


@pytest.mark.parametrize("group_by", [None, "campaign"])
def test_a_summary_as_parquet_is_exact(
    run: Run, service: LocalServer, tmp_path: Path, group_by: Any
) -> None:
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


def test_rows_are_sorted_by_numbers_in_text(
    run: Run, service: LocalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    run: Run, service: LocalServer, monkeypatch: pytest.MonkeyPatch, words: list[str]
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
    run: Run,
    service: LocalServer,
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    order: list[int],
    form: str,
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
def test_chosen_columns(run: Run, service: LocalServer, tmp_path: Path, form: str) -> None:
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
def test_without_a_row_every_column_may_be_named(
    run: Run, service: LocalServer, option: str
) -> None:
    empty = run("summary", "2025-01", "-g", "day", option, "clicks")
    said = "The service's summary of acme has no row of 2025-01-01 to 2025-01-31.\n"
    assert (empty.exit_code, empty.stderr) == (0, said)


@pytest.mark.parametrize(
    ("digits", "amount"), [("2", "1,234.56"), ("0", "1,235"), ("3", "1,234.565")]
)
def test_round_gives_a_pipe_and_a_file_so_many_digits(
    run: Run, service: LocalServer, monkeypatch: pytest.MonkeyPatch, digits: str, amount: str
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
    run: Run, service: LocalServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, currency: Any
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


def test_cents_are_for_a_terminal(
    run: Run, service: LocalServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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


def test_days_without_data_are_gaps_for_people(run: Run, service: LocalServer) -> None:
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
def test_sorted_days_have_no_gaps(
    run: Run, service: LocalServer, words: list[str], days: list[str], note: str
) -> None:
    shown = run("summary", "2026-01", "-g", "day", "-f", "table", *words).stdout.splitlines()
    assert [line.split()[0] for line in shown[2:-1]] == days
    assert shown[-1].endswith(note)


def test_a_period_without_any_data_has_no_rows(run: Run, service: LocalServer) -> None:
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


def test_markdown_for_a_chat(run: Run, service: LocalServer, tmp_path: Path) -> None:
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


def test_one_row_that_is_too_wide_turns(
    run: Run, service: LocalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    run: Run, httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [{"campaign_id": 7, "clicks": 5, "starts": 1, "unique_users": 3, "imps": 9}]
    httpserver.expect_request(re.compile("/.*")).respond_with_json({"data": rows})
    monkeypatch.setenv("ADANALYTICS_API_KEY", "key")
    words = ["--base-url", httpserver.url_for("/"), "--partner", "acme", "-f", "table"]
    done = run("summary", "2026-01-15", "-g", "campaign", *words)
    assert "Not shown (see --columns): imps, unique_users.\n" in done.stdout
    done = run("summary", "2026-01-15", "-g", "campaign", *words, "--columns", "imps")
    assert "Not shown" not in done.stdout
