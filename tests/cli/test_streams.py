"""Pipes that close or fill, Ctrl-C and signals, disks without locks: what is whole stays."""

import errno
import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from tests.cli.processes import TIMEOUT, Spawn, finish
from tests.cli.run import run
from tests.programs import run_program

from adanalytics_client._base import locks
from adanalytics_server.local import LocalServer

pytestmark = pytest.mark.usefixtures("service")


@pytest.mark.parametrize("form", ["jsonl", "csv", "json"])
def test_a_closed_pipe_ends_quietly(spawn: Spawn, form: str) -> None:
    process = spawn("events", "2026-01-15", "-f", form)
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.close()
    process.stdout = None
    assert finish(process) == (141, "", "")


def by_shell(line: str) -> tuple[int, str, str]:
    """Exit status, stdout and stderr of the program with redirections."""
    line = f"{sys.executable} -m adanalytics_cli {line}"
    done = run_program(["sh", "-c", line], timeout=TIMEOUT)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("closed", ["2>&-", "<&-", "<&- 2>&-"])
def test_streams_that_are_not_there(closed: str) -> None:
    shown = "date\n2026-01-15\n2026-01-16\n"
    assert by_shell(f"dates -f csv {closed}") == (0, shown, "")


CLOSED = """\
Error: Bad file descriptor
Stdout is closed. Send it to a file with > FILE, or to /dev/null.
"""
PRINTING = [
    "--help",
    "dates --help",
    "dates",
    "dates -f table",
    "dates --chart",
    "summary 2026-01-15",
    "summary 2026-01-15 -f parquet",
    "events 2026-01-15 -f jsonl",
    "events 2026-01-15 -f arrow --hour 3",
    "export 2026-01-15 --format csv",
    "plan 2026-01-15",
    "status",
    "doctor",
    "completion bash",
    "server openapi",
]


@pytest.mark.parametrize("words", PRINTING)
def test_data_for_a_stdout_that_is_closed_are_an_error(words: str) -> None:
    code, _, said = by_shell(f"-q {words} >&-")
    assert (code, said) == (1, CLOSED)


def test_without_any_stream_the_exit_status_tells() -> None:
    assert by_shell("dates <&- >&- 2>&-") == (1, "", "")


def test_a_version_for_a_stdout_that_is_closed_is_an_error() -> None:
    assert by_shell("--version >&-") == (1, "", "Error: Bad file descriptor\n")


def test_who_prints_nothing_needs_no_stdout(folder: Path) -> None:
    assert by_shell(f"-q dates -o {folder}/dates.csv >&-") == (0, "", "")
    assert by_shell(f"-q sync 2026-01-15 --to {folder}/events >&-") == (0, "", "")


@pytest.mark.parametrize("words", ["dates", "events 2026-01-15", "status"])
def test_a_full_disk_behind_stdout(words: str) -> None:
    said = "Error: No space left on device\nFree some space there, or write to another place.\n"
    assert by_shell(f"-q {words} > /dev/full") == (1, "", said)


@pytest.mark.parametrize("form", ["jsonl", "table"])
def test_a_pipe_closed_within_one_write_is_noticed_without_a_buffer(
    spawn: Spawn, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setenv("PYTHONUNBUFFERED", "1")
    reading, writing = os.pipe()
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)
    process = spawn("events", "2026-01-15", "--split", "none", "-f", form, stdout=writing)
    os.close(writing)
    assert os.read(reading, 1)
    os.close(reading)
    assert finish(process) == (141, "", "")


@pytest.mark.parametrize("words", ["--help", "--version", "dates -f csv"])
def test_a_pipe_that_is_closed_from_the_start_is_not_mentioned_even_at_the_exit(
    spawn: Spawn, words: str
) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    process = spawn(*words.split(), stdout=writing)
    os.close(writing)
    assert finish(process) == (141, "", "")


@pytest.mark.parametrize("words", ["--version", "--help"])
def test_a_stdout_that_takes_nothing_is_one_error_also_at_the_exit(
    tmp_path: Path, words: str
) -> None:
    target = tmp_path / "out"
    line = f"ulimit -f 0; exec {sys.executable} -m adanalytics_cli {words} > {target}"
    done = subprocess.run(["sh", "-c", line], capture_output=True, check=False, timeout=TIMEOUT)
    shown = done.stderr.decode().splitlines()
    assert done.returncode not in (0, 120)
    assert [text[:6] for text in shown[:1]] == ["Error:"]
    assert "File too large" in shown[0]
    assert not any("Traceback" in text or "ignored" in text for text in shown)


def test_nobody_is_asked_off_a_terminal(
    spawn: Spawn, service: LocalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ADANALYTICS_API_KEY")
    monkeypatch.setenv("ADANALYTICS_EMAIL", service.email)
    process = spawn("dates")
    code, _, err = finish(process)
    assert code == 4
    assert "adanalytics login" in err


@pytest.mark.parametrize(
    ("given", "said"), [("</dev/null", "Nothing on stdin"), ("<&-", "Nothing on stdin"),
                        ("<bytes", "not UTF-8")]
)  # fmt: skip
def test_a_password_that_cannot_be_read(tmp_path: Path, given: str, said: str) -> None:
    (tmp_path / "bytes").write_bytes(b"\xff\xfe long enough\n")
    words = "server user add ada@example.org --role admin --password-stdin"
    line = f"{sys.executable} -m adanalytics_cli {words} {given}"
    done = subprocess.run(
        ["sh", "-c", line], capture_output=True, check=False, timeout=TIMEOUT, cwd=tmp_path
    )
    assert (done.returncode, done.stdout) == (2, b"")
    assert said in done.stderr.decode()


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
    spawn: Spawn, stuck_service: tuple[str, Event], folder: Path, number: int, code: int
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
    spawn: Spawn, stuck_service: tuple[str, Event]
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


DAY = "2026-01-15"


def refuse_locks(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def flock(*_: Any) -> None:
        raise OSError(number, "not here")

    monkeypatch.setattr(fcntl, "flock", flock)
    # Folders of earlier tests may have had the same name.
    monkeypatch.setattr(locks, "_FOLDERS_WITHOUT_LOCKS", set())


@pytest.mark.parametrize("number", [errno.EOPNOTSUPP, errno.ENOLCK, errno.ENOSYS, errno.EBADF])
@pytest.mark.parametrize(
    ("command", "where"),
    [
        (f"sync {DAY} --to events", "events/_adanalytics"),
        (f"export {DAY} -o export.csv", "."),
        ("login --api-key-stdin", "../state/adanalytics"),
    ],
    ids=["sync", "export", "login"],
)
def test_commands_go_on_with_one_remark(
    service: LocalServer,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    command: str,
    where: str,
    number: int,
) -> None:
    monkeypatch.chdir(folder)
    refuse_locks(monkeypatch, number)
    for _ in range(2):
        done = run(*command.split(), stdin=f"{service.api_key}\n")
        assert done.exit_code == 0, done.stderr
    place = (folder / where).resolve()
    told = [each for each in caplog.records if "has no locks" in each.getMessage()]
    assert [f"{place} has no locks" in each.getMessage() for each in told].count(True) == 1


def test_another_refusal_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    refuse_locks(monkeypatch, errno.EIO)
    with (tmp_path / "file").open("wb") as file, pytest.raises(OSError, match="not here"):
        locks.lock(file, tmp_path, wait=False)
