"""Looking at the version or at help must not pay for what only running a command needs."""

import json
import os
import sys

import pytest
from tests.programs import run_program

from adanalytics_cli.main import COMMANDS
from adanalytics_cli.server.group import server
from adanalytics_server.local import LocalServer

PROBE = """
import json, sys
from adanalytics_cli.__main__ import main
sys.argv = ["adanalytics", *sys.argv[1:]]
try:
    main()
except SystemExit as leaving:
    print(json.dumps({"code": leaving.code, "modules": sorted(sys.modules)}), file=sys.stderr)
"""
HEAVY = {
    "httpx",
    "pydantic",
    "rich",
    "pyarrow",
    "duckdb",
    "keyring",
    "fastapi",
    "uvicorn",
    "msgspec",
    "tomlkit",
}


def modules_after(*words: str) -> set[str]:
    done = run_program(
        [sys.executable, "-c", PROBE, *words], check=True, env={**os.environ, "COLUMNS": "80"}
    )
    told = json.loads(done.stderr.splitlines()[-1])
    assert told["code"] in (0, None)
    assert done.stdout
    return set(told["modules"])


@pytest.mark.parametrize("word", ["-V", "--version", "version"])
def test_version_imports_nothing_but_itself(word: str) -> None:
    loaded = modules_after(word)
    ours = {
        name for name in loaded if name.startswith(("adanalytics_client", "adanalytics_server"))
    }
    assert ours <= {"adanalytics_client", "adanalytics_client._version"}
    assert not HEAVY & loaded
    assert not {"importlib.metadata", "click", "adanalytics_cli.main"} & loaded


@pytest.mark.parametrize(
    "words",
    [
        [],
        *([name] for name in COMMANDS),
        *(["server", name] for name in server.entries),
        ["server", "key", "create"],
    ],
    ids=" ".join,
)
def test_help_imports_nothing_heavy(words: list[str]) -> None:
    assert not HEAVY & modules_after(*words, "--help")


def test_a_pull_into_a_pipe_imports_nothing_that_draws(service: LocalServer) -> None:
    loaded = modules_after("events", "2026-01-15")
    assert "httpx" in loaded
    assert not {"rich.console", "pygments", "pydantic", "pyarrow"} & loaded
