"""The local server and its fixtures for pytest: levers within reach, and nothing left behind."""

import asyncio
import logging
import re
import sqlite3
import subprocess
import sys
import tempfile
import threading
import tomllib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from argon2 import PasswordHasher, extract_parameters
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from starlette.types import Receive, Scope, Send
from tests.programs import run_program

from adanalytics_server.accounts.credentials import hash_password
from adanalytics_server.clock import Clock
from adanalytics_server.control.controls import ControlError
from adanalytics_server.control.data import HASHED, PASSWORD
from adanalytics_server.faults import FaultError
from adanalytics_server.local import LocalServer, LocalServerError, Sample, event
from adanalytics_server.pytest_plugin import pytest_configure_node
from adanalytics_server.serving import running
from adanalytics_server.serving.running import ServerThread

DATES = "/api/partners/acme/ad-analytics/dates"


def get(server: LocalServer) -> httpx.Response:
    key = {"Authorization": f"Bearer {server.api_key}"}
    # On a busy machine, a test may take longer than the 5 s that httpx waits by default.
    return httpx.get(server.url + DATES, headers=key, timeout=20)


def test_the_ready_made_hash_is_of_the_password_and_as_strong_as_others() -> None:
    assert PasswordHasher().verify(HASHED, PASSWORD)
    assert extract_parameters(HASHED) == extract_parameters(hash_password("another"))


def test_without_its_extra_it_says_what_to_install() -> None:
    program = (
        "import sys\n"
        "sys.modules['fastapi'] = None\n"
        "from adanalytics_server.local import LocalServer\n"
    )
    done = run_program([sys.executable, "-c", program])
    assert "fastapi is missing: pip install 'adanalytics[server]'" in done.stderr


def test_it_answers_as_soon_as_it_is_there_and_leaves_no_folder() -> None:
    with LocalServer(sample=Sample(events_per_day=10)) as server:
        assert get(server).json() == {"dates": ["2026-01-15"]}
        folder = server.settings.data
        assert folder.is_dir()
        assert server.api_key not in repr(server)
    assert not folder.exists()
    with pytest.raises(httpx.ConnectError):
        get(server)
    server.close()


def test_it_starts_inside_a_running_event_loop() -> None:
    async def start() -> int:
        with LocalServer() as server:
            return get(server).status_code

    assert asyncio.run(start()) == 200


def test_its_folder_may_be_text(tmp_path: Path) -> None:
    with LocalServer(data=str(tmp_path / "data")) as server:
        assert server.settings.data == tmp_path / "data"
        assert get(server).status_code == 200


TWO_SERVERS = """\
import sys, threading
from pathlib import Path
from adanalytics_server.local import LocalServer, LocalServerError

others = set(threading.enumerate())
with LocalServer(data=Path(sys.argv[1])):
    try:
        with LocalServer(data=Path(sys.argv[1])):
            raise AssertionError("two servers on one folder")
    except LocalServerError as error:
        assert error.__cause__ is not None
        assert "another server is running" in str(error), error
# AnyIO tells its idle workers to stop, and does not wait for their ends.
for thread in set(threading.enumerate()) - others:
    thread.join(20)
assert set(threading.enumerate()) == others, threading.enumerate()
"""


def test_a_start_that_fails_says_why_and_leaves_nothing(tmp_path: Path) -> None:
    # In a process of its own: servers that other tests share start threads at any time.
    program = [sys.executable, "-c", TWO_SERVERS, str(tmp_path)]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_start_that_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    released = threading.Event()

    async def endless(_scope: Scope, _receive: Receive, _send: Send) -> None:
        await asyncio.to_thread(released.wait, 20)
        raise RuntimeError("released")

    monkeypatch.setattr(running, "START_SECONDS", 0.01)
    # Servers that other tests share run for as long as these.
    others = set(threading.enumerate())
    try:
        with pytest.raises(LocalServerError, match=r"did not start within"):
            ServerThread(endless)
    finally:
        released.set()
        for thread in set(threading.enumerate()) - others:
            if thread.name == "adanalytics-server":
                thread.join(20)


def test_the_end_does_not_wait_for_requests_that_a_fault_holds_up() -> None:
    with LocalServer(faults=["latency 3600s"]) as server:
        asking = threading.Thread(target=get, args=[server])
        asking.start()
        while not server.faults.counts()[0].struck:
            assert asking.is_alive()
            asking.join(0.01)
    asking.join(20)
    assert not asking.is_alive()


def test_faults_given_at_the_start_strike_again_after_a_reset() -> None:
    with LocalServer(faults=["503 once"]) as server:
        assert [get(server).status_code for _ in range(2)] == [503, 200]
        server.faults.add("401")
        server.reset()
        assert [get(server).status_code for _ in range(2)] == [503, 200]


def test_each_start_has_a_folder_of_its_own_and_the_given_faults(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    server = LocalServer(faults=["503 once"])
    for _ in range(2):
        assert list(tmp_path.iterdir()) == []
        with server:
            assert [get(server).status_code for _ in range(2)] == [503, 200]
            server.reset()
            assert get(server).status_code == 503
            server.keep()
    assert list(tmp_path.iterdir()) == []


def test_the_journal_is_there_to_assert_on() -> None:
    with LocalServer() as server:
        get(server)
        (entry,) = server.journal.entries()
        assert (entry.operation, entry.status, entry.fault) == ("dates", 200, None)
        server.journal.clear()
        assert server.journal.entries() == []


def test_its_clock_is_the_one_that_was_given(clock: Clock) -> None:
    with LocalServer(clock=clock) as server:
        server.clock.advance(seconds=60)
        server.reset()
        assert server.clock.milliseconds() == clock.milliseconds() == 1_769_904_000_000


def test_controls_need_a_running_server() -> None:
    server = LocalServer()
    with pytest.raises(ControlError, match="not running"):
        server.reset()
    server.close()


def test_a_wrong_fault_is_an_error_at_once() -> None:
    with pytest.raises(FaultError, match="503 onec"):
        LocalServer(faults=["503 onec"])


def test_a_negative_number_is_refused_before_anything_starts() -> None:
    with pytest.raises(ValueError, match="rate_limit=-1: pass a whole number, 0 or more"):
        LocalServer(rate_limit=-1)


def test_the_date_of_an_answer_is_that_of_its_clock(clock: Clock) -> None:
    with LocalServer(clock=clock) as server:
        dates = httpx.get(f"{server.url}/livez").headers.get_list("date")
    assert dates == ["Sun, 01 Feb 2026 00:00:00 GMT"]


@pytest.fixture
def unset_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a foreign project; the tests of this one show the log of the server."""
    monkeypatch.setattr(logging.getLogger("adanalytics_server"), "level", logging.NOTSET)


def test_it_logs_nothing_but_errors(unset_log: None, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    with LocalServer() as server:
        server.add_events([event()])
        httpx.get(f"{server.url}/livez")
    assert {each.name for each in caplog.records} <= {
        "httpcore.connection",
        "httpcore.http11",
        "httpx",
    }


def test_it_makes_no_spans_and_uses_no_wrapped_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    spans = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)

    def traced(*_arguments: Any, **_options: Any) -> None:
        raise AssertionError("an instrumentation wraps this function")

    monkeypatch.setattr(sqlite3, "connect", traced)
    with LocalServer() as server:
        server.add_events([event()])
        httpx.get(f"{server.url}/readyz")
    assert spans.get_finished_spans() == ()


ROOT = Path(__file__).parents[2]

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
