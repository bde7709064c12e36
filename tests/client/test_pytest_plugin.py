"""The fixtures for pytest, as a project of other people uses them."""

import os
from pathlib import Path
from typing import Any

import pytest

from adanalytics_client import Client, ConfigurationError, QuotaPolicy

pytest_plugins = ["pytester"]

DEFAULTS = {"ADANALYTICS_QUOTA_LOG", "ADANALYTICS_ON_LIMIT"}

SUITE = """
import asyncio

import pytest

from adanalytics_server.local import LocalServer, Sample


@pytest.fixture(scope="session")
def adanalytics_shared():
    with LocalServer(sample=Sample(events_per_day=1), rate_limit=5) as server:
        yield server


@pytest.mark.parametrize("number", range(6))
def test_each_test_has_a_quota_of_its_own(adanalytics_sync_client, number):
    assert len(adanalytics_sync_client.dates()) == 1
    assert adanalytics_sync_client.quota.remaining == 4


def test_a_wait_for_quota_moves_the_clock_of_both(adanalytics, adanalytics_sync_client):
    before = adanalytics.clock.now
    for _ in range(11):
        adanalytics_sync_client.dates()
    assert (adanalytics.clock.now - before).total_seconds() == 7200
    assert [entry.status for entry in adanalytics.journal.entries()] == [200] * 11


def test_both_clients_share_the_clock(adanalytics_sync_client, adanalytics_async_client):
    async def pull():
        async with adanalytics_async_client as client:
            return [len(await client.dates()) for _ in range(6)]

    assert asyncio.run(pull()) == [1] * 6
    assert adanalytics_sync_client.quota.remaining == 5
    assert len(adanalytics_sync_client.dates()) == 1


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


MOCKED = """
import os

import pytest

from adanalytics_client import Client, QuotaExceeded


def test_a_client_with_its_defaults(respx_mock):
    respx_mock.get(path__regex=".*").respond(json={"dates": []})
    with Client("https://stats.example", api_key="k", partner="acme") as client:
        for _ in range(1000):
            client.dates()
        with pytest.raises(QuotaExceeded):
            client.dates()
    assert respx_mock.calls.call_count == 1000


def test_no_variable_is_set():
    assert not {"ADANALYTICS_QUOTA_LOG", "ADANALYTICS_ON_LIMIT"} & os.environ.keys()
"""


def test_a_mocked_client_neither_waits_nor_leaves_its_count(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    for name in DEFAULTS:
        monkeypatch.delenv(name)
    pytester.makepyfile(MOCKED)
    done = pytester.runpytest_inprocess(
        "-p", "respx.plugin", "-p", "adanalytics_client.pytest_plugin"
    )
    done.assert_outcomes(passed=2)
    assert list(Path(os.environ["XDG_STATE_HOME"]).iterdir()) == []
    assert not DEFAULTS & os.environ.keys()


def test_a_test_with_a_fixture_has_the_variables_that_are_not_set(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.delenv("ADANALYTICS_QUOTA_LOG")
    monkeypatch.setenv("ADANALYTICS_ON_LIMIT", "wait")
    pytester.makepyfile(
        "import os\n"
        "NAMES = ('ADANALYTICS_QUOTA_LOG', 'ADANALYTICS_ON_LIMIT')\n"
        "def test_before():\n"
        "    assert list(map(os.environ.get, NAMES)) == [None, 'wait']\n"
        "def test_with_a_fixture(adanalytics_sample):\n"
        "    assert list(map(os.environ.get, NAMES)) == ['memory', 'wait']\n"
        "def test_after():\n"
        "    assert list(map(os.environ.get, NAMES)) == [None, 'wait']\n"
        "def test_that_asks_for_a_fixture_by_its_name(request):\n"
        "    request.getfixturevalue('adanalytics_sync_client')\n"
        "    assert list(map(os.environ.get, NAMES)) == ['memory', 'wait']\n"
        "def test_after_that():\n"
        "    assert list(map(os.environ.get, NAMES)) == [None, 'wait']\n"
    )
    ours = ("-p", "adanalytics_server.pytest_plugin", "-p", "adanalytics_client.pytest_plugin")
    pytester.runpytest_inprocess(*ours).assert_outcomes(passed=5)


@pytest.mark.parametrize("name", sorted(DEFAULTS))
def test_a_wrong_variable_is_an_error_that_names_it(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "maybe")
    options: dict[str, Any] = {"api_key": "k", "partner": "acme"}
    with pytest.raises(ConfigurationError, match=f"{name}='maybe' is not valid. Set it to"):
        Client("https://stats.example", **options)
    Client(
        "https://stats.example", **options, quota=QuotaPolicy(on_limit="raise", log="memory")
    ).close()
