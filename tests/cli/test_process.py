"""The program as a process: closed pipes, Ctrl-C, terminals, stdin."""

import fcntl
import json
import os
import pty
import select
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread

import pytest

from adanalytics_server.local import LocalServer

Spawn = Callable[..., "subprocess.Popen[bytes]"]
TIMEOUT = 60


def finish(process: "subprocess.Popen[bytes]") -> tuple[int, str, str]:
    out, err = process.communicate(timeout=TIMEOUT)
    return process.returncode, (out or b"").decode(), (err or b"").decode()


def run_on_terminal(
    spawn: Spawn, *words: str, everything: bool = False, typed: str = ""
) -> tuple[int, str]:
    """Run with stderr, or stdin, stdout and stderr, on a terminal; gives what it showed.

    `typed` is entered once the program reads without echo; earlier it would be shown and lost.
    """
    screen, terminal = pty.openpty()
    if everything:
        process = spawn(*words, stdin=terminal, stdout=terminal, stderr=terminal)
    else:
        process = spawn(*words, stdout=subprocess.DEVNULL, stderr=terminal)
    os.close(terminal)
    shown = b""
    with os.fdopen(screen, "r+b", buffering=0) as reader:
        deadline = time.monotonic() + TIMEOUT
        while time.monotonic() < deadline:
            if typed and not termios.tcgetattr(reader)[3] & termios.ECHO:
                reader.write(typed.encode())
                typed = ""
            if not select.select([reader], [], [], 0.02)[0]:
                continue
            try:
                piece = reader.read(65_536)
            except OSError:  # Linux reports the end of a terminal as an error.
                break
            if not piece:
                break
            shown += piece
    return process.wait(timeout=TIMEOUT), shown.decode()


@pytest.mark.parametrize("form", ["jsonl", "csv", "json"])
def test_a_closed_pipe_ends_quietly(spawn: Spawn, service: LocalServer, form: str) -> None:
    process = spawn("events", "2026-01-15", "-f", form)
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.close()
    process.stdout = None
    assert finish(process) == (141, "", "")


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_streams_that_are_not_there(service: LocalServer, closed: str) -> None:
    line = f"{sys.executable} -m adanalytics_cli dates -f csv {closed}"
    done = subprocess.run(["sh", "-c", line], capture_output=True, check=False, timeout=TIMEOUT)
    shown = b"" if ">&-" in closed.replace("2>&-", "") else b"date\n2026-01-15\n2026-01-16\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, shown, b"")


@pytest.mark.parametrize("form", ["jsonl", "table"])
def test_a_pipe_closed_within_one_write_is_noticed_without_a_buffer(
    spawn: Spawn, service: LocalServer, monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    monkeypatch.setenv("PYTHONUNBUFFERED", "1")
    reading, writing = os.pipe()
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, 4096)
    process = spawn("events", "2026-01-15", "--split", "none", "-f", form, stdout=writing)
    os.close(writing)
    assert os.read(reading, 1)
    os.close(reading)
    assert finish(process) == (141, "", "")


def test_a_pipe_that_is_closed_from_the_start(spawn: Spawn) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    process = spawn("--help", stdout=writing)
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


@pytest.mark.parametrize("words", ["--version", "dates -f csv"])
def test_a_pipe_closed_before_the_last_write_is_not_mentioned_at_the_exit(
    spawn: Spawn, service: LocalServer, words: str
) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    process = spawn(*words.split(), stdout=writing)
    os.close(writing)
    assert finish(process) == (141, "", "")


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


def test_the_live_line_on_a_terminal(spawn: Spawn, service: LocalServer, tmp_path: Path) -> None:
    target = tmp_path / "day.jsonl"
    code, shown = run_on_terminal(spawn, "events", "2026-01-15", "-o", str(target))
    drawn = shown.split("\r\x1b[2K")
    assert code == 0
    assert any("events" in line and "quota" in line for line in drawn[1:-1])
    assert all(len(line) < 80 and "\n" not in line for line in drawn[:-1])
    assert drawn[-1].startswith("2,000 events, 24 requests, ")
    assert drawn[-1].endswith(f"-> {target}\r\n")


def test_no_live_line_between_the_data(spawn: Spawn, service: LocalServer) -> None:
    words = ["events", "2026-01-15", "-f", "jsonl"]
    code, shown = run_on_terminal(spawn, *words, everything=True)
    lines = shown.splitlines()
    assert code == 0
    assert "\x1b" not in shown
    assert len([json.loads(line) for line in lines[:-1]]) == 2_000
    assert lines[-1].startswith("2,000 events, 24 requests, ")


@pytest.mark.parametrize("words", [["-q"], ["--quiet"]])
def test_quiet_says_nothing_on_a_terminal(
    spawn: Spawn, service: LocalServer, words: list[str], tmp_path: Path
) -> None:
    target = str(tmp_path / "day.jsonl")
    assert run_on_terminal(spawn, *words, "events", "2026-01-15", "-o", target) == (0, "")
    assert run_on_terminal(spawn, "events", "2026-01-15", "-o", target, *words) == (0, "")


