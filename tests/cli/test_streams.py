"""Streams of the program that are closed, full or empty: pipes, stdin, stdout."""

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.processes import TIMEOUT, Spawn, finish
from tests.programs import run_program

from adanalytics_server.local import LocalServer


@pytest.mark.parametrize("form", ["jsonl", "csv", "json"])
def test_a_closed_pipe_ends_quietly(spawn: Spawn, service: LocalServer, form: str) -> None:
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
def test_streams_that_are_not_there(service: LocalServer, closed: str) -> None:
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
def test_data_for_a_stdout_that_is_closed_are_an_error(service: LocalServer, words: str) -> None:
    code, _, said = by_shell(f"-q {words} >&-")
    assert (code, said) == (1, CLOSED)


def test_without_any_stream_the_exit_status_tells(service: LocalServer) -> None:
    assert by_shell("dates <&- >&- 2>&-") == (1, "", "")


def test_a_version_for_a_stdout_that_is_closed_is_an_error() -> None:
    assert by_shell("--version >&-") == (1, "", "Error: Bad file descriptor\n")


def test_who_prints_nothing_needs_no_stdout(service: LocalServer, folder: Path) -> None:
    assert by_shell(f"-q dates -o {folder}/dates.csv >&-") == (0, "", "")
    assert by_shell(f"-q sync 2026-01-15 --to {folder}/events >&-") == (0, "", "")


@pytest.mark.parametrize("words", ["dates", "events 2026-01-15", "status"])
def test_a_full_disk_behind_stdout(service: LocalServer, words: str) -> None:
    said = "Error: No space left on device\nFree some space there, or write to another place.\n"
    assert by_shell(f"-q {words} > /dev/full") == (1, "", said)


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


@pytest.mark.parametrize("words", ["--help", "--version", "dates -f csv"])
def test_a_pipe_that_is_closed_from_the_start_is_not_mentioned_even_at_the_exit(
    spawn: Spawn, service: LocalServer, words: str
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
