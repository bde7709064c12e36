"""A client that was used before a fork: parent and child never read each other's answers."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.client.wire import Wire, sized
from tests.programs import run_program

DATES = sized(b'{"dates": ["2026-01-15"]}')
MORE = sized(b'{"events": [{"event_id": "1"}], "has_more": true}')

BEGIN = """
import asyncio, os, signal, sys
from adanalytics_client import AsyncClient, Client, ConfigurationError, QuotaPolicy

def in_child(work):
    if (child := os.fork()) == 0:
        signal.alarm(20)
        work()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0

options = {"api_key": "k", "partner": "acme", "quota": QuotaPolicy(log="memory")}
"""

SYNC = """
def ask():
    assert len(client.dates()) == 1

def ask_and_close():
    with client:
        ask()

client = Client(sys.argv[1], **options)
ask()
driver = client.connection.driver
locks = [driver._atomic, driver._exclusive, driver._lock]
for lock in locks:
    lock.acquire()
in_child(ask_and_close)
for lock in locks:
    lock.release()
ask()
client.close()
in_child(lambda: refused(ask))
"""

BEGUN = """
client = Client(sys.argv[1], **options)
rows = client.events("2026-01-15", concurrency=1).rows()
next(rows)
in_child(lambda: refused(lambda: list(rows)))
"""

ASYNC = """
loop = asyncio.new_event_loop()

def ask():
    assert len(loop.run_until_complete(client.dates())) == 1

def refused_and_close():
    refused(ask)
    loop.run_until_complete(client.close())

client = AsyncClient(sys.argv[1], **options)
ask()
in_child(refused_and_close)
ask()
loop.run_until_complete(client.close())
loop.close()
"""

PART = """
from contextlib import closing
from pathlib import Path
from adanalytics_client import DownloadError
from adanalytics_client._exports.part import PartialFile

def let_go():
    part.remove()
    part.close()

part = PartialFile(Path(sys.argv[1]))
in_child(let_go)
try:
    PartialFile(Path(sys.argv[1]))
except DownloadError:
    pass
else:
    raise AssertionError
over, end = os.pipe()
if (child := os.fork()) == 0:
    signal.alarm(20)
    os.read(over, 1)
    os._exit(0)
part.close()
with closing(PartialFile(Path(sys.argv[1]))):
    os.write(end, b".")
assert os.waitpid(child, 0)[1] == 0
"""

REFUSED = """
def refused(work):
    try:
        work()
    except ConfigurationError:
        return
    raise AssertionError
"""


def run(program: str, url: str, **environment: str) -> None:
    """Run a program of its own: it has no other threads, which a fork would leave behind."""
    command = [sys.executable, "-W", "error", "-c", BEGIN + REFUSED + program, url]
    done = run_program(command, env={**os.environ, **environment})
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("proxied", [False, True])
def test_a_child_has_connections_and_locks_of_its_own(
    wire: Callable[..., Wire], *, proxied: bool
) -> None:
    """Its parent's connection is good for another request after the child has closed the client."""
    server = wire([DATES, DATES], [DATES])
    if proxied:
        run(SYNC, "http://stats.example", http_proxy=server.url)
    else:
        run(SYNC, server.url)
    assert [len(heads) for heads in server.heads] == [2, 1]


def test_events_that_were_begun_before_a_fork_are_refused_in_the_child(
    wire: Callable[..., Wire],
) -> None:
    run(BEGUN, wire([MORE] * 20, [MORE] * 20).url)


def test_a_child_leaves_the_connections_of_tasks_alone(wire: Callable[..., Wire]) -> None:
    server = wire([DATES, DATES], [DATES])
    run(ASYNC, server.url)
    assert [len(heads) for heads in server.heads] == [2]


def test_a_child_neither_ends_nor_keeps_the_lock_of_a_download(tmp_path: Path) -> None:
    run(PART, str(tmp_path / "out.csv"))
