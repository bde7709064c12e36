"""`events` and `export` against a real server: nothing lost, nothing changed, in every form."""

import csv
import gzip
import io
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pytest
from pyarrow import ipc, parquet
from pytest_httpserver import HTTPServer
from tests.cli.run import run
from tests.server_answers import operations

from adanalytics_cli.output import formats
from adanalytics_cli.output.formats import FORMATS, gather_output
from adanalytics_client import Client, Event
from adanalytics_client._base.clock import SystemClock
from adanalytics_client._base.formats import EXPORT_FORMATS
from adanalytics_client._base.quantities import in_bytes
from adanalytics_client._progress.progress import Progress
from adanalytics_server.local import LocalServer, Sample

pytestmark = pytest.mark.usefixtures("service")

DAY = "2026-01-15"


@pytest.fixture
def expected(service: LocalServer) -> list[dict[str, Any]]:
    with Client(service.url, api_key=service.api_key, partner=service.partner) as client:
        return list(client.events(DAY).rows())


def test_json_lines_in_a_pipe(expected: list[dict[str, Any]]) -> None:
    result = run("events", DAY)
    assert result.exit_code == 0
    assert re.fullmatch(r"2,000 events of 2026-01-15, 2 requests, [\d.]+ s\n", result.stderr)
    assert [json.loads(line) for line in result.stdout.splitlines()] == expected
    assert len(expected) == 2_000


@pytest.mark.parametrize("name", ["day.jsonl", "day.jsonl.gz", "day.JSONL.GZ", "day.ndjson"])
def test_json_lines_in_a_file(expected: list[dict[str, Any]], folder: Path, name: str) -> None:
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
    service: LocalServer, tmp_path: Path, suffix: str
) -> None:
    service.journal.clear()
    # With full pages alone, there would be a doubt.
    words = ["events", DAY, "--per-page", "300", "-o", str(tmp_path / f"day.{suffix}")]
    assert run(*words).exit_code == 0
    assert dict(service.journal.entries()[-1].query)["per_page"] == "1"


@pytest.mark.parametrize("suffix", ["jsonl", "jsonl.gz", "csv"])
def test_the_progress_shows_the_bytes_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, suffix: str
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
def test_csv(expected: list[dict[str, Any]], tmp_path: Path, name: str) -> None:
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


def test_a_json_array(expected: list[dict[str, Any]]) -> None:
    assert json.loads(run("events", DAY, "-f", "json").stdout) == expected


def test_an_empty_day_in_every_form() -> None:
    assert run("events", "yesterday").stdout == ""
    assert run("events", "yesterday", "-f", "json").stdout == "[]\n"
    assert run("events", "yesterday", "-f", "csv").stdout.startswith("event_id,event_time,")
    assert run("events", "yesterday", "-f", "table").exit_code == 0


def test_columns(expected: list[dict[str, Any]]) -> None:
    words = ["events", DAY, "--columns", "revenue, event_id"]
    lines = run(*words).stdout.splitlines()
    assert lines[0] == json.dumps(
        {"revenue": expected[0]["revenue"], "event_id": expected[0]["event_id"]},
        separators=(",", ":"),
    )
    assert len(lines) == len(expected)
    words = ["events", DAY, "--columns", "revenue", "--columns", "event_id", "-f", "csv"]
    assert run(*words).stdout_bytes.startswith(b"revenue,event_id\r\n0.0")


def test_limit_asks_for_no_more_than_it_needs(expected: list[dict[str, Any]]) -> None:
    result = run("-v", "events", DAY, "--limit", "3")
    assert [json.loads(line) for line in result.stdout.splitlines()] == expected[:3]
    asked = [line for line in result.stderr.splitlines() if line.startswith("GET")]
    assert len(asked) == 1
    assert "per_page=3" in asked[0]


@pytest.mark.parametrize("words", [("-f", "table"), ("--limit", "5")], ids=" ".join)
def test_a_look_at_the_first_events_is_one_request(
    service: LocalServer, expected: list[dict[str, Any]], words: tuple[str, ...]
) -> None:
    """The days before have no events: by the hour, they alone would cost 336 requests."""
    service.journal.clear()
    shown = run("events", "2026-01-01", "2026-01-16", *words).stdout
    assert all(each["event_time"] in shown for each in expected[:5])
    assert len(service.journal.entries()) == 1


def test_an_empty_month_is_one_page(service: LocalServer) -> None:
    """And its count, and the days that have data."""
    service.journal.clear()
    assert run("events", "2025-12").stdout == ""
    asked = [(entry.operation, entry.query) for entry in service.journal.entries()]
    assert [operation for operation, _ in asked] == ["events", "events", "dates"]
    assert [dict(query).get("per_page") for _, query in asked] == ["10000", "1", None]


