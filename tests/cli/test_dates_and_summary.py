"""`dates` and `summary` against a real server, in every form."""

import csv
import gzip
import io
import json
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from pyarrow import parquet

from adanalytics_cli.output.summary_output import table_rows
from adanalytics_client import Client, Summary, SummaryRow
from adanalytics_server.local import LocalServer

Run = Callable[..., Result]
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
        (["2025"], None),
    ],
)
def test_dates_of_a_period(
    run: Run, service: LocalServer, words: list[str], days: list[str] | None
) -> None:
    result = run("dates", *words, "-f", "jsonl")
    if days is None:
        assert result.exit_code == 2
    else:
        assert [json.loads(line)["date"] for line in result.stdout.splitlines()] == days


def test_dates_as_a_table_and_as_json(run: Run, service: LocalServer) -> None:
    assert json.loads(run("dates", "-f", "json").stdout) == [{"date": day} for day in BOTH_DAYS]
    heading, line, *days = run("dates", "-f", "table").stdout.split()
    assert (heading, {*line}, days) == ("date", {"─"}, BOTH_DAYS)


@pytest.mark.parametrize("group_by", [None, "day", "campaign", "demand_tag"])
def test_summary_is_what_the_service_says(run: Run, service: LocalServer, group_by: Any) -> None:
    with Client(service.url, api_key=service.api_key, partner=service.partner) as client:
        expected = client.summary("2026-01-15", "2026-01-16", group_by=group_by)
    words = ["summary", *BOTH_DAYS, *(["-g", group_by] if group_by else [])]
    csv_rows = list(csv.DictReader(io.StringIO(run(*words).stdout)))
    json_rows = json.loads(run(*words, "-f", "json").stdout, parse_float=Decimal)
    assert len(csv_rows) == len(json_rows) == len(expected.rows) > 0
    for in_csv, in_json, row in zip(csv_rows, json_rows, expected.rows, strict=True):
        sent = row.model_dump(exclude_unset=True)
        assert list(in_csv) == list(in_json) == list(sent)
        assert in_json["revenue"] == in_csv["revenue"] == format(sent["revenue"], "f")
        assert in_json["ctr"] == sent["ctr"]
        assert in_csv["impressions"] == str(sent["impressions"])


@pytest.mark.parametrize("group_by", ["day", "campaign", "demand_tag"])
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
    assert lines[-1] == "Money in USD, days in UTC."


def test_the_suffix_gives_the_format(run: Run, service: LocalServer, tmp_path: Path) -> None:
    target = tmp_path / "days.csv.gz"
    assert run("summary", "2026-01", "-g", "day", "-o", str(target)).stdout == ""
    rows = list(csv.DictReader(io.StringIO(gzip.decompress(target.read_bytes()).decode())))
    assert [row["date"] for row in rows] == BOTH_DAYS


def test_an_output_of_dash_is_stdout(run: Run, service: LocalServer) -> None:
    assert run("dates", "-o", "-").stdout == run("dates").stdout


def test_login_with_a_password(
    run: Run, service: LocalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ADANALYTICS_API_KEY")
    result = run(
        "dates",
        env={"ADANALYTICS_EMAIL": service.email, "ADANALYTICS_PASSWORD": service.password},
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
    assert table.column_names == list(SummaryRow.model_fields)
    with Client(service.url, api_key=service.api_key, partner=service.partner) as client:
        expected = client.summary(*BOTH_DAYS, group_by=group_by).rows
    assert [SummaryRow.model_validate(row) for row in table.to_pylist()] == [
        SummaryRow.model_validate(dict.fromkeys(SummaryRow.model_fields) | row.model_dump())
        for row in expected
    ]
    empty = run("summary", "yesterday", "-f", "parquet").stdout_bytes
    assert parquet.read_table(io.BytesIO(empty)).schema.equals(table.schema)


def test_totals_of_another_shape_are_no_row() -> None:
    summary = Summary.model_validate({"rows": [{"date": "2026-01-15"}], "totals": [{"clicks": 5}]})
    assert table_rows(summary, "day") == [{"date": date(2026, 1, 15)}]
