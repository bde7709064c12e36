"""Each example runs against a real server: a program as one of its own, a notebook in here."""

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from adanalytics_server.local import LocalServer, Sample

EXAMPLES = Path(__file__).parent.parent / "examples"
NOTEBOOK = "two_days.ipynb"
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
    assert {path.name for path in EXAMPLES.glob("[!.]*.*")} == {*ARGUMENTS, NOTEBOOK}


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


def shown_by(code: str, names: dict[str, Any]) -> dict[str, str]:
    """Run a cell and give what a notebook shows of its last line."""
    *lines, last = ast.parse(code).body
    assert isinstance(last, ast.Expr)
    exec(compile(ast.Module(lines, []), NOTEBOOK, "exec"), names)
    value = eval(compile(ast.Expression(last.value), NOTEBOOK, "eval"), names)
    if value is None:
        return {}
    html = {"text/html": value._repr_html_()} if hasattr(value, "_repr_html_") else {}
    return {"text/plain": repr(value), **html}


def test_the_notebook_shows_what_is_stored_in_it() -> None:
    """Its display of progress aside, which appears in a notebook only."""
    names: dict[str, Any] = {}
    for cell in json.loads((EXAMPLES / NOTEBOOK).read_text())["cells"]:
        if cell["cell_type"] == "code":
            results = [each for each in cell["outputs"] if each["output_type"] == "execute_result"]
            stored = {
                name: "".join(text) for each in results for name, text in each["data"].items()
            }
            assert shown_by("".join(cell["source"]), names) == stored
