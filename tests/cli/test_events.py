"""`events` against a real server: nothing lost, nothing changed, in every form."""

import csv
import gzip
import io
import json
import re
from pathlib import Path
from typing import Any

import click
import pytest
from pyarrow import ipc, parquet
from tests.cli.run import Run

from adanalytics_cli.output.formats import gather_output
from adanalytics_client import Client, Event
from adanalytics_client._base.quantities import in_bytes
from adanalytics_client._progress.progress import Progress
from adanalytics_server.local import LocalServer

DAY = "2026-01-15"


@pytest.fixture
def expected(service: LocalServer) -> list[dict[str, Any]]:
    with Client(service.url, api_key=service.api_key, partner=service.partner) as client:
        return list(client.events(DAY).rows())


def test_json_lines_in_a_pipe(run: Run, expected: list[dict[str, Any]]) -> None:
    result = run("events", DAY)
    assert result.exit_code == 0
    assert re.fullmatch(r"2,000 events of 2026-01-15, 2 requests, [\d.]+ s\n", result.stderr)
    assert [json.loads(line) for line in result.stdout.splitlines()] == expected
    assert len(expected) == 2_000


@pytest.mark.parametrize("name", ["day.jsonl", "day.jsonl.gz", "day.JSONL.GZ", "day.ndjson"])
def test_json_lines_in_a_file(
    run: Run, expected: list[dict[str, Any]], folder: Path, name: str
) -> None:
    target = folder / name
    result = run("events", DAY, "-o", str(target))
    size = re.escape(in_bytes(target.stat().st_size))
    line = rf"2,000 events of {DAY}, {size}, 2 requests, [\d.]+ s -> \S+"
    assert re.fullmatch(line, " ".join(result.stderr.split()))
    written = gzip.decompress(target.read_bytes()) if "gz" in name.lower() else target.read_bytes()
    assert [json.loads(line) for line in written.splitlines()] == expected
    assert [each.name for each in folder.iterdir()] == [name]


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "json", "parquet", "arrow", "xlsx"])
def test_a_file_of_any_format_is_compared_with_the_count(
    run: Run, service: LocalServer, tmp_path: Path, suffix: str
) -> None:
    service.journal.clear()
    # With full pages alone, there would be a doubt.
    words = ["events", DAY, "--per-page", "300", "-o", str(tmp_path / f"day.{suffix}")]
    assert run(*words).exit_code == 0
    assert dict(service.journal.entries()[-1].query)["per_page"] == "1"


@pytest.mark.parametrize("suffix", ["jsonl", "jsonl.gz", "csv"])
def test_the_progress_shows_the_bytes_of_the_file(
    run: Run, service: LocalServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
) -> None:
    sizes: list[int] = []
    monkeypatch.setattr(Progress, "output", lambda _self, info: sizes.append(info.size))
    target = tmp_path / f"day.{suffix}"
    run("events", DAY, "-o", str(target), "--per-page", "500")
    written = target.stat().st_size
    # The last piece of a compressed file may still be in the compressor.
    assert sizes == sorted(sizes)
    assert written / 2 < sizes[-1] <= written


@pytest.mark.parametrize("name", ["day.csv", "day.CSV", "day.csv.gz", "-"])
def test_csv(run: Run, expected: list[dict[str, Any]], tmp_path: Path, name: str) -> None:
    target = "-" if name == "-" else str(tmp_path / name)
    result = run("events", DAY, "-f", "csv", "-o", target)
    written = result.stdout_bytes if name == "-" else Path(target).read_bytes()
    written = gzip.decompress(written) if name.endswith("gz") else written
    rows = list(csv.DictReader(io.StringIO(written.decode(), newline="")))
    assert list(rows[0]) == list(Event.model_fields)
    assert [row["event_id"] for row in rows] == [each["event_id"] for each in expected]
    assert [row["revenue"] for row in rows] == [each["revenue"] for each in expected]
    assert {row["is_filtered"] for row in rows} == {"true", "false"}
    assert [row["campaign_id"] for row in rows] == [
        "" if each["campaign_id"] is None else str(each["campaign_id"]) for each in expected
    ]


def test_a_json_array(run: Run, expected: list[dict[str, Any]]) -> None:
    assert json.loads(run("events", DAY, "-f", "json").stdout) == expected


def test_an_empty_day_in_every_form(run: Run, service: LocalServer) -> None:
    assert run("events", "yesterday").stdout == ""
    assert run("events", "yesterday", "-f", "json").stdout == "[]\n"
    assert run("events", "yesterday", "-f", "csv").stdout.startswith("event_id,event_time,")
    assert run("events", "yesterday", "-f", "table").exit_code == 0


def test_columns(run: Run, expected: list[dict[str, Any]]) -> None:
    words = ["events", DAY, "--columns", "revenue, event_id"]
    lines = run(*words).stdout.splitlines()
    assert lines[0] == json.dumps(
        {"revenue": expected[0]["revenue"], "event_id": expected[0]["event_id"]},
        separators=(",", ":"),
    )
    assert len(lines) == len(expected)
    words = ["events", DAY, "--columns", "revenue", "--columns", "event_id", "-f", "csv"]
    assert run(*words).stdout_bytes.startswith(b"revenue,event_id\r\n0.0")


def test_limit_asks_for_no_more_than_it_needs(run: Run, expected: list[dict[str, Any]]) -> None:
    result = run("-v", "events", DAY, "--limit", "3")
    assert [json.loads(line) for line in result.stdout.splitlines()] == expected[:3]
    asked = [line for line in result.stderr.splitlines() if line.startswith("GET")]
    assert len(asked) == 1
    assert "per_page=3" in asked[0]