@pytest.mark.parametrize(("split", "requests"), [("hourly", 48), ("daily", 2), ("none", 1)])
def test_split(split: str, requests: int) -> None:
    result = run("-v", "events", DAY, "2026-01-16", "--split", split)
    assert len(result.stdout.splitlines()) == 4_000
    count = 1
    assert result.stderr.count("GET ") == requests + count


@pytest.mark.usefixtures("noon")
def test_today_is_asked_for_the_hours_that_have_begun(service: LocalServer) -> None:
    """It is noon. No event came, so the days that have data are looked up, too."""
    service.journal.clear()
    run("events", "yesterday", "today", "--split", "hourly")
    asked = [dict(entry.query) for entry in service.journal.entries()]
    hours = [int(each["hour"]) for each in asked if each.get("start_date") == "2026-01-20"]
    count, dates = 1, 1
    assert (sorted(hours), len(asked)) == ([*range(13)], 24 + 13 + count + dates)


def test_one_hour(expected: list[dict[str, Any]]) -> None:
    result = run("events", DAY, "--hour", "20")
    assert [json.loads(line) for line in result.stdout.splitlines()] == [
        each for each in expected if each["event_hour"] == 20
    ]


def test_pages(expected: list[dict[str, Any]]) -> None:
    result = run("-v", "events", DAY, "--split", "daily", "--per-page", "300")
    assert [json.loads(line) for line in result.stdout.splitlines()] == expected
    pages, count = 7, 1
    assert result.stderr.count("GET ") == pages + count


def test_a_table_shows_the_first_events_and_says_so(expected: list[dict[str, Any]]) -> None:
    lines = run("events", DAY, "-f", "table").stdout.splitlines()
    shown = lines[0].split()
    others = [name for name in expected[0] if name not in shown and expected[0][name] is not None]
    assert expected[0]["event_time"] in lines[2]
    note = " ".join(lines[2 + 100 :])
    assert note.startswith("The first 100 events. Get all with -f jsonl or -o FILE. Left out: ")
    assert {*others} <= {*note.rstrip(".").replace(",", "").split()}
    few = run("events", DAY, "-f", "table", "--limit", "5", "--columns", "Country,revenue")
    assert [len(few.stdout.splitlines()), few.stdout.split()[:2]] == [7, ["country", "revenue"]]


def test_a_wide_terminal_shows_more_fields_of_an_event(monkeypatch: pytest.MonkeyPatch) -> None:
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
    expected: list[dict[str, Any]], tmp_path: Path, form: str
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


def test_csv_to_a_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A file needs no scratch folder, which a kill would leave behind.
    monkeypatch.setattr("tempfile.mkdtemp", None)
    target = folder / "january.csv"
    result = run("export", "2026-01", "-o", str(target))
    assert (result.exit_code, result.stdout) == (0, "")
    days = "2026-01-01 to 2026-01-20"
    counted = "4,000 events, as the service counts them, of"
    # The file begins after the first day, so the service is asked which days have data.
    line = rf"{counted} {days}, [\d.]+ MB, 4 requests, [\d.]+ s -> {target}\n"
    assert re.fullmatch(line, result.stderr)
    with target.open(newline="") as text:
        rows = list(csv.DictReader(text))
    assert len(rows) == len({row["event_id"] for row in rows}) == 4_000
    assert [each.name for each in folder.iterdir()] == ["january.csv"]


@pytest.mark.parametrize("names", [["a.csv", "b.csv"], ["a.csv"]], ids=["several", "one"])
def test_a_folder_gets_all_files_of_an_export(
    httpserver: HTTPServer, folder: Path, names: list[str]
) -> None:
    api = "/api/partners/acme/ad-analytics"
    urls = [httpserver.url_for(name) for name in names]
    httpserver.expect_request(f"{api}/bulk-export").respond_with_json({"download_url": urls})
    total = {"data": [], "meta": {"total": len(names), "page": 1, "per_page": 1}}
    httpserver.expect_request(f"{api}/events").respond_with_json(total)
    for name in names:
        csv_file = "event_id,country\n1,DE\n"
        httpserver.expect_request(f"/{name}").respond_with_data(csv_file, content_type="text/csv")
    words = ("--base-url", httpserver.url_for(""), "export", "2026-01-15", "-o")
    if len(names) > 1:
        refused = run(*words, str(folder / "day.csv"))
        assert (refused.exit_code, refused.stdout) == (2, "")
        assert "The export has 2 files.\nName a folder that exists." in refused.stderr
    result = run(*words, str(folder))
    assert (result.exit_code, result.stdout) == (0, "")
    count = "2 events in 2 files" if len(names) > 1 else "1 event"
    assert result.stderr.startswith(f"{count}, as the service counts them, of 2026-01-15, ")
    assert result.stderr.endswith(f" -> {folder}\n")
    assert sorted(path.name for path in folder.iterdir()) == names
    shown = json.loads(run(*words, str(folder), "--json").stdout)
    assert (shown["file"], shown["events"], shown["bytes"]) == (str(folder), len(names), None)


