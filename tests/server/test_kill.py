"""kill -9 at the worst moments, on real processes: what was promised is there, nothing else is."""

import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from adanalytics_server.admin import add_partner, add_user, create_key, list_keys
from adanalytics_server.local import LocalServer

API = "/api/partners/acme/ad-analytics"
DAYS = {"start_date": "2026-01-15", "end_date": "2026-01-16"}
ROWS = 6_000
KEYS = 5
Start = Callable[..., "subprocess.Popen[str]"]

# Loads a file and stops inside the transaction, for good, once the given number is stored.
LOAD_AND_STOP = """
import sys
from pathlib import Path
from adanalytics_server.loading.load import load_file
from adanalytics_server.loading.mapping import Mapping
from adanalytics_server.storage.store import PartnerStore

def stop(progress):
    if progress.stage == "storing" and progress.rows >= int(sys.argv[3]):
        print("stored", flush=True)
        sys.stdin.read()

mapping = Mapping.parse(columns=[], constants=[])
load_file(PartnerStore(Path(sys.argv[1]) / "partners" / "1"), Path(sys.argv[2]),
          partner_id="acme", currency="USD", mapping=mapping, progress=stop)
"""

# Makes keys and prints each one, until it is killed.
MAKE_KEYS = """
import sys
from itertools import count
from pathlib import Path
from adanalytics_server.admin import create_key

for number in count():
    print(create_key(Path(sys.argv[1]), "ada@example.org", name=str(number)), flush=True)
"""


@pytest.fixture
def start() -> Iterator[Start]:
    """Start Python on a script; what still runs at the end is killed."""
    started: list[subprocess.Popen[str]] = []

    def run(script: str, *words: str) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [sys.executable, "-c", script, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield run
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder with a partner and an admin."""
    folder = tmp_path / "data"
    add_partner(folder, "acme", name="Acme", currency="USD")
    add_user(folder, "ada@example.org", password="a long password", role="admin")
    return folder


def kill(process: "subprocess.Popen[str]") -> None:
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL


def totals(data: Path) -> tuple[int, int, list[str]]:
    """Ask a server on the folder: events, impressions and days."""
    with LocalServer(data=data) as server:
        headers = {"Authorization": f"Bearer {server.api_key}"}
        with httpx.Client(base_url=f"{server.url}{API}", headers=headers) as http:
            page = http.get("/events", params={**DAYS, "per_page": 10_000}).json()
            summary = http.get("/summary", params=DAYS).json()
            dates = http.get("/dates").json()["dates"]
    assert len(page["data"]) == page["meta"]["total"]
    return page["meta"]["total"], summary["meta"]["totals"]["impressions"], dates


@pytest.mark.parametrize("stored", [1, ROWS])
def test_a_load_that_is_killed_leaves_nothing_and_can_be_repeated(
    start: Start, data: Path, tmp_path: Path, stored: int
) -> None:
    file = tmp_path / "events.csv"
    with file.open("w") as stream:
        stream.write("event_time,event_type,supply_tag_id\n")
        for row in range(ROWS):
            day, minute = 15 + row // (ROWS // 2), row // 10 % 60
            stream.write(f"2026-01-{day}T{row % 10:02}:{minute:02}:00Z,impression,{row}\n")
    process = start(LOAD_AND_STOP, str(data), str(file), str(stored))
    assert process.stdout is not None
    assert process.stdout.readline() == "stored\n"
    kill(process)
    assert totals(data) == (0, 0, [])

    again = start(LOAD_AND_STOP, str(data), str(file), str(ROWS + 1))
    assert again.wait(60) == 0
    assert totals(data) == (ROWS, ROWS, ["2026-01-15", "2026-01-16"])


def test_a_key_that_was_shown_works_also_when_its_maker_was_killed(
    start: Start, data: Path
) -> None:
    process = start(MAKE_KEYS, str(data))
    assert process.stdout is not None
    shown = [process.stdout.readline().strip() for _ in range(KEYS)]
    process.kill()
    rest, _ = process.communicate()
    shown += rest.split()
    with closing(sqlite3.connect(data / "state.db")) as state:
        assert state.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    # One more may have been stored in the moment before it would have been shown.
    assert len(list_keys(data)) - len(shown) in {0, 1}
    assert create_key(data, "ada@example.org", name="afterwards")
    with LocalServer(data=data) as server, httpx.Client(base_url=f"{server.url}{API}") as http:
        answers = [http.get("/dates", headers={"Authorization": f"Bearer {key}"}) for key in shown]
    assert {answer.status_code for answer in answers} == {200}
