"""Ctrl-C, SIGTERM, SIGHUP: what is whole stays, and the command to go on with is named."""

import signal
import subprocess
import sys
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
        def answer(self) -> None:
            asked.set()
            over.wait(TIMEOUT)

        do_GET = do_POST = answer  # noqa: N815  # names of http.server

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the base's name
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


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 143)]
)
def test_a_sync_that_is_ended_says_how_to_go_on(
    spawn: Spawn,
    service: LocalServer,
    stuck_service: tuple[str, Event],
    folder: Path,
    number: int,
    code: int,
) -> None:
    url, asked = stuck_service
    words = ["--base-url", url, "sync", "2026-01-15", "--to", str(folder)]
    process = spawn(*words)
    assert asked.wait(TIMEOUT)
    process.send_signal(number)
    again = f"adanalytics --base-url {url} sync 2026-01-15 2026-01-15 --to {folder}"
    said = "Error: Interrupted; the missing hours are not known yet\n"
    said += f"Continue with: {again}\n"
    assert finish(process) == (code, "", said)


CTRL_C = (signal.SIGINT, 130, "Interrupted.\n")
SIGTERM = (signal.SIGTERM, 143, "Interrupted.\n")
# The terminal was closed, which ends a run as SIGTERM does.
SIGHUP = (signal.SIGHUP, 143, "Interrupted.\n")
OUTPUTS = [
    ("dates", "out.csv"),
    ("summary", "out.csv"),
    ("events", "out.csv"),
    ("events", "out.jsonl"),
    ("export", "out.csv"),
]


@pytest.mark.parametrize(
    ("command", "name", "number", "code", "said"),
    [
        *((*output, *end) for output in OUTPUTS for end in (CTRL_C, SIGTERM)),
        ("events", "out.jsonl", *SIGHUP),
    ],
)
def test_what_was_begun_is_gone_and_what_was_there_stays(
    spawn: Spawn,
    service: LocalServer,
    stuck_service: tuple[str, Event],
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    name: str,
    number: int,
    code: int,
    said: str,
) -> None:
    url, asked = stuck_service
    target, scratch = folder / name, tmp_path / "scratch"
    target.write_text("before")
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    process = spawn(command, "2026-01-15", "--base-url", url, "-o", str(target))
    assert asked.wait(TIMEOUT)
    process.send_signal(number)
    assert finish(process) == (code, "", said)
    assert target.read_text() == "before"
    assert [each.name for each in folder.iterdir()] == [name]
    assert not [*scratch.iterdir()]


INTERRUPTING = """
import os, signal, sys

wanted = sys.argv.pop(1)

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == wanted:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
from adanalytics_cli.__main__ import main
main()
"""


@pytest.mark.parametrize(
    ("module", "words"),
    [
        ("adanalytics_cli.console.streams", ["--version"]),
        ("adanalytics_cli.main", ["dates"]),
        ("click.core", ["dates"]),
        ("adanalytics_cli.commands.dates", ["dates"]),
    ],
)
def test_ctrl_c_while_modules_are_imported(module: str, words: list[str]) -> None:
    line = [sys.executable, "-c", INTERRUPTING, module, *words]
    done = subprocess.run(line, capture_output=True, check=False, text=True, timeout=TIMEOUT)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "Interrupted.\n")


def test_sigterm_that_the_caller_had_ignored_stays_ignored(
    spawn: Spawn, service: LocalServer, stuck_service: tuple[str, Event]
) -> None:
    url, asked = stuck_service
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        process = spawn("dates", "--base-url", url)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert asked.wait(TIMEOUT)
    process.send_signal(signal.SIGTERM)
    process.send_signal(signal.SIGINT)
    assert finish(process) == (130, "", "Interrupted.\n")
