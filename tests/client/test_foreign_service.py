"""Both clients pull everything from a service that nobody here has designed the client for."""

import csv
import gzip
import json
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from tests.client.variants import OpenVariant

from adanalytics_client import QuotaPolicy, RetryPolicy, errors

SCRIPT = Path(__file__).parent / "foreign_service.py"
DAYS = ("2026-01-31", "2026-02-01")
CREDENTIALS: list[dict[str, Any]] = [
    {"api_key": "foreign-key-1"},
    {"email": "a@b.example", "password": "pass-word-1"},
]
# Which of its requests the service refuses is a matter of their order.
PATIENT = RetryPolicy(attempts=12)


@pytest.fixture
def foreign() -> Iterator[str]:
    """Its address; a fresh process each time, since what it does depends on what it was asked."""
    with subprocess.Popen([sys.executable, str(SCRIPT)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())["url"]
        process.kill()


@pytest.fixture
def truth(foreign: str) -> list[dict[str, Any]]:
    with urllib.request.urlopen(foreign.replace("/prefix/", "/truth"), timeout=20) as answer:
        rows: list[dict[str, Any]] = json.load(answer, parse_float=Decimal)
    return rows


@pytest.mark.parametrize("credential", CREDENTIALS, ids=["key", "login"])
def test_everything_is_pulled_to_the_last_digit(
    open_variant: OpenVariant,
    foreign: str,
    truth: list[dict[str, Any]],
    tmp_path: Path,
    credential: dict[str, Any],
) -> None:
    variant = open_variant(foreign, retry=PATIENT, quota=QuotaPolicy(log="memory"), **credential)
    assert [str(day) for day in variant.call("dates")] == list(DAYS)
    for split in ("none", "daily", "hourly"):
        assert variant.rows(*DAYS, split=split) == truth
    query = variant.client.events(*DAYS)
    assert variant.on(query, "write", tmp_path / "all.jsonl") == len(truth)
    lines = (tmp_path / "all.jsonl").read_text().splitlines()
    assert [json.loads(line, parse_float=Decimal) for line in lines] == truth

    total = sum(row["revenue"] for row in truth)
    summary = variant.call("summary", *DAYS)
    assert (summary.rows[0].revenue, summary.rows[0]["loudness"]) == (total, 11)

    variant.call("export", *DAYS, to=tmp_path / "all.csv.gz")
    with gzip.open(tmp_path / "all.csv.gz", "rt", newline="") as text:
        rows = list(csv.DictReader(text))
    assert [row["eventId"] for row in rows] == [row["eventId"] for row in truth]
    assert sum(Decimal(row["revenue"]) for row in rows) == total


@pytest.mark.parametrize(
    "credential", [{"api_key": "wrong-key"}, {"email": "a@b.example", "password": "wrong-word"}]
)
def test_a_wrong_credential_is_refused_and_not_tried_forever(
    open_variant: OpenVariant, foreign: str, credential: dict[str, Any]
) -> None:
    variant = open_variant(foreign, retry=PATIENT, quota=QuotaPolicy(log="memory"), **credential)
    with pytest.raises(errors.AuthenticationError, match="Unauthorized"):
        variant.call("dates")
