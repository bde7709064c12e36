"""Ctrl-C: what is whole stays, and where it can be gone on with, the command is named."""

import signal
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread

import pytest
from tests.cli.processes import TIMEOUT, Spawn, finish

from adanalytics_server.local import LocalServer


@pytest.fixture
def stuck_service() -> Iterator[tuple[str, Event]]:
    """A service that takes a request and never answers, and the sign that it has one."""
    asked, over = Event(), Event()

    class Stuck(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.set()
            over.wait(TIMEOUT)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the base's name
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Stuck)
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", asked
    over.set()
    server.shutdown()
    server.server_close()
    thread.join()


def test_ctrl_c_of_a_sync_says_how_to_go_on(
    spawn: Spawn, service: LocalServer, stuck_service: tuple[str, Event], folder: Path
) -> None:
    url, asked = stuck_service
    words = ["--base-url", url, "sync", "2026-01-15", "--to", str(folder)]
    process = spawn(*words)
    assert asked.wait(TIMEOUT)
    process.send_signal(signal.SIGINT)
    again = f"adanalytics --base-url {url} sync 2026-01-15 2026-01-15 --to {folder}"
    said = "Error: interrupted; which hours are missing was not known yet\n"
    said += f"Go on with: {again}\n"
    assert finish(process) == (130, "", said)


@pytest.mark.parametrize("command", ["dates", "events"])
def test_ctrl_c(
    spawn: Spawn,
    service: LocalServer,
    stuck_service: tuple[str, Event],
    folder: Path,
    command: str,
) -> None:
    url, asked = stuck_service
    target = folder / "out.csv"
    target.write_text("before")
    process = spawn(command, "2026-01-15", "--base-url", url, "-o", str(target))
    assert asked.wait(TIMEOUT)
    process.send_signal(signal.SIGINT)
    assert finish(process) == (130, "", "Interrupted.\n")
    assert target.read_text() == "before"
    assert [each.name for each in folder.iterdir()] == ["out.csv"]
