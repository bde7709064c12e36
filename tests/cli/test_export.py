"""`export` against a real server."""

import csv
import gzip
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import Result

from adanalytics_server.local import LocalServer, Sample

Run = Callable[..., Result]


def test_csv_to_a_file(run: Run, service: LocalServer, tmp_path: Path) -> None:
    target = tmp_path / "january.csv"
    result = run("export", "2026-01", "-o", str(target))
    assert (result.exit_code, result.stdout, result.stderr) == (0, "", "")
    with target.open(newline="") as text:
        rows = list(csv.DictReader(text))
    assert len(rows) == len({row["event_id"] for row in rows}) == 4_000
    assert [each.name for each in tmp_path.iterdir()] == ["january.csv"]


def test_the_suffix_gives_format_and_compression(
    run: Run, service: LocalServer, tmp_path: Path
) -> None:
    target = tmp_path / "day.jsonl.gz"
    assert run("export", "2026-01-15", "-o", str(target)).exit_code == 0
    lines = gzip.decompress(target.read_bytes()).splitlines()
    assert lines == run("events", "2026-01-15").stdout_bytes.splitlines()


def test_stdout(run: Run, service: LocalServer) -> None:
    result = run("export", "2026-01-15", "--format", "jsonl")
    assert result.stdout == run("events", "2026-01-15").stdout


def test_an_unknown_suffix(run: Run, service: LocalServer, tmp_path: Path) -> None:
    result = run("export", "2026-01", "-o", str(tmp_path / "january.xlsx"))
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


def test_an_export_that_takes_its_time(
    run: Run, slow_exports: LocalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = {
        "ADANALYTICS_BASE_URL": slow_exports.url,
        "ADANALYTICS_API_KEY": slow_exports.api_key,
        "ADANALYTICS_PARTNER": slow_exports.partner,
    }
    result = run("-v", "export", "2026-01-15", "--format", "jsonl", env=env)
    assert result.exit_code == 0
    assert "bulk-export: 202" in result.stderr
    ids = {json.loads(line)["event_id"] for line in result.stdout.splitlines()}
    assert len(ids) == 50
