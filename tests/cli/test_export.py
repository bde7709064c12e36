"""`export` against a real server."""

import csv
import gzip
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from pytest_httpserver import HTTPServer
from tests.cli.run import Run
from tests.server_answers import operations

from adanalytics_cli.output import formats
from adanalytics_cli.output.formats import FORMATS
from adanalytics_client._base.clock import SystemClock
from adanalytics_client._base.formats import EXPORT_FORMATS
from adanalytics_server.local import LocalServer, Sample


def test_csv_to_a_file(
    run: Run, service: LocalServer, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
    run: Run, service: LocalServer, httpserver: HTTPServer, folder: Path, names: list[str]
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


def test_the_result_as_json(run: Run, service: LocalServer, folder: Path) -> None:
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
def test_the_suffix_gives_format_and_compression(
    run: Run, service: LocalServer, tmp_path: Path, name: str
) -> None:
    target = tmp_path / name
    assert run("export", "2026-01-15", "-o", str(target)).exit_code == 0
    lines = gzip.decompress(target.read_bytes()).splitlines()
    assert lines == run("events", "2026-01-15").stdout_bytes.splitlines()


def test_stdout(run: Run, service: LocalServer) -> None:
    result = run("export", "2026-01-15", "--format", "jsonl")
    assert result.stdout == run("events", "2026-01-15").stdout


def test_a_terminal_is_asked_for_a_file(
    run: Run, service: LocalServer, monkeypatch: pytest.MonkeyPatch
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
def test_the_suffix_of_another_output(
    run: Run, service: LocalServer, tmp_path: Path, suffix: str
) -> None:
    result = run("export", "2026-01", "-o", str(tmp_path / f"january.{suffix}"))
    assert result.exit_code == 2
    assert ".csv, .jsonl or .parquet" in result.stderr


def test_parquet(run: Run, service: LocalServer, tmp_path: Path) -> None:
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


def test_an_export_that_takes_its_time(run: Run, slow: LocalServer) -> None:
    result = run("-v", "export", "2026-01-15", "--format", "jsonl")
    assert result.exit_code == 0
    assert "bulk-export: 202" in result.stderr
    ids = {json.loads(line)["event_id"] for line in result.stdout.splitlines()}
    assert len(ids) == 50


@pytest.fixture
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits before repeats take no time."""
    monkeypatch.setattr(SystemClock, "sleeping", lambda *_: ())


def test_an_export_started_now_and_fetched_later(
    run: Run, slow: LocalServer, tmp_path: Path
) -> None:
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
    run: Run, slow: LocalServer, folder: Path, monkeypatch: pytest.MonkeyPatch
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
    run: Run, slow: LocalServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = run("export", "2026-01-15", "--no-wait")
    assert json.loads(started.stdout)["order"]["start_date"] == "2026-01-15"
    (tmp_path / "x.job").write_text(started.stdout)
    # To fetch it, the folder of the job needs no new files.
    monkeypatch.setattr("os.access", lambda path, _mode: Path(path) != tmp_path)
    assert run("export", "--job", str(tmp_path / "x.job")).stdout.startswith("event_id,")


def test_a_started_export_is_told_without_its_addresses(
    run: Run, slow: LocalServer, tmp_path: Path
) -> None:
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


def test_an_export_is_kept_before_it_is_waited_for(
    run: Run, slow: LocalServer, tmp_path: Path
) -> None:
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


def test_a_job_is_kept_in_a_file_and_nothing_else(
    run: Run, slow: LocalServer, tmp_path: Path
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    result = run("export", "2026-01-15", "--no-wait", "--job", str(pipe))
    assert result.exit_code == 2
    assert "is not a file" in result.stderr
    assert pipe.is_fifo()


def test_a_job_is_kept_under_the_longest_name_that_there_can_be(
    run: Run, slow: LocalServer, tmp_path: Path
) -> None:
    kept = tmp_path / ("ü" * 125 + ".json")
    assert len(kept.name.encode()) == 255
    assert run("export", "2026-01-15", "--no-wait", "--job", str(kept)).exit_code == 0
    assert [each for each in tmp_path.iterdir() if each.is_file()] == [kept]


def test_a_download_that_breaks_off_is_part_done_and_goes_on(
    run: Run, service: LocalServer, tmp_path: Path, no_pauses: None
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


def test_a_damaged_file_is_not_kept(
    run: Run, service: LocalServer, folder: Path, no_pauses: None
) -> None:
    target = folder / "day.csv"
    service.faults.add("bad json on download")
    try:
        broken = run("export", "2026-01-15", "-o", str(target))
    finally:
        service.faults.clear()
    assert broken.exit_code == 7
    assert list(folder.iterdir()) == []
