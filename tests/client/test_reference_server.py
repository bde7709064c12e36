"""The normal paths against the real reference server, in both variants."""

import os
import signal
import subprocess
import sys
import time
from decimal import Decimal
from pathlib import Path

import pytest
from tests.client.variants import Variant

from adanalytics_client import Client, QuotaPolicy, errors
from adanalytics_server.local import LocalServer

FIRST, LAST = "2026-01-15", "2026-01-16"


def test_a_summary_is_the_arithmetic_over_its_events(reference_variant: Variant) -> None:
    events = [each for each in reference_variant.events(FIRST, LAST) if not each.is_filtered]
    total = reference_variant.call("summary", FIRST, LAST).rows[0]
    assert total.revenue == sum((each.revenue for each in events), Decimal(0))
    assert total.impressions == sum(each.event_type == "impression" for each in events)
    assert str(total.ecpm) == f"{total.revenue * 1000 / total.impressions:.6f}"
    grouped = reference_variant.call("summary", FIRST, LAST, group_by="campaign")
    assert grouped.totals == total
    assert sum(row.clicks for row in grouped.rows) == total.clicks
    assert grouped.currency == "USD"


def test_a_csv_of_events_is_the_bulk_export_byte_for_byte(
    reference_variant: Variant, tmp_path: Path
) -> None:
    query = reference_variant.client.events(FIRST, LAST)
    assert reference_variant.on(query, "write", tmp_path / "events.csv") == 3000
    reference_variant.call("export", FIRST, LAST, to=tmp_path / "export.csv", timeout=60)
    assert (tmp_path / "events.csv").read_bytes() == (tmp_path / "export.csv").read_bytes()


def test_a_model_gives_back_what_was_sent(reference_variant: Variant) -> None:
    rows = reference_variant.rows(FIRST, hour=12)
    events = reference_variant.events(FIRST, hour=12)
    assert [event.model_dump(mode="json") for event in events] == rows
    assert len(rows) > 0


def test_a_login_works_like_a_key(reference: LocalServer) -> None:
    with Client(
        reference.url, email=reference.email, password=reference.password, partner="acme"
    ) as client:
        assert len(client.dates()) == 2
    with (
        Client(reference.url, email=reference.email, password="wrong", partner="acme") as client,
        pytest.raises(errors.AuthenticationError),
    ):
        client.dates()


def test_errors_of_the_real_server(reference: LocalServer) -> None:
    with (
        Client(reference.url, api_key="aak_wrong", partner="acme") as client,
        pytest.raises(errors.AuthenticationError, match="Unauthorized") as caught,
    ):
        client.dates()
    assert caught.value.request_id
    with (
        Client(reference.url, api_key=reference.api_key, partner="nobody") as client,
        pytest.raises(errors.NotFound),
    ):
        client.dates()


def test_the_quota_follows_the_server() -> None:
    with (
        LocalServer(dialect="rate-headers") as server,
        Client(
            server.url, api_key=server.api_key, partner="acme", quota=QuotaPolicy(limit=9000)
        ) as client,
    ):
        client.dates()
        first = client.quota.remaining
        client.dates()
        assert first is not None
        assert first < 5000
        assert client.quota.remaining == first - 1


ENDLESS = """
import time

def test_endless(tmp_path):
    from adanalytics_server.local import LocalServer

    with LocalServer():
        open("ready", "w").close()
        time.sleep(60)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_run_of_tests_that_is_ended_leaves_no_server(tmp_path: Path, number: int) -> None:
    (tmp_path / "test_endless.py").write_text(ENDLESS)
    command = [sys.executable, "-m", "pytest", "-p", "tests.conftest", "--rootdir=.", "-c/dev/null"]
    environment = os.environ | {
        "TMPDIR": str(tmp_path),
        "PYTHONPATH": os.pathsep.join(sys.path),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # schemathesis alone takes a second
    }
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL
    ) as running:
        try:
            while not (tmp_path / "ready").exists():
                assert running.poll() is None
                time.sleep(0.1)
            assert [*tmp_path.glob("adanalytics-*")]
            running.send_signal(number)
            assert running.wait(timeout=60) == pytest.ExitCode.INTERRUPTED
        finally:
            running.kill()
    assert [*tmp_path.glob("adanalytics-*")] == []
