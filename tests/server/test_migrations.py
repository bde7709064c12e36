"""A folder of the first version of the server goes on working in this one.

`first_version/` holds its files as SQL text, with nobody's passwords and keys. They are what
was once written: do not bring them up to date.
"""

import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from adanalytics_server.admin import list_partners
from adanalytics_server.clock import Clock
from adanalytics_server.local import LocalServer
from adanalytics_server.storage import schema
from adanalytics_server.storage.damage import DamagedFile
from adanalytics_server.storage.schema import NewerSchema, migrate

TEXTS = Path(__file__).parent / "first_version"
API = "/api/partners/acme/ad-analytics"
RANGE = {"start_date": "2026-01-31", "end_date": "2026-02-01"}
KEY = "aak_first-version"
EMAIL, PASSWORD = "admin@example.com", "correct-horse-battery"
STEPS = {
    "state": schema.STATE_STEPS,
    "limits": schema.LIMITS_STEPS,
    "ledger": schema.LEDGER_STEPS,
    "2026-01": schema.MONTH_STEPS,
    "2026-02": schema.MONTH_STEPS,
}
Layout = set[tuple[str, str, str]]


def database(data: Path, name: str) -> Path:
    return data / f"{name}.db" if name in {"state", "limits"} else data / f"partners/1/{name}.db"


def layout(connection: sqlite3.Connection) -> Layout:
    """Return the tables and indexes of a file, however their text is broken into lines."""
    rows = connection.execute("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL")
    return {(kind, name, " ".join(sql.split())) for kind, name, sql in rows}


def layout_of_text(name: str) -> Layout:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript((TEXTS / f"{name}.sql").read_text())
        return layout(connection)


def layout_of_steps(steps: schema.Steps) -> Layout:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        migrate(connection, steps)
        return layout(connection)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder as the first version left it: ten events on two sides of the end of a month."""
    for name in STEPS:
        path = database(tmp_path, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(path)) as connection:
            connection.executescript((TEXTS / f"{name}.sql").read_text())
    return tmp_path


@pytest.fixture
def http(data: Path, clock: Clock) -> Iterator[httpx.Client]:
    """A client with the old key, of a server on that folder."""
    headers = {"Authorization": f"Bearer {KEY}"}
    with (
        LocalServer(data=data, clock=clock) as server,
        httpx.Client(base_url=server.url, headers=headers) as client,
    ):
        yield client


def test_everything_that_was_there_is_there(http: httpx.Client) -> None:
    answer = http.get(f"{API}/events", params=RANGE)
    assert answer.json()["pagination"]["total"] == 10
    # One request of the fixture's last hour is remembered, and this is the second.
    assert answer.headers["ratelimit"].startswith('"hour";r=998;')
    totals = http.get(f"{API}/summary", params=RANGE).json()["totals"]
    counted = sum(1 for event in answer.json()["events"] if not event["is_filtered"])
    columns = (
        "ad_requests", "impressions", "starts", "first_quartiles", "midpoints",
        "third_quartiles", "completions", "clicks", "skips", "errors",
    )  # fmt: skip
    assert sum(totals[column] for column in columns) == counted
    signed_in = http.post("/api/auth/login", json={"email": EMAIL, "password": PASSWORD})
    assert signed_in.status_code == 200
    job = http.get(f"{API}/bulk-export/2bc280ec-74c5-4dc0-855f-bcfd8220c3a5").json()
    assert (job["status"], job["row_count"]) == ("completed", 10)


def test_old_files_get_the_layout_of_new_ones(http: httpx.Client, data: Path) -> None:
    assert http.get(f"{API}/events", params=RANGE).status_code == 200
    for name, steps in STEPS.items():
        with closing(sqlite3.connect(database(data, name))) as connection:
            assert connection.execute("PRAGMA user_version").fetchone() == (len(steps),)
            assert layout(connection) == layout_of_steps(steps), name


@pytest.mark.parametrize("name", STEPS)
def test_the_first_step_is_still_what_it_was(name: str) -> None:
    assert layout_of_steps(STEPS[name][:1]) == layout_of_text(name)


def test_a_file_of_a_later_version_is_left_alone(data: Path) -> None:
    with closing(sqlite3.connect(data / "state.db")) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(NewerSchema, match=r"layout 99 is newer .* upgrade adanalytics"):
        list_partners(data)


def test_a_step_that_fails_leaves_the_version_before_it() -> None:
    steps = ("CREATE TABLE a (x);\n", "CREATE TABLE b (x);\nCREATE TABLE a (x);\n")
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        with pytest.raises(sqlite3.OperationalError):
            migrate(connection, steps)
        connection.rollback()
        assert connection.execute("PRAGMA user_version").fetchone() == (1,)
        assert {name for _, name, _ in layout(connection)} == {"a"}


@pytest.fixture
def month_of_texts(data: Path) -> Path:
    """A month in the layout between: its texts in a file, and their places in the database."""
    month = database(data, "2026-01")
    with closing(sqlite3.connect(month, isolation_level=None)) as connection:
        migrate(connection, schema.MONTH_STEPS[:2])
    assert schema.text_files(month)
    return month


def test_a_month_of_texts_in_a_file_is_served(month_of_texts: Path, http: httpx.Client) -> None:
    answer = http.get(f"{API}/events", params=RANGE)
    assert answer.json()["pagination"]["total"] == len(answer.json()["events"]) == 10
    assert not schema.text_files(month_of_texts)


def test_a_migration_that_is_killed_is_repeated(month_of_texts: Path, data: Path) -> None:
    script = (
        "import os, signal, sqlite3, sys\n"
        "from adanalytics_server.storage.schema import MONTH_STEPS, migrate\n"
        "def last(connection):\n"
        "    MONTH_STEPS[-1](connection)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "connection = sqlite3.connect(sys.argv[1], isolation_level=None)\n"
        "migrate(connection, (*MONTH_STEPS[:-1], last))\n"
    )
    done = subprocess.run([sys.executable, "-c", script, str(month_of_texts)], check=False)
    assert done.returncode == -signal.SIGKILL
    with LocalServer(data=data) as server:
        headers = {"Authorization": f"Bearer {server.api_key}"}
        answer = httpx.get(f"{server.url}{API}/events", params=RANGE, headers=headers)
    assert len(answer.json()["events"]) == 10


def test_a_month_whose_texts_are_cut_is_damaged_and_stays(month_of_texts: Path) -> None:
    (texts,) = schema.text_files(month_of_texts)
    texts.write_bytes(texts.read_bytes()[:100])
    with closing(sqlite3.connect(month_of_texts, isolation_level=None)) as connection:
        with pytest.raises(DamagedFile, match=r"2026-01\.1\.events is damaged"):
            migrate(connection, schema.MONTH_STEPS)
        connection.rollback()
        assert connection.execute("PRAGMA user_version").fetchone() == (2,)
