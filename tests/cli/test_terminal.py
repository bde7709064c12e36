"""What a terminal shows: colours, the live line, tables, questions, control characters."""

import io
import json
import logging
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
from pytest_httpserver import HTTPServer
from tests.cli.processes import TIMEOUT, Spawn, plain
from tests.cli.run import run
from tests.client.dataset.service_of_rows import ServiceOfRows

from adanalytics_cli.console import terminal
from adanalytics_cli.console.progress import show_progress
from adanalytics_cli.core.invocation import ColorChoice, Invocation
from adanalytics_cli.core.prose import fitted, wrapped
from adanalytics_client import Client, ConfigurationError, ServerError, Summary
from adanalytics_client._base.escaping import visible
from adanalytics_client.dataset import Dataset
from adanalytics_client.observers import RetryPlanned
from adanalytics_server.local import LocalServer

pytestmark = pytest.mark.usefixtures("service")


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def look_at(
    stream: io.StringIO, environment: dict[str, str], choice: ColorChoice = "auto"
) -> terminal.Terminal:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.environ", environment)
        return terminal.look_at(stream, choice)


@pytest.mark.parametrize(
    ("choice", "environment", "on_screen", "in_pipe"),
    [
        ("auto", {}, True, False),
        ("auto", {"NO_COLOR": "1"}, False, False),
        ("auto", {"NO_COLOR": ""}, True, False),
        ("auto", {"FORCE_COLOR": "1"}, True, True),
        ("auto", {"NO_COLOR": "1", "FORCE_COLOR": "1"}, False, False),
        ("auto", {"TERM": "dumb"}, False, False),
        ("always", {"NO_COLOR": "1"}, True, True),
        ("never", {"FORCE_COLOR": "1"}, False, False),
    ],
)
def test_color(
    choice: ColorChoice, environment: dict[str, str], on_screen: bool, in_pipe: bool
) -> None:
    assert look_at(Screen(), environment, choice).color is on_screen
    assert look_at(io.StringIO(), environment, choice).color is in_pipe


def test_a_dumb_terminal_gets_no_moving_line() -> None:
    assert not look_at(Screen(), {"TERM": "dumb"}).interactive


def test_width_comes_from_columns_first() -> None:
    assert look_at(Screen(), {"COLUMNS": "132"}).width == 132
    assert look_at(Screen(), {"COLUMNS": "wide"}).width == 80


