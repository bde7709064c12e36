"""`summary --compare` and several partners: exact changes, and currencies that never meet."""

import csv
import io
import json
import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from click.testing import Result
from pytest_httpserver import HTTPServer
from tests.cli.run import Run
from werkzeug import Request, Response

from adanalytics_cli.output.comparison import Pair
from adanalytics_client import Client, Summary
from adanalytics_server.local import LocalServer, Sample


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
def test_days_that_are_not_whole_are_left_out(
    run: Run, service: LocalServer, words: str, after: str, before: str
) -> None:
    done = run("summary", *words.split(), "-f", "csv")
    assert done.exit_code == 0, done.stderr
    expected = [side.split() for side in (after, before)]
    assert compared(done) == {
        tuple(day for first, last in expected for day in (first, f"{first[:8]}{last}"))
    }


def test_what_is_left_out_is_said(run: Run, service: LocalServer) -> None:
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


def test_sums_of_unequal_lengths_are_also_per_day(run: Run, service: LocalServer) -> None:
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


def test_changes_are_exact(run: Run, service: LocalServer, two_periods: None) -> None:
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
def test_the_order_of_a_comparison(
    run: Run, service: LocalServer, two_periods: None, words: list[str], names: list[str]
) -> None:
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
    run: Run, httpserver: HTTPServer, group: str, rows: list[dict[str, Any]]
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


def test_days_are_paired_by_their_place(run: Run, service: LocalServer) -> None:
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


def test_a_comparison_of_totals(run: Run, service: LocalServer, tmp_path: Path) -> None:
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


def test_partners_come_one_after_the_other(run: Run, both: LocalServer, tmp_path: Path) -> None:
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


def test_days_of_several_partners(run: Run, both: LocalServer) -> None:
    assert run("dates").stdout.splitlines() == [
        "partner,date",
        "acme,2026-01-15",
        "tokyo,2026-01-15",
    ]


def test_a_profile_has_a_list_of_partners(
    run: Run, both: LocalServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("ADANALYTICS_PARTNER")
    folder = tmp_path / "config/adanalytics"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text('[profile.default]\npartner = ["tokyo", "acme"]\n')
    shown = run("summary", "2026-01-15", "--columns", "currency").stdout.splitlines()
    assert shown == ["partner,currency", "tokyo,JPY", "acme,USD"]
    assert "tokyo,acme" in run("status").stdout
