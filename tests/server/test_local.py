"""The local server: ready or dead, its levers within reach, and nothing left behind."""

import asyncio
import subprocess
import sys
import threading
from pathlib import Path

import httpx
import pytest
from argon2 import PasswordHasher, extract_parameters
from starlette.types import Receive, Scope, Send
from tests.programs import run_program

from adanalytics_server.accounts.credentials import hash_password
from adanalytics_server.clock import Clock
from adanalytics_server.control.controls import ControlError
from adanalytics_server.control.data import HASHED, PASSWORD
from adanalytics_server.faults import FaultError
from adanalytics_server.local import LocalServer, LocalServerError, Sample
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
