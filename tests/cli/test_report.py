"""`adanalytics report`: a summary of a dataset by any field, equal to the service's own."""

import csv
import dataclasses
import io
import json
from collections import defaultdict
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from importlib import import_module
from pathlib import Path

import pytest
from click.testing import Result
from pytest_httpserver import HTTPServer
from tests.cli.run import Run
from tests.client.dataset.service_of_rows import ServiceOfRows
from tests.vocabularies import CAMEL_CASE, COUNTERS, EPOCHS, Vocabulary

from adanalytics_client import Client
from adanalytics_client.dataset import Dataset
from adanalytics_server.local import LocalServer, Sample

Rows = list[dict[str, str]]


@pytest.fixture
def report(run: Run, dataset: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run `adanalytics report` beside the dataset, without any setting of a service."""
    monkeypatch.chdir(dataset.parent)
    return partial(run, "report")


def rows_of(done: Result) -> Rows:
    assert done.exit_code == 0, done.stderr
    return [*csv.DictReader(io.StringIO(done.stdout))]


@pytest.mark.parametrize(
    ("field", "group"), [("day", "day"), ("campaign", "campaign"), ("demand-tag", "demand_tag")]
)
@pytest.mark.parametrize("days", [["2026-01-15", "2026-01-16"], ["2026-01-16"]])
def test_figures_are_those_of_the_summary(
    report: Run, service: LocalServer, run: Run, field: str, group: str, days: list[str]
) -> None:
    mine = rows_of(report(field, *days))
    theirs = rows_of(run("summary", *days, "-g", group))
    assert mine == theirs != []
    assert [*mine[0]] == [*theirs[0]]


@pytest.mark.parametrize("field", ["country", "hour", "creative", "device", "supply-tag", "domain"])
def test_the_total_of_any_field_is_that_of_the_summary(
    report: Run, service: LocalServer, run: Run, field: str
) -> None:
    shown = report(field, "2026-01-15..2026-01-16", "-f", "table")
    (total,) = [line.split() for line in shown.stdout.splitlines() if line.startswith("total")]
    summary = json.loads(run("summary", "2026-01", "-g", "day", "-f", "json").stdout)
    revenue = sum(Decimal(row["revenue"]) for row in summary)
    impressions = sum(row["impressions"] for row in summary)
    assert (f"{impressions:,}" in total, f"{revenue}" in total) == (True, True), total
    rows = rows_of(report(field))
    assert sum(Decimal(row["revenue"]) for row in rows) == revenue
    assert len(rows) == len({row[next(iter(row))] for row in rows}) > 1


def test_a_comparison_is_that_of_the_summary(report: Run, service: LocalServer, run: Run) -> None:
    words = ("2026-01-16", "--compare", "previous")
    for form in ("table", "csv"):
        mine = report("day", *words, "-f", form)
        assert mine.stdout == run("summary", "-g", "day", *words, "-f", form).stdout != ""
    shown = report("country", *words, "-f", "table").stdout.splitlines()
    assert shown[0].split() == ["country", "metric", "before", "after", "change", "percent"]
    assert [line.split()[0] for line in shown[-3:-1]] == ["total", "total"]


def test_a_day_that_was_open_is_not_compared(run: Run, tmp_path: Path, server: LocalServer) -> None:
    """At 13:00 of the second day, which therefore has no whole day beside the first one."""
    noon = datetime(2026, 1, 16, 13, tzinfo=UTC)
    folder = tmp_path / "events"
    with Client(server.url, api_key=server.api_key, partner=server.partner) as client:
        Dataset(folder, clock=lambda: noon).sync(client)
    done = run("report", "hour", "2026-01-16", "--compare", "2026-01-15", "--in", str(folder))
    assert (done.exit_code, "not whole yet" in done.stderr) == (1, True)
    every = ("--compare", "2026-01-15", "--all-hours", "--in", str(folder))
    assert run("report", "hour", "2026-01-16", *every).exit_code == 0


def test_options_are_those_of_summary(report: Run, folder: Path) -> None:
    top = rows_of(report("country", "--sort", "clicks", "--top", "3", "--columns", "country,CTR"))
    assert ([*top[0]], len(top)) == (["country", "ctr"], 3)
    assert report("country", "--chart").stdout.splitlines()[0] == "impressions"
    for name in ("x.xlsx", "x.parquet", "x.json", "x.jsonl"):
        done = report("country", "-o", str(folder / name))
        assert (done.exit_code, "9 rows, " in done.stderr) == (0, True), done.stderr
    table = import_module("pyarrow.parquet").read_table(folder / "x.parquet")
    assert (table.column_names[0], str(table.schema.field("revenue").type)[:7]) == (
        *("country", "decimal"),
    )
    sheet = import_module("openpyxl").load_workbook(folder / "x.xlsx")["report"]
    assert sheet["A1"].value == "country"


def test_days_without_data_are_said(report: Run) -> None:
    done = report("country", "2026-01-14..2026-01-18")
    assert "Not in the dataset: 2026-01-14, 2026-01-17 to 2026-01-18." in done.stderr
    assert report("country", "2026-01-18", "-f", "json").stdout == "[]\n"
    empty, some = (report("country", day, "-f", "csv") for day in ("2026-01-18", "2026-01-16"))
    assert empty.stdout == f"{some.stdout.splitlines()[0]}\n"


def test_amounts_of_two_currencies_are_not_added(
    report: Run, dataset: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "euros"
    sample = Sample(days=1, events_per_day=500, seed=3)
    with (
        LocalServer(partner="beta", currency="EUR", sample=sample, rate_limit=0) as other,
        Client(other.url, api_key=other.api_key, partner="beta") as client,
    ):
        Dataset(folder).sync(client)
    both = rows_of(report("day", "--in", "events", "--in", str(folder)))
    assert [(row["partner"], row["currency"]) for row in both] == [
        *(("acme", "USD"), ("acme", "USD"), ("beta", "EUR"), ("beta", "EUR"))
    ]
    refused = report("day", "--chart", "--in", "events", "--in", str(folder))
    assert (refused.exit_code, "Give one --in" in refused.stderr) == (2, True)


@pytest.fixture
def synced(httpserver: HTTPServer, tmp_path: Path) -> Callable[[Vocabulary], Path]:
    """Make a dataset of a vocabulary."""

    def make(vocabulary: Vocabulary) -> Path:
        service = ServiceOfRows(httpserver)
        service.rows = dict(vocabulary.rows)
        with service.client(**vocabulary.profile) as client:
            Dataset(tmp_path / "events").sync(client, "2026-01-15", "2026-01-16", via="pages")
        return tmp_path / "events"

    return make


def test_counters_are_added_up(run: Run, synced: Callable[[Vocabulary], Path]) -> None:
    place = str(synced(COUNTERS))
    rows = rows_of(run("report", "placement", "--in", place))
    events = [json.loads(text, parse_float=Decimal) for text in COUNTERS.texts]
    for name in ("impressions", "clicks", "revenue"):
        expected = defaultdict[str, Decimal](Decimal)
        for event in events:
            expected[event["placement"]] += Decimal(event[name])
        assert {row["placement"]: Decimal(row[name]) for row in rows} == expected
    assert rows[1]["ctr"] == f"{Decimal(rows[1]['clicks']) / Decimal(rows[1]['impressions']):.6f}"
    assert "requests" not in rows[0]


def test_lines_of_another_type_may_have_counters(run: Run, synced: Callable[..., Path]) -> None:
    front = '{"event_type":"line","starts":true,'
    rows = {
        at: [text.replace("{", front, 1) for text in texts] for at, texts in COUNTERS.rows.items()
    }
    place = str(synced(dataclasses.replace(COUNTERS, rows=rows)))
    (row,) = rows_of(run("report", "event_type", "--in", place))
    events = [json.loads(text) for text in COUNTERS.texts]
    assert int(row["impressions"]) == sum(event["impressions"] for event in events) > 0
    assert int(row["starts"]) == len(events)


def test_the_days_are_those_of_the_zone_of_the_dataset(
    run: Run, httpserver: HTTPServer, tmp_path: Path
) -> None:
    service = ServiceOfRows(httpserver)
    service.rows["2026-01-15", 5] = ['{"event_time": "2026-01-15T00:10:00Z", "os": "ios"}']
    with service.client(zone="+05:30") as client:
        Dataset(tmp_path / "events").sync(client, "2026-01-15", via="pages")
    shown = run("report", "os", "--in", str(tmp_path / "events"), "-f", "table")
    assert shown.stdout.endswith("2026-01-15 in +05:30.\n")


@pytest.mark.parametrize(("impressions", "day"), [(2, "2026-01-16"), (1, "")])
def test_days_that_did_not_agree_are_said(
    run: Run, httpserver: HTTPServer, tmp_path: Path, impressions: int, day: str
) -> None:
    service = ServiceOfRows(httpserver)
    for date in ("2026-01-15", "2026-01-16"):
        service.rows[date, 5] = [f'{{"event_type": "impression", "event_id": "{date}"}}']
    service.summary["2026-01-16"] = {"impressions": impressions}
    with service.client() as client:
        Dataset(tmp_path / "events").sync(client)
    file = tmp_path / "theirs.csv"
    file.write_text("day,impressions\n2026-01-16,1\n")
    for words in (["report", "day"], ["query", "FROM events"], ["reconcile", str(file)]):
        done = run(*words, "--in", str(tmp_path / "events"), "-f", "csv")
        text = f"acme: not agreed with the service: {day}; adanalytics verify says why."
        assert (text in done.stderr, "agreed" in done.stderr) == (bool(day),) * 2, done.stderr


def test_events_of_an_unknown_vocabulary_are_counted(
    run: Run, synced: Callable[[Vocabulary], Path]
) -> None:
    place = str(synced(EPOCHS))
    rows = rows_of(run("report", "type", "--in", place))
    unfiltered = [each for each in map(json.loads, EPOCHS.texts) if not each["is_filtered"]]
    assert {row["type"]: int(row["events"]) for row in rows} == {
        kind: sum(each["type"] == kind for each in unfiltered)
        for kind in {each["type"] for each in unfiltered}
    }
    words = ("--in", place, "--compare", "2026-01-16", "--all-hours", "-f", "table")
    shown = run("report", "type", "2026-01-15", *words)
    assert "events" in shown.stdout, shown.stderr


def test_figures_that_are_texts_are_said(run: Run, httpserver: HTTPServer, tmp_path: Path) -> None:
    service = ServiceOfRows(httpserver)
    service.rows["2026-01-15", 5] = ['{"os": "ios", "clicks": "1,234", "impressions": 7}']
    with service.client() as client:
        for name in ("events", "others"):
            Dataset(tmp_path / name).sync(client)
    words = ("--in", str(tmp_path / "events"), "--in", str(tmp_path / "others"))
    for place in (words[:2], words):
        done = run("report", "os", *place)
        assert {row["impressions"] for row in rows_of(done)} == {"7"}
        assert "Texts are not added up: clicks." in done.stderr


def test_mapped_fields_have_their_parts(run: Run, synced: Callable[[Vocabulary], Path]) -> None:
    (row, *_) = rows_of(run("report", "zip", "--in", str(synced(CAMEL_CASE))))
    assert (row["impressions"], row["revenue"], row["zip"]) == ("3", "3.000000000", "00000")