@pytest.mark.parametrize("words", [("-f", "table"), ("--limit", "5")], ids=" ".join)
def test_a_look_at_the_first_events_is_one_request(
    run: Run, service: LocalServer, expected: list[dict[str, Any]], words: tuple[str, ...]
) -> None:
    """The days before have no events: by the hour, they alone would cost 336 requests."""
    service.journal.clear()
    shown = run("events", "2026-01-01", "2026-01-16", *words).stdout
    assert all(each["event_time"] in shown for each in expected[:5])
    assert len(service.journal.entries()) == 1


def test_an_empty_month_is_one_page(run: Run, service: LocalServer) -> None:
    """And its count, and the days that have data."""
    service.journal.clear()
    assert run("events", "2025-12").stdout == ""
    asked = [(entry.operation, entry.query) for entry in service.journal.entries()]
    assert [operation for operation, _ in asked] == ["events", "events", "dates"]
    assert [dict(query).get("per_page") for _, query in asked] == ["10000", "1", None]


@pytest.mark.parametrize(("split", "requests"), [("hourly", 48), ("daily", 2), ("none", 1)])
def test_split(run: Run, service: LocalServer, split: str, requests: int) -> None:
    result = run("-v", "events", DAY, "2026-01-16", "--split", split)
    assert len(result.stdout.splitlines()) == 4_000
    count = 1
    assert result.stderr.count("GET ") == requests + count


def test_today_is_asked_for_the_hours_that_have_begun(run: Run, service: LocalServer) -> None:
    """It is noon. No event came, so the days that have data are looked up, too."""
    service.journal.clear()
    run("events", "yesterday", "today", "--split", "hourly")
    asked = [dict(entry.query) for entry in service.journal.entries()]
    hours = [int(each["hour"]) for each in asked if each.get("start_date") == "2026-01-20"]
    count, dates = 1, 1
    assert (sorted(hours), len(asked)) == ([*range(13)], 24 + 13 + count + dates)


def test_one_hour(run: Run, expected: list[dict[str, Any]]) -> None:
    result = run("events", DAY, "--hour", "20")
    assert [json.loads(line) for line in result.stdout.splitlines()] == [
        each for each in expected if each["event_hour"] == 20
    ]


def test_pages(run: Run, expected: list[dict[str, Any]]) -> None:
    result = run("-v", "events", DAY, "--split", "daily", "--per-page", "300")
    assert [json.loads(line) for line in result.stdout.splitlines()] == expected
    pages, count = 7, 1
    assert result.stderr.count("GET ") == pages + count


def test_a_table_shows_the_first_events_and_says_so(
    run: Run, expected: list[dict[str, Any]]
) -> None:
    lines = run("events", DAY, "-f", "table").stdout.splitlines()
    shown = lines[0].split()
    others = [name for name in expected[0] if name not in shown and expected[0][name] is not None]
    assert expected[0]["event_time"] in lines[2]
    note = " ".join(lines[2 + 100 :])
    assert note.startswith("The first 100 events. Get all with -f jsonl or -o FILE. Left out: ")
    assert {*others} <= {*note.rstrip(".").replace(",", "").split()}
    few = run("events", DAY, "-f", "table", "--limit", "5", "--columns", "Country,revenue")
    assert [len(few.stdout.splitlines()), few.stdout.split()[:2]] == [7, ["country", "revenue"]]


def test_a_wide_terminal_shows_more_fields_of_an_event(
    run: Run, service: LocalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("click.testing._NamedTextIOWrapper.isatty", lambda _stream: True)
    monkeypatch.setenv("NO_COLOR", "1")
    for width, names in ((200, {"received_at", "event_id"}), (80, {"country"}), (40, {"revenue"})):
        monkeypatch.setenv("COLUMNS", str(width))
        lines = run("-q", "events", DAY, "--limit", "5").stdout.splitlines()
        assert names <= {*lines[0].split()}
        assert max(map(len, lines)) <= width
        assert any(line.startswith("No room for: ") for line in lines)
    # Markdown is not cut to the width, so it has the same columns everywhere.
    words = ("-q", "events", DAY, "--limit", "5", "-f", "markdown")
    heading = run(*words).stdout.splitlines()[0]
    assert heading.startswith(r"| event\_time | ")
    assert "received" not in heading


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_tables_in_a_file_and_in_a_pipe(
    run: Run, expected: list[dict[str, Any]], tmp_path: Path, form: str
) -> None:
    target = tmp_path / f"day.{form}"
    assert run("events", DAY, "-o", str(target)).exit_code == 0
    piped = run("events", DAY, "-f", form).stdout_bytes
    for table in (read_table(form, target.read_bytes()), read_table(form, piped)):
        assert table.column_names == list(Event.model_fields)
        assert table["event_id"].to_pylist() == [each["event_id"] for each in expected]
        assert [format(each, "f") for each in table["revenue"].to_pylist()] == [
            each["revenue"] for each in expected
        ]
    words = ("events", DAY, "-o", str(target), "--columns", "revenue,event_id")
    assert run(*words).exit_code == 0
    assert read_table(form, target.read_bytes()).column_names == ["revenue", "event_id"]


def read_table(form: str, content: bytes) -> Any:
    if form == "parquet":
        return parquet.read_table(io.BytesIO(content))
    return ipc.open_file(io.BytesIO(content)).read_all()


def test_a_table_file_is_not_for_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    with pytest.raises(click.UsageError, match="cannot go to a terminal"):
        gather_output((), piped="jsonl")({"chosen_format": "parquet"})