@pytest.mark.parametrize("width", [40, 60, 79])
def test_prose_is_wrapped_between_words_and_commands_still_run(
    width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = "rm 'my events/of a long name' && adanalytics sync 2026-01-15 --to 'my events'"
    text = f"The quota of this hour is used up, as the service says. To fix: {command}"
    lines = wrapped(text, width).split("\n")
    assert all(len(line) <= width for line in lines)
    assert " ".join(line.removesuffix("\\").strip() for line in lines) == text
    begin = next(index for index, line in enumerate(lines) if line.startswith("  rm"))
    assert all(line.endswith(" \\") for line in lines[begin:-1])
    monkeypatch.setenv("COLUMNS", str(width))
    assert (fitted(text, Screen()), fitted(text, io.StringIO())) == ("\n".join(lines), text)


@pytest.mark.parametrize(
    ("width", "lines"),
    [
        (80, ["fail  login      The key was refused.", " " * 17 + "Sign in again."]),
        (36, ["fail  login      The key was", " " * 12 + "refused.", " " * 12 + "Sign in again."]),
    ],
)
def test_text_beside_a_label_is_indented(width: int, lines: list[str]) -> None:
    text = f"fail  login      The key was refused.\n{'':17}Sign in again."
    assert wrapped(text, width, 17).split("\n") == lines


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


def test_no_live_line_between_the_data(spawn: Spawn) -> None:
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


def test_quiet_says_nothing_on_a_terminal(spawn: Spawn, tmp_path: Path) -> None:
    pull = ("events", "2026-01-15", "-o", str(tmp_path / "day.jsonl"))
    assert run_on_terminal(spawn, "-q", *pull) == (0, "")
    assert run_on_terminal(spawn, *pull, "--quiet") == (0, "")


def test_a_table_on_a_terminal(spawn: Spawn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    code, shown = run_on_terminal(spawn, "summary", "2026-01", "-g", "campaign", everything=True)
    lines = shown.replace("\r\n", "\n").splitlines()
    assert code == 0
    assert any(line.lstrip("\r\x1b[2K").startswith("total") for line in lines)
    left_out = "No room for: campaign_id, ctr, requests, fill_rate, vcr."
    assert left_out in " ".join(plain(shown).split())
    assert max(len(line) for line in lines if "\x1b" not in line) <= 80


def test_no_color(spawn: Spawn, monkeypatch: pytest.MonkeyPatch) -> None:
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


NAME = "\x1b[31mRED\tx\ny"
SHOWN = r"\x1b[31mRED\tx\ny"


@pytest.fixture
def named(service: LocalServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A service with one campaign and a currency that would colour a terminal."""
    row = {"campaign_id": 1, "campaign_name": NAME, "impressions": 7, "clicks": 1}
    summary = Summary.model_validate({"rows": [row], "currency": "\x9bUSD"})
    monkeypatch.setattr(Client, "summary", lambda *_words, **_names: summary)


@pytest.mark.parametrize("form", [["-f", "table"], ["--chart"]])
def test_tables_and_charts(named: None, form: list[str]) -> None:
    text = run("summary", "2026-01", "-g", "campaign", *form).stdout
    assert f"\n{SHOWN} " in text
    assert r"money in \x9bUSD" in text
    assert all(character.isprintable() for character in text.replace("\n", ""))


def test_data_keep_the_bytes(named: None) -> None:
    (row,) = json.loads(run("summary", "2026-01", "-g", "campaign", "-f", "json").stdout)
    assert row["campaign_name"] == NAME
    assert NAME in run("summary", "2026-01", "-g", "campaign", "-f", "csv").stdout


@pytest.mark.parametrize("words", [["dates"], ["--debug", "dates"], ["doctor"]])
def test_errors(monkeypatch: pytest.MonkeyPatch, words: list[str]) -> None:
    def refuse(_client: Client) -> None:
        raise ServerError("the service says \x1b]0;title\x07 again", status=500)

    monkeypatch.setattr(Client, "dates", refuse)
    text = run(*words).output
    assert r"the service says \x1b]0;title\x07 again" in text
    assert all(character.isprintable() for character in text.replace("\n", ""))


def test_an_error_as_json_keeps_the_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_client: Client) -> None:
        raise ConfigurationError("bad \x1b")

    monkeypatch.setattr(Client, "dates", refuse)
    assert json.loads(run("dates", "-f", "json").stderr)["error"] == "bad \x1b"


def test_steps_and_warnings(capsys: pytest.CaptureFixture[str]) -> None:
    with show_progress(Invocation(verbose=True), live=False) as progress:
        progress.retry(RetryPlanned("http://h/", 1, 0.5, NAME))
        logging.getLogger("adanalytics_client").warning("%s", NAME)
    assert capsys.readouterr().err == f"trying again in 0.5 s: {SHOWN}\n{SHOWN}\n"


@pytest.mark.parametrize("words", [["query", "SELECT 1"], ["report", "day"]])
def test_warnings_about_a_dataset(httpserver: HTTPServer, folder: Path, words: list[str]) -> None:
    service = ServiceOfRows(httpserver)
    row = {"event_time": "2026-01-15T03:00:00Z", NAME: 1, NAME.upper(): 2}
    service.rows["2026-01-15", 3] = [json.dumps(row)]
    with service.client() as client:
        Dataset(folder).sync(client)
    text = run(*words, "--in", str(folder)).stderr
    assert r"events has \x1b[31MRED\tX\nY_1 for \x1b[31MRED\tX\nY." in text.replace("\n", " ")
    assert "\x1b" not in text


def test_what_is_escaped() -> None:
    assert visible("\x7f\x85\u2028\u202e") == r"\x7f\x85\u2028\u202e"
    text = "Café 100\xa0% 広告 👩‍💻"
    assert visible(text) == text
