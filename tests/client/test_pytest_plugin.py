"""The fixtures for pytest, as a project of other people uses them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

SUITE = """
import asyncio

import pytest

from adanalytics_server.local import LocalServer, Sample


@pytest.fixture(scope="session")
def adanalytics_server():
    with LocalServer(sample=Sample(events_per_day=1), rate_limit=5) as server:
        yield server


@pytest.mark.parametrize("number", range(6))
def test_each_test_has_a_quota_of_its_own(adanalytics_client, number):
    assert len(adanalytics_client.dates()) == 1
    assert adanalytics_client.quota.remaining == 4


def test_a_wait_for_quota_moves_the_clock_of_both(adanalytics, adanalytics_client):
    before = adanalytics.clock.now()
    for _ in range(11):
        adanalytics_client.dates()
    assert adanalytics.clock.now() - before == 2 * 3_600_000
    assert [entry.status for entry in adanalytics.journal.entries()] == [200] * 11


def test_both_clients_share_the_clock(adanalytics_client, adanalytics_async_client):
    async def pull():
        async with adanalytics_async_client as client:
            return [len(await client.dates()) for _ in range(6)]

    assert asyncio.run(pull()) == [1] * 6
    assert adanalytics_client.quota.remaining == 5
    assert len(adanalytics_client.dates()) == 1


def test_the_clock_goes_on_after_a_test(adanalytics):
    assert not adanalytics.clock.is_frozen
"""


def test_a_suite_never_waits_for_its_quota(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makepyfile(SUITE)
    ours = ("-p", "adanalytics_server.pytest_plugin", "-p", "adanalytics_client.pytest_plugin")
    done = pytester.runpytest_inprocess(*ours, "--assert=plain", "-W", "error")
    done.assert_outcomes(passed=9)
    assert list(Path(os.environ["XDG_STATE_HOME"]).iterdir()) == []