def test_the_result_as_json(folder: Path) -> None:
    target = folder / "day.csv"
    shown = json.loads(run("export", "2026-01-15", "--json", "-o", str(target)).stdout)
    seconds, requests = shown.pop("seconds"), shown.pop("requests")
    assert (seconds > 0, requests) == (True, 3)
    assert shown == {
        "file": str(target),
        "start": "2026-01-15",
        "end": "2026-01-15",
        "format": "csv",
        "compression": None,
        "events": 2_000,
        "bytes": target.stat().st_size,
    }


@pytest.mark.parametrize("name", ["day.jsonl.gz", "day.JSONL.GZ"])
def test_the_suffix_gives_format_and_compression(tmp_path: Path, name: str) -> None:
    target = tmp_path / name
    assert run("export", "2026-01-15", "-o", str(target)).exit_code == 0
    lines = gzip.decompress(target.read_bytes()).splitlines()
    assert lines == run("events", "2026-01-15").stdout_bytes.splitlines()


def test_stdout() -> None:
    result = run("export", "2026-01-15", "--format", "jsonl")
    assert result.stdout == run("events", "2026-01-15").stdout


def test_a_terminal_is_asked_for_a_file(
    service: LocalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = SimpleNamespace(stdout=SimpleNamespace(isatty=lambda: True))
    monkeypatch.setattr(formats, "sys", terminal)
    service.journal.clear()
    refused = run("export", "2026-01-15")
    assert (refused.exit_code, "Name a file with -o FILE." in refused.stderr) == (2, True)
    assert not service.journal.entries()
    assert run("export", "2026-01-15", "--no-wait").exit_code == 0


OTHER_FORMATS = [form for form in FORMATS.values() if form.name not in EXPORT_FORMATS]


@pytest.mark.parametrize("suffix", [suffix for form in OTHER_FORMATS for suffix in form.suffixes])
def test_the_suffix_of_another_output(tmp_path: Path, suffix: str) -> None:
    result = run("export", "2026-01", "-o", str(tmp_path / f"january.{suffix}"))
    assert result.exit_code == 2
    assert ".csv, .jsonl or .parquet" in result.stderr


def test_parquet(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="the server writes parquet only with pyarrow")
    target = tmp_path / "january.parquet"
    assert run("export", "2026-01", "-o", str(target)).exit_code == 0
    assert target.read_bytes()[:4] == target.read_bytes()[-4:] == b"PAR1"


@pytest.fixture
def slow_exports() -> Iterator[LocalServer]:
    """A server that does no export within its request."""
    with LocalServer(sample=Sample(events_per_day=50), export_inline_max=0) as running:
        yield running


@pytest.fixture
def slow(slow_exports: LocalServer, monkeypatch: pytest.MonkeyPatch) -> LocalServer:
    """The same, with the environment set up to use it."""
    monkeypatch.setenv("ADANALYTICS_BASE_URL", slow_exports.url)
    monkeypatch.setenv("ADANALYTICS_API_KEY", slow_exports.api_key)
    monkeypatch.setenv("ADANALYTICS_PARTNER", slow_exports.partner)
    return slow_exports


def test_an_export_that_takes_its_time(slow: LocalServer) -> None:
    result = run("-v", "export", "2026-01-15", "--format", "jsonl")
    assert result.exit_code == 0
    assert "bulk-export: 202" in result.stderr
    ids = {json.loads(line)["event_id"] for line in result.stdout.splitlines()}
    assert len(ids) == 50


@pytest.fixture
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits before repeats take no time."""
    monkeypatch.setattr(SystemClock, "sleeping", lambda *_: ())


def test_an_export_started_now_and_fetched_later(slow: LocalServer, tmp_path: Path) -> None:
    job, target = tmp_path / "day.job", tmp_path / "day.jsonl.gz"
    words = ("-v", "export", "2026-01-15", "-f", "jsonl", "--compression", "gzip")
    started = run(*words, "--no-wait", "--job", str(job))
    assert (started.exit_code, started.stdout) == (0, "")
    again = started.stderr.splitlines()[-1].partition("adanalytics ")[2]
    assert again == f"export --job {job} -o events.jsonl.gz"
    assert (job.stat().st_mode & 0o777, target.exists()) == (0o600, False)
    assert slow.api_key not in job.read_text()
    slow.journal.clear()
    fetched = run("export", "--job", str(job), "-o", str(target))
    assert fetched.exit_code == 0
    assert ", as the service counts them, of 2026-01-15, " in fetched.stderr
    assert len(gzip.decompress(target.read_bytes()).splitlines()) == 50
    assert "start_export" not in operations(slow)


def test_ctrl_c_says_how_to_go_on_with_an_export_that_is_kept(
    slow: LocalServer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> float:
        raise KeyboardInterrupt

    slow.faults.add("stuck export once on start_export")
    monkeypatch.chdir(folder)
    with monkeypatch.context() as patched:
        patched.setattr(SystemClock, "sleeping", interrupt)
        alone = run("export", "2026-01-15", "-o", "day.csv")
        assert (alone.exit_code, alone.stderr) == (130, "Interrupted.\n")
        kept = run("--partner", "acme", "export", "2026-01-15", "-o", "day.csv", "--job", "a job")
    command = "adanalytics --partner acme export --job 'a job' -o day.csv"
    assert kept.exit_code == 130
    assert kept.stderr == f"Error: Interrupted. The export continues.\nFetch it with: {command}\n"
    slow.faults.clear()


def test_without_a_file_the_job_goes_to_stdout(
    slow: LocalServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = run("export", "2026-01-15", "--no-wait")
    assert json.loads(started.stdout)["order"]["start_date"] == "2026-01-15"
    (tmp_path / "x.job").write_text(started.stdout)
    # To fetch it, the folder of the job needs no new files.
    monkeypatch.setattr("os.access", lambda path, _mode: Path(path) != tmp_path)
    assert run("export", "--job", str(tmp_path / "x.job")).stdout.startswith("event_id,")


def test_a_started_export_is_told_without_its_addresses(slow: LocalServer, tmp_path: Path) -> None:
    job = tmp_path / "day.job"
    words = ("export", "2026-01-15", "--no-wait", "--job", str(job))
    told = json.loads(run("-q", *words, "--json", "-f", "csv").stdout)
    assert type(told.pop("seconds")) is float
    assert told == {
        "job": str(job),
        "start": "2026-01-15",
        "end": "2026-01-15",
        "format": "csv",
        "compression": None,
        "status": "working",
        "requests": 1,
    }


def test_an_export_is_kept_before_it_is_waited_for(slow: LocalServer, tmp_path: Path) -> None:
    """The same command again goes on; an empty file is one that mktemp made."""
    slow.faults.add("stuck export once on start_export")
    job, target = tmp_path / "day.job", tmp_path / "day.csv"
    job.touch()
    words = ("export", "2026-01-15", "-o", str(target), "--job", str(job), "--deadline", "0.01")
    for _ in range(2):
        late = run(*words)
        assert late.exit_code == 5
        assert "fetch it later with --job FILE" in late.stderr
    assert operations(slow).count("start_export") == 1
    assert not target.exists()


def test_a_job_is_kept_in_a_file_and_nothing_else(slow: LocalServer, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    result = run("export", "2026-01-15", "--no-wait", "--job", str(pipe))
    assert result.exit_code == 2
    assert "is not a file" in result.stderr
    assert pipe.is_fifo()


def test_a_job_is_kept_under_the_longest_name_that_there_can_be(
    slow: LocalServer, tmp_path: Path
) -> None:
    kept = tmp_path / ("ü" * 125 + ".json")
    assert len(kept.name.encode()) == 255
    assert run("export", "2026-01-15", "--no-wait", "--job", str(kept)).exit_code == 0
    assert [each for each in tmp_path.iterdir() if each.is_file()] == [kept]


def test_a_download_that_breaks_off_is_part_done_and_goes_on(
    service: LocalServer, tmp_path: Path, no_pauses: None
) -> None:
    target = tmp_path / "day.csv"
    service.faults.add("truncated body on download")
    try:
        broken = run("export", "2026-01-15", "-o", str(target))
    finally:
        service.faults.clear()
    assert broken.exit_code == 3
    assert "Run the same command again to fetch the rest." in broken.stderr
    assert not target.exists()
    service.journal.clear()
    assert run("export", "2026-01-15", "-o", str(target)).exit_code == 0
    assert [(each.operation, each.status) for each in service.journal.entries()] == [
        ("start_export", 200),
        ("download", 206),
        ("events", 200),
    ]


def test_a_damaged_file_is_not_kept(service: LocalServer, folder: Path, no_pauses: None) -> None:
    target = folder / "day.csv"
    service.faults.add("bad json on download")
    try:
        broken = run("export", "2026-01-15", "-o", str(target))
    finally:
        service.faults.clear()
    assert broken.exit_code == 7
    assert list(folder.iterdir()) == []
