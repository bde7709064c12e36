"""What the tests of the command line share: a clean environment, and a real server."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.cli.run import NOON

from adanalytics_client import Client
from adanalytics_client._base.clock import SystemClock
from adanalytics_client.dataset import Dataset
from adanalytics_server.local import LocalServer, Sample

SETTINGS = ("BASE_URL", "API_KEY", "EMAIL", "PASSWORD", "PARTNER", "PROFILE")


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No settings of the person who runs the tests, and an 80-column terminal."""
    for name in SETTINGS:
        monkeypatch.delenv(f"ADANALYTICS_{name}", raising=False)
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty folder for the files of a command; its settings and logs lie elsewhere."""
    made = tmp_path / "folder"
    made.mkdir()
    return made


@pytest.fixture
def noon(service: LocalServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let it be noon for clients and the server, too."""
    service.clock.set(NOON)
    monkeypatch.setattr(SystemClock, "time", lambda _: NOON.timestamp())
    yield
    service.reset()


@pytest.fixture(scope="session")
def server() -> Iterator[LocalServer]:
    """A server with two days of 2,000 events, 2026-01-15 and 16, without a limit of requests."""
    sample = Sample(days=2, events_per_day=2_000, seed=7)
    with LocalServer(sample=sample, rate_limit=0) as running:
        yield running


@pytest.fixture(scope="session")
def dataset(server: LocalServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The two days of the server, 4,000 events, in the folder `events`, which no test changes."""
    folder = tmp_path_factory.mktemp("dataset") / "events"
    with Client(server.url, api_key=server.api_key, partner=server.partner) as client:
        assert Dataset(folder).sync(client).events == 4_000
    return folder


@pytest.fixture
def service(server: LocalServer, monkeypatch: pytest.MonkeyPatch) -> LocalServer:
    """The server, with the environment set up to use it."""
    monkeypatch.setenv("ADANALYTICS_BASE_URL", server.url)
    monkeypatch.setenv("ADANALYTICS_API_KEY", server.api_key)
    monkeypatch.setenv("ADANALYTICS_PARTNER", server.partner)
    return server


@pytest.fixture
def spawn() -> Iterator[Callable[..., "subprocess.Popen[bytes]"]]:
    """Start the program as a process of its own; what still runs at the end is killed."""
    started: list[subprocess.Popen[bytes]] = []

    def start(
        *words: str,
        stdin: int = subprocess.DEVNULL,
        stdout: int = subprocess.PIPE,
        stderr: int = subprocess.PIPE,
    ) -> "subprocess.Popen[bytes]":
        process = subprocess.Popen(
            [sys.executable, "-m", "adanalytics_cli", *words],
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            env=dict(os.environ),
            start_new_session=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.wait()
        for stream in (process.stdout, process.stderr):
            if stream:
                stream.close()
