"""What a terminal shows of a run: the live line, tables, colours, a question."""

import json
import os
import pty
import re
import select
import subprocess
import termios
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import pytest
from tests.cli.processes import TIMEOUT, Spawn, plain

from adanalytics_server.local import LocalServer


def run_on_terminal(
    spawn: Spawn,
    *words: str,
    everything: bool = False,
    typed: str = "",
    stdout: int | BinaryIO = subprocess.DEVNULL,
) -> tuple[int, str]:
    """Run with stderr, or stdin, stdout and stderr, on a terminal; gives what it showed.

    `typed` is entered once the program reads without echo; earlier it would be shown and lost.
    """
    screen, terminal = pty.openpty()
    if everything:
        process = spawn(*words, stdin=terminal, stdout=terminal, stderr=terminal)
    else:
        process = spawn(*words, stdout=stdout, stderr=terminal)
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


@pytest.fixture
def slow(service: LocalServer) -> Iterator[LocalServer]:
    """Answers take longer than it takes until the line is first drawn."""
    service.faults.add("latency 400ms on events")
    yield service
    service.faults.clear()


def test_the_live_line_on_a_terminal(spawn: Spawn, slow: LocalServer, tmp_path: Path) -> None:
    target = tmp_path / "day.jsonl"
    code, shown = run_on_terminal(
        spawn, "events", "2026-01-15", "--per-page", "400", "-o", str(target)
    )
    first, *drawn, last = plain(shown).split("\r\x1b[2K")
    assert code == 0
    assert re.fullmatch("0 events  quota [0-9,]+", first)
    assert any(re.match("[━╸╺]{20}  [1-9][0-9]% [1-9]", line) for line in drawn)
    assert all(len(line) < 80 and "\n" not in line for line in drawn)
    closing = last.replace("\r\n", " ").rstrip()
    assert closing.startswith("2,000 events of 2026-01-15, 1.27 MB, 7 requests, ")
    assert closing.endswith(f"-> {target}")


def test_the_live_line_beside_a_redirected_file(
    spawn: Spawn, slow: LocalServer, tmp_path: Path
) -> None:
    with (tmp_path / "day.jsonl").open("wb") as target:
        code, shown = run_on_terminal(spawn, "events", "2026-01-15", stdout=target)
    assert (code, "quota" in plain(shown).split("\r\x1b[2K")[0]) == (0, True)


def test_no_live_line_between_the_data(spawn: Spawn, service: LocalServer) -> None:
    words = ["events", "2026-01-15", "-f", "jsonl"]
    # The data may reach this terminal through another program, such as head.
    code, shown = run_on_terminal(spawn, *words)
    assert (code, "\x1b" in shown, shown.startswith("2,000 events of ")) == (0, False, True)
    code, shown = run_on_terminal(spawn, *words, everything=True)
    lines = shown.splitlines()
    assert code == 0
    assert "\x1b" not in shown
    assert len([json.loads(line) for line in lines[:-1]]) == 2_000
    assert lines[-1].startswith("2,000 events of 2026-01-15, 2 requests, ")


def test_quiet_says_nothing_on_a_terminal(
    spawn: Spawn, service: LocalServer, tmp_path: Path
) -> None:
    pull = ("events", "2026-01-15", "-o", str(tmp_path / "day.jsonl"))
    assert run_on_terminal(spawn, "-q", *pull) == (0, "")
    assert run_on_terminal(spawn, *pull, "--quiet") == (0, "")


def test_a_table_on_a_terminal(
    spawn: Spawn, service: LocalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    code, shown = run_on_terminal(spawn, "summary", "2026-01", "-g", "campaign", everything=True)
    lines = shown.replace("\r\n", "\n").splitlines()
    assert code == 0
    assert any(line.lstrip("\r\x1b[2K").startswith("total") for line in lines)
    left_out = "No room for: campaign_id, ctr, requests, fill_rate, vcr."
    assert left_out in " ".join(plain(shown).split())
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
