"""The pytest plugins, used as other people's projects use it: in a pytest process of its own."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest
from tests.programs import run_program

from adanalytics_server.local import LocalServer, event
from adanalytics_server.pytest_plugin import pytest_configure_node

ROOT = Path(__file__).parents[2]
DATES = "/api/partners/acme/ad-analytics/dates"

SUITE = """
import asyncio

import httpx
import pytest

from adanalytics_server.local import event


@pytest.fixture(scope="session")
def adanalytics_sample():
    return None


@pytest.fixture(scope="session")
def adanalytics_own_data():
    def add(server):
        server.add_partner("south")
        server.add_events([event(event_time="2026-03-01T10:00:00Z")])
        server.add_events([event(event_time="2026-03-02T10:00:00Z")])
    return add


@pytest.mark.parametrize("number", range(4))
def test_alone(adanalytics, number, record_property):
    assert adanalytics.journal.entries() == []
    url = adanalytics.url + "/api/partners/acme/ad-analytics/dates"
    headers = {"Authorization": f"Bearer {adanalytics.api_key}"}
    assert httpx.get(url, headers=headers).json() == {"dates": ["2026-03-01", "2026-03-02"]}
    adanalytics.faults.add("503")
    assert httpx.get(url, headers=headers).status_code == 503
    record_property("url", adanalytics.url)


@pytest.mark.parametrize("number", range(2))
def test_own_data_are_there_again(adanalytics, adanalytics_sync_client, number):
    assert len(adanalytics_sync_client.dates()) == 2
    adanalytics.add_events([event(event_time="2026-03-03T10:00:00Z")])
    adanalytics.clock.advance(86_400)
    assert len(adanalytics_sync_client.dates()) == 3


def test_a_shared_server(adanalytics, adanalytics_shared, adanalytics_async_client):
    assert adanalytics is adanalytics_shared
    assert len(asyncio.run(adanalytics_async_client.dates())) == 2


def test_the_log_is_the_testers_own(adanalytics, adanalytics_sync_client, caplog):
    caplog.set_level("INFO")
    adanalytics_sync_client.dates()
    adanalytics.reset()
    assert {record.name for record in caplog.records} <= {"httpx"}


@pytest.mark.anyio
@pytest.mark.parametrize("anyio_backend", ["asyncio"])
async def test_an_open_client_is_closed(adanalytics_async_client, anyio_backend):
    assert len(await adanalytics_async_client.dates()) == 2
"""


def run(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run pytest in a folder with our plugins, and no other than those of the options."""
    ours = ("-p", "adanalytics", "-p", "adanalytics_client.pytest_plugin", "-p", "no:cacheprovider")
    return run_program(
        [sys.executable, "-m", "pytest", "-q", *ours, *options, "."],
        cwd=folder,
        timeout=120,
        env={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    )


def test_tests_do_not_see_each_other_on_servers_here_and_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "test_suite.py").write_text(SUITE)
    with LocalServer() as elsewhere:
        shared = ("--adanalytics-url", elsewhere.url)
        # What a run that was killed left on the server elsewhere: this one finds nothing of it.
        elsewhere.add_events([event(event_time="2026-03-04T10:00:00Z")])
        elsewhere.keep()
        elsewhere.faults.add("503")
        elsewhere.clock.advance(86_400)
        for options in (("-p", "xdist", "-n", "2", "--junitxml", "report.xml"), shared):
            done = run(tmp_path, "-p", "anyio", "-W", "error", *options)
            assert "9 passed" in done.stdout, done.stdout + done.stderr
    # Each process has its own server.
    urls = re.findall(r'name="url" value="([^"]+)"', (tmp_path / "report.xml").read_text())
    assert (len(urls), len({*urls})) == (4, 2)


def test_processes_that_would_share_a_server_are_refused(tmp_path: Path) -> None:
    (tmp_path / "test_suite.py").write_text("def test_nothing():\n    pass\n")
    # Nothing answers there: the refusal comes before the first request.
    done = run(tmp_path, "-p", "xdist", "--adanalytics-url", "http://127.0.0.1:9", "-n", "2")
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert done.stderr == (
        "ERROR: --adanalytics-url names one server, which 2 processes of pytest-xdist cannot "
        "share. Add -n 0, or leave out the URL: then each process has its own server.\n\n"
    )


@pytest.mark.parametrize(("processes", "url"), [(1, "http://127.0.0.1:9"), (2, None)])
def test_processes_that_share_no_server_are_not(processes: int, url: str | None) -> None:
    config = SimpleNamespace(getoption={"adanalytics_url": url}.__getitem__)
    pytest_configure_node(SimpleNamespace(workerinput={"workercount": processes}, config=config))


def test_who_does_not_use_it_does_not_pay_for_it(tmp_path: Path) -> None:
    (tmp_path / "test_other.py").write_text(
        "import sys\n"
        "def test_nothing_heavy_is_imported():\n"
        "    heavy = {'fastapi', 'uvicorn', 'pydantic', 'httpx', 'msgspec', 'sqlite3'}\n"
        "    assert heavy.isdisjoint(sys.modules)\n"
        "    ours = {name for name in sys.modules if name.startswith('adanalytics')}\n"
        "    assert {name.rpartition('.')[2] for name in ours} == {\n"
        "        'adanalytics_client', 'adanalytics_server', '_version', 'pytest_plugin',\n"
        "        '_base', 'variables'}\n"
    )
    done = run(tmp_path)
    assert "1 passed" in done.stdout, done.stdout + done.stderr


def test_the_entry_points_are_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    points = project["entry-points"]["pytest11"]
    assert points == {
        "adanalytics": "adanalytics_server.pytest_plugin",
        "adanalytics_client": "adanalytics_client.pytest_plugin",
    }


def test_the_fixture_is_a_local_server_with_a_day(adanalytics: LocalServer) -> None:
    assert isinstance(adanalytics, LocalServer)
    headers = {"Authorization": f"Bearer {adanalytics.api_key}"}
    assert httpx.get(adanalytics.url + DATES, headers=headers).json() == {"dates": ["2026-01-15"]}


def test_a_reset_comes_before_the_test_too(
    adanalytics_shared: LocalServer, request: pytest.FixtureRequest
) -> None:
    adanalytics_shared.faults.add("503")
    server: LocalServer = request.getfixturevalue("adanalytics")
    assert server.faults.counts() == []
