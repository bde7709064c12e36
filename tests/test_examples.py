"""Each example runs as a program of its own against a real server."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from adanalytics_server.local import LocalServer, Sample

EXAMPLES = Path(__file__).parent.parent / "examples"
ARGUMENTS = {
    "pull_a_day.py": (["2026-01-15", "day.jsonl"], "300 events in day.jsonl; 976 requests left"),
    "reconcile.py": (["2026-01-15"], "2026-01-15: events and summary agree"),
    "hours_of_a_week_async.py": ([], "\n23  "),
}


@pytest.fixture(scope="module")
def server() -> Iterator[LocalServer]:
    with LocalServer(sample=Sample(days=2, events_per_day=300, seed=3)) as running:
        yield running


def test_every_example_is_run_here() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(ARGUMENTS)


@pytest.mark.parametrize("name", ARGUMENTS)
def test_an_example_does_what_it_says(name: str, server: LocalServer, tmp_path: Path) -> None:
    arguments, expected = ARGUMENTS[name]
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name), *arguments],
        env={
            **os.environ,
            "ADANALYTICS_BASE_URL": server.url,
            "ADANALYTICS_API_KEY": server.api_key,
            "ADANALYTICS_PARTNER": server.partner,
        },
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert expected in done.stdout
