"""Requests that nobody thought of, made by schemathesis from the OpenAPI document.

`schemathesis.toml` beside this file sets the budget; all checks are on. It runs as a process
of its own, because its own run of all phases is more than what its pytest part offers.
"""

import os
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest

from adanalytics_server.api.routes import OPERATIONS
from adanalytics_server.local import LocalServer, Sample

HERE = Path(__file__).parent
SCHEMATHESIS = Path(sys.executable).with_name("schemathesis")


def test_no_request_breaks_what_the_document_promises(tmp_path: Path) -> None:
    pytest.importorskip("schemathesis", reason="is in the dependency group 'fuzz'")
    sample = Sample(start=date(2026, 1, 15), days=2, events_per_day=100)
    with LocalServer(sample=sample, rate_limit=0, export_inline_max=150) as server:
        done = subprocess.run(
            [
                SCHEMATHESIS, "--config-file", str(HERE / "schemathesis.toml"),
                "run", f"{server.url}/openapi.json",
            ],
            cwd=tmp_path,
            env={**os.environ, "FUZZ_API_KEY": server.api_key, "PYTHONPATH": str(HERE)},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert f"{len(OPERATIONS)} selected / {len(OPERATIONS)} total" in done.stdout
