"""The program on a terminal of its own: Ctrl-C, narrow windows, waits, the sign-in by hand."""

import os
import pty
import select
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.cli.processes import TIMEOUT, plain

from adanalytics_server.local import LocalServer

# Ctrl-C is a signal only to who has the terminal as its own.
ON_OWN_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
    "os.execv(sys.executable, [sys.executable, '-m', 'adanalytics_cli', *sys.argv[1:]])"
)


class Screen:
    """A terminal with a program on it."""

    def __init__(self, words: tuple[str, ...], columns: int) -> None:
        self._own, other = pty.openpty()
        termios.tcsetwinsize(other, (24, columns))
        self.process = subprocess.Popen(
            [sys.executable, "-c", ON_OWN_TERMINAL, *words],
            stdin=other,
            stdout=other,
            stderr=other,
            start_new_session=True,
        )
        os.close(other)
        self.shown = ""

    def read_until(self, done: Callable[[], bool]) -> None:
        """Read what is shown until `done`, or the program has left the terminal."""
        deadline = time.monotonic() + TIMEOUT
        while not done() and time.monotonic() < deadline:
            if not select.select([self._own], [], [], 0.05)[0]:
                continue
            try:
                piece = os.read(self._own, 65_536)
            except OSError:  # Linux reports the end of a terminal as an error.
                return
            self.shown += piece.decode()

    def wait_for(self, text: str) -> None:
        """Read until `text` is shown."""
        self.read_until(lambda: text in self.shown)
        assert text in self.shown

    def type(self, text: str) -> None:
        """Enter text as the keyboard would."""
        os.write(self._own, text.encode())

    def type_hidden(self, question: str, text: str) -> None:
        """Answer a question whose answer is not shown; earlier it would be shown and lost."""
        self.wait_for(question)
        self.read_until(lambda: not termios.tcgetattr(self._own)[3] & termios.ECHO)
        self.type(f"{text}\r")

    def finish(self) -> tuple[int, list[str]]:
        """Exit status, and the lines that were left on the terminal."""
        self.read_until(lambda: False)
        code = self.process.wait(timeout=TIMEOUT)
        lines = plain(self.shown).replace("\r\n", "\n").split("\n")
        return code, [line.rpartition("\r\x1b[2K")[2] for line in lines]

    def drawings(self) -> list[str]:
        """What the live line showed, one after the other."""
        pieces = plain(self.shown).split("\r\x1b[2K")
        # The terminal itself shows that Ctrl-C was typed.
        return [piece.removesuffix("^C") for piece in pieces if piece and "\n" not in piece]

    def hang_up(self) -> int:
        """Close the terminal under the program and return its exit status."""
        os.close(self._own)
        self._own = os.open(os.devnull, os.O_RDONLY)
        return self.process.wait(timeout=TIMEOUT)

    def close(self) -> None:
        """Take the terminal away."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._own)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Screen]]:
    monkeypatch.delenv("COLUMNS")
    monkeypatch.setenv("TERM", "xterm")
    opened: list[Screen] = []

    def start(*words: str, columns: int = 80) -> Screen:
        opened.append(Screen(words, columns))
        return opened[-1]

    yield start
    for each in opened:
        each.close()


@pytest.fixture
def faulty(service: LocalServer) -> Iterator[LocalServer]:
    yield service
    service.faults.clear()


def test_ctrl_c_leaves_what_is_whole(
    terminal: Callable[..., Screen], faulty: LocalServer, tmp_path: Path
) -> None:
    faulty.faults.add("latency 30s on events after 2")
    target = tmp_path / "day.jsonl"
    target.write_text("before")
    screen = terminal("events", "2026-01-15", "--per-page", "500", "-o", str(target))
    screen.read_until(lambda: any(" 50% " in each for each in screen.drawings()))
    screen.type("\x03")
    code, lines = screen.finish()
    assert code == 130
    assert lines[-2:] == ["Interrupted.", ""]
    assert target.read_text() == "before"
    assert [each.name for each in tmp_path.iterdir() if each.is_file()] == ["day.jsonl"]


def test_a_terminal_that_is_closed_ends_a_sync_in_order(
    terminal: Callable[..., Screen], faulty: LocalServer, tmp_path: Path
) -> None:
    faulty.faults.add("latency 30s on events")
    screen = terminal("sync", "2026-01-15", "--via", "pages", "--to", str(tmp_path / "events"))
    screen.read_until(lambda: bool(screen.drawings()))
    assert screen.hang_up() == 143


def test_the_reason_of_a_wait_stays_in_sight(
    terminal: Callable[..., Screen], faulty: LocalServer, tmp_path: Path
) -> None:
    faulty.faults.add("429 retry-after 900 on events after 6")
    target = str(tmp_path / "day.jsonl")
    screen = terminal("events", "2026-01-15", "--split", "hourly", "-o", target, columns=40)
    screen.wait_for(" min)")
    screen.type("\x03")
    assert screen.finish()[0] == 130
    drawn = screen.drawings()
    assert next(each for each in drawn if each.endswith(" UTC (in 15 min)"))
    assert max(map(len, drawn)) < 40


def test_a_narrow_window(terminal: Callable[..., Screen], service: LocalServer) -> None:
    for words in (["summary", "2026-01", "-g", "campaign"], ["plan", "2026-01"]):
        code, lines = terminal("--color", "never", *words, columns=40).finish()
        assert code == 0
        assert max(map(len, lines)) <= 40


def test_a_sign_in_by_hand(
    terminal: Callable[..., Screen], server: LocalServer, tmp_path: Path
) -> None:
    screen = terminal("login", columns=200)
    for question, answer in (
        ("Address of the service: ", server.url),
        ("Partner: ", "acme"),
        ("to use an API key): ", server.email),
    ):
        screen.wait_for(question)
        screen.type(f"{answer}\r")
    screen.type_hidden(f"Password of {server.email}: ", server.password)
    code, lines = screen.finish()
    assert code == 0
    assert server.password not in screen.shown
    assert lines[-3].startswith(f"Signed in to {server.url} as {server.email} until ")
    assert lines[-2].startswith(f"Stored for profile default in {tmp_path}")
    code, lines = terminal("status", columns=200).finish()
    assert code == 0
    assert "partner       acme  (profile default)" in lines


def test_colors_of_errors_on_a_terminal(
    terminal: Callable[..., Screen], monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = terminal("summary", "x")
    assert screen.finish()[0] == 2
    assert "\x1b[31m" in screen.shown
    monkeypatch.setenv("NO_COLOR", "1")
    screen = terminal("summary", "x")
    screen.finish()
    assert "\x1b" not in screen.shown
