"""What users' own tests get: a client on a server of its own, and fixtures for pytest."""

import asyncio
import os
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from adanalytics_client import AsyncClient, Client, ConfigurationError, QuotaPolicy, errors
from adanalytics_client.testing import MovableClock, reference_client

NOON = datetime(2026, 1, 20, 12, tzinfo=UTC)
DAY = "2026-01-15"


def test_faults_and_waits_pass_at_once_on_a_clock_of_ones_own() -> None:
    """An hour's quota is used up twice, and a 503 strikes once in each hour."""
    clock = MovableClock(NOON)
    with reference_client(
        seed=7, events_per_day=240, limit=20, faults=["503 once per hour"], clock=clock
    ) as client:
        assert len(list(client.events(DAY, split="hourly"))) == 240
        assert len(list(client.events(DAY, split="hourly"))) == 240
    assert clock.now > NOON.replace(hour=14)


def test_the_clock_is_that_of_the_server_too() -> None:
    clock = MovableClock(NOON)
    with reference_client(events_per_day=10, limit=2, clock=clock) as client:
        client.dates()
        client.dates()
        assert client.quota.resumes_at is not None
        assert client.quota.resumes_at == NOON.replace(hour=13)
        clock.advance(3600)
        client.dates()
    assert clock.now == NOON.replace(hour=13)


def test_one_request_after_the_other_waits_exactly() -> None:
    """Twenty-four requests, ten an hour."""
    clock = MovableClock(NOON)
    with reference_client(events_per_day=48, limit=10, clock=clock) as client:
        assert len(list(client.events(DAY, concurrency=1))) == 48
    assert clock.now == NOON.replace(hour=14)


def test_concurrent_requests_wait_just_as_exactly() -> None:
    """A wait moves the clock to its end, and never while a request is in flight."""
    clock, ends = MovableClock(NOON), []
    with reference_client(events_per_day=48, limit=10, clock=clock) as client:
        for _ in range(20):
            begun = clock.now
            assert len(list(client.events(DAY))) == 48
            ends.append(clock.now - begun)
            clock.advance(3600)
    assert ends == [timedelta(hours=2)] * 20


def test_a_wait_moves_the_clock_to_no_earlier_time_than_it_says() -> None:
    """The server counts in milliseconds; a shorter wait must end, too."""
    clock = MovableClock(NOON)
    for seconds in (0.4372, 0.0002):
        list(clock.sleeping(clock.monotonic() + seconds))
    assert clock.now == NOON.replace(microsecond=439_000)


def test_the_earliest_of_several_waits_ends_first() -> None:
    clock = MovableClock(NOON)
    clock.running(2)
    late, early = (clock.sleeping(clock.monotonic() + seconds) for seconds in (60, 20))
    next(late)
    next(early)
    assert list(early) == []
    assert clock.now == NOON.replace(second=20)
    clock.running(-1)
    list(late)
    assert clock.now == NOON.replace(minute=1)


def test_no_wait_moves_the_clock_while_an_operation_runs() -> None:
    clock = MovableClock(NOON)
    clock.running(2)
    wait = clock.sleeping(clock.monotonic() + 60)
    for _ in range(3):
        next(wait)
    assert clock.now == NOON
    clock.running(-1)
    list(wait)
    assert clock.now == NOON.replace(minute=1)


def test_the_same_with_tasks_and_another_dialect() -> None:
    async def count() -> int:
        async with reference_client(
            events_per_day=50, dialect="bare", faults=["reset once on events"], clock=MovableClock()
        ) as client:
            assert isinstance(client, AsyncClient)
            return len([each async for each in client.events(DAY, split="none")])

    assert asyncio.run(count()) == 50


def test_client_and_server_read_one_file(tmp_path: Path) -> None:
    path = tmp_path / "service.toml"
    path.write_text("rows_key = 'report.stuff'\nzone = '-05:00'\n")
    with reference_client(events_per_day=50, service=path) as client:
        assert client.dates() == [date(2026, 1, 14), date(2026, 1, 15)]
        assert len(list(client.events("2026-01-14", DAY))) == 50


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"faults": ["rain"]}, "rain"),
        ({"dialect": "latin"}, "latin"),
        ({"service": "latin.toml"}, "There is no service file 'latin.toml'.* counters"),
        ({"faults": "503 once"}, "faults='503 once' is not valid. Pass a list"),
        ({"days": -1}, "days=-1 is not valid. Pass a whole number, at least 0"),
        ({"limit": None}, "limit=None is not valid. Pass a whole number, at least 1"),
        ({"start": "9999-12-31", "days": 2}, "days=2 from 9999-12-31 go beyond"),
        ({"events_per_day": 0}, "events_per_day=0 is not"),
        ({"start": "yesterday"}, "start='yesterday' is not a day"),
        ({"partner": "a/b"}, r"partner: Invalid partner id 'a/b'.*control characters\.$"),
        ({"limit": 0}, "limit=0 is not"),
    ],
)
def test_what_cannot_be_is_told(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(errors.ConfigurationError, match=message):
        reference_client(**wrong).__enter__()


def test_the_first_day_may_be_text() -> None:
    with reference_client(start="2026-02-01", events_per_day=10) as client:
        assert client.dates() == [date(2026, 2, 1)]


@pytest.mark.parametrize("wrong", ["2026-01-20", 5, datetime(2026, 1, 20)])  # noqa: DTZ001  # wrong
def test_a_clock_without_a_zone_is_refused(wrong: Any) -> None:
    """A naive time would begin at another moment on each machine."""
    with pytest.raises(errors.ConfigurationError, match="Pass a datetime with a time zone"):
        MovableClock(wrong)


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