def test_a_table_on_a_terminal(
    spawn: Spawn, service: LocalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    code, shown = run_on_terminal(spawn, "summary", "2026-01", "-g", "campaign", everything=True)
    lines = shown.replace("\r\n", "\n").splitlines()
    assert code == 0
    assert any(line.lstrip("\r\x1b[2K").startswith("total") for line in lines)
    assert "No room for:" in shown
    assert max(len(line) for line in lines if "\x1b" not in line) <= 80


def test_no_color(spawn: Spawn, service: LocalServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    _, shown = run_on_terminal(spawn, "-q", "summary", "2026-01", everything=True)
    assert "\x1b" not in shown
    _, shown = run_on_terminal(
        spawn, "-q", "summary", "2026-01", "--color", "always", everything=True
    )
    assert "\x1b" in shown


def test_a_prompt_asks_for_the_password(
    spawn: Spawn, service: LocalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ADANALYTICS_API_KEY")
    monkeypatch.setenv("ADANALYTICS_EMAIL", service.email)
    code, shown = run_on_terminal(
        spawn, "-q", "dates", "-f", "csv", everything=True, typed=f"{service.password}\n"
    )
    assert code == 0
    assert f"Password of {service.email}: " in shown
    assert service.password not in shown
    assert shown.endswith("date\r\n2026-01-15\r\n2026-01-16\r\n")


def test_nobody_is_asked_off_a_terminal(
    spawn: Spawn, service: LocalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ADANALYTICS_API_KEY")
    monkeypatch.setenv("ADANALYTICS_EMAIL", service.email)
    process = spawn("dates")
    code, _, err = finish(process)
    assert code == 4
    assert "adanalytics login" in err


def test_serve_until_sigterm(spawn: Spawn, tmp_path: Path) -> None:
    ready, data = tmp_path / "ready", tmp_path / "data"
    process = spawn("serve", "--port", "0", "--data", str(data), "--ready-file", str(ready))
    assert process.stderr is not None
    first = process.stderr.readline().decode()
    url = first.split()[1]
    assert first.startswith(f"Serving {url} from {data}. Get a key: adanalytics server key create")
    assert finish(spawn("server", "health", url)) == (0, f"{url} is ready\n", "")

    busy = finish(spawn("serve", "--port", url.rpartition(":")[2], "--data", str(tmp_path / "b")))
    assert busy[0] == 1
    assert "is in use" in busy[2]
    assert len(busy[2].splitlines()) == 1

    same_folder = finish(spawn("serve", "--port", "0", "--data", str(data)))
    assert same_folder[0] == 1
    assert same_folder[2].startswith("Error: another server is running")
    assert len(same_folder[2].splitlines()) == 1

    process.send_signal(signal.SIGTERM)
    code, _, log = finish(process)
    assert code == 0
    assert [line.split(maxsplit=2)[2].split()[0] for line in log.splitlines()] == [
        "GET",
        "Stopping:",
    ]
    assert not ready.exists()


@pytest.mark.parametrize(
    ("given", "said"), [("</dev/null", "nothing on stdin"), ("<&-", "nothing on stdin"),
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


def test_serve_until_ctrl_c(spawn: Spawn, tmp_path: Path) -> None:
    process = spawn("serve", "--port", "0", "--data", str(tmp_path))
    assert process.stderr is not None
    process.stderr.readline()
    process.send_signal(signal.SIGINT)
    code, _, said = finish(process)
    assert code == 130
    assert said.endswith("\nInterrupted.\n")


def test_from_an_empty_folder_to_a_summary(
    spawn: Spawn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a newcomer does, command by command."""
    monkeypatch.chdir(tmp_path)
    assert finish(spawn("server", "partner", "add", "acme"))[0] == 0
    add = spawn(
        "server", "user", "add", "ada@example.org", "--role", "admin", "--password-stdin",
        stdin=subprocess.PIPE,
    )  # fmt: skip
    assert add.communicate(b"a long password\n", timeout=TIMEOUT)[0] == b""
    assert add.returncode == 0
    code, key, _ = finish(
        spawn("server", "key", "create", "--user", "ada@example.org", "--name", "k")
    )
    assert (code, key.count("\n")) == (0, 1)
    generate = ["--partner", "acme", "--start", "2026-01-15", "--events-per-day", "240"]
    assert finish(spawn("server", "generate", *generate))[:2] == (
        0,
        "acme: 240 events stored on 1 day from 2026-01-15\n",
    )
    server = spawn("serve", "--port", "0")
    assert server.stderr is not None
    monkeypatch.setenv("ADANALYTICS_BASE_URL", server.stderr.readline().decode().split()[1])
    monkeypatch.setenv("ADANALYTICS_API_KEY", key.strip())
    monkeypatch.setenv("ADANALYTICS_PARTNER", "acme")
    code, out, _ = finish(spawn("summary", "2026-01", "-f", "json"))
    assert code == 0
    assert json.loads(out)[0]["ad_requests"] > 0
    server.send_signal(signal.SIGTERM)
    assert finish(server)[0] == 0
